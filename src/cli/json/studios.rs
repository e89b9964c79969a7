//! The lines of `atelier studios --json`.

use atelier_library::Defaults;
use serde::{Deserialize, Serialize};

/// A line of `atelier studios`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub enum StudioLine {
    Studio {
        name: String,
        url: String,
        #[serde(rename = "found")]
        is_found: bool,
        #[serde(rename = "kept")]
        is_kept: bool,
        needs_token: Option<bool>,
        has_token: bool,
    },
    Model {
        studio: String,
        name: String,
        defaults: Defaults,
    },
}
