//! What each route of A1111 answers with.

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

use crate::http::error::Failure;
use crate::http::json::Json;

/// JSON, or a failure in A1111's words.
pub(super) type Answer = Result<Json, Failure>;

/// A time as A1111 writes it.
pub(super) fn timestamp(ms: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp(ms / 1000).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(format_description!("[year][month][day][hour][minute][second]")).unwrap_or_default()
}

/// An answer with a note of ours, where there is one; null becomes an object then.
pub(super) fn noted(mut answer: Value, note: Option<String>) -> Value {
    if let Some(note) = note {
        answer["atelier"] = json!({"notes": [note]});
    }
    answer
}
