//! The planner: the best placement that fits, round the pins; or the shortage, and fixes for it.
//!
//! Invariants, each of them a property test: a plan stays within free memory and budgets; a pin is
//! kept; more memory never makes a plan worse ([`Score`](super::Score)); of a card, only one
//! backend is used unless pins name more; the same request has the same plan. A pinned module
//! leaves the others to the planner. Not here: costs and the search (`search`), bytes (`predict`),
//! the source of free memory and needs.

use super::error::PlacementError;
use super::fit::{assembled, fitting};
use super::fixes::fixes;
use super::ledger::Ledger;
use super::plan::{Plan, PlanError, Shortage, Shortfall};
use super::request::PlanRequest;
use super::search::{best_device, candidates, nearest};

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

/// True where an unpinned module runs on the processor although there is a better device.
fn burdens_processor(request: &PlanRequest<'_>, plan: &Plan) -> Result<bool, PlacementError> {
    let is_ram = |name: &str| request.capacities.iter().any(|capacity| capacity.is_ram() && capacity.device.name == name);
    let has_better = request.capacities.get(best_device(request.capacities, request.pins)?).is_some_and(|capacity| !capacity.is_ram());
    let is_pinned = |module| request.pins.get(module).is_some_and(|pin| pin.runs_on.is_some());
    let mut modules = plan.prediction.modules.iter();
    Ok(has_better && modules.any(|(module, it)| is_ram(&it.runs_on) && !is_pinned(module)))
}

#[cfg(test)]
pub(super) mod tests;
