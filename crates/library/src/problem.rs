//! A model, or a set of files, that cannot be used.

use atelier_core::advice::Advice;

use super::header::HeaderError;

/// A model, or a set of files, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{advice}")]
pub struct Problem {
    /// The fault, and a remedy.
    pub advice: Advice,
}

impl Problem {
    /// A problem of these two sentences: the fault, and a remedy.
    #[must_use]
    pub fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { advice: Advice::new(sentence, hint) }
    }
}

impl From<HeaderError> for Problem {
    fn from(error: HeaderError) -> Self {
        Self { advice: error.advice }
    }
}
