//! Estimates of the steps of an image, kept for later ones.

use std::ptr::{NonNull, null};

/// Estimates of the steps of one image; read only once it is generated.
pub(crate) struct StepRecords(NonNull<ggml_sys::atelier_step_records>);

// SAFETY: plain memory of the shim, bound to no thread.
unsafe impl Send for StepRecords {}
// SAFETY: only `StepsParams::raw` gives the shim a pointer to write, of a value that the call owns;
// all other access reads.
unsafe impl Sync for StepRecords {}

/// The steps that an image does not compute, and those that it keeps.
#[derive(Clone, Copy)]
pub(crate) struct StepsParams<'a> {
    /// Records of an earlier image, and the number of first steps that take their estimates from
    /// there. Those that they do not have are computed.
    pub(crate) replay: Option<(&'a StepRecords, u32)>,
    /// Records of an earlier image whose estimate after this step gets this image's noise: it
    /// begins with the next step.
    pub(crate) restart: Option<(&'a StepRecords, u32)>,
    /// The last step that is run, where the schedule has more.
    pub(crate) stop_after: Option<u32>,
    /// The image is then the estimate of that step; else none comes.
    pub(crate) shows_last_step: bool,
    /// As many whole steps are kept as fit.
    pub(crate) max_bytes: u64,
}

impl StepsParams<'_> {
    /// The C form, which writes to `records`.
    pub(super) fn raw(&self, records: &mut StepRecords) -> ggml_sys::atelier_steps {
        let number = |steps: u32| i32::try_from(steps).unwrap_or(i32::MAX);
        ggml_sys::atelier_steps {
            record: records.0.as_ptr(),
            replay: self.replay.map_or(null(), |(records, _)| records.0.as_ptr().cast_const()),
            replay_steps: self.replay.map_or(0, |(_, steps)| number(steps)),
            restart: self.restart.map_or(null(), |(records, _)| records.0.as_ptr().cast_const()),
            restart_after: self.restart.map_or(0, |(_, step)| number(step)),
            stop_after: self.stop_after.map_or(0, number),
            shows_last_step: self.shows_last_step,
        }
    }
}

impl StepRecords {
    /// Empty records; `None` without memory.
    pub(super) fn new(max_bytes: u64) -> Option<Self> {
        // SAFETY: takes a number; null without memory.
        NonNull::new(unsafe { ggml_sys::atelier_step_records_new(max_bytes) }).map(Self)
    }

    /// The number of whole steps that are kept.
    pub(crate) fn steps(&self) -> u32 {
        u32::try_from(self.counts().steps).unwrap_or(0)
    }

    /// Size of the estimates.
    pub(crate) fn bytes(&self) -> u64 {
        self.counts().bytes
    }

    /// Evaluations of the sampler that the image computed; the others were replayed.
    pub(crate) fn computed(&self) -> u64 {
        self.counts().computed
    }

    fn counts(&self) -> ggml_sys::atelier_step_counts {
        // SAFETY: lives as long as `self`, and nobody writes.
        unsafe { ggml_sys::atelier_step_records_counts(self.0.as_ptr()) }
    }
}

impl Drop for StepRecords {
    fn drop(&mut self) {
        // SAFETY: came from `atelier_step_records_new`, freed once.
        unsafe { ggml_sys::atelier_step_records_free(self.0.as_ptr()) };
    }
}
