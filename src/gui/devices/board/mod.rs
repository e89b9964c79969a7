//! The board: the placement of the recipe's modules, the memory it takes, and the planner's
//! suggestion.
//!
//! The recipe's placement text is the only source. Everything else is derived from it, from the
//! devices and from the engine's estimate, and is recomputed only after one of these has changed
//! ([`Board::refresh`]). Pure: the time is an argument. Requests to the engine and drawing do not
//! belong here.

mod automatic;
mod card_move;
mod model_key;
mod remedy;
mod server;
mod shortage;
mod suggestion;
mod time;

use std::collections::{BTreeMap, BTreeSet};

use atelier_core::device::{Device, DeviceKind, gpus};
use atelier_core::placement::{
    BudgetOffer, Budgets, DeviceCapacity, Module, ModuleSet, Needs, Phase, Placement, Plan, Prediction, RankedPlacement, WeightLocation,
    notes, parse_backend, parse_params_backend, pins,
};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_engine::{Copies, Estimate, EstimateKey, OutOfMemory, Peak};
use atelier_language::tr;
use suggestion::PlanningInputs;

pub use automatic::Automatic;
pub use card_move::{CardMove, CardPart, MoveOutcome, is_unreachable};
pub use remedy::Remedy;
pub use server::{RemoteServer, ServerState, ssh_tunnel_command};
pub use shortage::Shortage;
pub use suggestion::Suggestion;
pub use time::{PictureTimes, is_too_slow, time_sentence};

pub(in crate::gui) use model_key::model_key;
pub(in crate::gui) use server::test_summary;

/// Seconds without a change before the planner runs: a drag changes the placement at every point,
/// and only its end needs a plan.
const PLAN_DELAY_SECS: f64 = 0.08;

/// Memory that a run took, and weights that it copied.
type Measured = (Vec<Peak>, Vec<Copies>);

/// Placement of the recipe's modules on the devices, with predicted memory and the planner's
/// suggestion.
#[derive(Default)]
pub struct Board {
    /// Devices in the engine's last answer, sorted by kind: GPU first, CPU last.
    pub devices: Vec<Device>,
    /// Modules in use according to the estimate; before the first estimate, those of the recipe's
    /// files.
    pub modules: Vec<Module>,
    /// Parsed placement text; while the text has errors, its last readable version.
    pub placement: Option<Placement>,
    /// Parse errors of backend, params backend and max VRAM, in this order.
    pub text_errors: [Option<String>; 3],
    /// The engine's estimate for the recipe.
    pub estimate: Option<Estimate>,
    /// True while the estimate is of an older recipe and a newer one is on its way.
    pub estimate_pending: bool,
    /// The engine's reason for giving no estimate.
    pub estimate_error: Option<String>,
    /// Memory of the devices as the planner counts it.
    pub capacities: Vec<DeviceCapacity>,
    /// Predicted memory of the placement.
    pub prediction: Option<Prediction>,
    /// Times of pictures, predicted and measured.
    pub times: PictureTimes,
    /// The planner's answer to the placement.
    pub suggestion: Suggestion,
    /// Budgets with which streaming costs little time.
    pub budget_offers: Vec<BudgetOffer>,
    /// Changes that make the recipe fit; empty while it fits.
    pub remedies: Vec<Remedy>,
    /// Sentences about parts of the placement that the engine ignores.
    pub notes: Vec<String>,
    /// Modules that run as a whole although others of their kind have layers.
    pub whole: ModuleSet,
    /// The placement with what streaming lacks, where it was asked for without.
    pub with_needs_of_streaming: Option<Placement>,
    /// Placement that Atelier chooses where the recipe names none.
    pub automatic: Automatic,
    /// Modules that the planner does not move.
    pub pins: BTreeSet<Module>,
    /// Bytes of resident weights by device.
    pub resident_bytes: BTreeMap<String, u64>,
    /// Key of this model's saved placements (`model_key`).
    pub model_key: String,
    /// Chosen devices of cards that several backends offer.
    chosen_backends: BTreeSet<String>,
    /// Measured memory of the last run, and what it copied, with the placement and estimate key of
    /// that run.
    measured: Option<((PlacementText, EstimateKey), Measured)>,
    outcomes: Vec<(CardMove, MoveOutcome)>,
    /// A person's choice to show or hide the plan; `None` until one is made for this placement.
    plan_visibility: Option<bool>,
    /// Placement and estimate key at the last computation.
    computed_for: Option<(PlacementText, EstimateKey)>,
    stale: bool,
    changed_at_secs: Option<f64>,
}

