//! The placement of a recipe that names no device: the quickest that fits.

use std::sync::atomic::AtomicBool;

use crate::devices;
use crate::estimate::{self, EstimateCache};
use crate::placement::ResolvedPlacement;
use crate::state::EngineState;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{AutomaticPlacement, DeviceCapacity, Needs, Placement, PlacementError, PlanRequest, PlanTime, automatic};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_core::time::PictureWork;

/// True where a recipe leaves its placement to the engine, and there is a choice.
pub(crate) fn is_wanted(engine: &EngineState, recipe: &Recipe, devices: &[Device]) -> bool {
    let is_usable = |device: &&Device| device.kind == DeviceKind::Cpu || device.kind.is_graphics();
    engine.places_automatically()
        && recipe.placement == PlacementText::default()
        && !recipe.only_upscales()
        && devices.iter().filter(is_usable).count() > 1
}

/// The placement of a recipe whose memory and work were estimated before; `None` where they were
/// not, or nothing fits.
pub(crate) fn of_known(engine: &EngineState, recipe: &Recipe, devices: &[Device]) -> Option<ResolvedPlacement> {
    let plain = Placement::parse(&recipe.placement, devices).ok()?;
    let estimates: &EstimateCache = &engine.estimates;
    let (needs, work) = engine.with_headers(|headers| {
        let needs = estimates.get(headers, recipe, &plain, devices)?;
        Some((needs, estimates.work(headers, recipe, &plain, devices)?))
    })?;
    choose(engine, recipe, devices, plain, &needs, &work)
}

/// The same, estimated now where it was not before: not for a thread that others wait for. The
/// default placement where that fails, or nothing fits.
pub(crate) fn of_any(engine: &EngineState, recipe: &Recipe, cancel: &AtomicBool) -> Result<ResolvedPlacement, PlacementError> {
    let devices = devices::list();
    let resolved = ResolvedPlacement::resolve(&recipe.placement, &devices)?;
    let plain = resolved.placement.clone();
    let known = estimate::needs_and_work(&engine.estimates, recipe, &devices, cancel);
    Ok(known.and_then(|(needs, work)| choose(engine, recipe, &devices, plain, &needs, &work)).unwrap_or(resolved))
}

fn choose(
    engine: &EngineState,
    recipe: &Recipe,
    devices: &[Device],
    plain: Placement,
    needs: &Needs,
    work: &PictureWork,
) -> Option<ResolvedPlacement> {
    let files = engine.with_headers(|headers| headers.check(&recipe.files, &recipe.loras)).ok()?.files;
    let overhead = engine.history.overhead(devices);
    let bytes = |device: &Device| overhead.get(&device.name).copied().unwrap_or(0);
    let capacities: Vec<DeviceCapacity> = devices.iter().map(|device| DeviceCapacity::for_planning(device, bytes(device))).collect();
    let rates = engine.rates.machine_rates(devices, recipe.threads);
    let corrections = engine.rates.corrections(&files, recipe, devices);
    let request = PlanRequest::unconstrained(&capacities, needs, PlanTime { work, rates: &rates, corrections: &corrections });
    let AutomaticPlacement { placement, note } = automatic(&request, engine.cache.placement_of(&files).as_ref()).ok()??;
    Some(ResolvedPlacement::new(placement, devices).automatic(plain, note))
}
