//! Fixes: changes that make a plan fit, or improve it. Each change is tried, and only those that
//! help are returned.
//!
//! Invariant: the plan of a fix fits. Not here: the needs of another size or quantisation, which
//! come with the request ([`Alternative`]).

use super::capacity::DeviceCapacity;
use super::change::{Alternative, Change};
use super::error::PlacementError;
use super::fit::fitting;
use super::plan::{Fix, Plan};
use super::request::{Pin, Pins, PlanRequest};
use super::search::PRIORITY;
use crate::format::GIB;

/// Most fixes that are returned.
const MAX_FIXES: usize = 3;

/// The changes whose plan fits and passes `helps`, the smallest loss first.
pub(super) fn fixes(request: &PlanRequest<'_>, helps: impl Fn(&Plan) -> bool) -> Result<Vec<Fix>, PlacementError> {
    let mut helpful = Vec::new();
    for alternative in request.alternatives {
        helpful.extend(try_pins(request, alternative, request.pins)?);
    }
    let same = Alternative { changes: Vec::new(), needs: request.needs.clone() };
    for pins in relaxed(request.pins) {
        helpful.extend(try_pins(request, &same, &pins)?);
    }
    for capacity in request.capacities {
        helpful.extend(try_budget(request, capacity, &helps)?);
    }
    helpful.retain(|fix| helps(&fix.plan));
    if helpful.is_empty() {
        for alternative in request.alternatives.iter().chain([&same]) {
            helpful.extend(try_pins(request, alternative, &Pins::new())?);
        }
    }
    helpful.retain(|fix| helps(&fix.plan) && !fix.changes.is_empty());
    helpful.sort_by_key(|fix| (fix.changes.iter().map(Change::loss).max(), fix.changes.len(), fix.plan.score));
    let mut fixes: Vec<Fix> = Vec::new();
    for fix in helpful {
        if fixes.iter().all(|it| it.changes != fix.changes) {
            fixes.push(fix);
        }
    }
    // Smaller weights are worth a place whatever else helps: everything stays where it is quick.
    let converted = fixes.iter().position(has_weight_type).filter(|at| *at >= MAX_FIXES).map(|at| fixes.swap_remove(at));
    fixes.truncate(MAX_FIXES - usize::from(converted.is_some()));
    fixes.extend(converted);
    Ok(fixes)
}

/// True for a fix that converts weights as they are loaded.
fn has_weight_type(fix: &Fix) -> bool {
    fix.changes.iter().any(|change| matches!(change, Change::WeightType { .. }))
}

/// The pins without those of one module's weights, and without those of one module; the lowest
/// priority first.
fn relaxed(pins: &Pins) -> impl Iterator<Item = Pins> {
    let pinned = PRIORITY.into_iter().rev().filter_map(|module| Some((module, pins.get(&module)?)));
    pinned.flat_map(|(module, pin)| {
        let weights_free = Pin { weights: None, ..pin.clone() };
        [weights_free, Pin::default()].map(|pin| pins.clone().into_iter().chain([(module, pin)]).collect())
    })
}

fn try_pins(request: &PlanRequest<'_>, alternative: &Alternative, pins: &Pins) -> Result<Option<Fix>, PlacementError> {
    let Some(plan) = fitting(&PlanRequest { needs: &alternative.needs, pins, ..*request })? else { return Ok(None) };
    let mut changes = alternative.changes.clone();
    for (module, pin) in request.pins.iter().filter(|(module, _)| alternative.needs.modules.contains_key(module)) {
        let assignment = plan.placement.assignment(*module);
        if pin.runs_on.as_ref().is_some_and(|device| *device != assignment.runs_on) {
            changes.push(Change::RunsOn { module: *module, device: assignment.runs_on.clone() });
        }
        let in_pieces = plan.prediction.modules.get(module).is_some_and(|it| it.in_pieces);
        match &pin.weights {
            Some(location) if *location != assignment.weights && in_pieces => changes.push(Change::Pieces { module: *module }),
            Some(location) if *location != assignment.weights => {
                changes.push(Change::Weights { module: *module, location: assignment.weights.clone() });
            }
            Some(_) | None => {}
        }
    }
    Ok(Some(Fix { changes, plan }))
}

/// The smallest raise of this device's budget with which a plan helps; `None` where the budget
/// alone is not the cause.
fn try_budget(request: &PlanRequest<'_>, capacity: &DeviceCapacity, helps: impl Fn(&Plan) -> bool) -> Result<Option<Fix>, PlacementError> {
    let raised = |tenths: u64| {
        let budgets = request.budgets.clone().with(&capacity.device.name, tenths as f64 / 10.0);
        Ok(fitting(&PlanRequest { budgets: &budgets, ..*request })?.filter(&helps))
    };
    // More budget never makes a plan worse, so bisection finds the least.
    let (mut too_low, mut enough) = (tenths(capacity.limit_bytes(request.budgets)), tenths(capacity.free_bytes()));
    if too_low >= enough {
        return Ok(None);
    }
    let mut plan = raised(enough)?;
    while plan.is_some() && too_low + 1 < enough {
        let middle = too_low.midpoint(enough);
        match raised(middle)? {
            Some(better) => (plan, enough) = (Some(better), middle),
            None => too_low = middle,
        }
    }
    let change = Change::Budget { device: capacity.device.name.clone(), gib: enough as f64 / 10.0 };
    Ok(plan.map(|plan| Fix { changes: vec![change], plan }))
}

/// Full tenths of a GiB within this many bytes.
fn tenths(bytes: u64) -> u64 {
    (u128::from(bytes) * 10 / u128::from(GIB)) as u64
}