impl Board {
    /// A board without devices, with these pinned modules. `automatic`: Atelier places recipes that
    /// name no device.
    #[must_use]
    pub fn new(pins: BTreeSet<Module>, automatic: bool) -> Self {
        Self { pins, automatic: Automatic { is_on: automatic, ..Automatic::default() }, ..Self::default() }
    }

    /// Sets whether Atelier places recipes that name no device.
    pub fn set_places_automatically(&mut self, is_on: bool) {
        self.automatic.is_on = is_on;
        self.mark_stale();
    }

    /// Sets the placement with which the chosen model is in memory.
    pub fn set_in_use(&mut self, in_use: Option<&PlacementText>) {
        if self.automatic.in_use.as_ref() != in_use {
            self.automatic.in_use = in_use.cloned();
            self.mark_stale();
        }
    }

    /// Recomputes whatever depends on something that has changed. Returns the seconds until the
    /// next call is due; `None` when nothing is left to compute.
    pub fn refresh(&mut self, recipe: &Recipe, now_secs: f64) -> Option<f64> {
        let key = EstimateKey::of(recipe);
        if self.computed_for.as_ref().is_some_and(|(_, before)| !before.is_same_model(&key)) {
            // Numbers of another model mislead, even for one frame.
            (self.estimate, self.estimate_error) = (None, None);
        }
        let same = self.computed_for.as_ref().is_some_and(|(text, before)| *text == recipe.placement && *before == key);
        let was_stale = self.stale;
        if !same || was_stale {
            let first = self.computed_for.is_none();
            if self.computed_for.as_ref().is_none_or(|(text, _)| *text != recipe.placement) {
                self.plan_visibility = None;
            }
            self.model_key = model_key(&recipe.files);
            self.computed_for = Some((recipe.placement.clone(), key));
            self.stale = false;
            self.recompute(recipe);
            // At the start nobody is dragging anything: plan at once.
            self.changed_at_secs = Some(if first { now_secs - PLAN_DELAY_SECS } else { now_secs });
        }
        let inputs = self.estimate.as_ref().zip(self.placement.as_ref()).zip(self.prediction.as_ref());
        self.times.refresh(recipe, !same || was_stale, inputs.map(|((estimate, placement), prediction)| (estimate, placement, prediction)));
        let rest = self.changed_at_secs? + PLAN_DELAY_SECS - now_secs;
        if rest > 0.0 {
            return Some(rest);
        }
        self.changed_at_secs = None;
        let inputs = self.planning_inputs();
        let is_chosen = self.computed_for.as_ref().is_some_and(|(text, _)| self.automatic.places(text)) && !self.exceeds_memory();
        let suggest = |it: PlanningInputs<'_>| if is_chosen { Suggestion::AlreadyBest } else { it.suggest(&self.capacities) };
        let suggestion = inputs.map_or(Suggestion::Unknown, suggest);
        let remedies = inputs.filter(|_| self.exceeds_memory()).map_or_else(Vec::new, |it| it.remedies(&self.capacities));
        let budget_offers = inputs.map_or_else(Vec::new, |it| it.budget_offers(&self.capacities));
        (self.suggestion, self.remedies, self.budget_offers) = (suggestion, remedies, budget_offers);
        None
    }

    /// True when prediction and estimate are of this very recipe.
    #[must_use]
    pub fn is_current_for(&self, recipe: &Recipe) -> bool {
        let computed = self.computed_for.as_ref().is_some_and(|(text, key)| *text == recipe.placement && *key == EstimateKey::of(recipe));
        computed && !self.estimate_pending
    }

    /// Asks for a recomputation at the next [`Self::refresh`], after a change outside the recipe.
    pub fn mark_stale(&mut self) {
        self.stale = true;
    }

