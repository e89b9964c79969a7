//! Commands of the command palette. Their effect is in [`crate::gui::palette::update`].

use atelier_language::tr;
use eframe::egui::{Key, Modifiers};

use crate::gui::feature_command::FeatureCommand;
use crate::gui::palette::state::State;
use crate::gui::shortcut::Shortcut;

/// A command of the command palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Open,
    Close,
    Search(String),
    /// Choose one of those found.
    Choose(usize),
    /// Carry out the command of this index among all.
    Run(usize),
    /// Open or close the list of keys.
    ShowShortcuts(bool),
}

impl FeatureCommand for Command {
    type State = State;

    const KEYS: &'static [(Self, Shortcut)] = &[
        (Self::Open, Shortcut::while_typing(Modifiers::COMMAND, Key::K)),
        (Self::ShowShortcuts(true), Shortcut::while_typing(Modifiers::NONE, Key::F1)),
        (Self::ShowShortcuts(true), Shortcut::when_idle(Modifiers::NONE, Key::Questionmark)),
    ];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Open => (tr!("palette-find-a-command"), tr!("palette-search-all-commands-and")),
            Self::Close => (tr!("common-close"), tr!("palette-do-nothing")),
            Self::Search(_) => (tr!("palette-search-the-commands"), tr!("palette-find-commands-by-words")),
            Self::Choose(_) => (tr!("palette-choose-this-command"), tr!("palette-choose-this-command-2")),
            Self::Run(_) => (tr!("palette-run-this-command"), tr!("palette-run-this-command-2")),
            Self::ShowShortcuts(true) => (tr!("palette-keyboard-shortcuts"), tr!("palette-see-all-keys-by")),
            Self::ShowShortcuts(false) => (tr!("common-close"), tr!("palette-close-the-list")),
        }
    }
}
