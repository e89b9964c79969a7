//! The views of the window, one of which is shown.

use eframe::egui::{Key, Modifiers};

use crate::gui::shortcut::Shortcut;

/// A view of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// A picture's words and settings, and the pictures that come of them.
    #[default]
    Create,
    /// Where each part of the model runs.
    Devices,
    /// The models of this disk and of the catalogue.
    Models,
    /// Every picture that was made.
    Gallery,
}

impl Screen {
    /// All of them, in the order of their buttons.
    pub const ALL: &[Self] = &[Self::Create, Self::Devices, Self::Models, Self::Gallery];

    /// Label, tooltip and key.
    const fn row(self) -> (&'static str, &'static str, Key) {
        match self {
            Self::Create => ("Create", "Generate pictures from a prompt.", Key::Num1),
            Self::Devices => ("Devices", "Choose where each part of the model runs, and see memory and time.", Key::Num2),
            Self::Models => ("Models", "Browse, download and manage models.", Key::Num3),
            Self::Gallery => ("Gallery", "Browse, search and compare your pictures, and continue from any of them.", Key::Num4),
        }
    }

    /// The word on its button.
    #[must_use]
    pub const fn label(self) -> &'static str {
        self.row().0
    }

    /// Its purpose, in a sentence.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        self.row().1
    }

    /// Its key.
    #[must_use]
    pub const fn shortcut(self) -> Shortcut {
        Shortcut::while_typing(Modifiers::COMMAND, self.row().2)
    }
}
