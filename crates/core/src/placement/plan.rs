//! The planner: the best placement that fits, round what is pinned; or what is missing, and what would make it fit.
//!
//! Invariants, each of them a property test: a plan stays within free memory and budgets; a pin is kept; more memory never makes a plan
//! worse ([`Plan::score`]); of a card, only one backend is used unless pins name more; the same question has the same answer. A pinned
//! module leaves the others to the planner. Not here: what a seat costs and how the best are found (`search`), the bytes (`predict`), where
//! free memory and needs come from.

use std::collections::BTreeMap;

use super::fixes::{Alternative, Fix, fixes};
use super::ledger::{Ledger, Slot, budget_gib};
use super::phase::Phase;
use super::predict::{DeviceCapacity, Needs, Prediction};
use super::search::{Candidate, Candidates, best_device, candidates, cheapest, nearest, with};
use super::text::{is_disk, parse_backend, parse_params_backend};
use super::{Assignment, Budgets, Module, Placement, PlacementError, WeightLocation};
use crate::device::Device;
use crate::format::memory_size;
use crate::recipe::PlacementText;

/// What the planner must leave as it is for a module. Devices by their whole names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// Where it runs; `None`: the planner's candidate.
    pub runs_on: Option<String>,
    /// Where its weights live; `None`: the planner's candidate.
    pub weights: Option<WeightLocation>,
}

impl Pin {
    /// Whether it has something to do with this device.
    pub(super) fn names(&self, device: &str) -> bool {
        self.runs_on.as_deref() == Some(device) || matches!(&self.weights, Some(WeightLocation::Device(location)) if location == device)
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
        let Assignment { runs_on, weights } = placement.assignment(module).clone();
        let runs_on = is_said(backend.place_of(module)).then_some(runs_on);
        let weights = is_said(params.place_of(module)).then_some(weights);
        (runs_on.is_some() || weights.is_some()).then_some((module, Pin { runs_on, weights }))
    };
    Ok(Module::ALL.into_iter().filter_map(pin).collect())
}

/// What is to be placed, where, and round what.
#[derive(Clone, Copy, Debug)]
pub struct PlanRequest<'a> {
    /// The devices, RAM (the CPU) among them.
    pub capacities: &'a [DeviceCapacity],
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
pub struct Shortfall {
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
    pub shortfalls: Vec<Shortfall>,
    /// The plan that lacks least.
    pub nearest: Plan,
    /// What would make it fit, the smallest loss first.
    pub fixes: Vec<Fix>,
}

impl Shortage {
    fn sentence(&self) -> String {
        let shortfalls = self.shortfalls.iter().map(|shortfall| {
            let (wanted, available) = (memory_size(shortfall.wanted_bytes), memory_size(shortfall.available_bytes));
            format!("{} would have to hold {wanted} in the {} phase and has {available}", shortfall.device, shortfall.phase.label())
        });
        let shortfalls = shortfalls.collect::<Vec<_>>().join("; ");
        let fix = self.fixes.first().map_or_else(
            || "Close other programs that use this memory, or choose a smaller model".to_owned(),
            |fix| fix.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", and "),
        );
        format!("this does not fit, {} are missing: {shortfalls}. {fix}", memory_size(self.missing_bytes))
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A pin names a device that is not there, or there is no device at all.
    #[error(transparent)]
    Device(#[from] PlacementError),
    /// Nothing fits.
    #[error(transparent)]
    Short(#[from] Box<Shortage>),
}

/// The best placement that fits.
pub fn plan(request: &PlanRequest<'_>) -> Result<Plan, PlanError> {
    if let Some(mut plan) = fitting(request)? {
        if burdens_processor(request, &plan)? {
            plan.better = fixes(request, |other| other.score < plan.score)?;
        }
        return Ok(plan);
    }
    let (candidates, empty) = (candidates(request)?, Ledger::new(request.capacities, request.budgets));
    let chosen = nearest(&candidates, &empty).unwrap_or_default();
    let nearest = assembled(request, &candidates, &chosen)?;
    let over = nearest.prediction.devices.iter().filter(|device| device.missing_bytes() > 0);
    let shortfalls = over.map(|device| {
        let (phase, peak) = device.peak();
        Shortfall { device: device.name.clone(), phase, wanted_bytes: peak.total_bytes(), available_bytes: device.limit_bytes }
    });
    let shortfalls = shortfalls.collect();
    let fixes = fixes(request, |_| true)?;
    Err(Box::new(Shortage { missing_bytes: nearest.prediction.missing_bytes, shortfalls, nearest, fixes }).into())
}

/// The best placement that fits; `None`: nothing does.
pub(super) fn fitting(request: &PlanRequest<'_>) -> Result<Option<Plan>, PlacementError> {
    let (candidates, empty) = (candidates(request)?, Ledger::new(request.capacities, request.budgets));
    cheapest(&candidates, &empty).map(|chosen| assembled(request, &candidates, &chosen)).transpose()
}

/// The seats as a placement, with what it takes and the reasons.
fn assembled(request: &PlanRequest<'_>, candidates: &[Candidates<'_>], chosen: &[Candidate]) -> Result<Plan, PlacementError> {
    let placement = placement(request, candidates, chosen)?;
    let prediction = Prediction::of(&placement, request.needs, request.capacities)?;
    let reasons = (0..chosen.len()).filter_map(|n| reason(request, candidates, chosen, n)).collect();
    let score = Score(chosen.iter().map(|candidate| candidate.cost).sum());
    Ok(Plan { placement, prediction, reasons, score, better: Vec::new() })
}

/// Whether a module runs on the processor, although there is a better device and nobody asked for it.
fn burdens_processor(request: &PlanRequest<'_>, plan: &Plan) -> Result<bool, PlacementError> {
    let is_ram = |name: &str| request.capacities.iter().any(|capacity| capacity.is_ram() && capacity.device.name == name);
    let has_better = request.capacities.get(best_device(request.capacities, request.pins)?).is_some_and(|capacity| !capacity.is_ram());
    let is_pinned = |module| request.pins.get(module).is_some_and(|pin| pin.runs_on.is_some());
    let mut modules = plan.prediction.modules.iter();
    Ok(has_better && modules.any(|(module, it)| is_ram(&it.runs_on) && !is_pinned(module)))
}

fn placement(request: &PlanRequest<'_>, candidates: &[Candidates<'_>], chosen: &[Candidate]) -> Result<Placement, PlacementError> {
    let name = |capacity: usize| request.capacities.get(capacity).map(|capacity| capacity.device.name.clone()).unwrap_or_default();
    let mut placement = Placement::all_on(&name(best_device(request.capacities, request.pins)?));
    placement.budgets = request.budgets.clone();
    placement.stream_layers = request.stream_layers;
    // A pin holds also while its module is not in use.
    for (module, pin) in request.pins {
        let runs_on = pin.runs_on.clone().unwrap_or_else(|| placement.assignment(*module).runs_on.clone());
        let weights = pin.weights.clone().unwrap_or_else(|| WeightLocation::Device(runs_on.clone()));
        placement.set(*module, Assignment { runs_on, weights });
    }
    for (candidate_set, Candidate { slot, .. }) in candidates.iter().zip(chosen) {
        let weights = slot.location.map_or(WeightLocation::Disk, |location| WeightLocation::Device(name(location)));
        placement.set(candidate_set.module, Assignment { runs_on: name(slot.run), weights });
        let Some(capacity) = request.capacities.get(slot.run).filter(|_| slot.cut_bytes.is_some()) else { continue };
        // Only within a budget does the engine cut graphs.
        let limit = capacity.limit_bytes(request.budgets);
        if request.budgets.bytes(&capacity.device) != Some(limit) {
            placement.budgets = placement.budgets.with(&capacity.device.name, budget_gib(limit));
        }
        placement.stream_layers |= candidate_set.module == Module::Diffusion;
    }
    Ok(placement)
}

