//! Requests for a context.

use super::budget::ContextBudgets;
use super::key;
use super::policy::Bytes;
use crate::ffi::{self, ContextParams};
use atelier_core::placement::{DevicePrediction, Placement, Prediction};

/// What a job asks for.
pub(crate) struct LeaseRequest<'a> {
    pub(crate) params: &'a ContextParams,
    pub(crate) budgets: &'a ContextBudgets,
    pub(crate) placement: &'a Placement,
    /// What it takes, where that is known...
    pub(crate) prediction: Option<&'a Prediction>,
    /// ...else what a picture like this one took, where one was made; else it is guessed from the sizes of the files.
    pub(crate) measured: Option<&'a Bytes>,
}

impl LeaseRequest<'_> {
    /// The most that it takes of each device at once.
    pub(super) fn bytes(&self) -> Bytes {
        let Some(prediction) = self.prediction else {
            return self.measured.cloned().unwrap_or_else(|| key::guessed_bytes(self.params, self.placement));
        };
        let most = |device: &DevicePrediction| {
            let peak = device.peak().1;
            // A device that holds something of ours has taken for itself what it takes.
            let overhead = if ffi::allocated_bytes(&device.name) > 0 { peak.overhead_bytes } else { 0 };
            (device.name.clone(), peak.total_bytes().saturating_sub(overhead))
        };
        prediction.devices.iter().map(most).collect()
    }
}
