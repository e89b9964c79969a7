//! Memory that a device holds in each phase of a job.

use super::phase::Phase;

/// Memory that a device holds in a phase, in bytes, by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Weights that live there.
    pub resident_bytes: u64,
    /// Weights copied there for what runs, LoRAs included.
    pub staged_bytes: u64,
    /// Compute buffers, and packed copies of weights.
    pub compute_bytes: u64,
    /// Memory that the device takes for itself.
    pub overhead_bytes: u64,
    /// Use of the same memory by others: of RAM, by devices without memory of their own; of a card,
    /// by its other backends.
    pub shared_bytes: u64,
}

impl MemoryUse {
    /// The sum.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        let parts = [self.resident_bytes, self.staged_bytes, self.compute_bytes, self.overhead_bytes, self.shared_bytes];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// Prediction for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePrediction {
    /// The device's whole name.
    pub name: String,
    /// Most bytes that may be used of it (`DeviceCapacity::limit_bytes`).
    pub limit_bytes: u64,
    pub(super) phases: [MemoryUse; Phase::ALL.len()],
}

impl DevicePrediction {
    /// Memory that it holds in a phase.
    #[must_use]
    pub const fn in_phase(&self, phase: Phase) -> MemoryUse {
        self.phases[phase as usize]
    }

    /// The phase in which it holds most, the first of several, and that memory.
    #[must_use]
    pub fn peak(&self) -> (Phase, MemoryUse) {
        let uses = Phase::ALL.into_iter().rev().map(|phase| (phase, self.in_phase(phase)));
        uses.max_by_key(|(_, it)| it.total_bytes()).unwrap_or((Phase::Load, MemoryUse::default()))
    }

    /// Bytes above its limit at the peak; 0 where it fits.
    #[must_use]
    pub fn missing_bytes(&self) -> u64 {
        self.peak().1.total_bytes().saturating_sub(self.limit_bytes)
    }
}
