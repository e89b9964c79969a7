//! Reasons why the devices of a server cannot be used.

use serde::{Deserialize, Serialize};

use atelier_core::advice::Advice;
use atelier_core::sentences::sentence;
use atelier_language::tr;

/// A server cannot be used. As text: a clause that says what happened, a semicolon, and a clause
/// that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[error("{}; {}", self.problem(), self.remedy())]
pub enum RemoteError {
    /// The host name cannot be resolved.
    Unknown(String),
    /// No connection: nothing listens there.
    Unreachable(String),
    /// The connection is accepted, and no answer comes in time.
    Silent(String),
    /// The answer is neither Atelier's nor ggml's.
    NotAtelier(String),
    /// ggml's own server, of another version of its protocol.
    StockVersion {
        /// The server's address.
        server: String,
        /// The server's protocol version.
        theirs: String,
        /// The protocol version of this program's engine.
        ours: String,
    },
    /// ggml's own server, built for names of another length than the engine's.
    StockNames(String),
    /// The wire versions differ.
    OtherVersion {
        /// The server's address.
        server: String,
        /// The server's wire version.
        theirs: String,
        /// This program's wire version.
        ours: String,
    },
    /// Another client uses its devices.
    Busy(String),
    /// The connection broke.
    Lost(String),
}

impl RemoteError {
    /// The server's address.
    #[must_use]
    pub fn server(&self) -> &str {
        match self {
            Self::Unknown(server)
            | Self::Unreachable(server)
            | Self::Silent(server)
            | Self::NotAtelier(server)
            | Self::StockNames(server)
            | Self::StockVersion { server, .. }
            | Self::OtherVersion { server, .. }
            | Self::Busy(server)
            | Self::Lost(server) => server,
        }
    }

    /// Both clauses as sentences.
    #[must_use]
    pub fn advice(&self) -> Advice {
        Advice::new(sentence(&self.problem()), sentence(self.remedy()))
    }

    /// The clause that says what happened.
    fn problem(&self) -> String {
        match self {
            Self::Unknown(name) => tr!("engine-no-machine-is-named", name),
            Self::Unreachable(server) => tr!("engine-nothing-responds-at", server),
            Self::Silent(server) => tr!("engine-accepts-the-connection-but", server),
            Self::NotAtelier(server) => tr!("engine-the-program-at-is", server),
            Self::StockVersion { server, theirs, ours } => {
                tr!("engine-ggmls-rpc-server-at-speaks-version", server, theirs, ours)
            }
            Self::StockNames(server) => tr!("engine-ggmls-rpc-server-at", server),
            Self::OtherVersion { server, theirs, ours } => {
                tr!("engine-runs-another-version-of", server, theirs, ours)
            }
            Self::Busy(server) => tr!("engine-the-devices-at-are", server),
            Self::Lost(server) => tr!("engine-the-connection-to-was", server),
        }
    }

    /// The clause that says what to do.
    fn remedy(&self) -> &'static str {
        match self {
            Self::Unknown(_) => tr!("engine-check-the-name-or"),
            Self::Unreachable(_) => tr!("engine-start-atelier-serve-device-there-and"),
            Self::Silent(_) => tr!("engine-if-the-machine-is"),
            Self::NotAtelier(_) => tr!("engine-start-atelier-serve-device-there-or"),
            Self::StockVersion { .. } => tr!("engine-start-atelier-serve-device-there-instead"),
            Self::StockNames(_) => {
                tr!("engine-start-atelier-serve-device")
            }
            Self::OtherVersion { .. } => tr!("engine-install-the-same-version"),
            Self::Busy(_) => tr!("engine-wait-until-that-program"),
            Self::Lost(_) => tr!("engine-check-that-atelier-serve"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_the_same_as_text_and_as_advice() {
        let error = RemoteError::Busy("studio:50052".into());
        assert_eq!(error.to_string(), "the devices at studio:50052 are lent to another program; wait until that program is closed");
        let advice = error.advice();
        assert_eq!(
            (advice.sentence.as_str(), advice.hint.as_str()),
            ("The devices at studio:50052 are lent to another program.", "Wait until that program is closed.")
        );
    }

    #[test]
    fn a_semicolon_in_a_name_cuts_no_sentence() {
        let error = RemoteError::OtherVersion { server: "s:1".into(), theirs: "1/a; b".into(), ours: "1/c".into() };
        let advice = error.advice();
        assert!(advice.sentence.ends_with("(1/a; b, here 1/c)."), "{advice:?}");
        assert_eq!(advice.hint, "Install the same version on both machines.");
    }
}
