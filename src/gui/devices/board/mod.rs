//! The board's state: where each module of the recipe runs and where its weights live, what that takes, and what would be better.
//!
//! The recipe's placement text is the one truth; everything here is read from it, from the devices and from the engine's estimate, and is
//! worked out anew only when one of these changes ([`Board::follow`]). Pure but for the clock that is handed in. Not here: asking the engine
//! (`app::link`), drawing (`ui::board`).

mod asked;
mod command;
mod fit;
mod moves;
mod server;

use std::collections::{BTreeMap, BTreeSet};

use crate::settings::{NamedPlacement, Settings};
use atelier_core::device::{Device, DeviceKind, cards};
use atelier_core::placement::{
    Budgets, Home, Module, Phase, Placement, Plan, Prediction, Room, notes, parse_backend, parse_params_backend, pins,
};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_engine::{Estimate, Peak};

pub use command::BoardCommand;
pub use fit::{Fit, Remedy};
pub use moves::{Move, Outcome, Part, is_silent};
pub use server::{Server, ServerState, tunnel};

pub(in crate::gui) use asked::{Asked, model_key};
pub(in crate::gui) use server::found;

/// Seconds that a placement must stay as it is before the planner looks at it: nobody needs a plan for each point of a drag.
const REST_SECS: f64 = 0.08;

/// Where everything runs and lives, and what that takes.
#[derive(Default)]
pub struct Board {
    /// The devices as the engine named them last, the fastest kind first.
    pub devices: Vec<Device>,
    /// The modules in use, or those that the files bring along until the engine says more.
    pub modules: Vec<Module>,
    /// What the text means; the last one that could be read.
    pub placement: Option<Placement>,
    /// What is wrong with each of the three texts.
    pub text_errors: [Option<String>; 3],
    /// What the recipe takes.
    pub estimate: Option<Estimate>,
    /// Whether the estimate is of an older recipe, and a newer one is on its way.
    pub waiting: bool,
    /// Why there is no estimate.
    pub failure: Option<String>,
    /// The devices as the planner sees them.
    pub rooms: Vec<Room>,
    /// What the placement takes.
    pub prediction: Option<Prediction>,
    /// What the planner says to it.
    pub fit: Fit,
    /// What helps where it does not fit.
    pub remedies: Vec<Remedy>,
    /// What would be ignored, in sentences.
    pub notes: Vec<String>,
    /// The modules that the planner must leave where they are.
    pub pins: BTreeSet<Module>,
    /// Bytes that Atelier holds on each device between pictures.
    pub held: BTreeMap<String, u64>,
    /// Other machines whose devices are borrowed.
    pub servers: Vec<Server>,
    /// What is typed where a server can be added; `None`: the field is closed.
    pub typed_server: Option<String>,
    /// Placements with names, of all models.
    pub named: Vec<NamedPlacement>,
    /// The name under which this model's placements are kept.
    pub model: String,
    /// What is typed where a placement can be named; `None`: the field is closed.
    pub typed_name: Option<String>,
    /// What of a pasted command did not reach the recipe, as sentences.
    pub left_out: Vec<String>,
    /// Backends that were chosen for cards that several offer.
    backends: BTreeSet<String>,
    /// What the last run took, and of what it was a run.
    measured: Option<((PlacementText, Asked), Vec<Peak>)>,
    outcomes: Vec<(Move, Outcome)>,
    /// The person wants to see the plan, or does not.
    wants_plan: Option<bool>,
    /// What everything was worked out from.
    followed: Option<(PlacementText, Asked)>,
    stale: bool,
    changed_at_secs: Option<f64>,
}

/// What must be known before anything can be planned.
struct Known<'a> {
    placement: &'a Placement,
    estimate: &'a Estimate,
    prediction: &'a Prediction,
}

impl Board {
    /// The board as it was kept.
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

