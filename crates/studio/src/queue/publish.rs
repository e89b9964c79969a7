//! The queue as callers see it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use atelier_gallery::queue::{JobState, Pace, QueuedJob, QueuedJobId};

use super::active::ActiveJob;
use super::message::{QueueRow, QueueSnapshot};
use super::predict::{ends_in_secs, known_pace};
use super::worker::{Worker, place_of};

impl Worker {
    /// Reads the queue, and shows it as it will be once everything is written.
    pub(super) fn refresh(&mut self) {
        let reloaded = self.reload();
        self.report(reloaded);
        self.show_unwritten();
    }

    /// Sends a snapshot in place of the unread one.
    pub(super) fn publish(&mut self) {
        self.refresh();
        let mut paces: BTreeMap<(&str, &str), Option<Pace>> = BTreeMap::new();
        for job in self.jobs.iter().filter(|job| !job.state.is_ended()) {
            let key = (job.model.as_str(), place_of(job));
            if let Entry::Vacant(entry) = paces.entry(key) {
                let live = self.active.values().find(|active| active.id == job.id).and_then(ActiveJob::first_pace);
                let predicted = self.predicted_paces.get(&(job.model.clone(), place_of(job).to_owned())).copied();
                entry.insert(known_pace(self.database.pace(key.0, key.1).ok().flatten(), live, predicted));
            }
        }
        let active_of = |id: QueuedJobId| self.active.iter().find(|(_, active)| active.id == id);
        let pace = |job: &QueuedJob| paces.get(&(job.model.as_str(), place_of(job))).copied().flatten();
        let ends = ends_in_secs(&self.jobs, pace, |job| active_of(job.id).map(|(_, active)| active.progressed()));
        let states: Vec<_> = self.active.values().map(ActiveJob::state).collect();
        let situation = self.situation(&states);
        let mut before = 0;
        let rows = self.jobs.iter().zip(ends).map(|(job, ends_in_secs)| {
            let row = QueueRow {
                engine_job: active_of(job.id).map(|(number, _)| *number),
                is_waiting: situation.is_waiting(job),
                reason: situation.reason(job, before),
                ends_in_secs,
                job: job.clone(),
            };
            before += usize::from(job.state == JobState::Running || (job.state == JobState::Waiting && job.wanted_model.is_none()));
            row
        });
        let snapshot = QueueSnapshot {
            rows: rows.collect(),
            pause: self.control.pause,
            follows_model: self.control.follows_model,
            is_owner: self.is_owner(),
            is_blocked: self.is_blocked(),
            at: Instant::now(),
        };
        self.events.send_snapshot(Arc::new(snapshot));
    }
}
