//! Commands of the command palette. Their effect is in [`crate::gui::palette::update`].

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
            Self::Open => ("Find a command", "Search all commands and see their keys."),
            Self::Close => ("Close", "Do nothing."),
            Self::Search(_) => ("Search the commands", "Find commands by words of their names."),
            Self::Choose(_) => ("Choose this command", "Choose this command."),
            Self::Run(_) => ("Run this command", "Run this command."),
            Self::ShowShortcuts(true) => ("Keyboard shortcuts", "See all keys, by the part of the program."),
            Self::ShowShortcuts(false) => ("Close", "Close the list."),
        }
    }
}
