//! What the command palette finds. Pure.

use crate::gui::command::Command;
use crate::gui::palette::synonyms::synonyms;
use crate::gui::state::State;

/// A command that was found.
pub(crate) struct Found {
    pub(crate) command: Command,
    /// Its index among all commands.
    pub(crate) index: usize,
    /// Its label, with the part of the program where others are called so too.
    pub(crate) name: String,
}

/// The commands whose words hold every word of the search; those whose names begin so come first,
/// and those that can be done now. Without a search those that were run last, then all in the order
/// of the program.
pub(crate) fn found(state: &State, search: &str) -> Vec<Found> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let all = Command::all();
    let recent = &state.palette.recent;
    let recency = |command: &Command| {
        let name = command.remembered_name();
        recent.iter().position(|it| *it == name).unwrap_or(usize::MAX)
    };
    let rank = |command: &Command| {
        let label = command.label().to_lowercase();
        let begins = words.first().is_none_or(|word| label.split_whitespace().any(|part| part.starts_with(word.as_str())));
        let holds = |text: &str| words.iter().all(|word| text.contains(word.as_str()));
        let is_match = || holds(&format!("{label} {} {}", command.tooltip().to_lowercase(), synonyms(command)));
        // As one word of the list, a name that others use is as good as the own one.
        let is_known_as = words.len() == 1 && words.first().is_some_and(|word| synonyms(command).split(' ').any(|it| it == word));
        (holds(&label) || is_match()).then_some((
            command.enabled(state).is_err(),
            !(begins || is_known_as),
            !(holds(&label) || is_known_as),
            recency(command),
        ))
    };
    let mut found: Vec<_> = all.iter().enumerate().filter_map(|(index, command)| Some((rank(command)?, index))).collect();
    found.sort_unstable();
    let name = |command: &Command| {
        let is_alone = all.iter().filter(|it| it.label() == command.label()).count() == 1;
        if is_alone { command.label().to_owned() } else { format!("{} ({})", command.label(), command.group()) }
    };
    let entry = |(_, index): (_, usize)| Some(Found { command: all.get(index)?.clone(), index, name: name(all.get(index)?) });
    found.into_iter().filter_map(entry).collect()
}
