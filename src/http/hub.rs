//! Jobs of clients: added to the queue, followed by its events, and cancelled when nobody waits for
//! them any more.
//!
//! One thread reads the events of the queue and folds them into what each job looks like; who waits
//! for a job watches that. A job that ended is remembered for a while, so that a client can ask for
//! it.

mod state;
mod view;
mod waiter;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_gallery::queue::{NewJob, Owner, QueuedJobId};
use atelier_studio::queue::{JobProgress, QueueClient, QueueEvent, QueueRequest, Ticket};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::retention::files_of;
use state::{PendingJob, State, Tracked};

pub(crate) use state::NoJob;
pub(crate) use view::JobView;
pub(crate) use waiter::Waiter;

/// Longest wait for an event, after which the thread looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Longest wait for what the queue has, before clients can ask.
const FIRST_SNAPSHOT_WAIT: Duration = Duration::from_secs(10);
/// Longest time from the look at a start picture until its job is added.
const START_AGE: Duration = Duration::from_mins(10);

/// The jobs of all clients.
pub(crate) struct Hub {
    queue: QueueClient,
    state: Mutex<State>,
    is_ending: AtomicBool,
}

/// What an owner waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OpenWork {
    pub(crate) pictures: u32,
    /// Predicted seconds, as far as they are known.
    pub(crate) secs: f64,
}

impl Hub {
    /// Starts the thread that reads the queue's events. Waits until the queue has told what it has,
    /// so that nobody who asks for a job of before a restart hears that there is none.
    pub(crate) fn start(queue: QueueClient) -> io::Result<Arc<Self>> {
        let hub = Arc::new(Self { queue, state: Mutex::default(), is_ending: AtomicBool::new(false) });
        let deadline = Instant::now() + FIRST_SNAPSHOT_WAIT;
        while hub.state.lock().snapshot.is_none()
            && let Some(event) = hub.queue.next_within(deadline.saturating_duration_since(Instant::now()))
        {
            hub.fold(event);
        }
        let reader = Arc::downgrade(&hub);
        thread::Builder::new().name("http jobs".into()).spawn(move || read_events(&reader))?;
        Ok(hub)
    }

    /// Ends the thread soon.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Adds a job. It is cancelled once the [`Waiter`] is dropped, unless that is left alone.
    pub(crate) async fn add(self: &Arc<Self>, owner: &Owner, job: NewJob, notes: Vec<String>) -> Result<Waiter, Advice> {
        let ticket = Ticket::draw();
        let (answer, answered) = oneshot::channel();
        let (recipe, model, folder) = (job.recipe.clone(), job.model.clone(), job.folder.clone());
        let asked = PendingJob { owner: owner.clone(), recipe, model, folder, notes, answer };
        self.state.lock().asked.insert(ticket, asked);
        self.queue.send(QueueRequest::AddFor(ticket, Box::new(job)));
        let gone = || Advice::new("The queue has ended.", "Start the server again.");
        answered.await.map_err(|_| gone())?
    }

    /// A job of this owner.
    pub(crate) fn job(&self, owner: &Owner, id: QueuedJobId) -> Result<watch::Receiver<JobView>, NoJob> {
        self.state.lock().job(owner, id).map(|job| job.view.subscribe())
    }

    /// The jobs of this owner, oldest first.
    pub(crate) fn jobs(&self, owner: &Owner) -> Vec<JobView> {
        self.state.lock().jobs.values().filter(|job| job.owner == *owner).map(|job| job.view.borrow().clone()).collect()
    }

    /// The job that this owner looks at: the running one, else the oldest that waits.
    pub(crate) fn current(&self, owner: &Owner) -> Option<JobView> {
        let open: Vec<JobView> = self.jobs(owner).into_iter().filter(|job| !job.is_over()).collect();
        let running = open.iter().find(|job| !job.is_waiting);
        running.or(open.first()).cloned()
    }

    /// Jobs of everybody that have not ended.
    pub(crate) fn open_jobs(&self) -> usize {
        self.state.lock().snapshot.as_ref().map_or(0, |it| it.rows.iter().filter(|row| !row.job.state.is_ended()).count())
    }

    /// Notes that a job which is not added yet will begin with this file.
    pub(crate) fn note_start(&self, file: PathBuf) {
        let mut state = self.state.lock();
        state.starts.retain(|_, noted| noted.elapsed() < START_AGE);
        state.starts.insert(file, Instant::now());
    }

