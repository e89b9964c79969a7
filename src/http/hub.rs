//! Jobs of clients: added to the queue, followed by its events, and cancelled when nobody waits for
//! them any more.
//!
//! One thread reads the events of the queue and folds them into what each job looks like; who waits
//! for a job watches that. A job that ended is remembered for a while, so that a client can ask for
//! it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_core::recipe::{Recipe, seed_after};
use atelier_engine::{Begin, Preview, Step};
use atelier_gallery::queue::{JobPicture, JobState, NewJob, Owner, QueuedJobId};
use atelier_studio::queue::{JobProgress, QueueClient, QueueEvent, QueueRequest, QueueSnapshot, Ticket, WaitReason};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::retention::files_of;

/// Time for which a job that ended can be asked for.
const KEPT_AFTER_END: Duration = Duration::from_mins(10);
/// Time for which its last preview is kept beside that, for a stream that has not sent it yet: it may
/// be as large as the picture.
const PREVIEW_KEPT_AFTER_END: Duration = Duration::from_secs(10);
/// Longest wait for an event, after which the thread looks whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Longest wait for what the queue has, before clients can ask.
const FIRST_SNAPSHOT_WAIT: Duration = Duration::from_secs(10);
/// Longest time from the look at a start picture until its job is added.
const START_AGE: Duration = Duration::from_mins(10);
/// Jobs that ended and can still be asked for.
const MAX_ENDED: usize = 1000;

/// What a job looks like.
#[derive(Clone, Debug)]
pub(crate) struct JobView {
    pub(crate) id: QueuedJobId,
    pub(crate) recipe: Arc<Recipe>,
    /// The name of its model.
    pub(crate) model: String,
    /// What was changed or ignored before it was added, in sentences.
    pub(crate) notes: Vec<String>,
    pub(crate) state: JobState,
    /// True while the engine is not at it.
    pub(crate) is_waiting: bool,
    pub(crate) wait: Option<WaitReason>,
    /// Jobs before it, of everybody.
    pub(crate) position: usize,
    pub(crate) ends_in_secs: Option<f64>,
    /// Seconds of work on it that are left.
    pub(crate) secs_left: Option<f64>,
    pub(crate) begin: Option<Box<Begin>>,
    pub(crate) step: Option<Step>,
    pub(crate) preview: Option<Preview>,
    pub(crate) pictures: Vec<JobPicture>,
    pub(crate) first_seed: Option<i64>,
    /// Why it failed or is held.
    pub(crate) reason: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) created_ms: i64,
    pub(crate) began_ms: Option<i64>,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) is_cancelled_by_client: bool,
}

impl JobView {
    fn new(id: QueuedJobId, recipe: Arc<Recipe>, model: String, notes: Vec<String>) -> Self {
        Self {
            id,
            recipe,
            model,
            notes,
            state: JobState::Waiting,
            is_waiting: true,
            wait: None,
            position: 0,
            ends_in_secs: None,
            secs_left: None,
            begin: None,
            step: None,
            preview: None,
            pictures: Vec::new(),
            first_seed: None,
            reason: None,
            created_ms: now_ms(),
            began_ms: None,
            ended_ms: None,
            is_cancelled_by_client: false,
        }
    }

    /// True where nothing more comes of it by itself; one that is held waits for the person at the
    /// machine, so nobody waits for it.
    pub(crate) fn is_over(&self) -> bool {
        self.state.is_ended() || self.state == JobState::Held
    }

    /// The seed of this picture, once it is known.
    pub(crate) fn seed(&self, index: u32) -> Option<i64> {
        let first = self.first_seed.or((self.recipe.seed >= 0).then_some(self.recipe.seed));
        first.map(|seed| seed_after(seed, i64::from(index)))
    }

    /// Progress from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        if self.state == JobState::Done {
            return 1.0;
        }
        let pictures = f64::from(self.recipe.batch_count.max(1));
        let (picture, within) = self.step.map_or((self.pictures.len() as f64, 0.0), |step| {
            (f64::from(step.picture), (f64::from(step.done) + f64::from(step.fraction)) / f64::from(step.total.max(1)))
        });
        ((picture.max(self.pictures.len() as f64) + within.clamp(0.0, 1.0)) / pictures).clamp(0.0, 1.0)
    }

    /// Everything that a person should know of it, in sentences.
    pub(crate) fn all_notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        for note in self.begin.iter().flat_map(|begin| &begin.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes
    }
}

/// What is kept of a job while its number is not known.
struct PendingJob {
    owner: Owner,
    recipe: Recipe,
    model: String,
    notes: Vec<String>,
    answer: oneshot::Sender<Result<Waiter, Advice>>,
}

struct Tracked {
    owner: Owner,
    view: watch::Sender<JobView>,
    ended: Option<Instant>,
}

#[derive(Default)]
struct State {
    asked: HashMap<Ticket, PendingJob>,
    jobs: BTreeMap<QueuedJobId, Tracked>,
    snapshot: Option<Arc<QueueSnapshot>>,
    /// Numbers up to this one were given to jobs.
    newest: Option<QueuedJobId>,
    disconnects: HashMap<Owner, Instant>,
    /// Files that jobs are about to begin with, and since when.
    starts: HashMap<PathBuf, Instant>,
}

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

