//! The line of `atelier plan --json`.

use serde::{Deserialize, Serialize};

use super::Device;
use atelier_core::placement::{self, Fix, Module, Phase, Placement, Prediction};

/// Predicted memory of a placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the text of the module above documents every field")]
pub struct Predicted {
    pub backend: String,
    pub params_backend: String,
    pub max_vram: String,
    pub stream_layers: bool,
    pub fits: bool,
    pub missing_bytes: u64,
    pub devices: Vec<PredictedDevice>,
    pub modules: Vec<PredictedModule>,
}

/// Predicted memory of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the text of the module above documents every field")]
pub struct PredictedDevice {
    pub name: String,
    pub limit_bytes: u64,
    pub missing_bytes: u64,
    pub phases: Vec<PredictedPhase>,
}

/// Predicted memory of one device in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the text of the module above documents every field")]
pub struct PredictedPhase {
    pub phase: Phase,
    pub resident_bytes: u64,
    pub staged_bytes: u64,
    pub compute_bytes: u64,
    pub slack_bytes: u64,
    pub shared_bytes: u64,
    pub total_bytes: u64,
}

/// Placement and predicted memory of one module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the text of the module above documents every field")]
pub struct PredictedModule {
    pub module: Module,
    pub runs_on: String,
    pub weights: String,
    pub weight_bytes: u64,
    pub staged_bytes: u64,
    pub compute_bytes: u64,
    pub in_pieces: bool,
}

/// The best placement, and changes that would improve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the text of the module above documents every field")]
pub struct Fit {
    pub predicted: Predicted,
    pub reasons: Vec<String>,
    pub sentence: Option<String>,
    pub fixes: Vec<PlanFix>,
}

/// Changes that make the plan fit, or fit better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the text of the module above documents every field")]
pub struct PlanFix {
    pub changes: Vec<String>,
    pub predicted: Predicted,
}

/// The whole line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the text of the module above documents every field")]
pub struct Plan {
    pub width: u32,
    pub height: u32,
    pub devices: Vec<Device>,
    pub asked: Predicted,
    pub notes: Vec<String>,
    pub fit: Fit,
}

impl Predicted {
    pub(in crate::cli) fn new(placement: &Placement, prediction: &Prediction) -> Self {
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
            in_pieces: it.in_pieces,
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
        }
    }
}

fn in_phase(phase: Phase, it: &placement::MemoryUse) -> PredictedPhase {
    let placement::MemoryUse { resident_bytes, staged_bytes, compute_bytes, overhead_bytes: slack_bytes, shared_bytes } = *it;
    PredictedPhase { phase, resident_bytes, staged_bytes, compute_bytes, slack_bytes, shared_bytes, total_bytes: it.total_bytes() }
}

impl From<&Fix> for PlanFix {
    fn from(fix: &Fix) -> Self {
        let changes = fix.changes.iter().map(ToString::to_string).collect();
        Self { changes, predicted: Predicted::new(&fix.plan.placement, &fix.plan.prediction) }
    }
}
