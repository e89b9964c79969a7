//! Reasons why a job ends early.

use crate::failure;
use crate::ffi::{CallError, Status};
use crate::placement::placement_failure;
use crate::protocol::{End, Failure};
use atelier_core::placement::PlacementError;

/// A job ends early.
pub(super) enum JobError {
    Cancelled,
    Failed(Box<Failure>),
}

impl JobError {
    /// A failure with this advice.
    pub(super) fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(sentence, hint).into()
    }

    /// The error of a call into the engine, with the log lines that led to it. A connection that is
    /// lost after a cancel was given up.
    pub(super) fn of_call(error: &CallError, is_cancelled: bool, log: Vec<String>) -> Self {
        match error.status {
            Status::Cancelled => Self::Cancelled,
            Status::Lost if is_cancelled => Self::Cancelled,
            Status::Failed | Status::Aborted | Status::NoMemory | Status::Lost | Status::DeviceLost => failure::of_call(error, log).into(),
        }
    }
}

impl From<Failure> for JobError {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<PlacementError> for JobError {
    fn from(error: PlacementError) -> Self {
        placement_failure(&error).into()
    }
}

impl From<JobError> for End {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Cancelled => Self::Cancelled,
            JobError::Failed(failure) => Self::Failed(*failure),
        }
    }
}
