//! The views of the window, one of which is shown.

use eframe::egui::{Key, Modifiers};

use crate::gui::features::with_features;
use crate::gui::shortcut::Shortcut;

macro_rules! define_screen {
    (
        screens { $($module:ident $Name:ident $label:literal $tooltip:literal $key:ident;)* }
        sections { $($section:ident $Section:ident;)* }
    ) => {
        /// A view of the window.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Screen {
            #[default]
            $(#[doc = $tooltip] $Name,)*
        }

        impl Screen {
            /// All of them, in the order of their buttons.
            pub const ALL: &[Self] = &[$(Self::$Name,)*];

            /// The word on its button.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$Name => $label,)*
                }
            }

            /// Its purpose, in a sentence.
            #[must_use]
            pub const fn tooltip(self) -> &'static str {
                match self {
                    $(Self::$Name => $tooltip,)*
                }
            }

            #[must_use]
            pub const fn shortcut(self) -> Shortcut {
                match self {
                    $(Self::$Name => Shortcut::while_typing(Modifiers::COMMAND, Key::$key),)*
                }
            }
        }
    };
}

with_features!(define_screen);
