//! The jobs that are followed: folded from what the queue has, taken on after a restart, and forgotten
//! a while after their end.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_core::recipe::Recipe;
use atelier_gallery::queue::{JobState, Owner, QueuedJobId};
use atelier_studio::queue::{QueueSnapshot, Ticket};
use tokio::sync::{oneshot, watch};

use super::view::JobView;
use super::waiter::Waiter;

/// Time for which a job that ended can be asked for.
const KEPT_AFTER_END: Duration = Duration::from_mins(10);
/// Time for which its last preview is kept beside that, for a stream that has not sent it yet: it may
/// be as large as the picture.
const PREVIEW_KEPT_AFTER_END: Duration = Duration::from_secs(10);
/// A client that stops a picture closes its connection and interrupts: the second of them must not
/// hit the next job.
const SAME_STOP: Duration = Duration::from_secs(2);
/// Jobs that ended and can still be asked for.
const MAX_ENDED: usize = 1000;

/// What is kept of a job while its number is not known.
pub(super) struct PendingJob {
    pub(super) owner: Owner,
    pub(super) recipe: Recipe,
    pub(super) model: String,
    pub(super) folder: PathBuf,
    pub(super) notes: Vec<String>,
    pub(super) answer: oneshot::Sender<Result<Waiter, Advice>>,
}

/// A job that is followed.
pub(super) struct Tracked {
    pub(super) owner: Owner,
    pub(super) view: watch::Sender<JobView>,
    pub(super) ended: Option<Instant>,
}

/// What became of a job that was asked for by its number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoJob {
    Unknown,
    /// It ended long ago.
    Expired,
}

/// The jobs that are followed.
#[derive(Default)]
pub(super) struct State {
    pub(super) asked: HashMap<Ticket, PendingJob>,
    pub(super) jobs: BTreeMap<QueuedJobId, Tracked>,
    pub(super) snapshot: Option<Arc<QueueSnapshot>>,
    /// Numbers up to this one were given to jobs.
    pub(super) newest: Option<QueuedJobId>,
    pub(super) disconnects: HashMap<Owner, Instant>,
    /// Files that jobs are about to begin with, and since when.
    pub(super) starts: HashMap<PathBuf, Instant>,
}

impl State {
    /// A job of this owner.
    pub(super) fn job(&self, owner: &Owner, id: QueuedJobId) -> Result<&Tracked, NoJob> {
        match self.jobs.get(&id) {
            Some(job) if job.owner == *owner => Ok(job),
            None if id.0 > 0 && self.newest.is_some_and(|newest| id <= newest) => Err(NoJob::Expired),
            // Whether it is somebody else's is nobody's business.
            _ => Err(NoJob::Unknown),
        }
    }

    /// True where a client of this owner hung up so lately that to interrupt is the same stop.
    pub(super) fn has_hung_up(&self, owner: &Owner, now: Instant) -> bool {
        self.disconnects.get(owner).is_some_and(|at| now.saturating_duration_since(*at) < SAME_STOP)
    }

    pub(super) fn fold_snapshot(&mut self, snapshot: &QueueSnapshot) {
        self.adopt(snapshot);
        let mut before = 0;
        let mut rows = HashMap::new();
        for row in &snapshot.rows {
            rows.insert(row.job.id, (row, before));
            before += usize::from(matches!(row.job.state, JobState::Waiting | JobState::Running));
        }
        for (id, tracked) in self.jobs.iter_mut().filter(|(_, tracked)| tracked.ended.is_none()) {
            let row = rows.get(id);
            tracked.view.send_if_modified(|view| {
                let before = (view.state, view.is_waiting, view.pictures.len(), view.position);
                match row {
                    Some((row, position)) => {
                        let job = &row.job;
                        (view.state, view.is_waiting, view.wait) = (job.state, row.is_waiting, row.reason.clone());
                        (view.position, view.ends_in_secs, view.secs_left) = (*position, row.ends_in_secs, row.secs_left);
                        view.first_seed = job.first_seed.or(view.first_seed);
                        view.reason.clone_from(&job.reason);
                        (view.created_ms, view.began_ms, view.ended_ms) = (job.created_ms, job.began_ms, job.ended_ms);
                        if view.pictures.len() != job.pictures.len() {
                            view.pictures.clone_from(&job.pictures);
                            view.step = None;
                        }
                    }
                    // It was removed from the list.
                    None => view.state = JobState::Cancelled,
                }
                before != (view.state, view.is_waiting, view.pictures.len(), view.position)
            });
            if tracked.view.borrow().is_over() {
                tracked.ended = Some(Instant::now());
            }
        }
        self.forget(Instant::now());
    }

