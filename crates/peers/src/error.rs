//! Why another studio did not do what it was asked for, in words for a person.

use std::fmt;

use atelier_core::advice::Advice;
use atelier_language::tr;

/// Another studio cannot be found, reached or used. Words of the other side in it are bounded and
/// one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StudioError {
    NotAnAddress(String),
    /// This system does not let services be announced or searched.
    NoNetwork(String),
    Unreachable {
        studio: String,
        reason: String,
    },
    /// It knows this computer not yet, or not by this token.
    NoAccess {
        studio: String,
        had_token: bool,
    },
    /// Another studio answers at its address.
    Replaced {
        studio: String,
    },
    /// It answered that it cannot do this, and why.
    Refused {
        studio: String,
        sentence: String,
    },
    /// What it answered is not what a studio answers.
    Nonsense {
        studio: String,
        reason: String,
    },
    /// The connection ended before the job did.
    Lost {
        studio: String,
    },
    /// Its picture is none, or too large.
    BadPicture {
        studio: String,
        reason: String,
    },
    /// It tried, and the job failed there.
    Failed {
        studio: String,
        sentence: String,
    },
    Cancelled,
}

impl StudioError {
    /// The error as a sentence, and the next step.
    #[must_use]
    pub fn advice(&self) -> Advice {
        match self {
            Self::NotAnAddress(text) => Advice::new(tr!("peers-is-not-the-address", text), tr!("peers-write-it-as-http")),
            Self::NoNetwork(reason) => Advice::new(tr!("peers-the-network-cannot-be", reason), tr!("peers-enter-the-address-of")),
            Self::Unreachable { studio, reason } => {
                Advice::new(tr!("peers-cannot-be-reached", studio, reason), tr!("peers-check-that-it-shares"))
            }
            Self::NoAccess { studio, had_token: false } => {
                Advice::new(tr!("peers-needs-a-token", studio), tr!("peers-paste-the-link-that"))
            }
            Self::NoAccess { studio, had_token: true } => {
                Advice::new(tr!("peers-does-not-accept-the", studio), tr!("peers-paste-the-link-that"))
            }
            Self::Replaced { studio } => Advice::new(tr!("peers-another-studio-answers-at", studio), tr!("peers-have-it-announced-in")),
            Self::Refused { studio, sentence } => {
                Advice::new(tr!("peers-refused-this", studio, sentence), tr!("peers-change-what-it-names"))
            }
            Self::Nonsense { studio, reason } => {
                Advice::new(tr!("peers-did-not-answer-as", studio, reason), tr!("peers-check-the-address-or"))
            }
            Self::Lost { studio } => Advice::new(tr!("peers-the-connection-to-was", studio), tr!("peers-the-job-may-still")),
            Self::BadPicture { studio, reason } => {
                Advice::new(tr!("peers-the-picture-from-cannot", studio, reason), tr!("peers-check-the-address-or"))
            }
            Self::Failed { studio, sentence } => {
                Advice::new(tr!("peers-could-not-make-the", studio, sentence), tr!("peers-try-again-or-choose"))
            }
            Self::Cancelled => Advice::new(tr!("peers-the-job-was-cancelled"), ""),
        }
    }
}

impl fmt::Display for StudioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.advice().fmt(f)
    }
}

impl std::error::Error for StudioError {}
