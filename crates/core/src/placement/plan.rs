//! The planner: the best placement that fits, round what is pinned; or what is missing, and what would make it fit.
//!
//! Invariants, each of them a property test: a plan stays within free memory and budgets; a pin is kept; more memory never makes a plan
//! worse ([`Plan::score`]); of a card, only one backend is used unless pins name more; the same question has the same answer. A pinned
//! module leaves the others to the planner. Not here: what a seat costs and how the best are found (`search`), the bytes (`predict`), where
//! free memory and needs come from.

use std::collections::BTreeMap;

use super::fixes::{Alternative, Fix, fixes};
use super::ledger::{Ledger, Load, budget_gib};
use super::phase::Phase;
use super::predict::{Needs, Prediction, Room};
use super::search::{Choice, Seeker, best_room, cheapest, nearest, seekers, with};
use super::text::{is_disk, parse_backend, parse_params_backend};
use super::{Budgets, Home, Module, Placement, PlacementError, Seat};
use crate::device::Device;
use crate::format::memory_size;
use crate::recipe::PlacementText;

/// What the planner must leave as it is for a module. Devices by their whole names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// Where it runs; `None`: the planner's choice.
    pub runs_on: Option<String>,
    /// Where its weights live; `None`: the planner's choice.
    pub weights: Option<Home>,
}

impl Pin {
    /// Whether it has something to do with this device.
    pub(super) fn names(&self, device: &str) -> bool {
        self.runs_on.as_deref() == Some(device) || matches!(&self.weights, Some(Home::Device(home)) if home == device)
    }
}

/// The pinned modules.
pub type Pins = BTreeMap<Module, Pin>;

/// The pins that a placement text sets: what it says is kept, what it does not say is free.
pub fn pins(text: &PlacementText, devices: &[Device]) -> Result<Pins, PlacementError> {
    let placement = Placement::parse(text, devices)?;
    let (backend, params) = (parse_backend(&text.backend)?, parse_params_backend(&text.params_backend)?);
    let is_said = |place: &str| is_disk(place) || !matches!(place.to_ascii_lowercase().as_str(), "" | "auto" | "default");
    let pin = |module| {
        let Seat { runs_on, weights } = placement.seat(module).clone();
        let runs_on = is_said(backend.place_of(module)).then_some(runs_on);
        let weights = is_said(params.place_of(module)).then_some(weights);
        (runs_on.is_some() || weights.is_some()).then_some((module, Pin { runs_on, weights }))
    };
    Ok(Module::ALL.into_iter().filter_map(pin).collect())
}

/// What is to be placed, where, and round what.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The devices, RAM (the CPU) among them.
    pub rooms: &'a [Room],
    /// What the modules in use take for this recipe.
    pub needs: &'a Needs,
    /// What must stay as it is.
    pub pins: &'a Pins,
    /// The most that devices may be used to. A plan may lower a budget, to what is free; it never raises one.
    pub budgets: &'a Budgets,
    /// Whether layers are to be streamed in any case.
    pub stream_layers: bool,
    /// What else the recipe could be, for when it does not fit.
    pub alternatives: &'a [Alternative],
}

/// How good a plan is; the lower, the better. Comparable between plans for the same modules and pins on the same devices, whatever
/// memory these have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(u32);

/// A placement, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where everything goes.
    pub placement: Placement,
    /// What that takes.
    pub prediction: Prediction,
    /// For each module in use, by worth: where it goes and why, as a sentence.
    pub reasons: Vec<String>,
    /// How good it is.
    pub score: Score,
    /// Where the processor must run what a better device could: the changes that would spare it, the smallest loss first.
    pub better: Vec<Fix>,
}

/// A device that has too little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Its whole name.
    pub device: String,
    /// When most is wanted of it.
    pub phase: Phase,
    /// What is wanted of it then, in bytes.
    pub wanted_bytes: u64,
    /// What there is, in bytes.
    pub available_bytes: u64,
}

