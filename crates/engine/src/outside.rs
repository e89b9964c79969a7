//! Jobs that are made outside of the engine, by another studio, and told as its own are: they have
//! numbers of the same row, their events reach the same readers, and a cancel reaches them.
//!
//! Invariant: each ends exactly once, also when the thread that makes it dies.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atelier_language::tr;
use parking_lot::Mutex;

use crate::event_mailbox::EventMailbox;
use crate::protocol::{End, Event, Failure, JobId};

/// The jobs outside that have not ended, with the flags by which they are cancelled.
#[derive(Default)]
pub(crate) struct OutsideJobs(Mutex<BTreeMap<JobId, Arc<AtomicBool>>>);

impl OutsideJobs {
    /// Opens a job of this number, whose events go to this mailbox.
    pub(crate) fn open(jobs: &Arc<Self>, job: JobId, events: &Arc<EventMailbox>) -> OutsideJob {
        let cancel = Arc::<AtomicBool>::default();
        jobs.0.lock().insert(job, Arc::clone(&cancel));
        events.open(job);
        OutsideJob { job, cancel, jobs: Arc::clone(jobs), events: Arc::clone(events), end: None }
    }

    /// Cancels a job; false where there is none of this number.
    pub(crate) fn cancel(&self, job: JobId) -> bool {
        let jobs = self.0.lock();
        let flag = jobs.get(&job);
        if let Some(flag) = flag {
            flag.store(true, Ordering::Release);
        }
        flag.is_some()
    }
}

/// A job that the caller makes. Dropping it ends the job as failed.
pub struct OutsideJob {
    job: JobId,
    cancel: Arc<AtomicBool>,
    jobs: Arc<OutsideJobs>,
    events: Arc<EventMailbox>,
    end: Option<End>,
}

impl OutsideJob {
    /// Its number.
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.job
    }

    /// True once it is to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Acquire)
    }

    /// Tells an event of this job. Its end has a method of its own.
    pub fn send(&self, event: Event) {
        debug_assert!(event.job() == Some(self.job) && !matches!(event, Event::End { .. }), "{event:?}");
        self.events.deliver(event);
    }

    /// Ends it.
    pub fn end(mut self, end: End) {
        self.end = Some(end);
    }
}

impl fmt::Debug for OutsideJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideJob").field("job", &self.job).finish_non_exhaustive()
    }
}

impl Drop for OutsideJob {
    fn drop(&mut self) {
        self.jobs.0.lock().remove(&self.job);
        let end = self.end.take().unwrap_or_else(|| End::Failed(Failure::new(tr!("engine-internal-error-while-generating"), "")));
        self.events.deliver(Event::End { job: self.job, end });
    }
}
