//! What went wrong and what to do next, in words for a person.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What went wrong and what to do next. Every error that reaches a person carries one; programs decide by the type that embeds it, never by
/// its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// What went wrong: a sentence.
    pub sentence: String,
    /// What to do next: a sentence; empty where nothing helps.
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
