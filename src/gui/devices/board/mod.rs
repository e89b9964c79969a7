//! State of the Devices view: the placement of the recipe's modules, the memory it takes, and the planner's suggestion.
//!
//! The recipe's placement text is the only source. Everything else is derived from it, from the devices and from the engine's estimate, and
//! is recomputed only after one of these has changed ([`Board::follow`]). Pure: the time is an argument. Requests to the engine and drawing
//! do not belong here.

mod asked;
mod command;
mod moves;
mod remedy;
mod server;
mod suggestion;

use std::collections::{BTreeMap, BTreeSet};

use crate::settings::{NamedPlacement, Settings};
use atelier_core::device::{Device, DeviceKind, cards};
use atelier_core::placement::{
    Budgets, DeviceCapacity, Module, Phase, Placement, Plan, Prediction, WeightLocation, notes, parse_backend, parse_params_backend, pins,
};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_engine::{Estimate, OutOfMemory, Peak};
use suggestion::PlanningInputs;

pub use command::BoardCommand;
pub use moves::{CardMove, CardPart, MoveOutcome, is_unreachable};
pub use remedy::Remedy;
pub use server::{Server, ServerState, tunnel};

pub use suggestion::Suggestion;

pub(in crate::gui) use asked::{Asked, model_key};
pub(in crate::gui) use server::found;

/// Seconds without a change before the planner runs: a drag changes the placement at every point, and only its end needs a plan.
const PLAN_DELAY_SECS: f64 = 0.08;

/// Placement of the recipe's modules on the devices, with predicted memory and the planner's suggestion.
#[derive(Default)]
pub struct Board {
    /// Devices in the engine's last answer, sorted by kind: GPU first, CPU last.
    pub devices: Vec<Device>,
    /// Modules in use according to the estimate; before the first estimate, those of the recipe's files.
    pub modules: Vec<Module>,
    /// Parsed placement text; while the text has errors, its last readable version.
    pub placement: Option<Placement>,
    /// Parse errors of backend, params backend and max VRAM, in this order.
    pub text_errors: [Option<String>; 3],
    /// The engine's estimate for the recipe.
    pub estimate: Option<Estimate>,
    /// True while the estimate is of an older recipe and a newer one is on its way.
    pub waiting: bool,
    /// The engine's reason for giving no estimate.
    pub failure: Option<String>,
    /// Memory of the devices as the planner counts it.
    pub rooms: Vec<DeviceCapacity>,
    /// Predicted memory of the placement.
    pub prediction: Option<Prediction>,
    /// The planner's answer to the placement.
    pub suggestion: Suggestion,
    /// Changes that make the recipe fit; empty while it fits.
    pub remedies: Vec<Remedy>,
    /// Sentences about parts of the placement that the engine ignores.
    pub notes: Vec<String>,
    /// Modules that the planner does not move.
    pub pins: BTreeSet<Module>,
    /// Bytes of resident weights by device.
    pub held: BTreeMap<String, u64>,
    /// Servers whose devices are borrowed.
    pub servers: Vec<Server>,
    /// Text of the field for a server's address; `None` while the field is closed.
    pub typed_server: Option<String>,
    /// Saved placements of all models.
    pub named: Vec<NamedPlacement>,
    /// Key of this model's saved placements ([`model_key`]).
    pub model: String,
    /// Text of the field for a placement's name; `None` while the field is closed.
    pub typed_name: Option<String>,
    /// Sentences about parts of a pasted command that did not reach the recipe.
    pub left_out: Vec<String>,
    /// Chosen devices of cards that several backends offer.
    chosen_backends: BTreeSet<String>,
    /// Measured memory of the last run, with the placement and estimate key of that run.
    measured_peaks: Option<((PlacementText, Asked), Vec<Peak>)>,
    outcomes: Vec<(CardMove, MoveOutcome)>,
    /// A person's choice to show or hide the plan; `None` until one is made for this placement.
    plan_visibility: Option<bool>,
    /// Placement and estimate key at the last computation.
    computed_for: Option<(PlacementText, Asked)>,
    stale: bool,
    changed_at_secs: Option<f64>,
}