    fn recompute(&mut self, recipe: &Recipe) {
        let text = &recipe.placement;
        let no_slack = BTreeMap::new();
        let slack = self.estimate.as_ref().map_or(&no_slack, |it| &it.slack_bytes);
        let overhead = |device: &Device| slack.get(&device.name).copied().unwrap_or(0);
        self.capacities = self.devices.iter().map(|device| DeviceCapacity::for_planning(device, overhead(device))).collect();
        self.text_errors = text_errors(text, &self.devices);
        if !self.devices.is_empty() {
            let exists = |name: &str| self.devices.iter().any(|device| device.name == name);
            let devices_exist = |placement: &Placement| {
                let assignments = Module::ALL.into_iter().map(|module| placement.assignment(module));
                assignments.into_iter().all(|assignment| {
                    exists(&assignment.runs_on) && (assignment.weights == WeightLocation::Disk || exists(assignment.weights.name()))
                })
            };
            // A text with errors leaves the last placement; without one, the default placement is
            // shown.
            let last = self.placement.take().filter(devices_exist);
            let default = || Placement::parse(&PlacementText::default(), &self.devices).ok();
            self.placement = Placement::parse(text, &self.devices).ok().or(last).or_else(default);
        }
        let estimate = self.estimate.as_ref().filter(|_| self.automatic.places(text));
        let chosen = estimate.and_then(|it| self.automatic.choose(it, &self.devices, &self.capacities));
        self.automatic.note = chosen.as_ref().and_then(|it| it.note.clone());
        self.placement = chosen.map(|it| it.placement).or_else(|| self.placement.take());
        self.modules = match &self.estimate {
            Some(estimate) => estimate.needs.modules.keys().copied().collect(),
            None => recipe.files.modules(),
        };
        let needs = self.estimate.as_ref().map(|it| &it.needs);
        self.prediction = self.placement.as_ref().zip(needs).and_then(|(it, needs)| Prediction::of(it, needs, &self.capacities).ok());
        let whole = needs.map_or(ModuleSet::NONE, Needs::whole);
        self.notes = self.placement.as_ref().map_or_else(Vec::new, |it| notes(it, &self.devices, &self.modules, whole));
        self.with_needs_of_streaming = self.placement.as_ref().and_then(|it| it.with_needs_of_streaming(&self.devices, whole));
        self.whole = whole;
        self.outcomes = self.compute_outcomes();
    }

    fn compute_outcomes(&self) -> Vec<(CardMove, MoveOutcome)> {
        let Some(placement) = &self.placement else { return Vec::new() };
        let needs = self.estimate.as_ref().map(|it| &it.needs);
        let locations = || self.devices.iter().map(|device| WeightLocation::Device(device.name.clone())).chain([WeightLocation::Disk]);
        let moves = self.modules.iter().flat_map(|module| {
            [CardPart::Runtime, CardPart::Weights]
                .into_iter()
                .flat_map(move |part| locations().map(move |to| CardMove { module: *module, part, to }))
        });
        moves.map(|it| (it.clone(), it.outcome(placement, &self.devices, needs, &self.capacities))).collect()
    }

    /// Predicted outcome of a move.
    #[must_use]
    pub fn outcome(&self, card_move: &CardMove) -> MoveOutcome {
        let known = self.outcomes.iter().find(|(it, _)| it == card_move).map(|(_, outcome)| outcome.clone());
        known.unwrap_or_else(|| MoveOutcome::Impossible(tr!("devices-still-looking-for-devices")))
    }

    /// True when the placement takes more memory than a device may give.
    #[must_use]
    pub fn exceeds_memory(&self) -> bool {
        self.prediction.as_ref().is_some_and(|it| !it.fits())
    }

    /// Devices without enough memory: name, phase of the highest use, missing bytes.
    #[must_use]
    pub fn shortfalls(&self) -> Vec<(&str, Phase, u64)> {
        let devices = self.prediction.iter().flat_map(|it| &it.devices).filter(|it| it.missing_bytes() > 0);
        devices.map(|it| (it.name.as_str(), it.peak().0, it.missing_bytes())).collect()
    }

    /// Why the first device without enough memory has too little; `None` where all fits.
    #[must_use]
    pub fn shortage(&self) -> Option<Shortage> {
        Shortage::of(self.prediction.as_ref()?, self.placement.as_ref()?, &self.capacities)
    }

    /// Memory of a device as the planner counts it.
    #[must_use]
    pub fn capacity(&self, device: &str) -> Option<&DeviceCapacity> {
        self.capacities.iter().find(|capacity| capacity.device.name == device)
    }

    /// The plan, if it is shown: on request, or unasked while the placement does not fit.
    #[must_use]
    pub fn visible_plan(&self) -> Option<&Plan> {
        match &self.suggestion {
            Suggestion::Plan(plan) if self.plan_visibility.unwrap_or(self.exceeds_memory()) => Some(plan),
            _ => None,
        }
    }

    /// Shows or hides the plan until the placement changes.
    pub fn set_plan_visible(&mut self, visible: bool) {
        self.plan_visibility = Some(visible);
    }

    /// Bytes of a device that the last run used in a phase, without other models; `None` if that
    /// was a run of another recipe or placement.
    #[must_use]
    pub fn measured_bytes(&self, device: &str, phase: Phase) -> Option<u64> {
        let (peaks, _) = self.measured_now()?;
        let peak = peaks.iter().find(|peak| peak.device == device && peak.phase == phase)?;
        Some(peak.bytes.saturating_sub(peak.others_bytes))
    }

