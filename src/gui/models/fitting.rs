//! Asks the engine what models of the Models view take, so that it can say whether they fit: those on the screen, one after the other,
//! while nothing else is asked of it and no picture is made. Nothing here waits.

use std::collections::BTreeMap;

use crate::gui::context::{Context, log_if_busy};
use crate::gui::devices;
use crate::gui::models::{ModelCard, Predicted, State};
use crate::gui::shared::Screen;
use atelier_core::device::Device;
use atelier_core::recipe::Recipe;
use atelier_engine::Estimate;

/// As long as most prompts are: a text encoder's buffer grows with what it reads.
const PROMPT: &str = "a lake between mountains at dawn, mist over the water, pine trees, soft light";

/// What is known of models, and what is being asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fitting {
    known: BTreeMap<String, Known>,
    /// The model that is asked about, as it was then, and the very recipe.
    pending: Option<(String, About, Recipe)>,
    /// The devices that everything was judged against, without what is in their memory.
    devices: Vec<Device>,
}

/// What the engine said of a model.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    of: About,
    size_px: (u32, u32),
    /// `None` where it could not say.
    estimate: Option<Estimate>,
}

/// What an answer depends on. Files that were changed have another time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct About {
    bytes: Option<u64>,
    added: Option<u64>,
    flash_attention: bool,
    vae_tiling: bool,
}

impl About {
    fn of(card: &ModelCard, recipe: &Recipe) -> Self {
        let Recipe { flash_attention, vae_tiling, .. } = *recipe;
        Self { bytes: card.bytes, added: card.added, flash_attention, vae_tiling }
    }
}

impl Fitting {
    /// Another question takes the place of the one that is pending; it is asked again later.
    pub(crate) fn outdo(&mut self) {
        self.pending = None;
    }

    pub(crate) fn is_about(&self, recipe: &Recipe) -> bool {
        self.pending.as_ref().is_some_and(|(.., pending)| pending == recipe)
    }
}

/// Judges what is known against the devices, and asks about the next model on the screen.
pub(crate) fn refresh(state: &mut State, board: &devices::State, context: &Context<'_>) {
    let devices = &board.board.devices;
    let same = devices.len() == state.fitting.devices.len()
        && devices
            .iter()
            .zip(&state.fitting.devices)
            .all(|(one, other)| (&one.name, one.memory_total_bytes, one.kind) == (&other.name, other.memory_total_bytes, other.kind));
    if !same {
        state.fitting.devices.clone_from(devices);
        let ids: Vec<String> = state.fitting.known.keys().cloned().collect();
        for id in &ids {
            judge(state, id);
        }
    }
    let idle = context.shared.jobs.is_empty() && !board.board.estimate_pending && state.fitting.pending.is_none();
    if context.shared.screen != Screen::Models || !idle || state.fitting.devices.is_empty() {
        return;
    }
    let Some((id, of, recipe)) = next_model(state, &context.shared.recipe) else { return };
    if log_if_busy(context.engine.estimate(recipe.clone())) {
        state.fitting.pending = Some((id, of, recipe));
    }
}

/// The next model to ask about: the one whose details are shown, then those on the screen.
fn next_model(state: &State, recipe_now: &Recipe) -> Option<(String, About, Recipe)> {
        let (from, to) = state.seen;
    let seen = state.shown.get(from..to.min(state.shown.len())).unwrap_or_default();
    let seen = seen.iter().filter_map(|at| state.library.cards.get(*at));
    let card = state.opened().into_iter().chain(seen).find(|card| {
        let of = About::of(card, recipe_now);
        card.runnable.is_some() && state.fitting.known.get(&card.id).is_none_or(|it| it.of != of)
    })?;
    let Recipe { flash_attention, vae_tiling, .. } = *recipe_now;
    let mut recipe = Recipe { flash_attention, vae_tiling, prompt: PROMPT.into(), ..Recipe::default() };
    card.runnable.as_ref()?.apply(&mut recipe);
    Some((card.id.clone(), About::of(card, &recipe), recipe))
}

/// The engine has said what the model takes, or that it cannot say it.
pub(crate) fn estimated(state: &mut State, estimate: Option<Estimate>) {
    let Some((id, of, recipe)) = state.fitting.pending.take() else { return };
    state.fitting.known.insert(id.clone(), Known { of, size_px: (recipe.width, recipe.height), estimate });
    judge(state, &id);
}

fn judge(state: &mut State, id: &str) {
    let Some(known) = state.fitting.known.get(id) else { return };
    let estimate = known.estimate.as_ref();
    let predicted = estimate.and_then(|it| Predicted::of(&state.fitting.devices, it, known.size_px));
    state.set_predicted(id, predicted);
}
