//! Predictions of a job's memory, before it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use super::checks::can_be_tiled;
use super::generate::decoded_in_tiles;
use super::plan::GenerationPlan;
use super::shard::BatchShard;
use crate::estimate;
use crate::ffi;
use crate::state::EngineState;
use atelier_core::device::Device;
use atelier_core::format::memory_size;
use atelier_core::placement::{DeviceCapacity, DevicePrediction, Module, Phase, Placement, Prediction};
use atelier_core::recipe::Recipe;
use atelier_language::tr;

/// Predicts the memory of each shard, with a note where it exceeds a device. `recipe` is the one
/// before checks.
pub(super) fn predict_shards(engine: &EngineState, recipe: &Recipe, plan: &mut GenerationPlan, cancel: &AtomicBool) {
    if ffi::keeps_packed() && plan.shards.iter().any(|shard| shard.placement.assignment(Module::Diffusion).runs_on == "CPU") {
        // Nobody may have asked for an estimate, and without one nothing is kept.
        let recipe = Recipe { placement: plan.placement.estimated_as.text(), ..plan.recipe.clone() };
        estimate::needs_and_work(&engine.estimates, &recipe, &plan.devices, cancel);
    }
    let GenerationPlan { shards, begin, notes, devices, recipe: checked, family, placement, vae_tiling, .. } = plan;
    if !*vae_tiling
        && can_be_tiled(checked, family.latent_pixels())
        && let Some(device) = shards.iter().find_map(|shard| {
            let prediction = predict(engine, checked, &placement.estimated_as, &shard.placement, devices)?;
            lacks_for_decoding_alone(&prediction)
        })
    {
        // Known before anything is sampled.
        (checked.vae_tiling, *vae_tiling) = (true, true);
        let note = decoded_in_tiles(&device);
        begin.notes.push(note.sentence.clone());
        notes.push(note);
    }
    let names: BTreeSet<&str> = shards.iter().flat_map(BatchShard::runs_on).collect();
    let used = devices.iter().filter(|device| names.contains(device.name.as_str()));
    begin.notes.extend(used.filter(|device| device.is_vulkan() && !engine.history.has_computed(recipe, device)).map(shader_note));
    for shard in shards {
        if let Some(prediction) = predict(engine, checked, &placement.estimated_as, &shard.placement, devices) {
            begin.notes.extend(prediction.devices.iter().filter_map(predicted_shortage));
            shard.prediction = Some(prediction);
        } else {
            shard.recall(engine, recipe);
            let measured = shard.measured.iter();
            begin
                .notes
                .extend(measured.flat_map(|measured| devices.iter().filter_map(|device| measured_shortage(engine, device, measured))));
        }
    }
}

/// Measured on an H200: 11 s for a small model, 20 s for SDXL, half a minute and more for others.
fn shader_note(device: &Device) -> String {
    tr!("engine-first-picture-of-this", name = device.name)
}

/// The device on which nothing but decoding exceeds what there is.
fn lacks_for_decoding_alone(prediction: &Prediction) -> Option<String> {
    let lacks = |device: &DevicePrediction, phase| device.in_phase(phase).total_bytes() > device.limit_bytes;
    let short: Vec<&DevicePrediction> = prediction.devices.iter().filter(|device| device.missing_bytes() > 0).collect();
    let others = Phase::ALL.into_iter().filter(|phase| *phase != Phase::Decode);
    let only_decoding = others.into_iter().all(|phase| !short.iter().any(|device| lacks(device, phase)));
    short.first().filter(|_| only_decoding).map(|device| device.name.clone())
}

/// Memory of a job whose estimate is known, on devices as they are now. Estimates do not depend on
/// how a batch is split.
pub(super) fn predict(
    engine: &EngineState,
    recipe: &Recipe,
    whole: &Placement,
    shard: &Placement,
    devices: &[Device],
) -> Option<Prediction> {
    let needs = engine.with_headers(|headers| engine.estimates.get(headers, recipe, whole, devices))?;
    let overhead = engine.history.overhead(devices);
    let capacities: Vec<DeviceCapacity> = devices.iter().map(|device| capacity(device, &overhead)).collect();
    Prediction::of(shard, &needs, &capacities).ok()
}

fn capacity(device: &Device, overhead: &BTreeMap<String, u64>) -> DeviceCapacity {
    DeviceCapacity::for_planning(device, overhead.get(&device.name).copied().unwrap_or(0))
}

/// A sentence where the prediction exceeds a device.
fn predicted_shortage(device: &DevicePrediction) -> Option<String> {
    let (phase, used) = device.peak();
    (device.missing_bytes() > 0).then(|| {
        tr!(
            "engine-this-may-not-fit-in-the",
            phase = phase.label(),
            name = device.name,
            total_bytes = memory_size(used.total_bytes()),
            limit_bytes = memory_size(device.limit_bytes)
        )
    })
}

/// A sentence where a job like this one took more than a device has.
fn measured_shortage(engine: &EngineState, device: &Device, measured: &BTreeMap<String, u64>) -> Option<String> {
    let bytes = measured.get(&device.name)?;
    let capacity = capacity(device, &engine.history.overhead(std::slice::from_ref(device)));
    let limit = capacity.device.memory_free_bytes.saturating_sub(capacity.overhead_bytes);
    (device.memory_total_bytes > 0 && *bytes > limit)
        .then(|| tr!("engine-this-may-not-fit", bytes = memory_size(*bytes), name = device.name, limit = memory_size(limit)))
}