impl Board {
    /// A board with the pins, saved placements and servers of the settings.
    #[must_use]
    pub fn kept(settings: &Settings) -> Self {
        let servers = settings.servers.iter().filter_map(|address| address.parse().ok());
        Self {
            pins: settings.pins.clone().unwrap_or_default(),
            named: settings.placements.clone(),
            servers: servers.map(Server::new).collect(),
            ..Self::default()
        }
    }

    /// Recomputes whatever depends on something that has changed. Returns the seconds until the next call is due; `None` when nothing is left
    /// to compute.
    pub fn follow(&mut self, recipe: &Recipe, now_secs: f64) -> Option<f64> {
        let key = Asked::of(recipe);
        if self.computed_for.as_ref().is_some_and(|(_, before)| !before.is_same_model(&key)) {
            // Numbers of another model mislead, even for one frame.
            (self.estimate, self.failure) = (None, None);
        }
        let same = self.computed_for.as_ref().is_some_and(|(text, before)| *text == recipe.placement && *before == key);
        if !same || self.stale {
            let first = self.computed_for.is_none();
            if self.computed_for.as_ref().is_none_or(|(text, _)| *text != recipe.placement) {
                self.plan_visibility = None;
            }
            self.model = model_key(&recipe.files);
            self.computed_for = Some((recipe.placement.clone(), key));
            self.stale = false;
            self.recompute(recipe);
            // At the start nobody is dragging anything: plan at once.
            self.changed_at_secs = Some(if first { now_secs - PLAN_DELAY_SECS } else { now_secs });
        }
        let rest = self.changed_at_secs? + PLAN_DELAY_SECS - now_secs;
        if rest > 0.0 {
            return Some(rest);
        }
        self.changed_at_secs = None;
        let inputs = self.planning_inputs();
        let suggestion = inputs.map_or(Suggestion::Unknown, |it| it.suggest(&self.rooms));
        let remedies = inputs.filter(|_| self.is_over()).map_or_else(Vec::new, |it| it.remedies(&self.rooms));
        (self.suggestion, self.remedies) = (suggestion, remedies);
        None
    }

    /// True when prediction and estimate are of this very recipe.
    #[must_use]
    pub fn is_about(&self, recipe: &Recipe) -> bool {
        let computed = self.computed_for.as_ref().is_some_and(|(text, key)| *text == recipe.placement && *key == Asked::of(recipe));
        computed && !self.waiting
    }

    /// Asks for a recomputation at the next [`Self::follow`], after a change outside the recipe.
    pub fn touch(&mut self) {
        self.stale = true;
    }

    fn recompute(&mut self, recipe: &Recipe) {
        let text = &recipe.placement;
        let no_slack = BTreeMap::new();
        let slack = self.estimate.as_ref().map_or(&no_slack, |it| &it.slack_bytes);
        self.rooms =
            self.devices.iter().map(|device| DeviceCapacity::for_planning(device, slack.get(&device.name).copied().unwrap_or(0))).collect();
        self.text_errors = text_errors(text, &self.devices);
        if !self.devices.is_empty() {
            let exists = |name: &str| self.devices.iter().any(|device| device.name == name);
            let devices_exist = |placement: &Placement| {
                let seats = Module::ALL.into_iter().map(|module| placement.assignment(module));
                seats.into_iter().all(|seat| exists(&seat.runs_on) && (seat.weights == WeightLocation::Disk || exists(seat.weights.name())))
            };
            // A text with errors leaves the last placement; without one, the default placement is shown.
            let last = self.placement.take().filter(devices_exist);
            let default = || Placement::parse(&PlacementText::default(), &self.devices).ok();
            self.placement = Placement::parse(text, &self.devices).ok().or(last).or_else(default);
        }
        self.modules = match &self.estimate {
            Some(estimate) => estimate.needs.modules.keys().copied().collect(),
            None => recipe.files.modules(),
        };
        let needs = self.estimate.as_ref().map(|it| &it.needs);
        self.prediction = self.placement.as_ref().zip(needs).and_then(|(it, needs)| Prediction::of(it, needs, &self.rooms).ok());
        self.notes = self.placement.as_ref().map_or_else(Vec::new, |it| notes(it, &self.devices, &self.modules));
        self.outcomes = self.compute_outcomes();
    }

