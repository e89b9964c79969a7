//! The placement of a recipe that names no device.

use super::error::PlacementError;
use super::fit::fitting;
use super::plan_time::WeightSource;
use super::ranking::{RankedPlacement, ranked};
use super::request::PlanRequest;
use super::search::best_device;
use super::value::{Placement, WeightLocation};
use crate::format::seconds;
use crate::module::Module;
use atelier_language::tr;

/// Part of a picture's time that another placement must save for the model to be loaded anew:
/// near-equal predictions cause no reload.
const WORTH_A_RELOAD: f64 = 0.1;
/// Seconds that it must save at least: of a picture that takes no longer, a tenth is what
/// measurements differ by.
const WORTH_A_RELOAD_SECS: f64 = 0.25;
/// Seconds that are worth a word.
const WORTH_TELLING: f64 = 0.05;

/// A placement that was taken for a recipe that names none.
#[derive(Clone, Debug, PartialEq)]
pub struct AutomaticPlacement {
    /// The placement.
    pub placement: Placement,
    /// A sentence on it; `None` where everything runs on the engine's default device.
    pub note: Option<String>,
}

/// The quickest placement that fits; where times are not known, the default one, or the planner's
/// where that does not fit. `None`: nothing fits.
///
/// `in_use` is that with which the model is in memory now: it stays unless another one saves a
/// tenth of the time and a quarter of a second; without times, where the default one does not fit.
pub fn automatic(request: &PlanRequest<'_>, in_use: Option<&Placement>) -> Result<Option<AutomaticPlacement>, PlacementError> {
    let all = ranked(request)?;
    let modules: Vec<Module> = request.needs.modules.keys().copied().collect();
    let is_same = |a: &Placement, b: &Placement| modules.iter().all(|module| a.assignment(*module) == b.assignment(*module));
    let best = best_device(request.capacities, request.pins)?;
    let default_name = request.capacities.get(best).map(|capacity| capacity.device.name.clone()).unwrap_or_default();
    let plain = Placement::all_on(&default_name);
    let used = match in_use {
        Some(in_use) if !all.iter().any(|it| is_same(&it.placement, in_use)) && names_known_devices(in_use, &modules, request) => {
            RankedPlacement::of(in_use.clone(), request)?
        }
        Some(in_use) => all.iter().find(|it| is_same(&it.placement, in_use)).cloned(),
        None => None,
    };
    let quickest = if all.iter().all(|it| it.time.is_some()) {
        all.into_iter().next()
    } else if let Some(plain) = RankedPlacement::of(plain.clone(), request)? {
        // The order of places says nothing of time: what fits as it always was stays.
        Some(plain)
    } else {
        fitting(request)?.map(|plan| RankedPlacement { placement: plan.placement, prediction: plan.prediction, time: None })
    };
    let Some(quickest) = quickest else { return Ok(None) };
    let stays = |used: &RankedPlacement| match (used.secs(), quickest.secs()) {
        (Some(used), Some(quickest)) => used - quickest < f64::max(WORTH_A_RELOAD * used, WORTH_A_RELOAD_SECS),
        // Without times nothing says which is better.
        _ => quickest.placement != plain,
    };
    let chosen = used.filter(stays).unwrap_or(quickest);
    let note = if is_same(&chosen.placement, &plain) { None } else { Some(note(&chosen, &default_name, request)?) };
    Ok(Some(AutomaticPlacement { placement: chosen.placement, note }))
}

/// True where every device of the modules is there.
fn names_known_devices(placement: &Placement, modules: &[Module], request: &PlanRequest<'_>) -> bool {
    let is_there = |name: &str| request.capacities.iter().any(|capacity| capacity.device.name == name);
    modules
        .iter()
        .map(|module| placement.assignment(*module))
        .all(|it| is_there(&it.runs_on) && (it.weights == WeightLocation::Disk || is_there(it.weights.name())))
}

/// What runs or lives elsewhere than on the default device, and what that saves.
fn note(chosen: &RankedPlacement, default: &str, request: &PlanRequest<'_>) -> Result<String, PlacementError> {
    let plain_fits = RankedPlacement::of(Placement::all_on(default), request)?.is_some();
    let is_ram = |name: &str| request.capacities.iter().any(|capacity| capacity.is_ram() && capacity.device.name == name);
    let mut parts = Vec::new();
    for (module, needs) in &request.needs.modules {
        let it = chosen.placement.assignment(*module);
        let name = module.label();
        if it.runs_on != default {
            let there = request.time.and_then(|time| time.secs(*module, needs, default, WeightSource::Resident));
            let saved = there.zip(chosen.time.as_ref()).map(|(there, time)| there - time.loaded_secs_of(*module));
            parts.push(match saved.filter(|saved| *saved >= WORTH_TELLING) {
                Some(saved) => tr!("core-on-saves", name, runs_on = it.runs_on, seconds = seconds(saved)),
                None if plain_fits => format!("{name} on {}", it.runs_on),
                None => tr!("core-on-for-has-too", name, runs_on = it.runs_on, default),
            });
        } else if !it.weights.is(&it.runs_on) {
            let in_pieces = chosen.prediction.modules.get(module).is_some_and(|it| it.in_pieces);
            let streams = chosen.placement.stream_layers.contains(*module) && in_pieces;
            parts.push(match &it.weights {
                WeightLocation::Disk => tr!("core-read-from-the-disk", name),
                WeightLocation::Device(device) => {
                    let place = if is_ram(device) { "RAM" } else { device };
                    if streams {
                        tr!("core-streamed-from-to", name, place, default)
                    } else {
                        tr!("core-weights-of-the-wait", noun = module.noun(), place)
                    }
                }
            });
        }
    }
    Ok(tr!("core-placed-automatically", parts = parts.join("; ")))
}

#[cfg(test)]
mod tests;
