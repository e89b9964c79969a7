//! Estimates of models: the engine's answers, the pending query, and the next one. Pure;
//! [`crate::gui::models::update`] sends them.
//!
//! Invariants: at most one query is pending; an answer is used until the inputs of its estimate
//! change.

use std::collections::BTreeMap;

use atelier_core::device::Device;
use atelier_core::recipe::Recipe;
use atelier_engine::Estimate;
use atelier_library::ModelCard;
use atelier_studio::debounce::Debounce;

use crate::gui::models::fit::FitPrediction;

/// Prompt of the estimates, as long as most are: a text encoder's compute buffer grows with the
/// tokens.
const PROMPT: &str = "a lake between mountains at dawn, mist over the water, pine trees, soft light";

/// Estimates by model, and the pending query.
#[derive(Default)]
pub(crate) struct FitQueries {
    answers: BTreeMap<String, StoredEstimate>,
    pending: Option<FitQuery>,
    /// Devices of the current predictions; their free memory is not looked at.
    devices: Vec<Device>,
    /// Ids of the cards on the screen, until they stand.
    pub(crate) standing: Debounce<Vec<String>>,
}

/// Query about a model.
pub(crate) struct FitQuery {
    id: String,
    inputs: Inputs,
    /// The recipe as it is sent, which comes back with the answer.
    pub(crate) recipe: Recipe,
}

/// Answer about a model.
struct StoredEstimate {
    inputs: Inputs,
    recipe: Recipe,
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
    /// Replaces the devices; false where they are the same but for their free memory.
    pub(crate) fn set_devices(&mut self, devices: &[Device]) -> bool {
        let is_same = |one: &Device, other: &Device| {
            (&one.name, one.memory_total_bytes, one.kind) == (&other.name, other.memory_total_bytes, other.kind)
        };
        if devices.len() == self.devices.len() && devices.iter().zip(&self.devices).all(|(one, other)| is_same(one, other)) {
            return false;
        }
        self.devices = devices.to_vec();
        true
    }

    /// Predictions of all answered models for the current devices; `None` where nothing can be
    /// said.
    pub(crate) fn predictions(&self) -> Vec<(String, Option<FitPrediction>)> {
        self.answers.iter().map(|(id, answer)| (id.clone(), self.predict(answer))).collect()
    }

    fn predict(&self, answer: &StoredEstimate) -> Option<FitPrediction> {
        FitPrediction::predict(&self.devices, answer.estimate.as_ref()?, &answer.recipe)
    }

    /// Query about the first of these cards without a current answer; `None` while another one is
    /// pending or no device is known.
    pub(crate) fn next<'a>(&self, mut cards: impl Iterator<Item = &'a ModelCard>, current: &Recipe) -> Option<FitQuery> {
        if self.pending.is_some() || self.devices.is_empty() {
            return None;
        }
        let is_answered = |card: &ModelCard| self.answers.get(&card.id).is_some_and(|it| it.inputs == Inputs::new(card, current));
        let card = cards.find(|card| card.runnable.is_some() && !is_answered(card))?;
        let Recipe { flash_attention, vae_tiling, .. } = *current;
        let mut recipe = Recipe { flash_attention, vae_tiling, prompt: PROMPT.into(), ..Recipe::default() };
        card.runnable.as_ref()?.apply(&mut recipe);
        Some(FitQuery { id: card.id.clone(), inputs: Inputs::new(card, &recipe), recipe })
    }

    /// Forgets the answers, so that all models are asked about again: devices were measured.
    pub(crate) fn forget_answers(&mut self) {
        self.answers.clear();
    }

    /// Records a query that was sent.
    pub(crate) fn set_pending(&mut self, query: FitQuery) {
        self.pending = Some(query);
    }

    /// Drops the pending query; [`Self::next`] returns it again.
    pub(crate) fn drop_pending(&mut self) {
        self.pending = None;
    }

    /// True where an answer for `recipe` belongs to the pending query.
    pub(crate) fn is_pending(&self, recipe: &Recipe) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.recipe == *recipe)
    }

    /// Stores the answer to the pending query, `None` where the engine failed. Returns the model's
    /// id and its prediction.
    pub(crate) fn set_answer(&mut self, estimate: Option<Estimate>) -> Option<(String, Option<FitPrediction>)> {
        let FitQuery { id, inputs, recipe } = self.pending.take()?;
        let answer = StoredEstimate { inputs, recipe, estimate };
        let prediction = self.predict(&answer);
        self.answers.insert(id.clone(), answer);
        Some((id, prediction))
    }
}

#[cfg(test)]
mod tests {
    use atelier_core::device::DeviceKind;
    use atelier_library::{ModelKind, Runnable};

    use super::*;

    fn card(id: &str) -> ModelCard {
        let (files, defaults) = (atelier_core::recipe::ModelFiles::default(), atelier_library::Defaults::default());
        let runnable = Runnable { id: id.into(), name: id.into(), files, loras: Vec::new(), defaults };
        ModelCard { id: id.into(), kind: ModelKind::Model, runnable: Some(runnable), ..ModelCard::default() }
    }

    fn cpu(total_bytes: u64, free_bytes: u64) -> Device {
        Device {
            name: "CPU".into(),
            description: String::new(),
            kind: DeviceKind::Cpu,
            gpu: None,
            memory_total_bytes: total_bytes,
            memory_free_bytes: free_bytes,
            memory_allocated_bytes: 0,
        }
    }

    #[test]
    fn models_are_asked_about_one_after_the_other_and_again_after_a_change() {
        let cards = [card("a"), card("b")];
        let (mut queries, mut current) = (FitQueries::default(), Recipe::default());
        assert!(queries.next(cards.iter(), &current).is_none(), "no device is known");
        assert!(queries.set_devices(&[cpu(16, 16)]));
        assert!(!queries.set_devices(&[cpu(16, 1)]), "free memory does not count");
        for id in ["a", "b"] {
            let query = queries.next(cards.iter(), &current).unwrap();
            assert_eq!(query.id, id);
            let recipe = query.recipe.clone();
            queries.set_pending(query);
            assert!(queries.next(cards.iter(), &current).is_none(), "one is pending");
            assert!(queries.is_pending(&recipe));
            assert_eq!(queries.set_answer(None), Some((id.to_owned(), None)));
        }
        assert!(queries.next(cards.iter(), &current).is_none(), "all are answered");
        current.vae_tiling = !current.vae_tiling;
        let query = queries.next(cards.iter(), &current).unwrap();
        queries.set_pending(query);
        queries.drop_pending();
        queries.forget_answers();
        assert_eq!(queries.set_answer(None), None, "it was dropped");
        assert_eq!(queries.next(cards.iter(), &current).unwrap().id, "a");
    }
}
