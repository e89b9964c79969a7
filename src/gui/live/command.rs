//! Commands of Live. Their effect is in [`crate::gui::live::update`]; nothing here changes
//! anything.

use eframe::egui::{Key, Modifiers};

use crate::gui::feature_command::FeatureCommand;
use crate::gui::live::state::{LIVE_SECS, State};
use crate::gui::shared::{Screen, Shared};
use crate::gui::shortcut::Shortcut;
use atelier_language::tr;
use atelier_studio::next_recipe::UnmetRequirement;

/// A command of Live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Let the picture follow, or no longer.
    Toggle,
    /// Make the picture again now; with another seed, where none is kept.
    Follow,
    /// Make the picture a layer; keep it, where there is no canvas.
    Accept,
    /// Take fewer steps, so that the picture follows faster.
    FewerSteps,
    /// Let the model work at a smaller size, so that the picture follows faster.
    SmallerSize,
}

impl FeatureCommand for Command {
    type State = State;

    const KEYS: &'static [(Self, Shortcut)] = &[(Self::Toggle, Shortcut::while_typing(Modifiers::COMMAND, Key::G))];

    const OFFERED: &'static [Self] = &[Self::Accept, Self::FewerSteps, Self::SmallerSize];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Toggle => (tr!("live-live"), tr!("live-update-the-picture-live")),
            Self::Follow => (tr!("live-generate-again"), tr!("live-live-the-picture-follows")),
            Self::Accept => (tr!("live-accept-the-live-picture"), tr!("live-add-the-live-picture")),
            Self::FewerSteps => (tr!("live-fewer-steps"), tr!("live-use-fewer-steps-so")),
            Self::SmallerSize => (tr!("live-work-smaller"), tr!("live-generate-at-a-smaller")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        if shared.screen != Screen::Create {
            return Err(tr!("live-live-is-in-the"));
        }
        match self {
            Self::Toggle => Ok(()),
            _ if !state.is_on => Err(tr!("live-live-is-switched-off")),
            Self::Follow => state.ready(shared).map_err(UnmetRequirement::sentence),
            Self::Accept => state.has_result().then_some(()).ok_or(tr!("live-the-live-picture-is")),
            Self::FewerSteps => fewer_steps(state, shared).map(drop).ok_or(tr!("live-the-number-of-steps")),
            Self::SmallerSize => smaller_size(shared).map(drop).ok_or(tr!("live-the-size-is-already")),
        }
    }
}

/// Fewest steps that are offered.
const MIN_STEPS: u32 = 2;
/// Smallest side that is offered, in pixels, and of what it stays a multiple.
const MIN_SIDE: u32 = 256;
const SIDE_MULTIPLE: u32 = 64;

/// Steps that a picture of [`LIVE_SECS`] has; `None` where there are not fewer.
pub(crate) fn fewer_steps(state: &State, shared: &Shared) -> Option<u32> {
    let secs = state.picture_secs.unwrap_or(LIVE_SECS * 2.0).max(LIVE_SECS * 1.25);
    let steps = shared.next.recipe.steps;
    let fewer = (f64::from(steps) * LIVE_SECS / secs).floor() as u32;
    Some(fewer.max(MIN_STEPS)).filter(|fewer| *fewer < steps)
}

/// Three quarters of the width and height; `None` where both are small already.
pub(crate) fn smaller_size(shared: &Shared) -> Option<(u32, u32)> {
    let (width, height) = (shared.next.recipe.width, shared.next.recipe.height);
    let smaller = |side: u32| (side * 3 / 4 / SIDE_MULTIPLE * SIDE_MULTIPLE).max(MIN_SIDE).min(side);
    Some((smaller(width), smaller(height))).filter(|smaller| *smaller != (width, height))
}
