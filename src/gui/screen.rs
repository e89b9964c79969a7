//! The views of the window, one of which is shown.

use atelier_language::tr;
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
    fn row(self) -> (&'static str, &'static str, Key) {
        match self {
            Self::Create => (tr!("window-create"), tr!("window-generate-pictures-from-a"), Key::Num1),
            Self::Devices => (tr!("window-devices"), tr!("window-choose-where-each-part"), Key::Num2),
            Self::Models => (tr!("window-models"), tr!("window-browse-download-and-manage"), Key::Num3),
            Self::Gallery => (tr!("window-gallery"), tr!("window-browse-search-and-compare"), Key::Num4),
        }
    }

    /// The word on its button.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.row().0
    }

    /// Its purpose, in a sentence.
    #[must_use]
    pub fn tooltip(self) -> &'static str {
        self.row().1
    }

    /// Its key.
    #[must_use]
    pub fn shortcut(self) -> Shortcut {
        Shortcut::while_typing(Modifiers::COMMAND, self.row().2)
    }
}
