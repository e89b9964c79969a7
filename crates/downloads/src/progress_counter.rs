//! Progress of one file, written by its transfer and read by the queue.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::event::Stage;

/// Stands for a size that is not known.
const UNKNOWN: u64 = u64::MAX;

/// Progress of a file.
pub(super) struct ProgressCounter {
    bytes: AtomicU64,
    total: AtomicU64,
    fetched: AtomicU64,
    stage: AtomicU8,
}

impl Default for ProgressCounter {
    fn default() -> Self {
        Self { bytes: AtomicU64::new(0), total: AtomicU64::new(UNKNOWN), fetched: AtomicU64::new(0), stage: AtomicU8::new(0) }
    }
}

const STAGES: [Stage; 7] = [Stage::Waiting, Stage::Checking, Stage::Loading, Stage::Shared, Stage::Retrying, Stage::Finishing, Stage::Done];

impl ProgressCounter {
    pub(super) fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn set_total(&self, total: Option<u64>) {
        self.total.store(total.unwrap_or(UNKNOWN), Ordering::Relaxed);
    }

    pub(super) fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|it| *it != UNKNOWN)
    }

    /// Counts bytes that came over the line, kept or not.
    pub(super) fn fetch(&self, bytes: u64) {
        self.fetched.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    pub(super) fn set_stage(&self, stage: Stage) {
        let at = STAGES.iter().position(|it| *it == stage).and_then(|at| u8::try_from(at).ok());
        self.stage.store(at.unwrap_or_default(), Ordering::Relaxed);
    }

    pub(super) fn stage(&self) -> Stage {
        STAGES.get(usize::from(self.stage.load(Ordering::Relaxed))).copied().unwrap_or_default()
    }
}