/// Where a module goes, and why not to a better place.
fn reason(request: &PlanRequest<'_>, candidates: &[Candidates<'_>], chosen: &[Candidate], n: usize) -> Option<String> {
    let (candidate_set, assignment) = (candidates.get(n)?, chosen.get(n)?);
    let name = |capacity: usize| request.capacities.get(capacity).map_or("", |capacity| capacity.device.name.as_str());
    let (Slot { run, location, cut_bytes }, label) = (assignment.slot, candidate_set.module.noun());
    let (run_name, weights) = (name(run), memory_size(candidate_set.needs.weight_bytes));
    let is_ram = |capacity| request.capacities.get(capacity).is_some_and(DeviceCapacity::is_ram);
    let place = match location {
        Some(location) if location == run => format!("The {label} runs on {run_name} and its weights ({weights}) stay there"),
        None => format!("The {label} runs on {run_name}; its weights ({weights}) are read from the disk each time"),
        Some(location) => {
            let from = if is_ram(location) { "RAM" } else { name(location) };
            let how = if cut_bytes.is_some() { "copied piece by piece" } else { "copied" };
            format!("The {label} runs on {run_name}; its weights ({weights}) wait in {from} and are {how} while it runs")
        }
    };
    let pin = request.pins.get(&candidate_set.module);
    let is_free = pin.is_none_or(|pin| pin.runs_on.is_none() || pin.weights.is_none());
    let better = candidate_set.candidates.first().filter(|best| best.cost < assignment.cost);
    let why = match better {
        None if is_free && pin.is_none() => String::new(),
        None => " (pinned)".to_owned(),
        Some(better) => {
            let empty = Ledger::new(request.capacities, request.budgets);
            let others = candidates.iter().zip(chosen).enumerate().filter(|(other, _)| *other != n);
            let ledger = others.fold(empty, |ledger, (_, (candidate_set, candidate))| with(&ledger, candidate_set, candidate));
            let missing = with(&ledger, candidate_set, better).missing_bytes();
            if missing == 0 {
                return Some(format!("{place}."));
            }
            let there = match better.slot.location {
                Some(location) if location == better.slot.run => format!("to stay on {}", name(location)),
                Some(_) if better.slot.cut_bytes.is_none() => format!("to be copied to {} as a whole", name(better.slot.run)),
                _ => format!("to run on {}", name(better.slot.run)),
            };
            format!(": {there}, {} are missing beside the rest", memory_size(missing))
        }
    };
    Some(format!("{place}{why}."))
}

#[cfg(test)]
mod tests;
