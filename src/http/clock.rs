//! The present, as the server counts it. Not here: durations and limits, which run on `Instant`.

pub(crate) const DAY_SECS: i64 = 24 * 60 * 60;

/// The present, in seconds since 1970.
pub(crate) fn now_secs() -> i64 {
    now_ms() / 1000
}

/// The present, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    i64::try_from(time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}
