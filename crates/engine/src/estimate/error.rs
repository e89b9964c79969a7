//! Reasons why an estimate has no answer.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::protocol::Failure;

/// An estimate has no answer.
#[derive(Debug)]
pub(super) enum EstimateError {
    /// It is not wanted any more.
    Outdated,
    /// The memory cannot be found out.
    Failed(Box<Failure>),
}

impl From<Failure> for EstimateError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// Source of the news that an answer is not wanted any more; asked often, from the engine's
/// threads.
pub(super) trait Outdated: Sync {
    fn is_outdated(&self) -> bool;
}

impl Outdated for AtomicBool {
    fn is_outdated(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}