    /// Follows the recipe. Returns the seconds after which it wants to be called again, where it is not done.
    pub fn follow(&mut self, recipe: &Recipe, now_secs: f64) -> Option<f64> {
        let asked = Asked::of(recipe);
        if self.followed.as_ref().is_some_and(|(_, before)| !before.is_same_model(&asked)) {
            // Another model's numbers are no help, not even for a moment.
            (self.estimate, self.failure) = (None, None);
        }
        let same = self.followed.as_ref().is_some_and(|(text, before)| *text == recipe.placement && *before == asked);
        if !same || self.stale {
            let first = self.followed.is_none();
            if self.followed.as_ref().is_none_or(|(text, _)| *text != recipe.placement) {
                self.wants_plan = None;
            }
            self.model = model_key(&recipe.files);
            self.followed = Some((recipe.placement.clone(), asked));
            self.stale = false;
            self.work_out(recipe);
            // Nobody touched anything yet: the plan can be there at once.
            self.changed_at_secs = Some(if first { now_secs - REST_SECS } else { now_secs });
        }
        let rest = self.changed_at_secs? + REST_SECS - now_secs;
        if rest > 0.0 {
            return Some(rest);
        }
        self.changed_at_secs = None;
        self.fit = self.work_out_fit();
        self.remedies = if self.is_over() { self.remedies(&self.rooms) } else { Vec::new() };
        None
    }

    /// Whether what is predicted is of this very recipe.
    #[must_use]
    pub fn is_about(&self, recipe: &Recipe) -> bool {
        let followed = self.followed.as_ref().is_some_and(|(text, asked)| *text == recipe.placement && *asked == Asked::of(recipe));
        followed && !self.waiting
    }

    /// Something else than the recipe has changed.
    pub fn touch(&mut self) {
        self.stale = true;
    }

    fn work_out(&mut self, recipe: &Recipe) {
        let text = &recipe.placement;
        let no_slack = BTreeMap::new();
        let slack = self.estimate.as_ref().map_or(&no_slack, |it| &it.slack_bytes);
        self.rooms = self.devices.iter().map(|device| room(device, &self.held, slack)).collect();
        self.text_errors = text_errors(text, &self.devices);
        if !self.devices.is_empty() {
            let is_there = |name: &str| self.devices.iter().any(|device| device.name == name);
            let still_there = |placement: &Placement| {
                let seats = Module::ALL.into_iter().map(|module| placement.seat(module));
                seats.into_iter().all(|seat| is_there(&seat.runs_on) && (seat.weights == Home::Disk || is_there(seat.weights.name())))
            };
            // A text that cannot be read leaves the board as it is; where there is nothing to leave, it shows the usual placement.
            let last = self.placement.take().filter(still_there);
            let usual = || Placement::parse(&PlacementText::default(), &self.devices).ok();
            self.placement = Placement::parse(text, &self.devices).ok().or(last).or_else(usual);
        }
        self.modules = match &self.estimate {
            Some(estimate) => estimate.needs.modules.keys().copied().collect(),
            None => recipe.files.modules(),
        };
        let needs = self.estimate.as_ref().map(|it| &it.needs);
        self.prediction = self.placement.as_ref().zip(needs).and_then(|(it, needs)| Prediction::of(it, needs, &self.rooms).ok());
        self.notes = self.placement.as_ref().map_or_else(Vec::new, |it| notes(it, &self.devices, &self.modules));
        self.outcomes = self.all_outcomes();
    }

    fn all_outcomes(&self) -> Vec<(Move, Outcome)> {
        let Some(placement) = &self.placement else { return Vec::new() };
        let needs = self.estimate.as_ref().map(|it| &it.needs);
        let homes = || self.devices.iter().map(|device| Home::Device(device.name.clone())).chain([Home::Disk]);
        let moves = self.modules.iter().flat_map(|module| {
            [Part::Runs, Part::Weights].into_iter().flat_map(move |part| homes().map(move |to| Move { module: *module, part, to }))
        });
        moves.map(|it| (it.clone(), it.outcome(placement, &self.devices, needs, &self.rooms))).collect()
    }

    /// What would come of a move.
    #[must_use]
    pub fn outcome(&self, wanted: &Move) -> &Outcome {
        const UNKNOWN: &Outcome = &Outcome::Never("The devices are still being looked for.");
        self.outcomes.iter().find(|(it, _)| it == wanted).map_or(UNKNOWN, |(_, outcome)| outcome)
    }