    /// Files that jobs of clients which have not ended begin with, also those that are about to be
    /// added.
    pub(crate) fn files_in_use(&self) -> BTreeSet<PathBuf> {
        let state = self.state.lock();
        let mut files: BTreeSet<PathBuf> =
            state.starts.iter().filter(|(_, noted)| noted.elapsed() < START_AGE).map(|(file, _)| file.clone()).collect();
        files.extend(state.asked.values().flat_map(|asked| files_of(&asked.recipe)));
        for job in state.jobs.values() {
            let view = job.view.borrow();
            if !view.state.is_ended() {
                files.extend(files_of(&view.recipe));
            }
        }
        files
    }

    /// What this owner waits for, jobs whose number is not known yet included.
    pub(crate) fn open_work(&self, owner: &Owner) -> OpenWork {
        let state = self.state.lock();
        let mut work = OpenWork::default();
        for job in state.jobs.values().filter(|job| job.owner == *owner) {
            let view = job.view.borrow();
            if !view.is_over() {
                work.pictures += view.recipe.batch_count.max(1).saturating_sub(view.pictures.len() as u32);
                work.secs += view.secs_left.unwrap_or_default();
            }
        }
        work.pictures +=
            state.asked.values().filter(|asked| asked.owner == *owner).map(|asked| asked.recipe.batch_count.max(1)).sum::<u32>();
        work
    }

    /// Cancels a job of a client.
    pub(crate) fn cancel(&self, id: QueuedJobId) {
        if let Some(job) = self.state.lock().jobs.get(&id) {
            job.view.send_modify(|view| view.is_cancelled_by_client = true);
        }
        self.queue.send(QueueRequest::Cancel(id));
    }

    /// True where a job of this owner was cancelled just now because the client was gone: to interrupt
    /// is then the same stop.
    pub(crate) fn has_hung_up(&self, owner: &Owner) -> bool {
        self.state.lock().has_hung_up(owner, Instant::now())
    }

    fn disconnected(&self, owner: &Owner, id: QueuedJobId) {
        tracing::debug!("job {id} is cancelled: its client is gone");
        self.state.lock().disconnects.insert(owner.clone(), Instant::now());
        self.cancel(id);
    }

    fn fold(self: &Arc<Self>, event: QueueEvent) {
        let mut state = self.state.lock();
        match event {
            QueueEvent::Added { ticket, job } => {
                let Some(PendingJob { owner, recipe, model, folder, notes, answer }) = state.asked.remove(&ticket) else { return };
                let waiter = job.map(|id| {
                    state.newest = state.newest.max(Some(id));
                    let (sender, view) = watch::channel(JobView::new(id, Arc::new(recipe), model, folder, notes));
                    state.jobs.insert(id, Tracked { owner: owner.clone(), view: sender, ended: None });
                    let hub = Arc::clone(self);
                    Waiter::new(view, Box::new(move || hub.disconnected(&owner, id)))
                });
                drop(state);
                // A client that left before the number was known drops the waiter, which cancels.
                drop(answer.send(waiter));
            }
            QueueEvent::Progress { job, progress } => {
                let Some(tracked) = state.jobs.get(&job) else { return };
                tracked.view.send_modify(|view| match progress {
                    // Of an attempt that failed before nothing is left.
                    JobProgress::Begin(begin) => (view.begin, view.failure) = (Some(begin), None),
                    JobProgress::Step(step) => view.step = Some(step),
                    JobProgress::Preview(preview) => view.preview = Some(preview),
                    JobProgress::Failed(failure) => view.failure = Some(failure),
                });
            }
            QueueEvent::Snapshot(snapshot) => {
                state.fold_snapshot(&snapshot);
                state.snapshot = Some(snapshot);
            }
            QueueEvent::Problem(advice) => tracing::warn!("the queue: {advice}"),
            QueueEvent::Submitted { .. }
            | QueueEvent::NotSubmitted { .. }
            | QueueEvent::PictureKept { .. }
            | QueueEvent::Ended(_)
            | QueueEvent::Notice(_) => {}
        }
    }
}

/// Folds the queue's events in until the hub ends.
fn read_events(hub: &Weak<Hub>) {
    while let Some(hub) = hub.upgrade().filter(|hub| !hub.is_ending.load(Ordering::Relaxed)) {
        if let Some(event) = hub.queue.next_within(POLL_INTERVAL) {
            hub.fold(event);
        }
    }
}
