//! Commands of the command palette. Their effect is in [`crate::gui::palette::update`].

use eframe::egui::{Key, Modifiers};

use crate::gui::palette::state::State;
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;

/// A command of the command palette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Open,
    Close,
    Search(String),
    /// Choose one of those found.
    Choose(usize),
}

impl Command {
    pub const KEYS: &[(Self, Shortcut)] = &[(Self::Open, Shortcut::while_typing(Modifiers::COMMAND, Key::K))];

    /// Commands without a key that the command palette offers.
    pub const OFFERED: &[Self] = &[];

    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        self.words().0
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub const fn tooltip(&self) -> &'static str {
        self.words().1
    }

    const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Open => ("Find a command", "Search all commands and see their keys."),
            Self::Close => ("Close", "Do nothing."),
            Self::Search(_) => ("Search the commands", "Find commands by words of their names."),
            Self::Choose(_) => ("Choose this command", "Choose this command."),
        }
    }

    /// `Ok` if it can be done now.
    ///
    /// # Errors
    /// The sentence about the first thing that is missing.
    pub const fn enabled(&self, _: &State, _: &Shared) -> Result<(), &'static str> {
        Ok(())
    }
}