    /// Whether the placement wants more memory than there is.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.prediction.as_ref().is_some_and(|it| !it.fits())
    }

    /// The devices that are wanted more of than they have: which, in which phase most, and how many bytes are missing.
    #[must_use]
    pub fn lacks(&self) -> Vec<(&str, Phase, u64)> {
        let devices = self.prediction.iter().flat_map(|it| &it.devices).filter(|it| it.missing_bytes() > 0);
        devices.map(|it| (it.name.as_str(), it.peak().0, it.missing_bytes())).collect()
    }

    /// The planner's room of a device.
    #[must_use]
    pub fn room(&self, device: &str) -> Option<&Room> {
        self.rooms.iter().find(|room| room.device.name == device)
    }

    /// The kept placements of this model.
    pub fn named_here(&self) -> impl Iterator<Item = &NamedPlacement> {
        self.named.iter().filter(|it| it.model == self.model)
    }

    /// The planner's placement where it is to be shown: when asked for, and unasked where the one in use does not fit.
    #[must_use]
    pub fn plan_shown(&self) -> Option<&Plan> {
        match &self.fit {
            Fit::Plan(plan) if self.wants_plan.unwrap_or(self.is_over()) => Some(plan),
            _ => None,
        }
    }

    /// Shows the planner's placement, or puts it away until the placement changes.
    pub fn want_plan(&mut self, wanted: bool) {
        self.wants_plan = Some(wanted);
    }

    /// Bytes that the last run took of a device in a phase, without those of other models; `None` where it was a run of something else.
    #[must_use]
    pub fn measured(&self, device: &str, phase: Phase) -> Option<u64> {
        let (_, peaks) = self.measured.as_ref().filter(|(of, _)| Some(of) == self.followed.as_ref())?;
        let peak = peaks.iter().find(|peak| peak.device == device && peak.phase == phase)?;
        Some(peak.bytes.saturating_sub(peak.others_bytes))
    }

    /// A run of this recipe took this much.
    pub fn set_measured(&mut self, recipe: &Recipe, peaks: Vec<Peak>) {
        self.measured = Some(((recipe.placement.clone(), Asked::of(recipe)), peaks));
    }

    /// The devices that have a column: of a card that several backends offer, those in use, else the chosen or the best one. What helps
    /// the processor has none unless it is used.
    #[must_use]
    pub fn columns(&self) -> Vec<&Device> {
        let mut columns = Vec::new();
        for card in cards(&self.devices) {
            let used: Vec<&Device> = card.iter().copied().filter(|device| self.is_used(&device.name)).collect();
            let chosen = card.iter().find(|device| self.backends.contains(&device.name)).or(card.first());
            match chosen {
                _ if !used.is_empty() => columns.extend(used),
                Some(device) if device.kind != DeviceKind::Accelerator => columns.push(*device),
                Some(_) | None => {}
            }
        }
        columns
    }

    /// The same card, as other backends offer it.
    #[must_use]
    pub fn other_backends(&self, device: &Device) -> Vec<&Device> {
        self.devices.iter().filter(|other| other.name != device.name && other.shares_card(device)).collect()
    }

    /// Shows a card through this backend while nothing is there.
    pub fn choose_backend(&mut self, from: &str, to: &str) {
        self.backends.remove(from);
        self.backends.insert(to.to_owned());
    }

    fn is_used(&self, device: &str) -> bool {
        let Some(placement) = &self.placement else { return false };
        self.modules.iter().map(|module| placement.seat(*module)).any(|it| it.runs_on == device || it.weights.is(device))
    }

    /// The engine named its devices.
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

    /// The text was written by a person: what it says is pinned, what it does not say is free.
    pub fn pin_what_is_said(&mut self, text: &PlacementText) {
        if let Ok(said) = pins(text, &self.devices) {
            self.pins = said.into_keys().collect();
            self.stale = true;
        }
    }

    fn known(&self) -> Option<Known<'_>> {
        Some(Known { placement: self.placement.as_ref()?, estimate: self.estimate.as_ref()?, prediction: self.prediction.as_ref()? })
    }
}

/// A device as the planner sees it: free is also what Atelier itself holds.
fn room(device: &Device, held: &BTreeMap<String, u64>, slack: &BTreeMap<String, u64>) -> Room {
    let held = held.get(&device.name).copied().unwrap_or(0);
    let free = device.memory_free_bytes.saturating_add(held).min(device.memory_total_bytes);
    Room::new(Device { memory_free_bytes: free, ..device.clone() }, slack.get(&device.name).copied().unwrap_or(0))
}

/// What is wrong with each text by itself. Without devices only their shape can be judged.
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