    fn compute_outcomes(&self) -> Vec<(CardMove, MoveOutcome)> {
        let Some(placement) = &self.placement else { return Vec::new() };
        let needs = self.estimate.as_ref().map(|it| &it.needs);
        let homes = || self.devices.iter().map(|device| WeightLocation::Device(device.name.clone())).chain([WeightLocation::Disk]);
        let moves = self.modules.iter().flat_map(|module| {
            [CardPart::Runtime, CardPart::Weights]
                .into_iter()
                .flat_map(move |part| homes().map(move |to| CardMove { module: *module, part, to }))
        });
        moves.map(|it| (it.clone(), it.outcome(placement, &self.devices, needs, &self.rooms))).collect()
    }

    /// Predicted outcome of a move.
    #[must_use]
    pub fn outcome(&self, wanted: &CardMove) -> &MoveOutcome {
        const UNKNOWN: &MoveOutcome = &MoveOutcome::Impossible("The devices are still being looked for.");
        self.outcomes.iter().find(|(it, _)| it == wanted).map_or(UNKNOWN, |(_, outcome)| outcome)
    }

    /// True when the placement takes more memory than a device may give.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.prediction.as_ref().is_some_and(|it| !it.fits())
    }

    /// Devices without enough memory: name, phase of the highest use, missing bytes.
    #[must_use]
    pub fn lacks(&self) -> Vec<(&str, Phase, u64)> {
        let devices = self.prediction.iter().flat_map(|it| &it.devices).filter(|it| it.missing_bytes() > 0);
        devices.map(|it| (it.name.as_str(), it.peak().0, it.missing_bytes())).collect()
    }

    /// Memory of a device as the planner counts it.
    #[must_use]
    pub fn room(&self, device: &str) -> Option<&DeviceCapacity> {
        self.rooms.iter().find(|room| room.device.name == device)
    }

    /// Saved placements of this model.
    pub fn named_here(&self) -> impl Iterator<Item = &NamedPlacement> {
        self.named.iter().filter(|it| it.model == self.model)
    }

    /// The plan, if it is shown: on request, or unasked while the placement does not fit.
    #[must_use]
    pub fn plan_shown(&self) -> Option<&Plan> {
        match &self.suggestion {
            Suggestion::Plan(plan) if self.plan_visibility.unwrap_or(self.is_over()) => Some(plan),
            _ => None,
        }
    }

    /// Shows or hides the plan until the placement changes.
    pub fn want_plan(&mut self, wanted: bool) {
        self.plan_visibility = Some(wanted);
    }

    /// Bytes of a device that the last run used in a phase, without other models; `None` if that was a run of another recipe or placement.
    #[must_use]
    pub fn measured(&self, device: &str, phase: Phase) -> Option<u64> {
        let (_, peaks) = self.measured_peaks.as_ref().filter(|(of, _)| Some(of) == self.computed_for.as_ref())?;
        let peak = peaks.iter().find(|peak| peak.device == device && peak.phase == phase)?;
        Some(peak.bytes.saturating_sub(peak.others_bytes))
    }

    /// Stores the measured memory of a run of this recipe.
    pub fn set_measured(&mut self, recipe: &Recipe, peaks: Vec<Peak>) {
        self.measured_peaks = Some(((recipe.placement.clone(), Asked::of(recipe)), peaks));
    }

    /// Devices that have a column. Of a card that several backends offer: those in use, else the chosen one, else the first. Accelerators of
    /// the CPU have a column only while they are used.
    #[must_use]
    pub fn columns(&self) -> Vec<&Device> {
        let mut columns = Vec::new();
        for card in cards(&self.devices) {
            let used: Vec<&Device> = card.iter().copied().filter(|device| self.is_used(&device.name)).collect();
            let chosen = card.iter().find(|device| self.chosen_backends.contains(&device.name)).or(card.first());
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
        self.devices.iter().filter(|other| other.name != device.name && other.shares_card(device)).collect()
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

    /// Remedies after a device ran out of memory: its capacity is taken from the failure in place of the prediction.
    #[must_use]
    pub fn remedies_after(&self, met: &OutOfMemory) -> Vec<Remedy> {
        let rooms = suggestion::rooms_after_failure(&self.rooms, self.prediction.as_ref(), met);
        self.planning_inputs().map_or_else(Vec::new, |it| it.remedies(&rooms))
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
