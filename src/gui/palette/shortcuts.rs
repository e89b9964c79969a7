//! All keys of the window by the part of the program in which they act.

use eframe::egui::Context;

use crate::gui::command::{Command, keys_text};
use crate::gui::create::command::PICTURE_KEYS;
use crate::gui::gallery::command::PLAIN_KEYS;

/// Keys of a part of the program: each with what it does.
pub(crate) struct KeyGroup {
    pub(crate) name: &'static str,
    pub(crate) keys: Vec<(String, &'static str)>,
}

/// The parts in the order in which they are shown.
const NAMES: [&str; 7] = ["Window", "Create", "Canvas", "Gallery", "Models", "Queue", "Devices"];

/// Keys that are no command's: those that are held, and those of what has the keyboard.
const OTHER_KEYS: &[(&str, &str, &str)] = &[
    ("Window", "Tab", "Go to the next control"),
    ("Window", "Escape", "Leave a field, a dialog, a message, the canvas"),
    ("Create", "Letters", "A word goes into the prompt"),
    ("Canvas", "Space", "Hold to move the picture"),
    ("Canvas", "V", "Hold to see the canvas without the candidate"),
    ("Canvas", "Alt", "Hold to pick a colour"),
    ("Gallery", "Arrows", "Go to another picture; with Shift select"),
    ("Models", "/", "Search models"),
    ("Models", "Arrows", "Go to another model"),
    ("Queue", "Up, Down", "Move the job"),
    ("Queue", "Delete", "Cancel the job"),
    ("Queue", "Enter", "Edit the job"),
    ("Queue", "Ctrl+D", "Duplicate the job"),
];

/// All groups that have keys.
pub(crate) fn groups(ctx: &Context) -> Vec<KeyGroup> {
    let keys = |name: &'static str| {
        let commands = Command::keys().filter(move |(command, _)| command.group() == name);
        let shortcuts = commands.map(|(command, shortcut)| (keys_text(ctx, shortcut.keys), command.label()));
        let plain = PLAIN_KEYS.iter().filter(move |_| name == "Gallery");
        let plain = plain.map(|(key, command)| (key.name().to_owned(), Command::Gallery(command.clone()).label()));
        let pictures = PICTURE_KEYS.iter().filter(move |_| name == "Create").map(|(.., command)| {
            let command = Command::Create(command.clone());
            (command.key_text(ctx), command.label())
        });
        let other = OTHER_KEYS.iter().filter(move |(group, ..)| *group == name).map(|(_, keys, words)| ((*keys).to_owned(), *words));
        shortcuts.chain(pictures).chain(plain).chain(other).collect::<Vec<_>>()
    };
    let groups = NAMES.into_iter().map(|name| KeyGroup { name, keys: keys(name) });
    groups.filter(|group| !group.keys.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_list() {
        let ctx = Context::default();
        let groups = groups(&ctx);
        let listed: usize = groups.iter().map(|group| group.keys.len()).sum();
        assert_eq!(listed, Command::keys().count() + PLAIN_KEYS.len() + PICTURE_KEYS.len() + OTHER_KEYS.len());
        for (command, shortcut) in Command::keys() {
            let keys = keys_text(&ctx, shortcut.keys);
            let is_listed =
                groups.iter().any(|group| group.name == command.group() && group.keys.contains(&(keys.clone(), command.label())));
            assert!(is_listed, "{keys} {}", command.label());
        }
    }
}
