//! Snapshot of the queue and events, from the queue's thread to the holder of the
//! [`Downloads`](super::Downloads).
//!
//! Progress is told by the snapshot alone, which a slow reader finds in its newest form; events
//! tell each end of a run once, and answers.

use std::sync::Arc;
use std::time::Duration;

use atelier_core::mailbox::Mailbox;
use atelier_language::tr;
use parking_lot::Mutex;

use super::event::{Event, JobSnapshot, Status};
use super::failure::{Cause, Failure};

pub(super) struct Outbox {
    events: Mailbox<Event>,
    snapshot: Mutex<Vec<JobSnapshot>>,
}

impl Outbox {
    /// `wake` is called after each event, on the thread that sent it.
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { events: Mailbox::new(wake), snapshot: Mutex::default() }
    }

    /// Sends an event. An unread event that it makes worthless is dropped: an earlier change of the
    /// queue, an earlier answer of its kind.
    pub(super) fn send(&self, event: Event) {
        match &event {
            Event::QueueChanged => self.events.send_replacing(event, |it| *it == Event::QueueChanged),
            Event::Found { .. } => self.events.send_replacing(event, |it| matches!(it, Event::Found { .. })),
            Event::RepositoryFiles { repo, .. } => {
                let repo = repo.clone();
                self.events.send_replacing(event, |it| matches!(it, Event::RepositoryFiles { repo: other, .. } if *other == repo));
            }
            Event::Notice(_)
            | Event::Probed { .. }
            | Event::Paused { .. }
            | Event::Failed { .. }
            | Event::Done { .. }
            | Event::Cancelled { .. } => {
                self.events.send(event);
            }
        }
    }

    /// Replaces the snapshot and sends [`Event::QueueChanged`].
    pub(super) fn publish(&self, snapshot: Vec<JobSnapshot>) {
        *self.snapshot.lock() = snapshot;
        self.send(Event::QueueChanged);
    }

    pub(super) fn snapshot(&self) -> Vec<JobSnapshot> {
        self.snapshot.lock().clone()
    }

    pub(super) fn try_next(&self) -> Option<Event> {
        self.events.try_next()
    }

    pub(super) fn next_within(&self, limit: Duration) -> Option<Event> {
        self.events.next_within(limit)
    }
}

/// Held by the queue's thread: where that ends by a panic, every open job fails.
pub(super) struct PanicGuard(pub(super) Arc<Outbox>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let failure = Failure::new(
            Cause::Disk,
            tr!("downloads-the-downloads-have-stopped-2"),
            tr!("downloads-restart-atelier-interrupted-downloads"),
        );
        let mut open = Vec::new();
        for job in &mut *self.0.snapshot.lock() {
            if matches!(job.status, Status::Waiting | Status::Running) {
                job.status = Status::Failed(failure.clone());
                open.push(job.id.clone());
            }
        }
        for id in open {
            self.0.send(Event::Failed { id, failure: failure.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{PauseReason, Progress};

    fn job(id: &str, status: Status, bytes: u64) -> JobSnapshot {
        JobSnapshot { id: id.into(), name: id.into(), status, progress: Progress { bytes, ..Progress::default() } }
    }

    #[test]
    fn a_slow_reader_gets_the_newest_progress_of_each_job_and_every_end() {
        let outbox = Outbox::new(|| {});
        let jobs = |bytes| vec![job("a", Status::Running, bytes), job("b", Status::Running, bytes)];
        for bytes in 0..100 {
            outbox.publish(jobs(bytes));
        }
        outbox.send(Event::Done { id: "b".into() });
        let events: Vec<Event> = std::iter::from_fn(|| outbox.try_next()).collect();
        assert_eq!(events, [Event::QueueChanged, Event::Done { id: "b".into() }]);
        assert_eq!(outbox.snapshot(), jobs(99));
    }

    #[test]
    fn a_thread_that_dies_fails_what_is_open() {
        let outbox = Arc::new(Outbox::new(|| {}));
        outbox.publish(vec![job("a", Status::Running, 0), job("b", Status::Paused(PauseReason::ByPerson), 0)]);
        assert_eq!(outbox.try_next(), Some(Event::QueueChanged));
        let inner = Arc::clone(&outbox);
        let thread = std::thread::spawn(move || {
            let _guard = PanicGuard(inner);
            panic!("the end");
        });
        assert!(thread.join().is_err());
        assert!(matches!(outbox.try_next(), Some(Event::Failed { id, .. }) if id == "a"));
        assert!(outbox.try_next().is_none());
    }
}
