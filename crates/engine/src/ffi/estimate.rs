//! What pictures would take: contexts that hold nothing, and what was held by those that hold something.

use std::ffi::CString;
use std::ptr::{NonNull, null_mut};

use super::callbacks::{Callbacks, Sink, module_of, phase_kind};
use super::error::CallError;
use super::params::{Limits, Load, RawLoad, RawShot, Shot};
use crate::event::PhaseKind;
use atelier_core::placement::Module;

/// Modules in phases are far fewer.
const MOST_NEEDS: usize = 64;
/// Devices in phases are far fewer.
const MOST_PEAKS: usize = 256;

/// A model that is only looked at: no weights are read, no device holds or computes anything. It may be used beside a job of another thread.
pub(crate) struct Estimator(NonNull<ggml_sys::atelier_context>);

/// What a module takes in a phase, in bytes, where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) module: Module,
    pub(crate) phase: PhaseKind,
    /// The most weights at one time.
    pub(crate) weight_bytes: u64,
    pub(crate) lora_bytes: u64,
    /// The most of all else at one time.
    pub(crate) compute_bytes: u64,
    /// The most of both at one time, without LoRAs.
    pub(crate) peak_bytes: u64,
    /// How many graphs it ran.
    pub(crate) graphs: u32,
}

impl Estimator {
    /// Reads the headers of the model's files and prepares its modules.
    pub(crate) fn new(load: &Load, sink: &dyn Sink) -> Result<Self, CallError> {
        let raw = RawLoad::new(load)?;
        let callbacks = Callbacks::new(&sink);
        let mut context = null_mut();
        // SAFETY: `raw` owns its strings and lives past the call; `callbacks` borrows `sink`; `context` is ours to be written.
        let status = unsafe { ggml_sys::atelier_estimator_new(&raw const raw.raw, callbacks.as_ptr(), &raw mut context) };
        CallError::check(status)?;
        NonNull::new(context).map(Self).ok_or_else(|| CallError::new("the engine gave no estimator"))
    }

    /// What this picture would take.
    pub(crate) fn run(&mut self, shot: &Shot<'_>, limits: &Limits, sink: &dyn Sink) -> Result<Vec<Need>, CallError> {
        let raw = RawShot::new(shot)?;
        let callbacks = Callbacks::new(&sink);
        let limits = limits.raw();
        let mut needs = [ggml_sys::atelier_need::default(); MOST_NEEDS];
        let mut count = 0;
        // SAFETY: the pointer is a live estimator that only this value holds; `raw` owns what it points to, except pixels, which `shot`
        // borrows for longer than this call; `callbacks` borrows `sink`; `needs` has room for as many as it is said to.
        let status = unsafe {
            ggml_sys::atelier_estimator_run(
                self.0.as_ptr(),
                &raw const raw.raw,
                &raw const limits,
                callbacks.as_ptr(),
                needs.as_mut_ptr(),
                needs.len(),
                &raw mut count,
            )
        };
        CallError::check(status)?;
        Ok(needs.iter().take(count).filter_map(need).collect())
    }
}

fn need(raw: &ggml_sys::atelier_need) -> Option<Need> {
    Some(Need {
        module: module_of(raw.module)?,
        phase: phase_kind(raw.phase)?,
        weight_bytes: raw.weight_bytes,
        lora_bytes: raw.lora_bytes,
        compute_bytes: raw.compute_bytes,
        peak_bytes: raw.peak_bytes,
        graphs: u32::try_from(raw.graphs).unwrap_or(0),
    })
}

impl Drop for Estimator {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_estimator_new` and is freed once.
        unsafe { ggml_sys::atelier_context_free(self.0.as_ptr()) };
    }
}

/// The most bytes of each device, by its name and phase, during this thread's last picture or enlarging.
pub(crate) fn last_peaks() -> Vec<(String, PhaseKind, u64)> {
    let mut peaks = [ggml_sys::atelier_peak { device: std::ptr::null(), phase: 0, bytes: 0 }; MOST_PEAKS];
    // SAFETY: `peaks` has room for as many as it is said to.
    let count = unsafe { ggml_sys::atelier_last_peaks(peaks.as_mut_ptr(), peaks.len()) };
    let peak = |raw: &ggml_sys::atelier_peak| Some((super::text(raw.device), phase_kind(raw.phase)?, raw.bytes));
    peaks.iter().take(count).filter_map(peak).collect()
}

/// Bytes that Atelier holds of a device now.
pub(crate) fn held_bytes(device: &str) -> u64 {
    let Ok(device) = CString::new(device) else { return 0 };
    // SAFETY: a string that lives past the call.
    unsafe { ggml_sys::atelier_held(device.as_ptr()) }
}
