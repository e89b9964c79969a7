//! Commands about what phrases did. Their effect is in [`crate::gui::phrases::update`]; nothing here
//! changes anything.

use crate::gui::feature_command::FeatureCommand;
use crate::gui::phrases::state::State;
use crate::gui::shared::{Screen, Shared};
use atelier_core::words::Phrase;
use atelier_language::tr;

/// A command about what phrases did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The pointer is over this phrase of the prompt, or over none.
    Point(Option<Phrase>),
    /// Show what the phrase at the caret did, or no longer.
    ShowAtCaret,
    /// Show what phrases under the pointer did, or no longer.
    SetOn(bool),
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[Self::ShowAtCaret, Self::SetOn(true), Self::SetOn(false)];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Point(_) => (tr!("phrases-point-at-a-phrase"), tr!("phrases-show-where-the-phrase-under")),
            Self::ShowAtCaret => (tr!("phrases-show-what-this-phrase"), tr!("phrases-show-where-the-phrase-at")),
            Self::SetOn(true) => (tr!("phrases-show-what-phrases-do"), tr!("phrases-rest-the-pointer-on")),
            Self::SetOn(false) => (tr!("phrases-stop-showing-what-phrases"), tr!("phrases-compute-nothing-for-the")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::SetOn(true) if state.is_on => Err(tr!("phrases-this-is-already-on")),
            Self::SetOn(false) if !state.is_on => Err(tr!("phrases-this-is-already-off")),
            Self::Point(_) | Self::ShowAtCaret if !state.is_on => Err(tr!("phrases-switch-show-what-phrases")),
            Self::SetOn(_) | Self::Point(_) => Ok(()),
            Self::ShowAtCaret => (shared.screen == Screen::Create).then_some(()).ok_or(tr!("phrases-the-prompt-is-in")),
        }
    }
}
