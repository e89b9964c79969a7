//! Predictions of a job's memory, before it begins.

use std::collections::BTreeMap;

use super::plan::GenerationPlan;
use crate::state::EngineState;
use atelier_core::device::Device;
use atelier_core::format::memory_size;
use atelier_core::placement::{DeviceCapacity, DevicePrediction, Placement, Prediction};
use atelier_core::recipe::Recipe;

/// Predicts the memory of each shard, with a note where it exceeds a device. `recipe` is the one before checks.
pub(super) fn predict_shards(engine: &EngineState, recipe: &Recipe, plan: &mut GenerationPlan) {
    let GenerationPlan { shards, begin, devices, recipe: checked, placement, .. } = plan;
    for shard in shards {
        if let Some(prediction) = predict(engine, checked, &placement.placement, &shard.placement, devices) {
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

/// Memory of a job whose estimate is known, on devices as they are now. Estimates do not depend on how a batch is split.
fn predict(engine: &EngineState, recipe: &Recipe, whole: &Placement, shard: &Placement, devices: &[Device]) -> Option<Prediction> {
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
        format!(
            "This may not fit: in the {} phase {} would hold {}, and {} are to be had.",
            phase.label(),
            device.name,
            memory_size(used.total_bytes()),
            memory_size(device.limit_bytes)
        )
    })
}

/// A sentence where a job like this one took more than a device has.
fn measured_shortage(engine: &EngineState, device: &Device, measured: &BTreeMap<String, u64>) -> Option<String> {
    let bytes = measured.get(&device.name)?;
    let capacity = capacity(device, &engine.history.overhead(std::slice::from_ref(device)));
    let limit = capacity.device.memory_free_bytes.saturating_sub(capacity.overhead_bytes);
    (device.memory_total_bytes > 0 && *bytes > limit).then(|| {
        format!(
            "This may not fit: a picture like it took {} of {}, and {} are to be had.",
            memory_size(*bytes),
            device.name,
            memory_size(limit)
        )
    })
}
