//! The placements that fit, by the predicted time of a whole picture.
//!
//! The planner adds up costs of single modules, which know nothing of what streaming keeps on a
//! device. Here the planner is asked with each module on each device in turn, and the pictures of
//! its answers are predicted as a whole. Not here: which of them is taken (`automatic`).

use super::capacity::DeviceCapacity;
use super::error::PlacementError;
use super::fit::fitting;
use super::plan_time::PlanTime;
use super::predict::Prediction;
use super::request::{Pin, Pins, PlanRequest};
use super::search::{best_device, is_usable};
use super::value::{Placement, WeightLocation};
use crate::module::Module;
use crate::time::{TimePrediction, phase_works, predict_time};

/// A placement that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedPlacement {
    /// The placement.
    pub placement: Placement,
    /// Its memory.
    pub prediction: Prediction,
    /// Its time; `None` where a device was not measured.
    pub time: Option<TimePrediction>,
}

impl RankedPlacement {
    /// Seconds of a picture, the model being in memory.
    #[must_use]
    pub fn secs(&self) -> Option<f64> {
        self.time.as_ref().map(TimePrediction::loaded_secs)
    }

    /// The placement with its memory and time; `None` where it does not fit.
    pub(super) fn of(placement: Placement, request: &PlanRequest<'_>) -> Result<Option<Self>, PlacementError> {
        let prediction = Prediction::of(&placement, request.needs, request.capacities)?;
        if !prediction.fits() {
            return Ok(None);
        }
        let time = request.time.and_then(|PlanTime { work, rates, corrections }| {
            let phases = phase_works(work, request.needs, &placement, &prediction);
            predict_time(&phases, rates, corrections).ok()
        });
        Ok(Some(Self { placement, prediction, time }))
    }
}

/// Placements that fit, the quickest first, those whose time is not known last; among equals the
/// planner's own, then everything on its best device. Empty: nothing fits. Not all that there are:
/// those that the planner finds with each free module on each device.
pub fn ranked(request: &PlanRequest<'_>) -> Result<Vec<RankedPlacement>, PlacementError> {
    let mut found: Vec<RankedPlacement> = Vec::new();
    let mut add = |placement: Placement| -> Result<(), PlacementError> {
        if found.iter().all(|it| it.placement != placement) {
            found.extend(RankedPlacement::of(placement, request)?);
        }
        Ok(())
    };
    for pins in std::iter::once(request.pins.clone()).chain(variants(request)) {
        if let Some(plan) = fitting(&PlanRequest { pins: &pins, ..*request })? {
            add(plan.placement)?;
        }
    }
    if request.pins.is_empty() {
        let mut plain = Placement::all_on(&name_of(request.capacities.get(best_device(request.capacities, request.pins)?)));
        plain.budgets.clone_from(request.budgets);
        plain.stream_layers = request.stream_layers;
        add(plain)?;
    }
    let secs = |it: &RankedPlacement| it.secs().unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| secs(a).total_cmp(&secs(b)));
    Ok(found)
}

/// The pins with one free module more held to each device, with its weights anywhere and in RAM;
/// and with all free modules on each device.
fn variants<'a>(request: &'a PlanRequest<'_>) -> impl Iterator<Item = Pins> + 'a {
    let capacities = request.capacities;
    let ram = capacities.iter().find(|capacity| capacity.is_ram());
    let devices = (0..capacities.len()).filter(|device| is_usable(*device, capacities, request.pins)).filter_map(|n| capacities.get(n));
    let is_free = |module: &&Module| request.pins.get(module).is_none_or(|pin| pin.runs_on.is_none());
    let free: Vec<Module> = request.needs.modules.keys().filter(is_free).copied().collect();
    devices.flat_map(move |device| {
        let runs_on = || Some(device.device.name.clone());
        let in_ram = ram.filter(|_| !device.is_ram()).map(|ram| WeightLocation::Device(ram.device.name.clone()));
        let locations: Vec<Option<WeightLocation>> = [None].into_iter().chain(in_ram.map(Some)).collect();
        let pinned = |module: Module, weights: Option<WeightLocation>| {
            let own = request.pins.get(&module).and_then(|pin| pin.weights.clone());
            (module, Pin { runs_on: runs_on(), weights: own.or(weights) })
        };
        let with = |pins: Vec<(Module, Pin)>| request.pins.clone().into_iter().chain(pins).collect::<Pins>();
        let single = free.iter().flat_map(|module| locations.iter().map(|weights| with(vec![pinned(*module, weights.clone())])));
        let all = with(free.iter().map(|module| pinned(*module, None)).collect());
        single.chain([all]).collect::<Vec<_>>()
    })
}

fn name_of(capacity: Option<&DeviceCapacity>) -> String {
    capacity.map(|capacity| capacity.device.name.clone()).unwrap_or_default()
}
