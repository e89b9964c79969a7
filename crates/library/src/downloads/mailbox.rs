//! Where events wait for whoever holds the [`Downloads`](super::Downloads).
//!
//! Progress and answers are newest-wins; ends are never dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::event::{Cause, Entry, Event, Failure, Status};

pub(super) struct Mailbox {
    state: Mutex<State>,
    arrived: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    entries: Vec<Entry>,
}

impl Mailbox {
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { state: Mutex::default(), arrived: Condvar::new(), wake: Box::new(wake) }
    }

    /// A poisoned lock only means that some caller panicked between two whole operations.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, event: Event) {
        self.lock().push(event);
        self.arrived.notify_all();
        (self.wake)();
    }

    /// Takes the queue as it is now, for whoever asks.
    pub(super) fn show(&self, entries: Vec<Entry>) {
        self.lock().entries = entries;
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    pub(super) fn pop(&self) -> Option<Event> {
        self.lock().events.pop_front()
    }

    pub(super) fn pop_within(&self, limit: Duration) -> Option<Event> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(event) = state.events.pop_front() {
                return Some(event);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            state = self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn push(&mut self, event: Event) {
        match &event {
            Event::Listed => self.events.retain(|it| *it != Event::Listed),
            Event::Found { .. } => self.events.retain(|it| !matches!(it, Event::Found { .. })),
            Event::Probed { .. } => {}
            Event::RepositoryFiles { repo, .. } => {
                self.events.retain(|it| !matches!(it, Event::RepositoryFiles { repo: other, .. } if other == repo));
            }
            Event::Progress { id, .. }
            | Event::Paused { id, .. }
            | Event::Failed { id, .. }
            | Event::Done { id }
            | Event::Cancelled { id } => {
                self.events.retain(|it| !matches!(it, Event::Progress { id: other, .. } if other == id));
            }
        }
        self.events.push_back(event);
    }
}

/// Held by the queue's thread: where it ends by a panic, every open job fails.
pub(super) struct Guard(pub(super) Arc<Mailbox>);

impl Drop for Guard {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let failure = Failure::new(Cause::Disk, "The downloads have stopped.", "Restart Atelier; they go on where they were.");
        let mut open = Vec::new();
        for entry in &mut self.0.lock().entries {
            if matches!(entry.status, Status::Waiting | Status::Running) {
                entry.status = Status::Failed(failure.clone());
                open.push(entry.id.clone());
            }
        }
        for id in open {
            self.0.push(Event::Failed { id, failure: failure.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::downloads::event::Progress;

    fn progress(id: &str, bytes: u64) -> Event {
        Event::Progress { id: id.into(), progress: Progress { bytes, ..Progress::default() } }
    }

    #[test]
    fn a_slow_reader_gets_the_newest_progress_of_each_job_and_every_end() {
        let mailbox = Mailbox::new(|| {});
        for bytes in 0..100 {
            mailbox.push(progress("a", bytes));
            mailbox.push(progress("b", bytes));
            mailbox.push(Event::Listed);
        }
        mailbox.push(Event::Done { id: "b".into() });
        let events: Vec<Event> = std::iter::from_fn(|| mailbox.pop()).collect();
        assert_eq!(events, [progress("a", 99), Event::Listed, Event::Done { id: "b".into() }]);
    }

    #[test]
    fn a_thread_that_dies_fails_what_is_open() {
        let mailbox = Arc::new(Mailbox::new(|| {}));
        let entry = |id: &str, status| Entry { id: id.into(), name: id.into(), status, progress: Progress::default() };
        mailbox.show(vec![entry("a", Status::Running), entry("b", Status::Paused(super::super::event::PauseReason::ByPerson))]);
        let inner = Arc::clone(&mailbox);
        let thread = std::thread::spawn(move || {
            let _guard = Guard(inner);
            panic!("the end");
        });
        assert!(thread.join().is_err());
        assert!(matches!(mailbox.pop(), Some(Event::Failed { id, .. }) if id == "a"));
        assert!(mailbox.pop().is_none());
    }
}