    /// Takes on the jobs of clients that this server did not add itself: of before a restart.
    fn adopt(&mut self, snapshot: &QueueSnapshot) {
        for job in snapshot.rows.iter().map(|row| &row.job) {
            if job.owner.is_person() {
                continue;
            }
            // Also of one that has ended, which is told from one that never was.
            self.newest = self.newest.max(Some(job.id));
            if job.state.is_ended() || self.jobs.contains_key(&job.id) {
                continue;
            }
            let view = JobView::new(job.id, Arc::clone(&job.recipe), job.model.clone(), job.folder.clone(), Vec::new());
            let (view, _) = watch::channel(view);
            self.jobs.insert(job.id, Tracked { owner: job.owner.clone(), view, ended: None });
        }
    }

    /// Forgets jobs that ended long ago, and the oldest of too many.
    fn forget(&mut self, now: Instant) {
        let since = |at: Instant| now.saturating_duration_since(at);
        for job in self.jobs.values() {
            let is_due = job.ended.is_some_and(|ended| since(ended) >= PREVIEW_KEPT_AFTER_END);
            if is_due && job.view.borrow().preview.is_some() {
                job.view.send_if_modified(|view| {
                    view.preview = None;
                    // Nothing that anybody waits for has changed.
                    false
                });
            }
        }
        self.jobs.retain(|_, job| job.ended.is_none_or(|ended| since(ended) < KEPT_AFTER_END));
        let ended: Vec<QueuedJobId> = self.jobs.iter().filter(|(_, job)| job.ended.is_some()).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            self.jobs.remove(id);
        }
        self.disconnects.retain(|_, at| since(*at) < SAME_STOP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_ended_is_told_of_for_a_while_and_then_still_known_from_one_that_never_was() {
        let (anna, ben, id) = (Owner::named("Anna"), Owner::named("Ben"), QueuedJobId(7));
        let (view, _) = watch::channel(JobView::new(id, Arc::default(), String::new(), PathBuf::new(), Vec::new()));
        let ended = Instant::now();
        let mut state = State { newest: Some(id), ..State::default() };
        state.jobs.insert(id, Tracked { owner: anna.clone(), view, ended: Some(ended) });
        let found = |state: &State, owner: &Owner, id: i64| state.job(owner, QueuedJobId(id)).map(|_| ());
        state.forget(ended);
        assert_eq!([&anna, &ben].map(|owner| found(&state, owner, 7)), [Ok(()), Err(NoJob::Unknown)]);
        state.forget(ended + KEPT_AFTER_END);
        assert_eq!([7, 1].map(|id| found(&state, &anna, id)), [Err(NoJob::Expired), Err(NoJob::Expired)]);
        assert_eq!([8, 0, -1].map(|id| found(&state, &anna, id)), [Err(NoJob::Unknown), Err(NoJob::Unknown), Err(NoJob::Unknown)]);
    }

    #[test]
    fn a_client_that_hung_up_is_known_for_two_seconds_and_no_other_owner_for_it() {
        let (anna, ben) = (Owner::named("Anna"), Owner::named("Ben"));
        let hung_up = Instant::now();
        let mut state = State::default();
        state.disconnects.insert(anna.clone(), hung_up);
        let just_before = hung_up + SAME_STOP.saturating_sub(Duration::from_nanos(1));
        state.forget(just_before);
        assert_eq!([&anna, &ben].map(|owner| state.has_hung_up(owner, just_before)), [true, false]);
        assert!(!state.has_hung_up(&anna, hung_up + SAME_STOP), "who interrupts then means the next job");
        state.forget(hung_up + SAME_STOP);
        assert!(state.disconnects.is_empty(), "what means nothing any more is not kept");
    }
}
