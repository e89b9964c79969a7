//! Memory estimates of models, queried from the engine one after the other: the model whose details are shown, then those on the screen.
//! Invariants: no query while a job runs or the Devices view waits for an estimate; nothing here waits.

use std::collections::BTreeMap;

use atelier_core::device::Device;
use atelier_core::recipe::Recipe;
use atelier_engine::Estimate;

use crate::gui::context::{Context, log_if_busy};
use crate::gui::devices;
use crate::gui::models::ModelCard;
use crate::gui::models::fit::FitPrediction;
use crate::gui::models::state::State;
use crate::gui::shared::Screen;

/// Prompt of the estimates, as long as most are: a text encoder's compute buffer grows with the tokens.
const PROMPT: &str = "a lake between mountains at dawn, mist over the water, pine trees, soft light";

/// Estimates by model, and the pending one.
#[derive(Default)]
pub(crate) struct FitQueries {
    answers: BTreeMap<String, StoredEstimate>,
    pending: Option<Query>,
    /// Devices of the current predictions; their free memory is not looked at.
    devices: Vec<Device>,
}

/// Pending question about a model.
struct Query {
    id: String,
    inputs: Inputs,
    /// The recipe as it was sent, which comes back with the answer.
    recipe: Recipe,
}

/// Answer about a model.
struct StoredEstimate {
    inputs: Inputs,
    size_px: (u32, u32),
    /// `None` where the engine failed.
    estimate: Option<Estimate>,
}

/// Inputs of an estimate; an answer for other inputs is outdated. Changed files have another time.
#[derive(Clone, Copy, PartialEq)]
struct Inputs {
    bytes: Option<u64>,
    added_nanos: Option<u64>,
    flash_attention: bool,
    vae_tiling: bool,
}

impl Inputs {
    fn new(card: &ModelCard, recipe: &Recipe) -> Self {
        let Recipe { flash_attention, vae_tiling, .. } = *recipe;
        Self { bytes: card.bytes, added_nanos: card.added_nanos, flash_attention, vae_tiling }
    }
}

impl FitQueries {
    /// Drops the pending query; [`next_query`] queues it again.
    pub(crate) fn drop_pending(&mut self) {
        self.pending = None;
    }

    /// True where an answer for `recipe` belongs to the pending query.
    pub(crate) fn is_pending(&self, recipe: &Recipe) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.recipe == *recipe)
    }
}

/// Updates the predictions after a change of the devices, and asks the next query where the engine is idle.
pub(crate) fn refresh(state: &mut State, devices: &devices::State, context: &Context<'_>) {
    let is_same =
        |one: &Device, other: &Device| (&one.name, one.memory_total_bytes, one.kind) == (&other.name, other.memory_total_bytes, other.kind);
    let now = &devices.board.devices;
    let queries = &mut state.fit_queries;
    let unchanged = now.len() == queries.devices.len() && now.iter().zip(&queries.devices).all(|(one, other)| is_same(one, other));
    if !unchanged {
        queries.devices.clone_from(now);
        let ids: Vec<String> = queries.answers.keys().cloned().collect();
        for id in &ids {
            predict(state, id);
        }
    }
    let is_idle = context.shared.jobs.is_empty() && !devices.board.estimate_pending && state.fit_queries.pending.is_none();
    if context.shared.screen != Screen::Models || !is_idle || state.fit_queries.devices.is_empty() {
        return;
    }
    let Some(query) = next_query(state, &context.shared.recipe) else { return };
    if log_if_busy(context.engine.estimate(query.recipe.clone())) {
        state.fit_queries.pending = Some(query);
    }
}

/// Query about the first model without a current answer: the one whose details are shown, else of those on the screen.
fn next_query(state: &State, current: &Recipe) -> Option<Query> {
    let card = state.open_card().into_iter().chain(state.visible_cards()).find(|card| {
        let answer = state.fit_queries.answers.get(&card.id);
        card.runnable.is_some() && answer.is_none_or(|it| it.inputs != Inputs::new(card, current))
    })?;
    let Recipe { flash_attention, vae_tiling, .. } = *current;
    let mut recipe = Recipe { flash_attention, vae_tiling, prompt: PROMPT.into(), ..Recipe::default() };
    card.runnable.as_ref()?.apply(&mut recipe);
    Some(Query { id: card.id.clone(), inputs: Inputs::new(card, &recipe), recipe })
}

/// Stores the answer to the pending query; `None` where the engine failed.
pub(crate) fn set_estimate(state: &mut State, estimate: Option<Estimate>) {
    let Some(Query { id, inputs, recipe }) = state.fit_queries.pending.take() else { return };
    state.fit_queries.answers.insert(id.clone(), StoredEstimate { inputs, size_px: (recipe.width, recipe.height), estimate });
    predict(state, &id);
}

fn predict(state: &mut State, id: &str) {
    let Some(answer) = state.fit_queries.answers.get(id) else { return };
    let estimate = answer.estimate.as_ref();
    let prediction = estimate.and_then(|it| FitPrediction::predict(&state.fit_queries.devices, it, answer.size_px));
    state.set_prediction(id, prediction);
}
