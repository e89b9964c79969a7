//! A failed download: the kind of failure, and advice.

use atelier_core::advice::Advice;

/// A failed job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{advice}")]
pub struct Failure {
    /// The fault, and a remedy.
    pub advice: Advice,
    /// The kind of failure.
    pub cause: Cause,
}

impl Failure {
    /// A failure of this kind: the fault, and a remedy, in a sentence each.
    #[must_use]
    pub fn new(cause: Cause, sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { advice: Advice::new(sentence, hint), cause }
    }
}

/// Kind of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No server answered, or it stopped answering.
    Unreachable,
    /// The server wants a licence accepted, or a token.
    Gated {
        /// Page on which the licence can be read and accepted, if known.
        licence_url: Option<String>,
    },
    /// The server has no such file.
    NotFound,
    /// The server wants to be asked less often.
    TooMany,
    /// The server answered with something that makes no sense, or with another error.
    Server,
    /// The file that came is not the one that is wanted.
    Mismatch,
    /// The archive cannot be unpacked safely.
    Archive,
    /// The disk.
    Disk,
    /// The job itself makes no sense.
    Job,
}
