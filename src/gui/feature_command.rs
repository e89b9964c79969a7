//! What a command of a feature says of itself, so that buttons, menus, keys and the command palette
//! cannot drift apart.

use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;

/// A command of a feature. Its effect is in the feature's `update`.
pub trait FeatureCommand: Sized + 'static {
    /// State of its feature.
    type State;

    /// The keys. Those with more modifiers come before those with fewer.
    const KEYS: &'static [(Self, Shortcut)] = &[];

    /// Commands without a key that the command palette offers.
    const OFFERED: &'static [Self] = &[];

    /// Label and tooltip.
    #[must_use]
    fn words(&self) -> (&'static str, &'static str);

    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    fn label(&self) -> &'static str {
        self.words().0
    }

    /// Its effect, in a sentence.
    #[must_use]
    fn tooltip(&self) -> &'static str {
        self.words().1
    }

    /// `Ok` if it can be done now.
    ///
    /// # Errors
    /// The sentence about the first thing that is missing.
    fn enabled(&self, _state: &Self::State, _shared: &Shared) -> Result<(), &'static str> {
        Ok(())
    }
}
