//! Everything that a person can ask of the window: the features' commands, and those of the window itself.
//!
//! A command owns its label, tooltip, shortcut and when it is enabled, so that buttons, menus and keys cannot drift apart. Its effect is in
//! its feature's `update`; nothing here changes anything.

use eframe::egui::{Key, Modifiers};

use crate::gui::create;
use crate::gui::devices;
use crate::gui::memory;
use crate::gui::models;
use crate::gui::shared::Screen;
use crate::gui::shortcut::Shortcut;
use crate::gui::state::State;
use crate::settings::ThemeChoice;

/// A command to the window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// A command of the Create view.
    Create(create::Command),
    /// A command about devices and placement.
    Devices(devices::Command),
    /// A command about the library.
    Models(models::Command),
    /// A command about the models in memory.
    Memory(memory::Command),
    /// Show another view.
    SetScreen(Screen),
    /// Light, dark, or as the system has it.
    SetTheme(ThemeChoice),
    /// Put the error card away.
    DismissError,
    /// Put the error, with its log lines, on the clipboard.
    CopyError,
    /// Stop the forming picture and close.
    StopAndClose,
    /// Do not close.
    StayOpen,
}

impl From<create::Command> for Command {
    fn from(command: create::Command) -> Self {
        Self::Create(command)
    }
}

impl From<devices::Command> for Command {
    fn from(command: devices::Command) -> Self {
        Self::Devices(command)
    }
}

impl From<models::Command> for Command {
    fn from(command: models::Command) -> Self {
        Self::Models(command)
    }
}

impl From<memory::Command> for Command {
    fn from(command: memory::Command) -> Self {
        Self::Memory(command)
    }
}

impl Command {
    /// Every command that has a key. Those with more modifiers come before those with fewer.
    pub(crate) fn keys() -> impl Iterator<Item = (Self, Shortcut)> {
        const OWN: [(Command, Shortcut); 3] = [
            (Command::SetScreen(Screen::Create), Shortcut::while_typing(Modifiers::COMMAND, Key::Num1)),
            (Command::SetScreen(Screen::Devices), Shortcut::while_typing(Modifiers::COMMAND, Key::Num2)),
            (Command::SetScreen(Screen::Models), Shortcut::while_typing(Modifiers::COMMAND, Key::Num3)),
        ];
        let models = models::Command::KEYS.iter().map(|(command, key)| (Self::Models(command.clone()), *key));
        let create = create::Command::KEYS.iter().map(|(command, key)| (Self::Create(command.clone()), *key));
        OWN.into_iter().chain(models).chain(create)
    }

    /// Its key, where it has one.
    #[must_use]
    pub(crate) fn shortcut(&self) -> Option<Shortcut> {
        Self::keys().find(|(command, _)| command == self).map(|(_, key)| key)
    }

    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Create(command) => command.label(),
            Self::Devices(command) => command.label(),
            Self::Models(command) => command.label(),
            Self::Memory(command) => command.label(),
            Self::SetScreen(screen) => screen.label(),
            Self::SetTheme(choice) => choice.label(),
            Self::DismissError => "Dismiss",
            Self::CopyError => "Copy details",
            Self::StopAndClose => "Stop and close",
            Self::StayOpen => "Keep going",
        }
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub(crate) fn tooltip(&self) -> &'static str {
        match self {
            Self::Create(command) => command.tooltip(),
            Self::Devices(command) => command.tooltip(),
            Self::Models(command) => command.tooltip(),
            Self::Memory(command) => command.tooltip(),
            Self::SetScreen(screen) => screen.tooltip(),
            Self::SetTheme(choice) => choice.tooltip(),
            Self::DismissError => "Put this message away.",
            Self::CopyError => "Copy this message and the engine's last lines, to ask somebody for help.",
            Self::StopAndClose => "Stop the forming picture and close Atelier. Finished pictures are kept.",
            Self::StayOpen => "Keep Atelier open and let the picture finish.",
        }
    }

    /// Whether it can be done now; where not, what is missing.
    ///
    /// # Errors
    /// A sentence for a person that says what is missing.
    pub(crate) fn enabled(&self, state: &State) -> Result<(), &'static str> {
        let shared = &state.shared;
        match self {
            Self::Create(command) => command.enabled(&state.create, shared),
            Self::Devices(command) => command.enabled(&state.devices, shared),
            Self::Models(command) => command.enabled(&state.models, shared),
            Self::Memory(command) => command.enabled(shared),
            Self::CopyError | Self::DismissError => shared.error.as_ref().map(drop).ok_or("There is no message."),
            Self::SetScreen(_) | Self::SetTheme(_) | Self::StopAndClose | Self::StayOpen => Ok(()),
        }
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

    #[test]
    fn no_key_is_used_twice() {
        let mut keys = Vec::new();
        for (command, shortcut) in Command::keys() {
            assert!(!keys.contains(&shortcut.keys), "{} shares its key", command.label());
            keys.push(shortcut.keys);
        }
        assert_eq!(keys.len(), 21);
    }

    #[test]
    fn keys_that_write_text_do_nothing_while_typing() {
        for (command, shortcut) in Command::keys() {
            let writes = shortcut.keys.modifiers == Modifiers::NONE && shortcut.keys.logical_key != Key::Escape;
            assert!(!(writes && shortcut.while_typing), "{}", command.label());
        }
    }
}
