//! Texts and fractions of the download queue. Pure.

use atelier_core::format::file_size;
use atelier_downloads::{JobSnapshot, PauseReason, Status};
use atelier_language::tr;

/// Word for a download's status.
#[must_use]
pub fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Waiting => tr!("models-waiting"),
        Status::Running => tr!("models-downloading"),
        Status::Paused(_) => tr!("models-paused"),
        Status::Failed(_) => tr!("models-failed"),
    }
}

/// Line for a download: amount, rate and time left, or why it stands still.
#[must_use]
pub fn status_line(entry: &JobSnapshot) -> String {
    let progress = &entry.progress;
    match &entry.status {
        Status::Waiting if progress.bytes > 0 => tr!("models-waits-its-turn-at", amount = amount(progress.bytes, progress.total)),
        Status::Waiting => tr!("models-waits-its-turn").to_owned(),
        Status::Running => pace(progress.bytes, progress.total, progress.rate, progress.seconds_left),
        Status::Paused(PauseReason::ByPerson) => tr!("models-paused-at", amount = amount(progress.bytes, progress.total)),
        Status::Paused(why @ PauseReason::DiskFull { .. }) => why.sentence(),
        Status::Failed(failure) => failure.to_string(),
    }
}

/// Line for the whole queue; `None` where it is empty.
#[must_use]
pub fn summary(entries: &[JobSnapshot]) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let open = || entries.iter().filter(|it| matches!(it.status, Status::Running | Status::Waiting));
    if !entries.iter().any(|it| it.status == Status::Running) {
        let words = if open().count() > 0 { tr!("models-waiting") } else { tr!("models-stopped") };
        return Some(format!("{} {words}", count(entries.len())));
    }
    let bytes = open().map(|it| it.progress.bytes).sum();
    let total: Option<u64> = open().map(|it| it.progress.total).sum();
    let rate: f64 = open().map(|it| it.progress.rate).sum();
    let left = total.map(|total| total.saturating_sub(bytes));
    let secs = left.filter(|_| rate >= 1.0).map(|left| (left as f64 / rate).ceil() as u64);
    Some(format!("{}: {}", count(open().count()), pace(bytes, total, rate, secs)))
}

/// How long a download of so many bytes takes: at the rate of those that run, else at one that
/// people know from their contract.
#[must_use]
pub(crate) fn time_needed(bytes: u64, entries: &[JobSnapshot]) -> String {
    let rate: f64 = entries.iter().filter(|it| it.status == Status::Running).map(|it| it.progress.rate).sum();
    let secs = |rate: f64| (bytes as f64 / rate).ceil() as u64;
    if rate >= 1.0 {
        tr!("models-about-at-the-s", time = time(secs(rate)), rate = file_size(rate as u64))
    } else {
        tr!("models-about-at-100-mbit", time = time(secs(12.5e6)), time_2 = time(secs(2.5e6)))
    }
}

/// The disk has no room for a download.
#[must_use]
pub(crate) fn no_room(bytes: u64, free_bytes: u64) -> String {
    tr!("models-only-of-disk-space", free_bytes = file_size(free_bytes), bytes = file_size(bytes.saturating_sub(free_bytes)))
}

/// Completed part of a download, from 0 to 1; `None` while its size is unknown.
#[must_use]
pub fn fraction(entry: &JobSnapshot) -> Option<f32> {
    let total = entry.progress.total.filter(|it| *it > 0)?;
    Some((entry.progress.bytes as f64 / total as f64).clamp(0.0, 1.0) as f32)
}

/// Completed part of all running and waiting downloads, from 0 to 1; `None` while a size is
/// unknown.
#[must_use]
pub fn summary_fraction(entries: &[JobSnapshot]) -> Option<f32> {
    let open = || entries.iter().filter(|it| matches!(it.status, Status::Running | Status::Waiting));
    let total: u64 = open().map(|it| it.progress.total).sum::<Option<u64>>().filter(|it| *it > 0)?;
    let bytes: u64 = open().map(|it| it.progress.bytes).sum();
    Some((bytes as f64 / total as f64).clamp(0.0, 1.0) as f32)
}

