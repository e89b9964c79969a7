//! The queue as callers see it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use atelier_gallery::queue::{Owner, Pace, QueuedJobId};

use super::active::ActiveJob;
use super::message::QueueSnapshot;
use super::predict::{Paces, known_pace, place_of};
use super::worker::Worker;

impl Worker {
    /// Reads the queue, and shows it as it will be once everything is written.
    pub(super) fn refresh(&mut self) {
        let reloaded = self.reload();
        self.report(reloaded);
        self.show_unwritten();
        self.note_turns();
    }

    /// Notes who wants something, and what is known of how long it takes.
    pub(super) fn note_turns(&mut self) {
        if let Some(since) = &mut self.awaited {
            let now = Instant::now();
            let secs = now.duration_since(std::mem::replace(since, now)).as_secs_f64();
            self.shares.charge(&Owner::person(), secs);
        }
        self.paces = self.known_paces();
        self.shares.note_wanting(&self.jobs, self.awaited.is_some());
    }

    fn known_paces(&self) -> Paces {
        let mut paces: BTreeMap<(String, String), Option<Pace>> = BTreeMap::new();
        for job in self.jobs.iter().filter(|job| !job.state.is_ended()) {
            if let Entry::Vacant(entry) = paces.entry((job.model.clone(), place_of(job).to_owned())) {
                let live = self.active.values().find(|active| active.id == job.id).and_then(ActiveJob::first_pace);
                let predicted = self.predicted_paces.get(entry.key()).copied();
                let measured = self.database.pace(&entry.key().0, &entry.key().1).ok().flatten();
                entry.insert(known_pace(measured, live, predicted));
            }
        }
        paces.into_iter().filter_map(|(key, pace)| Some((key, pace?))).collect()
    }

    /// Sends a snapshot in place of the unread one.
    pub(super) fn publish(&mut self) {
        self.refresh();
        let active_of = |id: QueuedJobId| self.active.iter().find(|(_, active)| active.id == id);
        let states: Vec<_> = self.active.values().map(ActiveJob::state).collect();
        let situation = self.situation(&states);
        let rows = situation.rows(|job| active_of(job.id).map(|(number, active)| (*number, active.progressed())));
        let snapshot = QueueSnapshot {
            rows,
            pause: self.control.pause,
            follows_model: self.control.follows_model,
            is_owner: self.is_owner(),
            is_blocked: self.is_blocked(),
            at: Instant::now(),
        };
        self.events.send_snapshot(Arc::new(snapshot));
    }
}
