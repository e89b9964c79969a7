//! Everything that a person can ask of the window: the features' commands, and those of the window itself.
//!
//! A command owns its label, tooltip, shortcut and when it is enabled, so that buttons, menus and keys cannot drift apart. Its effect is in
//! its feature's `update`; nothing here changes anything.

use crate::gui::features::with_features;
use crate::gui::screen::Screen;
use crate::gui::shortcut::Shortcut;
use crate::gui::state::State;
use crate::gui::window_command::WindowCommand;

macro_rules! define_command {
    (
        screens { $($screen:ident $Screen:ident $label:literal $tooltip:literal $key:ident;)* }
        sections { $($section:ident $Section:ident;)* }
    ) => {
        /// A command to the window.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Command {
            $($Screen(crate::gui::$screen::Command),)*
            $($Section(crate::gui::$section::Command),)*
            Window(WindowCommand),
        }

        $(impl From<crate::gui::$screen::Command> for Command {
            fn from(command: crate::gui::$screen::Command) -> Self {
                Self::$Screen(command)
            }
        })*

        $(impl From<crate::gui::$section::Command> for Command {
            fn from(command: crate::gui::$section::Command) -> Self {
                Self::$Section(command)
            }
        })*

        impl Command {
            /// Every command that has a key. Those with more modifiers come before those with fewer.
            pub(crate) fn keys() -> impl Iterator<Item = (Self, Shortcut)> {
                let screens = Screen::ALL.iter().map(|screen| (WindowCommand::SetScreen(*screen).into(), screen.shortcut()));
                let features = std::iter::empty()
                    $(.chain(crate::gui::$screen::Command::KEYS.iter().map(|(command, key)| (Self::$Screen(command.clone()), *key))))*
                    $(.chain(crate::gui::$section::Command::KEYS.iter().map(|(command, key)| (Self::$Section(command.clone()), *key))))*;
                let window = WindowCommand::KEYS.iter().map(|(command, key)| (Self::Window(*command), *key));
                screens.chain(window).chain(features)
            }

            /// The words on its button or menu entry, which are its accessible name too.
            #[must_use]
            pub(crate) fn label(&self) -> &'static str {
                match self {
                    $(Self::$Screen(command) => command.label(),)*
                    $(Self::$Section(command) => command.label(),)*
                    Self::Window(command) => command.label(),
                }
            }

            /// Its effect, in a sentence.
            #[must_use]
            pub(crate) fn tooltip(&self) -> &'static str {
                match self {
                    $(Self::$Screen(command) => command.tooltip(),)*
                    $(Self::$Section(command) => command.tooltip(),)*
                    Self::Window(command) => command.tooltip(),
                }
            }

            /// `Ok` if it can be done now.
            ///
            /// # Errors
            /// The sentence about the first thing that is missing.
            pub(crate) fn enabled(&self, state: &State) -> Result<(), &'static str> {
                match self {
                    $(Self::$Screen(command) => command.enabled(&state.$screen, &state.shared),)*
                    $(Self::$Section(command) => command.enabled(&state.$section, &state.shared),)*
                    Self::Window(command) => command.enabled(&state.shared),
                }
            }
        }
    };
}

with_features!(define_command);

impl From<WindowCommand> for Command {
    fn from(command: WindowCommand) -> Self {
        Self::Window(command)
    }
}

impl Command {
    /// Its key, where it has one.
    #[must_use]
    pub(crate) fn shortcut(&self) -> Option<Shortcut> {
        Self::keys().find(|(command, _)| command == self).map(|(_, key)| key)
    }
}

/// The commands of one frame, in order.
#[derive(Debug, Default)]
pub(crate) struct Commands(Vec<Command>);

impl Commands {
    /// Adds a command.
    pub(crate) fn push(&mut self, command: impl Into<Command>) {
        self.0.push(command.into());
    }

    /// The commands, in order.
    #[must_use]
    pub(crate) fn into_vec(self) -> Vec<Command> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{Key, Modifiers};

    #[test]
    fn no_key_is_used_twice() {
        let mut keys = Vec::new();
        for (command, shortcut) in Command::keys() {
            assert!(!keys.contains(&shortcut.keys), "{} shares its key", command.label());
            keys.push(shortcut.keys);
        }
        assert_eq!(keys.len(), 42);
    }

    #[test]
    fn keys_that_write_text_do_nothing_while_typing() {
        for (command, shortcut) in Command::keys() {
            let writes = shortcut.keys.modifiers == Modifiers::NONE && ![Key::Escape, Key::F1].contains(&shortcut.keys.logical_key);
            assert!(!(writes && shortcut.while_typing), "{}", command.label());
        }
    }
}
