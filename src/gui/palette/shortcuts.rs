//! All keys of the window by the part of the program in which they act.

use eframe::egui::Context;

use crate::gui::command::{Command, engraved, keys_text};
use crate::gui::create::command::PICTURE_KEYS;
use crate::gui::gallery::command::PLAIN_KEYS;
use atelier_language as language;

/// Keys of a part of the program: each with what it does.
pub(crate) struct KeyGroup {
    pub(crate) name: &'static str,
    pub(crate) keys: Vec<(String, &'static str)>,
}

/// The texts of the parts in the order in which they are shown.
const NAMES: [&str; 7] = ["window-window", CREATE, "window-canvas", GALLERY, "window-models", "window-queue", "window-devices"];
const CREATE: &str = "window-create";
const GALLERY: &str = "window-gallery";

/// Keys that are no command's: those that are held, and those of what has the keyboard; each with the text
/// of its part and of what it does.
const OTHER_KEYS: &[(&str, &str, &str)] = &[
    ("window-window", "Tab", "palette-go-to-the-next"),
    ("window-window", "Escape", "palette-leave-a-field-a"),
    (CREATE, "A–Z", "palette-a-word-goes-into"),
    ("window-canvas", "Space", "palette-hold-to-move-the"),
    ("window-canvas", "V", "palette-hold-to-see-the"),
    ("window-canvas", "Alt", "palette-hold-to-pick-a"),
    (GALLERY, "←↑→↓", "palette-go-to-another-picture"),
    ("window-models", "/", "palette-search-models"),
    ("window-models", "←↑→↓", "palette-go-to-another-model"),
    ("window-queue", "↑↓", "palette-move-the-job"),
    ("window-queue", "Delete", "palette-cancel-the-job"),
    ("window-queue", "Enter", "palette-edit-the-job"),
    ("window-queue", "Ctrl+D", "palette-duplicate-the-job"),
];

/// All groups that have keys.
pub(crate) fn groups(ctx: &Context) -> Vec<KeyGroup> {
    let keys = |id: &'static str| {
        let name = language::text(id);
        let commands = Command::keys().filter(move |(command, _)| command.group() == name);
        let shortcuts = commands.map(|(command, shortcut)| (keys_text(ctx, shortcut.keys), command.label()));
        let plain = PLAIN_KEYS.iter().filter(move |_| id == GALLERY);
        let plain = plain.map(|(key, command)| (engraved(key.name()), Command::Gallery(command.clone()).label()));
        let pictures = PICTURE_KEYS.iter().filter(move |_| id == CREATE).map(|(.., command)| {
            let command = Command::Create(command.clone());
            (command.key_text(ctx), command.label())
        });
        let other = OTHER_KEYS.iter().filter(move |(group, ..)| *group == id);
        let other = other.map(|(_, keys, words)| (engraved(keys), language::text(words)));
        shortcuts.chain(pictures).chain(plain).chain(other).collect::<Vec<_>>()
    };
    let groups = NAMES.into_iter().map(|id| KeyGroup { name: language::text(id), keys: keys(id) });
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
