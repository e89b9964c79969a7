//! The upscaler that was used last, open until another one is used or a model needs its memory.

use std::path::Path;

use parking_lot::Mutex;

use crate::ffi::Upscaler;
use crate::fingerprint::Fingerprint;
use crate::placement::{Budget, ResolvedPlacement};
use atelier_core::placement::{Assignment, Module};

/// Everything that an open upscaler depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UpscalerKey {
    file: Fingerprint,
    tile_size: Option<u32>,
    threads: u32,
    assignment: Assignment,
    budgets: Vec<Budget>,
    is_streaming: bool,
}

impl UpscalerKey {
    /// The key of this file on these places.
    pub(crate) fn new(file: &Path, tile_size: Option<u32>, threads: u32, placement: &ResolvedPlacement) -> Self {
        Self {
            file: Fingerprint::of(file),
            tile_size,
            threads,
            assignment: placement.placement.assignment(Module::Upscaler).clone(),
            budgets: placement.budgets.iter().filter(|budget| budget.module == Module::Upscaler).cloned().collect(),
            is_streaming: placement.placement.streams_upscaler(),
        }
    }
}

/// The upscaler that nobody uses now.
#[derive(Default)]
pub(super) struct IdleUpscaler(Mutex<Option<(UpscalerKey, Upscaler)>>);

impl IdleUpscaler {
    /// Takes it out where it is this one; any other is freed.
    pub(super) fn take(&self, key: &UpscalerKey) -> Option<Upscaler> {
        let idle = self.0.lock().take();
        idle.filter(|(of, _)| of == key).map(|(_, upscaler)| upscaler)
    }

    /// Keeps one open, and frees the one before.
    pub(super) fn set(&self, key: UpscalerKey, upscaler: Upscaler) {
        let before = self.0.lock().replace((key, upscaler));
        drop(before);
    }

    /// Frees it. True where there was one.
    pub(super) fn free(&self) -> bool {
        let idle = self.0.lock().take();
        idle.is_some()
    }
}
