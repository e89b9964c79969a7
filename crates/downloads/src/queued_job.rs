//! A job in the queue: its files, how far they are, how fast it goes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::event::{FileProgress, JobSnapshot, PauseReason, Progress, Stage, Status};
use super::job::{DownloadJob, FileRequest};
use super::journal::{StoredFile, StoredJob, StoredState};
use super::part;
use super::progress_counter::ProgressCounter;

/// Seconds over which the rate is averaged.
const RATE_SECS: f64 = 3.0;

/// A job in the queue.
pub(super) struct QueuedJob {
    /// Tells this job from an earlier one of the same name.
    pub(super) number: u64,
    pub(super) job: DownloadJob,
    pub(super) status: Status,
    pub(super) file_states: Vec<FileState>,
    /// Action once none of its tasks runs any longer.
    pub(super) follow_up: FollowUp,
    /// True if its end is being written, or what it brought removed.
    pub(super) is_finalizing: bool,
    meter: Meter,
}

/// Action once none of a job's tasks runs any longer.
#[derive(Default)]
pub(super) enum FollowUp {
    #[default]
    Nothing,
    Cancel,
    /// It becomes this one.
    Replace(Box<DownloadJob>),
}

/// Room that a job waits for, in bytes.
pub(super) struct WantedRoom {
    pub(super) needed: u64,
    /// What was free when it stopped.
    pub(super) free: u64,
}

/// A file of a job.
pub(super) struct FileState {
    pub(super) counter: Arc<ProgressCounter>,
    pub(super) state: StoredFile,
    /// Stops what runs for it.
    pub(super) stop: Option<watch::Sender<bool>>,
}

impl QueuedJob {
    pub(super) fn new(number: u64, stored: StoredJob) -> Self {
        let StoredJob { job, state, files } = stored;
        let states = files.into_iter().chain(std::iter::repeat(StoredFile::Pending));
        let file_states = job.files.iter().zip(states).map(|(wanted, state)| FileState::new(wanted, &job.folder, state)).collect();
        Self { number, job, status: state.into(), file_states, follow_up: FollowUp::Nothing, is_finalizing: false, meter: Meter::default() }
    }

    pub(super) fn stored(&self) -> StoredJob {
        StoredJob {
            job: self.job.clone(),
            state: StoredState::from(&self.status),
            files: self.file_states.iter().map(|it| it.state).collect(),
        }
    }

    /// True if files of it may be started.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.status, Status::Waiting | Status::Running) && !self.is_finalizing && matches!(self.follow_up, FollowUp::Nothing)
    }

    /// The room that it waits for.
    pub(super) fn wanted_room(&self) -> Option<WantedRoom> {
        match self.status {
            Status::Paused(PauseReason::DiskFull { needed, free }) if matches!(self.follow_up, FollowUp::Nothing) => {
                Some(WantedRoom { needed, free })
            }
            _ => None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.file_states.iter().all(|file_state| file_state.stop.is_none())
    }

    pub(super) fn is_whole(&self) -> bool {
        self.file_states.iter().all(|file_state| file_state.state != StoredFile::Pending)
    }

    /// Stops what runs for it.
    pub(super) fn stop(&self) {
        for stop in self.file_states.iter().filter_map(|file_state| file_state.stop.as_ref()) {
            // Without a receiver nothing runs any longer.
            let _ = stop.send(true);
        }
    }

    /// The place of a file.
    pub(super) fn target(&self, wanted: &FileRequest) -> PathBuf {
        wanted.filename.in_folder(&self.job.folder)
    }

    fn fetched(&self) -> u64 {
        self.file_states.iter().map(|file_state| file_state.counter.fetched()).sum()
    }

    /// Takes note of the time.
    pub(super) fn tick(&mut self, now: Instant) {
        let fetched = self.fetched();
        self.meter.tick(now, fetched);
    }

    pub(super) fn progress(&self) -> Progress {
        let files: Vec<FileProgress> =
            self.job.files.iter().zip(&self.file_states).map(|(wanted, file_state)| file_state.progress(wanted)).collect();
        let bytes = files.iter().map(|it| it.bytes).sum();
        let total: Option<u64> = files.iter().map(|it| it.total).sum();
        let rate = if self.status == Status::Running { self.meter.rate } else { 0.0 };
        let left = total.map(|total| total.saturating_sub(bytes));
        let seconds_left = left.filter(|_| rate >= 1.0).map(|left| (left as f64 / rate).ceil() as u64);
        Progress { bytes, total, rate, seconds_left, files }
    }

    /// The job for whoever shows it.
    pub(super) fn snapshot(&self) -> JobSnapshot {
        JobSnapshot { id: self.job.id.clone(), name: self.job.name.clone(), status: self.status.clone(), progress: self.progress() }
    }
}

impl FileState {
    fn new(wanted: &FileRequest, folder: &Path, state: StoredFile) -> Self {
        let counter = ProgressCounter::default();
        counter.set_total(wanted.size);
        let target = wanted.filename.in_folder(folder);
        if state == StoredFile::Pending {
            let (bytes, total) = part::bytes_there(&target);
            counter.set_bytes(bytes);
            counter.set_total(wanted.size.or(total));
        } else {
            counter.set_stage(Stage::Done);
            let bytes = std::fs::metadata(&target).map(|it| it.len()).ok().or(wanted.size);
            counter.set_bytes(bytes.unwrap_or_default());
            counter.set_total(bytes);
        }
        Self { counter: Arc::new(counter), state, stop: None }
    }

    fn progress(&self, wanted: &FileRequest) -> FileProgress {
        FileProgress {
            name: wanted.filename.as_str().to_owned(),
            bytes: self.counter.bytes(),
            total: self.counter.total(),
            stage: self.counter.stage(),
        }
    }
}

/// Bytes a second, of late.
#[derive(Default)]
struct Meter {
    last: Option<(Instant, u64)>,
    rate: f64,
}

impl Meter {
    fn tick(&mut self, now: Instant, bytes: u64) {
        let Some((before, had)) = self.last.replace((now, bytes)) else {
            // The first look only says where it starts.
            return;
        };
        let secs = now.saturating_duration_since(before).as_secs_f64();
        if secs <= 0.0 {
            self.last = Some((before, had));
            return;
        }
        let of_late = bytes.saturating_sub(had) as f64 / secs;
        // Older measurements count less and less.
        let weight = if self.rate == 0.0 { 1.0 } else { 1.0 - (-secs / RATE_SECS).exp() };
        self.rate += (of_late - self.rate) * weight;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_rate_follows_what_comes_and_settles() {
        let (mut meter, start) = (Meter::default(), Instant::now());
        let mut bytes = 0;
        for tenth in 0..100 {
            meter.tick(start + Duration::from_millis(tenth * 100), bytes);
            bytes += 1000;
        }
        assert!((meter.rate - 10_000.0).abs() < 1.0, "{}", meter.rate);
        for tenth in 100..300 {
            meter.tick(start + Duration::from_millis(tenth * 100), bytes);
        }
        assert!(meter.rate < 100.0, "{}", meter.rate);
    }
}