/// What became of a job that was asked for by its number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoJob {
    Unknown,
    /// It ended long ago.
    Expired,
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
        let asked = PendingJob { owner: owner.clone(), recipe: job.recipe.clone(), model: job.model.clone(), notes, answer };
        self.state.lock().asked.insert(ticket, asked);
        self.queue.send(QueueRequest::AddFor(ticket, Box::new(job)));
        let gone = || Advice::new("The queue has ended.", "Start the server again.");
        answered.await.map_err(|_| gone())?
    }

    /// A job of this owner.
    pub(crate) fn job(&self, owner: &Owner, id: QueuedJobId) -> Result<watch::Receiver<JobView>, NoJob> {
        let state = self.state.lock();
        match state.jobs.get(&id) {
            Some(job) if job.owner == *owner => Ok(job.view.subscribe()),
            None if id.0 > 0 && state.newest.is_some_and(|newest| id <= newest) => Err(NoJob::Expired),
            // Whether it is somebody else's is nobody's business.
            _ => Err(NoJob::Unknown),
        }
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

    /// Time since a job of this owner was cancelled because the client was gone.
    pub(crate) fn since_disconnect(&self, owner: &Owner) -> Option<Duration> {
        self.state.lock().disconnects.get(owner).map(Instant::elapsed)
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
                let Some(PendingJob { owner, recipe, model, notes, answer }) = state.asked.remove(&ticket) else { return };
                let waiter = job.map(|id| {
                    state.newest = state.newest.max(Some(id));
                    let (sender, view) = watch::channel(JobView::new(id, Arc::new(recipe), model, notes));
                    state.jobs.insert(id, Tracked { owner: owner.clone(), view: sender, ended: None });
                    Waiter { hub: Arc::clone(self), owner, view, is_left_alone: false }
                });
                drop(state);
                // A client that left before the number was known drops the waiter, which cancels.
                drop(answer.send(waiter));
            }
            QueueEvent::Progress { job, progress } => {
                let Some(tracked) = state.jobs.get(&job) else { return };
                tracked.view.send_modify(|view| match progress {
                    JobProgress::Begin(begin) => view.begin = Some(begin),
                    JobProgress::Step(step) => view.step = Some(step),
                    JobProgress::Preview(preview) => view.preview = Some(preview),
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

impl State {
    fn fold_snapshot(&mut self, snapshot: &QueueSnapshot) {
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
        self.forget();
    }

    /// Takes on the jobs of clients that this server did not add itself: of before a restart.
    fn adopt(&mut self, snapshot: &QueueSnapshot) {
        for job in snapshot.rows.iter().map(|row| &row.job) {
            if job.owner.is_person() || job.state.is_ended() || self.jobs.contains_key(&job.id) {
                continue;
            }
            let (view, _) = watch::channel(JobView::new(job.id, Arc::clone(&job.recipe), job.model.clone(), Vec::new()));
            self.jobs.insert(job.id, Tracked { owner: job.owner.clone(), view, ended: None });
            self.newest = self.newest.max(Some(job.id));
        }
    }

    /// Forgets jobs that ended long ago, and the oldest of too many.
    fn forget(&mut self) {
        for job in self.jobs.values() {
            let is_due = job.ended.is_some_and(|ended| ended.elapsed() >= PREVIEW_KEPT_AFTER_END);
            if is_due && job.view.borrow().preview.is_some() {
                job.view.send_if_modified(|view| {
                    view.preview = None;
                    // Nothing that anybody waits for has changed.
                    false
                });
            }
        }
        self.jobs.retain(|_, job| job.ended.is_none_or(|ended| ended.elapsed() < KEPT_AFTER_END));
        let ended: Vec<QueuedJobId> = self.jobs.iter().filter(|(_, job)| job.ended.is_some()).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            self.jobs.remove(id);
        }
        self.disconnects.retain(|_, at| at.elapsed() < KEPT_AFTER_END);
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

/// Somebody who waits for a job. Dropped before the job is over, the job is cancelled: its client
/// has closed the connection.
pub(crate) struct Waiter {
    hub: Arc<Hub>,
    owner: Owner,
    view: watch::Receiver<JobView>,
    is_left_alone: bool,
}

impl Waiter {
    /// The job as it is now.
    pub(crate) fn view(&self) -> JobView {
        self.view.borrow().clone()
    }

    /// Waits until it is over.
    pub(crate) async fn end(&mut self) -> JobView {
        // The sender lives as long as the job is not over.
        let is_over = self.view.wait_for(JobView::is_over).await.is_ok();
        debug_assert!(is_over, "a job that is waited for is not forgotten");
        self.view()
    }

    /// Waits until something about it has changed; false where nothing will any more.
    pub(crate) async fn change(&mut self) -> bool {
        self.view.changed().await.is_ok()
    }

    /// Lets the job be made although nobody waits.
    pub(crate) fn leave_alone(mut self) -> JobView {
        self.is_left_alone = true;
        self.view()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let (id, is_over) = {
            let view = self.view.borrow();
            (view.id, view.is_over())
        };
        if !self.is_left_alone && !is_over {
            self.hub.disconnected(&self.owner, id);
        }
    }
}

/// The present, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    i64::try_from(time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}
