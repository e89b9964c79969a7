//! The terms that a model comes under.

use atelier_language::tr;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The terms that a model comes under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Licence {
    /// An SPDX expression, such as `MIT OR Apache-2.0`.
    Spdx(String),
    /// Terms of its own.
    Named {
        /// Their name.
        name: String,
        /// Their page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// True if they must be accepted, with an account, before the files can be had.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        gated: bool,
        /// True if they forbid earning money with the pictures or the model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        non_commercial: bool,
        /// True if the person accepted them, in the manifest of a model that was downloaded.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        accepted: bool,
        /// Fields unknown to this version.
        #[serde(flatten)]
        other: Map<String, Value>,
    },
}

impl Licence {
    /// Their name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Spdx(name) | Self::Named { name, .. } => name,
        }
    }

    pub(super) const fn name_mut(&mut self) -> &mut String {
        match self {
            Self::Spdx(name) | Self::Named { name, .. } => name,
        }
    }

    /// Their page, if the entry names one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Spdx(_) => None,
            Self::Named { url, .. } => url.as_deref(),
        }
    }

    /// True if a person should see them once before the model is used: they are gated, or forbid
    /// commercial use.
    #[must_use]
    pub const fn asks(&self) -> bool {
        match self {
            Self::Spdx(_) => false,
            Self::Named { gated, non_commercial, .. } => *gated || *non_commercial,
        }
    }

    /// True if an account must have accepted them before the files can be had.
    #[must_use]
    pub const fn is_gated(&self) -> bool {
        matches!(self, Self::Named { gated: true, .. })
    }

    /// True if they forbid commercial use.
    #[must_use]
    pub const fn is_non_commercial(&self) -> bool {
        matches!(self, Self::Named { non_commercial: true, .. })
    }

    /// True if they must be shown before the model is used: they ask to be seen, and were not
    /// accepted yet.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        self.asks() && !matches!(self, Self::Named { accepted: true, .. })
    }

    /// Their special conditions, in a word or two.
    #[must_use]
    pub fn notes(&self) -> Option<&'static str> {
        match (self.is_gated(), self.is_non_commercial()) {
            (true, true) => Some(tr!("library-needs-an-account-non")),
            (true, false) => Some(tr!("library-needs-an-account")),
            (false, true) => Some(tr!("library-non-commercial")),
            (false, false) => None,
        }
    }

    /// Writes down that the person accepted them.
    pub const fn accept(&mut self) {
        if let Self::Named { accepted, .. } = self {
            *accepted = true;
        }
    }
}
