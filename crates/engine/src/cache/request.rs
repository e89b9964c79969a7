//! Requests for a context.

use super::budget::ContextBudgets;
use super::key;
use super::policy::Bytes;
use crate::ffi::{self, ContextParams};
use atelier_core::placement::{DevicePrediction, Module, Phase, Placement, Prediction};

/// Request of a job for a context, with the memory that it needs.
pub(crate) struct LeaseRequest<'a> {
    pub(crate) params: &'a ContextParams,
    pub(crate) budgets: &'a ContextBudgets,
    pub(crate) placement: &'a Placement,
    /// Memory of the job, where an estimate is known...
    pub(crate) prediction: Option<&'a Prediction>,
    /// ...else bytes of each device that a job like this one took; else they are estimated from the
    /// sizes of the files.
    pub(crate) measured: Option<&'a Bytes>,
}

impl LeaseRequest<'_> {
    /// Packed weights that the prediction has room for, and the device that keeps them: no other model
    /// leaves for them.
    pub(super) fn packed(&self) -> Option<(&str, u64)> {
        let diffusion = self.prediction?.modules.get(&Module::Diffusion)?;
        (diffusion.packed_bytes > 0).then_some((diffusion.runs_on.as_str(), diffusion.packed_bytes))
    }

    /// Peak bytes on each device, without packed weights.
    pub(super) fn bytes(&self) -> Bytes {
        let Some(prediction) = self.prediction else {
            return self.measured.cloned().unwrap_or_else(|| key::guessed_bytes(self.params, self.placement));
        };
        let most = |device: &DevicePrediction| {
            let is_used = ffi::allocated_bytes(&device.name) > 0;
            let packed = self.packed().filter(|(name, _)| *name == device.name).map_or(0, |(_, bytes)| bytes);
            let bytes = Phase::ALL.into_iter().map(|phase| {
                let held = device.in_phase(phase);
                // The overhead of a device in use is no longer free.
                let overhead = if is_used { held.overhead_bytes } else { 0 };
                let packed = if phase == Phase::Denoise { packed } else { 0 };
                held.total_bytes().saturating_sub(overhead).saturating_sub(packed)
            });
            (device.name.clone(), bytes.max().unwrap_or(0))
        };
        prediction.devices.iter().map(most).collect()
    }
}
