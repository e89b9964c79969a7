//! Asks the engine what models of the Models view take, so that it can say whether they fit: those on the screen, one after the other,
//! while nothing else is asked of it and no picture is made. Nothing here waits.

use std::collections::BTreeMap;

use crate::gui::App;
use crate::gui::devices::link::sent;
use crate::gui::models::{ModelCard, Predicted};
use crate::gui::state::Screen;
use atelier_core::device::Device;
use atelier_core::recipe::Recipe;
use atelier_engine::Estimate;

/// As long as most prompts are: a text encoder's buffer grows with what it reads.
const PROMPT: &str = "a lake between mountains at dawn, mist over the water, pine trees, soft light";

/// What is known of models, and what is being asked.
#[derive(Default)]
pub(crate) struct Fitting {
    known: BTreeMap<String, Known>,
    /// The model that is asked about, as it was then, and the very recipe.
    pending: Option<(String, About, Recipe)>,
    /// The devices that everything was judged against, without what is in their memory.
    devices: Vec<Device>,
}

/// What the engine said of a model.
struct Known {
    of: About,
    size_px: (u32, u32),
    /// `None` where it could not say.
    estimate: Option<Estimate>,
}

/// What an answer depends on. Files that were changed have another time.
#[derive(Clone, Copy, PartialEq)]
struct About {
    bytes: Option<u64>,
    added: Option<u64>,
    flash_attention: bool,
    vae_tiling: bool,
}

impl About {
    fn of(card: &ModelCard, recipe: &Recipe) -> Self {
        let Recipe { flash_attention, vae_tiling, .. } = *recipe;
        Self { bytes: card.bytes, added: card.added_nanos, flash_attention, vae_tiling }
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

impl App {
    /// Judges what is known against the devices, and asks about the next model on the screen.
    pub(crate) fn follow_fits(&mut self) {
        let devices = &self.state.board.devices;
        let same = devices.len() == self.fitting.devices.len()
            && devices
                .iter()
                .zip(&self.fitting.devices)
                .all(|(one, other)| (&one.name, one.memory_total_bytes, one.kind) == (&other.name, other.memory_total_bytes, other.kind));
        if !same {
            self.fitting.devices.clone_from(devices);
            let ids: Vec<String> = self.fitting.known.keys().cloned().collect();
            for id in &ids {
                self.judge(id);
            }
        }
        let idle = self.state.jobs.is_empty() && !self.state.board.waiting && self.fitting.pending.is_none();
        if self.state.screen != Screen::Models || !idle || self.fitting.devices.is_empty() {
            return;
        }
        let Some((id, of, recipe)) = self.next_model() else { return };
        if sent(self.handle.estimate(recipe.clone())) {
            self.fitting.pending = Some((id, of, recipe));
        }
    }

    /// The next model to ask about: the one whose details are shown, then those on the screen.
    fn next_model(&self) -> Option<(String, About, Recipe)> {
        let view = &self.state.models;
        let (from, to) = view.seen;
        let seen = view.shown.get(from..to.min(view.shown.len())).unwrap_or_default();
        let seen = seen.iter().filter_map(|at| view.library.cards.get(*at));
        let card = view.opened().into_iter().chain(seen).find(|card| {
            let of = About::of(card, &self.state.recipe);
            card.runnable.is_some() && self.fitting.known.get(&card.id).is_none_or(|it| it.of != of)
        })?;
        let Recipe { flash_attention, vae_tiling, .. } = self.state.recipe;
        let mut recipe = Recipe { flash_attention, vae_tiling, prompt: PROMPT.into(), ..Recipe::default() };
        card.runnable.as_ref()?.apply(&mut recipe);
        Some((card.id.clone(), About::of(card, &recipe), recipe))
    }

    /// The engine has said what the model takes, or that it cannot say it.
    pub(crate) fn weighed(&mut self, estimate: Option<Estimate>) {
        let Some((id, of, recipe)) = self.fitting.pending.take() else { return };
        self.fitting.known.insert(id.clone(), Known { of, size_px: (recipe.width, recipe.height), estimate });
        self.judge(&id);
    }

    fn judge(&mut self, id: &str) {
        let Some(known) = self.fitting.known.get(id) else { return };
        let estimate = known.estimate.as_ref();
        let predicted = estimate.and_then(|it| Predicted::of(&self.fitting.devices, it, known.size_px));
        self.state.models.set_predicted(id, predicted);
    }
}
