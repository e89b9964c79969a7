//! The best placement that fits, with its prediction and the reasons.

use super::capacity::DeviceCapacity;
use super::error::PlacementError;
use super::ledger::{Ledger, Slot, budget_gib};
use super::plan::{Plan, Score};
use super::predict::Prediction;
use super::request::PlanRequest;
use super::search::{Candidate, Candidates, best_device, candidates, cheapest, with};
use super::value::{Assignment, Placement, WeightLocation};
use crate::format::{memory_size, seconds};
use crate::module::Module;
use atelier_language::tr;

/// The best placement that fits; `None`: nothing does.
pub(super) fn fitting(request: &PlanRequest<'_>) -> Result<Option<Plan>, PlacementError> {
    let (candidates, empty) = (candidates(request)?, Ledger::new(request.capacities, request.budgets));
    cheapest(&candidates, &empty).map(|chosen| assembled(request, &candidates, &chosen)).transpose()
}

/// The chosen candidates as a placement, with its prediction and the reasons.
pub(super) fn assembled(request: &PlanRequest<'_>, candidates: &[Candidates<'_>], chosen: &[Candidate]) -> Result<Plan, PlacementError> {
    let placement = placement(request, candidates, chosen)?;
    let prediction = Prediction::of(&placement, request.needs, request.capacities)?;
    let reasons = (0..chosen.len()).filter_map(|n| reason(request, candidates, chosen, n)).collect();
    let score = Score(chosen.iter().map(|candidate| candidate.cost).sum());
    Ok(Plan { placement, prediction, reasons, score, better: Vec::new() })
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
    for (candidate_set, Candidate { slot, brings_budget, .. }) in candidates.iter().zip(chosen) {
        let weights = slot.location.map_or(WeightLocation::Disk, |location| WeightLocation::Device(name(location)));
        placement.set(candidate_set.module, Assignment { runs_on: name(slot.run), weights });
        let Some(capacity) = request.capacities.get(slot.run).filter(|_| slot.cut_bytes.is_some()) else { continue };
        // The engine cuts graphs only within a budget.
        let limit = capacity.limit_bytes(request.budgets);
        if *brings_budget && request.budgets.bytes(&capacity.device) != Some(limit) {
            placement.budgets = placement.budgets.with(&capacity.device.name, budget_gib(limit));
        }
        if candidate_set.module == Module::Diffusion {
            placement.stream_layers.insert(Module::Diffusion);
        }
    }
    placement.unite_encoders(candidates.iter().map(|it| it.module), |module| request.pins.contains_key(&module));
    Ok(placement)
}

/// Words for the time that a module saves because it does not run on the device that plans begin
/// with; `None`: none.
fn saving(request: &PlanRequest<'_>, candidates: &Candidates<'_>, chosen: &Candidate) -> Option<String> {
    let best = best_device(request.capacities, request.pins).ok().filter(|best| *best != chosen.slot.run)?;
    let there = candidates.by_cost.iter().find(|it| it.slot == Slot { run: best, location: Some(best), cut_bytes: None })?;
    let saved = there.secs() - chosen.secs();
    let name = request.capacities.get(best).map_or("", |capacity| capacity.device.name.as_str());
    (saved > 0.0).then(|| tr!("core-that-saves-a-picture", seconds = seconds(saved), name))
}

/// The slot of a module and the reason against a better one, as a sentence.
fn reason(request: &PlanRequest<'_>, candidates: &[Candidates<'_>], chosen: &[Candidate], n: usize) -> Option<String> {
    let (candidate_set, assignment) = (candidates.get(n)?, chosen.get(n)?);
    let name = |capacity: usize| request.capacities.get(capacity).map_or("", |capacity| capacity.device.name.as_str());
    let (Slot { run, location, cut_bytes }, label) = (assignment.slot, candidate_set.module.noun());
    let (run_name, weights) = (name(run), memory_size(candidate_set.needs.weight_bytes));
    let is_ram = |capacity| request.capacities.get(capacity).is_some_and(DeviceCapacity::is_ram);
    let place = match location {
        Some(location) if location == run => tr!("core-the-runs-on-and", label, run_name, weights),
        None => tr!("core-the-runs-on-its-weights-are", label, run_name, weights),
        Some(location) => {
            let from = if is_ram(location) { "RAM" } else { name(location) };
            let how = if cut_bytes.is_some() { tr!("core-copied-piece-by-piece") } else { tr!("core-copied") };
            tr!("core-the-runs-on-its", label, run_name, weights, from, how)
        }
    };
    let pin = request.pins.get(&candidate_set.module);
    let is_free = pin.is_none_or(|pin| pin.runs_on.is_none() || pin.weights.is_none());
    let better = candidate_set.by_cost.first().filter(|best| best.cost < assignment.cost);
    let why = match better {
        None if is_free && pin.is_none() => saving(request, candidate_set, assignment).unwrap_or_default(),
        None => tr!("core-pinned").to_owned(),
        Some(better) => {
            let empty = Ledger::new(request.capacities, request.budgets);
            let others = candidates.iter().zip(chosen).enumerate().filter(|(other, _)| *other != n);
            let ledger = others.fold(empty, |ledger, (_, (candidate_set, candidate))| with(&ledger, candidate_set, candidate));
            let missing = with(&ledger, candidate_set, better).missing_bytes();
            if missing == 0 {
                return Some(format!("{place}."));
            }
            let there = match better.slot.location {
                Some(location) if location == better.slot.run => tr!("core-to-stay-on", name = name(location)),
                Some(_) if better.slot.cut_bytes.is_none() => tr!("core-to-be-copied-to", name = name(better.slot.run)),
                _ => tr!("core-to-run-on", name = name(better.slot.run)),
            };
            tr!("core-are-missing-beside-the", there, missing = memory_size(missing))
        }
    };
    Some(format!("{place}{why}."))
}