/// Nothing fits.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct Shortage {
    /// By how many bytes.
    pub missing_bytes: u64,
    /// Where.
    pub lacks: Vec<Lack>,
    /// The plan that lacks least.
    pub nearest: Plan,
    /// What would make it fit, the smallest loss first.
    pub fixes: Vec<Fix>,
}

impl Shortage {
    fn sentence(&self) -> String {
        let lacks = self.lacks.iter().map(|lack| {
            let (wanted, available) = (memory_size(lack.wanted_bytes), memory_size(lack.available_bytes));
            format!("{} would have to hold {wanted} in the {} phase and has {available}", lack.device, lack.phase.label())
        });
        let lacks = lacks.collect::<Vec<_>>().join("; ");
        let fix = self.fixes.first().map_or_else(
            || "Close other programs that use this memory, or choose a smaller model".to_owned(),
            |fix| fix.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", and "),
        );
        format!("this does not fit, {} are missing: {lacks}. {fix}", memory_size(self.missing_bytes))
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoPlan {
    /// A pin names a device that is not there, or there is no device at all.
    #[error(transparent)]
    Device(#[from] PlacementError),
    /// Nothing fits.
    #[error(transparent)]
    Short(#[from] Box<Shortage>),
}

/// The best placement that fits.
pub fn plan(question: &Question<'_>) -> Result<Plan, NoPlan> {
    if let Some(mut plan) = fitting(question)? {
        if burdens_processor(question, &plan)? {
            plan.better = fixes(question, |other| other.score < plan.score)?;
        }
        return Ok(plan);
    }
    let (seekers, empty) = (seekers(question)?, Ledger::new(question.rooms, question.budgets));
    let seats = nearest(&seekers, &empty).unwrap_or_default();
    let nearest = told(question, &seekers, &seats)?;
    let over = nearest.prediction.devices.iter().filter(|device| device.missing_bytes() > 0);
    let lacks = over.map(|device| {
        let (phase, peak) = device.peak();
        Lack { device: device.name.clone(), phase, wanted_bytes: peak.total_bytes(), available_bytes: device.limit_bytes }
    });
    let lacks = lacks.collect();
    let fixes = fixes(question, |_| true)?;
    Err(Box::new(Shortage { missing_bytes: nearest.prediction.missing_bytes, lacks, nearest, fixes }).into())
}

/// The best placement that fits; `None`: nothing does.
pub(super) fn fitting(question: &Question<'_>) -> Result<Option<Plan>, PlacementError> {
    let (seekers, empty) = (seekers(question)?, Ledger::new(question.rooms, question.budgets));
    cheapest(&seekers, &empty).map(|seats| told(question, &seekers, &seats)).transpose()
}

/// The seats as a placement, with what it takes and the reasons.
fn told(question: &Question<'_>, seekers: &[Seeker<'_>], seats: &[Choice]) -> Result<Plan, PlacementError> {
    let placement = placement(question, seekers, seats)?;
    let prediction = Prediction::of(&placement, question.needs, question.rooms)?;
    let reasons = (0..seats.len()).filter_map(|n| reason(question, seekers, seats, n)).collect();
    let score = Score(seats.iter().map(|choice| choice.cost).sum());
    Ok(Plan { placement, prediction, reasons, score, better: Vec::new() })
}

/// Whether a module runs on the processor, although there is a better device and nobody asked for it.
fn burdens_processor(question: &Question<'_>, plan: &Plan) -> Result<bool, PlacementError> {
    let is_ram = |name: &str| question.rooms.iter().any(|room| room.is_ram() && room.device.name == name);
    let has_better = question.rooms.get(best_room(question.rooms, question.pins)?).is_some_and(|room| !room.is_ram());
    let is_pinned = |module| question.pins.get(module).is_some_and(|pin| pin.runs_on.is_some());
    let mut modules = plan.prediction.modules.iter();
    Ok(has_better && modules.any(|(module, it)| is_ram(&it.runs_on) && !is_pinned(module)))
}

fn placement(question: &Question<'_>, seekers: &[Seeker<'_>], seats: &[Choice]) -> Result<Placement, PlacementError> {
    let name = |room: usize| question.rooms.get(room).map(|room| room.device.name.clone()).unwrap_or_default();
    let mut placement = Placement::all_on(&name(best_room(question.rooms, question.pins)?));
    placement.budgets = question.budgets.clone();
    placement.stream_layers = question.stream_layers;
    // A pin holds also while its module is not in use.
    for (module, pin) in question.pins {
        let runs_on = pin.runs_on.clone().unwrap_or_else(|| placement.seat(*module).runs_on.clone());
        let weights = pin.weights.clone().unwrap_or_else(|| Home::Device(runs_on.clone()));
        placement.set(*module, Seat { runs_on, weights });
    }
    for (seeker, Choice { load, .. }) in seekers.iter().zip(seats) {
        let weights = load.home.map_or(Home::Disk, |home| Home::Device(name(home)));
        placement.set(seeker.module, Seat { runs_on: name(load.run), weights });
        let Some(room) = question.rooms.get(load.run).filter(|_| load.cut_bytes.is_some()) else { continue };
        // Only within a budget does the engine cut graphs.
        let limit = room.limit_bytes(question.budgets);
        if question.budgets.bytes(&room.device) != Some(limit) {
            placement.budgets = placement.budgets.with(&room.device.name, budget_gib(limit));
        }
        placement.stream_layers |= seeker.module == Module::Diffusion;
    }
    Ok(placement)
}

/// Where a module goes, and why not to a better place.
fn reason(question: &Question<'_>, seekers: &[Seeker<'_>], seats: &[Choice], n: usize) -> Option<String> {
    let (seeker, seat) = (seekers.get(n)?, seats.get(n)?);
    let name = |room: usize| question.rooms.get(room).map_or("", |room| room.device.name.as_str());
    let (Load { run, home, cut_bytes }, label) = (seat.load, seeker.module.noun());
    let (run_name, weights) = (name(run), memory_size(seeker.needs.weight_bytes));
    let is_ram = |room| question.rooms.get(room).is_some_and(Room::is_ram);
    let place = match home {
        Some(home) if home == run => format!("The {label} runs on {run_name} and its weights ({weights}) stay there"),
        None => format!("The {label} runs on {run_name}; its weights ({weights}) are read from the disk each time"),
        Some(home) => {
            let from = if is_ram(home) { "RAM" } else { name(home) };
            let how = if cut_bytes.is_some() { "copied piece by piece" } else { "copied" };
            format!("The {label} runs on {run_name}; its weights ({weights}) wait in {from} and are {how} while it runs")
        }
    };
    let pin = question.pins.get(&seeker.module);
    let is_free = pin.is_none_or(|pin| pin.runs_on.is_none() || pin.weights.is_none());
    let better = seeker.choices.first().filter(|best| best.cost < seat.cost);
    let why = match better {
        None if is_free && pin.is_none() => String::new(),
        None => " (pinned)".to_owned(),
        Some(better) => {
            let empty = Ledger::new(question.rooms, question.budgets);
            let others = seekers.iter().zip(seats).enumerate().filter(|(other, _)| *other != n);
            let ledger = others.fold(empty, |ledger, (_, (seeker, choice))| with(&ledger, seeker, choice));
            let missing = with(&ledger, seeker, better).missing_bytes();
            if missing == 0 {
                return Some(format!("{place}."));
            }
            let there = match better.load.home {
                Some(home) if home == better.load.run => format!("to stay on {}", name(home)),
                Some(_) if better.load.cut_bytes.is_none() => format!("to be copied to {} as a whole", name(better.load.run)),
                _ => format!("to run on {}", name(better.load.run)),
            };
            format!(": {there}, {} are missing beside the rest", memory_size(missing))
        }
    };
    Some(format!("{place}{why}."))
}

#[cfg(test)]
mod tests;
