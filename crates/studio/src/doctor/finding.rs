//! Results of checks.

use serde::Serialize;

use atelier_core::advice::Advice;

/// State of what was checked, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// It works, and something should be known or done.
    Attention,
    /// Something does not work until it is repaired.
    Broken,
}

impl Health {
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Attention => "attention",
            Self::Broken => "broken",
        }
    }
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The thing that was checked.
    pub topic: &'static str,
    pub health: Health,
    /// What was found, and what to do; the hint is empty where nothing is to be done.
    #[serde(flatten)]
    pub advice: Advice,
}

impl Finding {
    pub(super) fn ok(topic: &'static str, sentence: impl Into<String>) -> Self {
        Self { topic, health: Health::Ok, advice: Advice::new(sentence, "") }
    }

    pub(super) fn attention(topic: &'static str, sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { topic, health: Health::Attention, advice: Advice::new(sentence, hint) }
    }

    pub(super) fn broken(topic: &'static str, sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { topic, health: Health::Broken, advice: Advice::new(sentence, hint) }
    }
}