fn count(downloads: usize) -> String {
    if downloads == 1 { tr!("models-1-download").into() } else { tr!("models-downloads-2", downloads) }
}

fn amount(bytes: u64, total: Option<u64>) -> String {
    match total {
        Some(total) => tr!("models-of-2", bytes = file_size(bytes), total = file_size(total)),
        None => file_size(bytes),
    }
}

fn pace(bytes: u64, total: Option<u64>, rate: f64, seconds_left: Option<u64>) -> String {
    let rate = (rate >= 1.0).then(|| format!("{}/s", file_size(rate as u64)));
    let left = seconds_left.map(|secs| tr!("models-left", time = time(secs)));
    [Some(amount(bytes, total)), rate, left].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Time in the largest unit that people would use, rounded up.
fn time(secs: u64) -> String {
    match secs {
        0..60 => format!("{secs} s"),
        60..5400 => format!("{} min", secs.div_ceil(60)),
        5400..172_800 => format!("{} h", secs.div_ceil(3600)),
        _ => tr!("models-days", days = secs.div_ceil(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_downloads::Progress;

    fn entry(status: Status, bytes: u64, rate: f64) -> JobSnapshot {
        let progress = Progress { bytes, total: Some(10_000_000), rate, seconds_left: Some(90), files: Vec::new() };
        JobSnapshot { id: "a".into(), name: "A".into(), status, progress }
    }

    #[test]
    fn a_download_says_its_amount_its_rate_and_the_time_left() {
        assert_eq!(status_line(&entry(Status::Running, 2_500_000, 1e6)), "2.5 MB of 10.0 MB · 1.0 MB/s · 2 min left");
        assert_eq!(status_line(&entry(Status::Waiting, 0, 0.0)), "Waits its turn");
        assert_eq!(status_line(&entry(Status::Paused(PauseReason::ByPerson), 2_500_000, 0.0)), "Paused at 2.5 MB of 10.0 MB");
        assert!(status_line(&entry(Status::Paused(PauseReason::DiskFull { needed: 5000, free: 10 }), 0, 0.0)).contains("5.0 kB"));
        assert_eq!(fraction(&entry(Status::Running, 2_500_000, 1e6)), Some(0.25));
    }

    #[test]
    fn the_summary_adds_up_what_runs_and_waits() {
        assert_eq!(summary(&[]), None);
        let paused = Status::Paused(PauseReason::ByPerson);
        let both = [entry(Status::Running, 5_000_000, 1e6), entry(Status::Waiting, 0, 0.0), entry(paused, 9_000_000, 0.0)];
        assert_eq!(summary(&both).unwrap(), "2 downloads: 5.0 MB of 20.0 MB · 1.0 MB/s · 15 s left");
        assert_eq!(summary_fraction(&both), Some(0.25));
        assert_eq!(summary(&[entry(Status::Paused(PauseReason::ByPerson), 1, 0.0)]).unwrap(), "1 download stopped");
    }

    #[test]
    fn a_large_download_says_its_time_at_the_rate_of_those_that_run() {
        assert_eq!(time_needed(18_000_000_000, &[]), "About 24 min at 100 Mbit/s, 2 h at 20 Mbit/s.");
        let running = [entry(Status::Running, 0, 5e6), entry(Status::Waiting, 0, 9e9)];
        assert_eq!(time_needed(3_000_000_000, &running), "About 10 min at the 5.0 MB/s of now.");
        assert_eq!(no_room(5_000_000_000, 4_000_000_000), "Only 4.0 GB of disk space are free: 1.0 GB are missing.");
    }

    #[test]
    fn times_are_rounded_up() {
        assert_eq!([59, 61, 5400, 200_000].map(time), ["59 s", "2 min", "2 h", "3 days"]);
    }
}