    /// Weights that the last run copied to the devices of their modules; empty if that was a run of
    /// another recipe or placement.
    #[must_use]
    pub fn copies(&self) -> &[Copies] {
        self.measured_now().map_or(&[], |(_, copies)| copies)
    }

    fn measured_now(&self) -> Option<&Measured> {
        self.measured.as_ref().filter(|(of, _)| Some(of) == self.computed_for.as_ref()).map(|(_, measured)| measured)
    }

    /// Stores the measured memory of a run of this recipe, and what it copied.
    pub fn set_measured(&mut self, recipe: &Recipe, measured: Measured) {
        self.measured = Some(((recipe.placement.clone(), EstimateKey::of(recipe)), measured));
    }

    /// Devices that have a column. Of a GPU that several backends offer: those in use, else the
    /// chosen one, else the first. Accelerators of the CPU have a column only while they are used.
    #[must_use]
    pub fn columns(&self) -> Vec<&Device> {
        let mut columns = Vec::new();
        for gpu in gpus(&self.devices) {
            let used: Vec<&Device> = gpu.iter().copied().filter(|device| self.is_used(&device.name)).collect();
            let chosen = gpu.iter().find(|device| self.chosen_backends.contains(&device.name)).or(gpu.first());
            match chosen {
                _ if !used.is_empty() => columns.extend(used),
                Some(device) if device.kind != DeviceKind::Accelerator => columns.push(*device),
                Some(_) | None => {}
            }
        }
        columns
    }

    /// Devices of other backends on the same card.
    #[must_use]
    pub fn other_backends(&self, device: &Device) -> Vec<&Device> {
        self.devices.iter().filter(|other| other.name != device.name && other.shares_gpu(device)).collect()
    }

    /// Prefers device `to` over `from` for the column of a card that nothing is placed on.
    pub fn choose_backend(&mut self, from: &str, to: &str) {
        self.chosen_backends.remove(from);
        self.chosen_backends.insert(to.to_owned());
    }

    fn is_used(&self, device: &str) -> bool {
        let Some(placement) = &self.placement else { return false };
        self.modules.iter().map(|module| placement.assignment(*module)).any(|it| it.runs_on == device || it.weights.is(device))
    }

    /// Replaces the devices, sorted by kind.
    pub fn set_devices(&mut self, mut devices: Vec<Device>) {
        devices.sort_by_key(|device| match device.kind {
            DeviceKind::Gpu => 0,
            DeviceKind::IntegratedGpu => 1,
            DeviceKind::Remote => 2,
            DeviceKind::Accelerator => 3,
            DeviceKind::Cpu => 4,
        });
        if devices != self.devices {
            self.devices = devices;
            self.stale = true;
        }
    }

    /// Pins exactly the modules that a text written by a person names.
    pub fn pin_explicit(&mut self, text: &PlacementText) {
        if let Ok(explicit) = pins(text, &self.devices) {
            self.pins = explicit.into_keys().collect();
            self.stale = true;
        }
    }

    /// Remedies after a device ran out of memory: its capacity is taken from the failure in place
    /// of the prediction.
    #[must_use]
    pub fn remedies_after(&self, met: &OutOfMemory) -> Vec<Remedy> {
        let capacities = suggestion::capacities_after_failure(&self.capacities, self.prediction.as_ref(), met);
        self.planning_inputs().map_or_else(Vec::new, |it| it.remedies(&capacities))
    }

    /// Placements that fit round what is pinned, the quickest first.
    #[must_use]
    pub fn ranked(&self) -> Vec<RankedPlacement> {
        self.planning_inputs().map_or_else(Vec::new, |it| it.ranked(&self.capacities))
    }

    fn planning_inputs(&self) -> Option<PlanningInputs<'_>> {
        Some(PlanningInputs {
            placement: self.placement.as_ref()?,
            estimate: self.estimate.as_ref()?,
            prediction: self.prediction.as_ref()?,
            pins: &self.pins,
        })
    }
}

/// Parse errors of each text by itself. Without devices only the syntax is checked.
fn text_errors(text: &PlacementText, devices: &[Device]) -> [Option<String>; 3] {
    let only = |part: PlacementText| if devices.is_empty() { None } else { Placement::parse(&part, devices).err() };
    let backend =
        parse_backend(&text.backend).err().or_else(|| only(PlacementText { backend: text.backend.clone(), ..PlacementText::default() }));
    let params = parse_params_backend(&text.params_backend)
        .err()
        .or_else(|| only(PlacementText { params_backend: text.params_backend.clone(), ..PlacementText::default() }));
    let budgets = if devices.is_empty() { None } else { Budgets::parse(&text.max_vram, devices).err() };
    [backend, params, budgets].map(|error| error.map(|it| it.to_string()))
}
