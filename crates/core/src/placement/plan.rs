//! Plans, fixes and shortages: the answers of the planner.

use super::change::Change;
use super::error::PlacementError;
use super::phase::Phase;
use super::predict::Prediction;
use super::value::Placement;
use crate::format::memory_size;

/// How good a plan is; the lower, the better. Comparable between plans for the same modules and pins on the same devices, whatever
/// memory these have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(pub(super) u32);

/// A placement, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where everything goes.
    pub placement: Placement,
    /// What that takes.
    pub prediction: Prediction,
    /// For each module in use, by worth: where it goes and why, as a sentence.
    pub reasons: Vec<String>,
    /// How good it is.
    pub score: Score,
    /// Where the processor must run what a better device could: the changes that would spare it, the smallest loss first.
    pub better: Vec<Fix>,
}

/// A device that has too little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// Its whole name.
    pub device: String,
    /// When most is wanted of it.
    pub phase: Phase,
    /// What is wanted of it then, in bytes.
    pub wanted_bytes: u64,
    /// What there is, in bytes.
    pub available_bytes: u64,
}

/// Nothing fits.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct Shortage {
    /// By how many bytes.
    pub missing_bytes: u64,
    /// Where.
    pub shortfalls: Vec<Shortfall>,
    /// The plan that lacks least.
    pub nearest: Plan,
    /// What would make it fit, the smallest loss first.
    pub fixes: Vec<Fix>,
}

impl Shortage {
    fn sentence(&self) -> String {
        let shortfalls = self.shortfalls.iter().map(|shortfall| {
            let (wanted, available) = (memory_size(shortfall.wanted_bytes), memory_size(shortfall.available_bytes));
            format!("{} would have to hold {wanted} in the {} phase and has {available}", shortfall.device, shortfall.phase.label())
        });
        let shortfalls = shortfalls.collect::<Vec<_>>().join("; ");
        let fix = self.fixes.first().map_or_else(
            || "Close other programs that use this memory, or choose a smaller model".to_owned(),
            |fix| fix.changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", and "),
        );
        format!("this does not fit, {} are missing: {shortfalls}. {fix}", memory_size(self.missing_bytes))
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A pin names a device that is not there, or there is no device at all.
    #[error(transparent)]
    Device(#[from] PlacementError),
    /// Nothing fits.
    #[error(transparent)]
    Short(#[from] Box<Shortage>),
}

/// A change, or some together, with which it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What to change.
    pub changes: Vec<Change>,
    /// The plan then.
    pub plan: Plan,
}
