//! Requests for a context.

use super::budget::ContextBudgets;
use super::key;
use super::policy::Bytes;
use crate::ffi::{self, ContextParams};
use atelier_core::placement::{DevicePrediction, Placement, Prediction};

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
    /// Peak bytes on each device.
    pub(super) fn bytes(&self) -> Bytes {
        let Some(prediction) = self.prediction else {
            return self.measured.cloned().unwrap_or_else(|| key::guessed_bytes(self.params, self.placement));
        };
        let most = |device: &DevicePrediction| {
            let peak = device.peak().1;
            // The overhead of a device in use is no longer free.
            let overhead = if ffi::allocated_bytes(&device.name) > 0 { peak.overhead_bytes } else { 0 };
            (device.name.clone(), peak.total_bytes().saturating_sub(overhead))
        };
        prediction.devices.iter().map(most).collect()
    }
}
