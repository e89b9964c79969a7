//! The lines of `atelier serve access --json`.

use serde::{Deserialize, Serialize};

/// A line of `atelier serve access`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub enum AccessLine {
    Access { name: String, by: String, program: Option<String>, since_ms: Option<i64>, last_used_ms: Option<i64>, until_ms: Option<i64> },
}
