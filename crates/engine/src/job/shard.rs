//! Contexts that generate the pictures of one job, and predictions of their memory.

use std::collections::BTreeMap;

use super::plan::GenerationPlan;
use crate::cache::{ContextBudgets, LeaseRequest};
use crate::checks::cpu_threads;
use crate::ffi::ContextParams;
use crate::placement::ResolvedPlacement;
use crate::state::EngineState;
use atelier_core::device::Device;
use atelier_core::format::memory_size;
use atelier_core::placement::{DeviceCapacity, DevicePrediction, Placement, Prediction};
use atelier_core::recipe::{PlacementText, Recipe};

/// Parameters, budgets and predicted bytes of one context.
pub(super) struct BatchShard {
    pub(super) params: ContextParams,
    budgets: ContextBudgets,
    pub(super) placement: Placement,
    /// As it was written; for one device of several, the canonical text. The key of measurements on disk.
    text: PlacementText,
    /// Memory of this job, where an estimate is known.
    pub(super) prediction: Option<Prediction>,
    /// Bytes of each device that a job like this one took, where no estimate is known.
    measured: Option<BTreeMap<String, u64>>,
}

impl BatchShard {
    fn new(recipe: &Recipe, placement: &ResolvedPlacement, text: PlacementText) -> Self {
        let params = ContextParams {
            files: recipe.files.clone(),
            threads: cpu_threads(recipe.threads),
            flash_attention: recipe.flash_attention,
            placement: placement.assignments(),
        };
        let budgets = ContextBudgets { budgets: placement.budgets.clone(), stream_layers: recipe.placement.stream_layers };
        Self { params, budgets, placement: placement.placement.clone(), text, prediction: None, measured: None }
    }

    /// The request for a context of these parameters.
    pub(super) fn lease_request(&self) -> LeaseRequest<'_> {
        let Self { params, budgets, placement, text: _, prediction, measured } = self;
        LeaseRequest { params, budgets, placement, prediction: prediction.as_ref(), measured: measured.as_ref() }
    }

    /// Looks up the bytes that a job like this one took.
    pub(super) fn recall(&mut self, engine: &EngineState, recipe: &Recipe) {
        self.measured = engine.history.taken(&Recipe { placement: self.text.clone(), ..recipe.clone() });
    }
}

/// The contexts that generate the pictures of a checked recipe together.
pub(super) fn shards(recipe: &Recipe, placement: &ResolvedPlacement, devices: &[Device]) -> Vec<BatchShard> {
    match &placement.shards(devices)[..] {
        [one] => vec![BatchShard::new(recipe, one, PlacementText { split_batch: String::new(), ..recipe.placement.clone() })],
        several => several.iter().map(|shard| BatchShard::new(recipe, shard, shard.placement.text())).collect(),
    }
}

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
            begin.notes.extend(measured.flat_map(|measured| devices.iter().filter_map(|device| measured_shortage(engine, device, measured))));
        }
    }
}

/// Memory of a job whose estimate is known, on devices as they are now. Estimates do not depend on how a batch is split.
fn predict(engine: &EngineState, recipe: &Recipe, whole: &Placement, shard: &Placement, devices: &[Device]) -> Option<Prediction> {
    let needs = engine.estimates.get(&mut engine.headers(), recipe, whole, devices)?;
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
