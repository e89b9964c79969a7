//! Reasons why a job or a query failed.

use serde::{Deserialize, Serialize};

use super::remote_error::RemoteError;
use atelier_core::advice::Advice;
use atelier_core::placement::PhaseKind;

/// Failure of a job or a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// For a person.
    pub advice: Advice,
    /// The engine's last log lines.
    pub log: Vec<String>,
    /// For a program that knows a remedy.
    #[serde(default)]
    pub cause: Option<Cause>,
}

impl Failure {
    /// A failure of which only the advice is known.
    #[must_use]
    pub fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Advice::new(sentence, hint).into()
    }
}

impl From<Advice> for Failure {
    fn from(advice: Advice) -> Self {
        Self { advice, ..Self::default() }
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        Self { advice: error.advice(), log: Vec::new(), cause: Some(Cause::Remote(error)) }
    }
}

/// Cause of a failure that has remedies of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// An allocation failed.
    OutOfMemory(OutOfMemory),
    /// A remote device could not be reached, or went away.
    Remote(RemoteError),
}

/// An allocation that a device refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfMemory {
    /// The device's name.
    pub device: String,
    /// The phase of the job.
    pub phase: PhaseKind,
    /// Bytes of the allocation.
    pub bytes_wanted: u64,
    /// Bytes that were free at that moment.
    pub bytes_free: u64,
}

impl OutOfMemory {
    /// True where memory was free, and the device allocates no so much at once.
    #[must_use]
    pub const fn is_allocation_limit(&self) -> bool {
        self.bytes_wanted <= self.bytes_free
    }
}
