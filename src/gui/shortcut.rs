//! Keys of commands.

use eframe::egui::{Key, KeyboardShortcut, Modifiers};

/// A key, and whether it works while text is being typed.
#[derive(Clone, Copy, Debug)]
pub struct Shortcut {
    pub keys: KeyboardShortcut,
    /// True if it works while text is being typed; keys that write text do not.
    pub while_typing: bool,
}

impl Shortcut {
    /// A key that also works while text is being typed.
    #[must_use]
    pub const fn while_typing(modifiers: Modifiers, key: Key) -> Self {
        Self { keys: KeyboardShortcut::new(modifiers, key), while_typing: true }
    }

    /// A key that works only while nothing has the keyboard.
    #[must_use]
    pub const fn when_idle(modifiers: Modifiers, key: Key) -> Self {
        Self { keys: KeyboardShortcut::new(modifiers, key), while_typing: false }
    }
}
