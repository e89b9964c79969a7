//! Errors in words for a person: a sentence and a hint.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An error in words for a person. Every error that reaches one carries it; programs decide by the
/// type that embeds it, never by its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// The error, as a sentence.
    pub sentence: String,
    /// The next step, as a sentence; empty where nothing helps.
    pub hint: String,
}

impl Advice {
    /// Advice of these two sentences.
    #[must_use]
    pub fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hint: hint.into() }
    }
}

impl fmt::Display for Advice {
    /// Both sentences, the hint after a space.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " {}", self.hint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_without_a_hint_is_its_sentence() {
        assert_eq!(Advice::new("It is full.", "Delete something.").to_string(), "It is full. Delete something.");
        assert_eq!(Advice::new("It is full.", "").to_string(), "It is full.");
    }
}
