//! Plans, fixes and shortages: the answers of the planner.

use super::change::Change;
use super::error::PlacementError;
use super::phase::Phase;
use super::predict::Prediction;
use super::value::Placement;
use crate::format::memory_size;
use atelier_language::tr;

/// Cost of a plan; the lower, the better. Comparable between plans for the same modules and pins on
/// the same devices, whatever memory these have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(pub(super) u64);

/// A placement that fits, with the reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The placement.
    pub placement: Placement,
    /// Its memory.
    pub prediction: Prediction,
    /// A sentence for each module in use, by priority: its place and the reason.
    pub reasons: Vec<String>,
    /// Its cost.
    pub score: Score,
    /// Fixes that spare the processor a module which a better device could run, the smallest loss
    /// first; empty where it runs none.
    pub better: Vec<Fix>,
}

/// A device with too little memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// Its whole name.
    pub device: String,
    /// Phase of its peak.
    pub phase: Phase,
    /// Bytes needed at the peak.
    pub wanted_bytes: u64,
    /// Bytes that may be used.
    pub available_bytes: u64,
}

/// Error: no placement fits.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct Shortage {
    /// Missing bytes of the nearest plan.
    pub missing_bytes: u64,
    /// Devices with too little memory.
    pub shortfalls: Vec<Shortfall>,
    /// The plan with the fewest missing bytes.
    pub nearest: Plan,
    /// Changes that make it fit, the smallest loss first.
    pub fixes: Vec<Fix>,
}

impl Shortage {
    fn sentence(&self) -> String {
        let shortfalls = self.shortfalls.iter().map(|shortfall| {
            let (wanted, available) = (memory_size(shortfall.wanted_bytes), memory_size(shortfall.available_bytes));
            tr!("core-would-have-to-hold", device = shortfall.device, wanted, phase = shortfall.phase.label(), available)
        });
        let shortfalls = shortfalls.collect::<Vec<_>>().join("; ");
        let fix = self.fixes.first().map_or_else(
            || tr!("core-close-other-programs-that").to_owned(),
            |fix| fix.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(tr!("core-and")),
        );
        tr!("core-this-does-not-fit", missing_bytes = memory_size(self.missing_bytes), shortfalls, fix)
    }
}

/// Error of the planner.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A pin names a device that is not there, or there is no device at all.
    #[error(transparent)]
    Device(#[from] PlacementError),
    /// Nothing fits.
    #[error(transparent)]
    Short(#[from] Box<Shortage>),
}

/// Changes with which a placement fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The changes, all of them together.
    pub changes: Vec<Change>,
    /// The plan with these changes.
    pub plan: Plan,
}
