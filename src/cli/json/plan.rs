//! The line of `atelier plan --json`.

use serde::{Deserialize, Serialize};

use super::Device;
use atelier_core::placement::{self, Change, Fix, Module, ModuleSet, Phase, PhaseKind, Placement, Prediction};
use atelier_core::recipe::Recipe;
use atelier_core::time::{self, TimePrediction};
use atelier_engine::Estimate;

/// Predicted memory of a placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Predicted {
    pub backend: String,
    pub params_backend: String,
    pub max_vram: String,
    pub stream_layers: ModuleSet,
    pub fits: bool,
    pub missing_bytes: u64,
    pub devices: Vec<PredictedDevice>,
    pub modules: Vec<PredictedModule>,
    #[serde(default)]
    pub time: Option<PredictedTime>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured_devices: Vec<String>,
}

/// Predicted seconds of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct PredictedTime {
    pub load_secs: f64,
    pub encode_secs: f64,
    pub step_secs: f64,
    pub denoise_secs: f64,
    pub decode_secs: f64,
    pub upscale_secs: f64,
    pub first_preview_secs: f64,
    pub total_secs: f64,
    pub next_picture_secs: f64,
    pub phases: Vec<PredictedPhaseTime>,
}

/// Predicted seconds of a module in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct PredictedPhaseTime {
    pub module: Module,
    pub phase: PhaseKind,
    pub device: String,
    pub secs: f64,
}

/// Predicted memory of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct PredictedDevice {
    pub name: String,
    pub limit_bytes: u64,
    pub missing_bytes: u64,
    pub phases: Vec<PredictedPhase>,
}

/// Predicted memory of one device in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct PredictedPhase {
    pub phase: Phase,
    pub resident_bytes: u64,
    pub staged_bytes: u64,
    pub compute_bytes: u64,
    pub overhead_bytes: u64,
    pub shared_bytes: u64,
    pub total_bytes: u64,
}

/// Placement and predicted memory of one module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct PredictedModule {
    pub module: Module,
    pub runs_on: String,
    pub weights: String,
    pub weight_bytes: u64,
    pub staged_bytes: u64,
    pub compute_bytes: u64,
    pub streamed: bool,
}

/// The best placement, and changes that would improve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Fit {
    pub predicted: Predicted,
    pub reasons: Vec<String>,
    pub message: Option<String>,
    pub fixes: Vec<PlanFix>,
}

/// Changes that make the plan fit, or fit better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct PlanFix {
    pub changes: Vec<String>,
    pub predicted: Predicted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Plan {
    pub width: u32,
    pub height: u32,
    pub devices: Vec<Device>,
    pub requested: Predicted,
    pub notes: Vec<String>,
    pub suggested: Fit,
    #[serde(default)]
    pub streaming: Vec<PlanFix>,
}

impl Predicted {
    pub(in crate::cli) fn new(recipe: &Recipe, estimate: &Estimate, placement: &Placement, prediction: &Prediction) -> Self {
        let (time, unmeasured_devices) = match estimate.time(recipe, placement, prediction) {
            Ok(time) => (Some(PredictedTime::from(&time)), Vec::new()),
            Err(missing) => (None, missing.devices.into_iter().collect()),
        };
        let text = placement.text();
        let devices = prediction.devices.iter().map(|device| PredictedDevice {
            name: device.name.clone(),
            limit_bytes: device.limit_bytes,
            missing_bytes: device.missing_bytes(),
            phases: Phase::ALL.map(|phase| in_phase(phase, &device.in_phase(phase))).into(),
        });
        let modules = prediction.modules.iter().map(|(module, it)| PredictedModule {
            module: *module,
            runs_on: it.runs_on.clone(),
            weights: it.weights.name().to_owned(),
            weight_bytes: it.weight_bytes,
            staged_bytes: it.staged_bytes,
            compute_bytes: it.compute_bytes,
            streamed: it.in_pieces,
        });
        Self {
            backend: text.backend,
            params_backend: text.params_backend,
            max_vram: text.max_vram,
            stream_layers: text.stream_layers,
            fits: prediction.missing_bytes == 0,
            missing_bytes: prediction.missing_bytes,
            devices: devices.collect(),
            modules: modules.collect(),
            time,
            unmeasured_devices,
        }
    }
}

fn in_phase(phase: Phase, it: &placement::MemoryUse) -> PredictedPhase {
    let placement::MemoryUse { resident_bytes, staged_bytes, compute_bytes, overhead_bytes, shared_bytes } = *it;
    PredictedPhase { phase, resident_bytes, staged_bytes, compute_bytes, overhead_bytes, shared_bytes, total_bytes: it.total_bytes() }
}

impl PlanFix {
    /// Without seconds where it changes the recipe: what was counted is the work of the recipe as
    /// it is.
    pub(in crate::cli) fn new(recipe: &Recipe, estimate: &Estimate, fix: &Fix) -> Self {
        let changes = fix.changes.iter().map(ToString::to_string).collect();
        let predicted = Predicted::new(recipe, estimate, &fix.plan.placement, &fix.plan.prediction);
        let keeps_work = fix.changes.iter().all(Change::is_placement);
        Self { changes, predicted: Predicted { time: predicted.time.filter(|_| keeps_work), ..predicted } }
    }
}

impl From<&TimePrediction> for PredictedTime {
    fn from(it: &TimePrediction) -> Self {
        let phase =
            |it: &time::PhaseTime| PredictedPhaseTime { module: it.module, phase: it.phase, device: it.device.clone(), secs: it.secs };
        Self {
            load_secs: it.load_secs,
            encode_secs: it.encode_secs,
            step_secs: it.step_secs,
            denoise_secs: it.denoise_secs,
            decode_secs: it.decode_secs,
            upscale_secs: it.upscale_secs,
            first_preview_secs: it.first_preview_secs,
            total_secs: it.total_secs,
            next_picture_secs: it.next_picture_secs,
            phases: it.phases.iter().map(phase).collect(),
        }
    }
}
