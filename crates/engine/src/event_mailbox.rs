//! Events on their way to the reader of a [`Handle`](crate::Handle).
//!
//! Invariants: previews and steps are replaced by newer ones of the same job, log lines are
//! bounded, nothing else is dropped; after the `End` of a job comes no preview of it.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::protocol::{Event, JobId};
use atelier_core::mailbox::Mailbox;

/// Unread log lines that are kept.
pub(crate) const MAX_LOG_LINES: usize = 500;

/// Called with each event before it can be read, on the thread that delivers.
type Observer = Box<dyn Fn(&Event) + Send + Sync>;

/// Unread events, and the jobs whose `End` is not delivered yet.
pub(crate) struct EventMailbox {
    unread: Mailbox<Event>,
    open: Mutex<BTreeSet<JobId>>,
    observer: OnceLock<Observer>,
}

impl EventMailbox {
    /// An empty mailbox; `wake` is called after each delivery, on the thread that delivers.
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { unread: Mailbox::new(wake), open: Mutex::default(), observer: OnceLock::new() }
    }

    /// Calls `observer` with each event from now on. Returns false where there is an observer
    /// already.
    pub(crate) fn observe(&self, observer: impl Fn(&Event) + Send + Sync + 'static) -> bool {
        self.observer.set(Box::new(observer)).is_ok()
    }

    /// Expects an `End` of this job.
    pub(crate) fn open(&self, job: JobId) {
        self.open.lock().insert(job);
    }

    /// Expects no `End` of this job, which was never sent.
    pub(crate) fn forget(&self, job: JobId) {
        self.open.lock().remove(&job);
    }

    /// Jobs whose `End` is not delivered yet.
    pub(crate) fn open_jobs(&self) -> Vec<JobId> {
        self.open.lock().iter().copied().collect()
    }

    /// Takes an event from the engine.
    pub(crate) fn deliver(&self, event: Event) {
        if let Some(observer) = self.observer.get() {
            observer(&event);
        }
        self.unread.update(|unread| {
            match event {
                Event::Preview { job, ref preview } => {
                    // Several pictures of a job may form at the same time.
                    unread.retain(|it| !is_preview_of(it, job, preview.picture));
                    if self.open.lock().contains(&job) {
                        // It is older than the end of its job and newer than most else: it is read
                        // first, after `Begin`.
                        let begin = unread.iter().position(|it| matches!(it, Event::Begin { job: other, .. } if *other == job));
                        unread.insert(begin.map_or(0, |begin| begin + 1), event);
                    }
                }
                Event::Step { job, .. } => {
                    if matches!(unread.back(), Some(Event::Step { job: other, .. }) if *other == job) {
                        unread.pop_back();
                    }
                    unread.push_back(event);
                }
                Event::Log { job, .. } => {
                    let mut lines = unread.iter().enumerate().filter(|(_, it)| matches!(it, Event::Log { .. }));
                    if let Some((oldest, _)) = lines.next()
                        && lines.count() + 1 >= MAX_LOG_LINES
                    {
                        unread.remove(oldest);
                    }
                    unread.push_back(event);
                    // A line of a job's log can wait: its end comes for certain, and waking a
                    // reader for each line costs more than the line.
                    return job.is_none();
                }
                Event::End { job, .. } => {
                    unread.retain(|it| !matches!(it, Event::Preview { job: other, .. } if *other == job));
                    unread.push_back(event);
                    self.open.lock().remove(&job);
                }
                Event::Picture { job, ref picture } => {
                    unread.retain(|it| !is_preview_of(it, job, picture.info.index));
                    unread.push_back(event);
                }
                Event::Begin { .. }
                | Event::Phase { .. }
                | Event::Estimated { .. }
                | Event::Measured { .. }
                | Event::Waiting { .. }
                | Event::Residency(_)
                | Event::Devices(_)
                | Event::Rates { .. }
                | Event::Server { .. } => unread.push_back(event),
            }
            true
        });
    }

    /// True where all unread events are parts of what is under way.
    fn has_parts_alone(&self) -> bool {
        self.unread.all(Event::is_part)
    }

    /// The next event, if there is one.
    pub(crate) fn try_next(&self) -> Option<Event> {
        self.unread.try_next()
    }

    /// The next event; `None` where none comes within `limit`.
    pub(crate) fn next_within(&self, limit: Duration) -> Option<Event> {
        self.unread.next_within(limit)
    }
}

/// A look at the unread events of a [`Handle`](crate::Handle), for its `wake`.
#[derive(Clone)]
pub struct UnreadEvents(Weak<EventMailbox>);

impl UnreadEvents {
    pub(crate) fn of(mailbox: &Arc<EventMailbox>) -> Self {
        Self(Arc::downgrade(mailbox))
    }

    /// True where all of them are parts of what is under way ([`Event::is_part`]): their reader may
    /// take its time.
    #[must_use]
    pub fn are_parts(&self) -> bool {
        self.0.upgrade().is_none_or(|mailbox| mailbox.has_parts_alone())
    }
}

/// True for a preview of this picture of a job.
fn is_preview_of(event: &Event, job: JobId, picture: u32) -> bool {
    matches!(event, Event::Preview { job: of, preview } if (*of, preview.picture) == (job, picture))
}
