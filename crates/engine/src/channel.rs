//! The two ends between callers and the engine's thread.
//!
//! Invariants: sending never blocks; every submitted job gets exactly one `End`, also when the other end is gone; previews, steps and
//! log lines are dropped for a slow reader, pictures and ends never.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::cache::ResidentId;
use super::event::{End, Event, Failure};
use super::remote::ServerAddress;
use super::request::{JobId, Request, Task};
use atelier_core::placement::Reserve;
use atelier_core::recipe::Recipe;

/// Requests that may wait; a person never queues so many.
const REQUESTS: usize = 4096;
/// Log lines kept for a slow reader.
const LOG_LINES: usize = 500;

/// Makes the two ends. `wake` is called, from any thread, whenever a new event can be read.
#[must_use]
pub fn channel(wake: impl Fn() + Send + Sync + 'static) -> (Handle, EngineEnd) {
    let (sender, receiver) = sync_channel(REQUESTS);
    let back = sender.clone();
    let shared = Arc::new(Shared { state: Mutex::default(), arrived: Condvar::new(), wake: Box::new(wake), next_job: AtomicU64::new(1) });
    (Handle { sender, shared: Arc::clone(&shared), thread: None }, EngineEnd { receiver, back, shared })
}

thread_local! {
    /// Whether this thread belongs to an engine, which nobody on it may wait for.
    static OF_ENGINE: Cell<bool> = const { Cell::new(false) };
}

/// This thread works for an engine from now on.
pub(crate) fn work_for_engine() {
    OF_ENGINE.set(true);
}

/// What comes in at the engine's end.
pub(crate) enum Message {
    /// Somebody asks for something.
    Request(Request),
    /// A thread of the engine has done what it was given: this job, or what has no number.
    Done(Option<JobId>),
    /// Nobody will ask for anything any more.
    Closed,
}

struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
    next_job: AtomicU64,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// The newest of each job.
    previews: HashMap<JobId, Event>,
    log_lines: usize,
    /// Jobs that have not ended, with the flag that cancels each.
    open: HashMap<JobId, Open>,
    engine_gone: bool,
    handle_gone: bool,
    questions: Asked,
    /// Servers to be added and models to be given back: devices are named after that.
    changes_waiting: usize,
}

/// What is asked beside the jobs; only the newest of each kind.
#[derive(Default)]
struct Asked {
    estimate: Option<Box<Recipe>>,
    devices: bool,
    /// Set when the estimate that is being made is not wanted any more.
    outdated: Arc<AtomicBool>,
}

struct Open {
    cancel: Arc<AtomicBool>,
    started: bool,
}

impl Shared {
    /// A poisoned lock only means that some caller panicked between two whole operations.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        self.arrived.notify_all();
        (self.wake)();
    }
}

impl State {
    fn push(&mut self, event: Event) {
        match event {
            Event::Preview { job, .. } => {
                self.previews.insert(job, event);
            }
            Event::Step { job, .. } => {
                if matches!(self.events.back(), Some(Event::Step { job: other, .. }) if *other == job) {
                    self.events.pop_back();
                }
                self.events.push_back(event);
            }
            Event::Log { .. } => {
                if self.log_lines == LOG_LINES {
                    if let Some(oldest) = self.events.iter().position(|it| matches!(it, Event::Log { .. })) {
                        self.events.remove(oldest);
                    }
                } else {
                    self.log_lines += 1;
                }
                self.events.push_back(event);
            }
            Event::End { job, .. } => {
                self.previews.remove(&job);
                self.events.push_back(event);
            }
            Event::Begin { .. }
            | Event::Phase { .. }
            | Event::Picture { .. }
            | Event::Estimated { .. }
            | Event::Measured { .. }
            | Event::Waiting { .. }
            | Event::Residency(_)
            | Event::Devices(_)
            | Event::Server { .. } => self.events.push_back(event),
        }
    }

    fn pop(&mut self) -> Option<Event> {
        // A preview is older than the end of its job and newer than most else: it goes first.
        let begun = |job: &&JobId| !self.events.iter().any(|it| matches!(it, Event::Begin { job: other, .. } if other == *job));
        if let Some(job) = self.previews.keys().find(begun).copied() {
            return self.previews.remove(&job);
        }
        let event = self.events.pop_front()?;
        if matches!(event, Event::Log { .. }) {
            self.log_lines -= 1;
        }
        Some(event)
    }
}

/// The engine cannot take the request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Too many requests wait.
    #[error("the queue is full; wait until some pictures are done")]
    Full,
    /// The engine's thread has ended.
    #[error("the engine has stopped; restart Atelier")]
    Gone,
}

/// The caller's end. Dropping it cancels every job and waits for the engine's thread to end.
pub struct Handle {
    sender: SyncSender<Message>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// The thread behind the other end, which a process must not leave running in the engine when it exits.
    pub(crate) fn joining(mut self, thread: JoinHandle<()>) -> Self {
        self.thread = Some(thread);
        self
    }

    /// Submits a job and returns its number.
    ///
    /// # Errors
    /// Where too many jobs wait or the engine is gone; then no event will carry the number.
    pub fn submit(&self, task: Task) -> Result<JobId, Busy> {
        let job = JobId(self.shared.next_job.fetch_add(1, Ordering::Relaxed));
        {
            let mut state = self.shared.lock();
            if state.engine_gone {
                return Err(Busy::Gone);
            }
            state.open.insert(job, Open { cancel: Arc::default(), started: false });
        }
        self.send(Request::Run { job, task }).inspect_err(|_| {
            self.shared.lock().open.remove(&job);
        })?;
        Ok(job)
    }

    /// Asks what a recipe takes; `Event::Estimated` answers, unless a newer question comes first.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn estimate(&self, recipe: Recipe) -> Result<(), Busy> {
        self.ask(|questions| {
            questions.outdated.store(true, Ordering::Relaxed);
            questions.estimate = Some(Box::new(recipe));
        })
    }

    /// Asks for the devices; `Event::Devices` answers.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn list_devices(&self) -> Result<(), Busy> {
        self.ask(|questions| questions.devices = true)
    }

    /// Makes the devices of a server usable; `Event::Server` answers.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn add_server(&self, server: ServerAddress) -> Result<(), Busy> {
        self.send(Request::AddServer(server))
    }

    /// Gives back the memory of every model that no job uses; `Event::Residency` answers.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn unload(&self) -> Result<(), Busy> {
        self.send(Request::Unload)
    }

    /// Gives back the memory of one model, unless a job uses it; `Event::Residency` answers.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn unload_model(&self, model: ResidentId) -> Result<(), Busy> {
        self.send(Request::UnloadModel(model))
    }

    /// Lets a model stay in memory whatever others need, or no longer; `Event::Residency` answers.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn keep_model(&self, model: ResidentId, kept: bool) -> Result<(), Busy> {
        self.send(Request::KeepModel(model, kept))
    }

    /// How much of each device's memory is left to other programs, from now on.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn set_reserve(&self, reserve: Reserve) -> Result<(), Busy> {
        self.send(Request::SetReserve(reserve))
    }

    /// Begins to load the model of a recipe, so that its first picture waits less; `None` stops loading what no job has asked for.
    ///
    /// # Errors
    /// Where too many requests wait or the engine is gone.
    pub fn preload(&self, recipe: Option<Recipe>) -> Result<(), Busy> {
        self.send(Request::Preload(recipe.map(Box::new)))
    }

    fn send(&self, request: Request) -> Result<(), Busy> {
        let changes = matches!(request, Request::AddServer(_) | Request::Unload | Request::UnloadModel(_));
        if changes {
            self.shared.lock().changes_waiting += 1;
        }
        self.send_job(request).inspect_err(|_| {
            if changes {
                self.shared.lock().changes_waiting -= 1;
            }
        })
    }

    /// What is answered beside the jobs goes past their queue.
    fn ask(&self, question: impl FnOnce(&mut Asked)) -> Result<(), Busy> {
        let mut state = self.shared.lock();
        if state.engine_gone {
            return Err(Busy::Gone);
        }
        question(&mut state.questions);
        drop(state);
        self.shared.arrived.notify_all();
        Ok(())
    }

    fn send_job(&self, request: Request) -> Result<(), Busy> {
        self.sender.try_send(Message::Request(request)).map_err(|error| match error {
            TrySendError::Full(_) => Busy::Full,
            TrySendError::Disconnected(_) => Busy::Gone,
        })
    }

    /// Cancels a job. One that waits ends at once; one that runs ends as soon as the engine can stop. Others are left alone.
    pub fn cancel(&self, job: JobId) {
        let mut state = self.shared.lock();
        let Some(open) = state.open.get(&job) else { return };
        open.cancel.store(true, Ordering::Relaxed);
        if open.started {
            return;
        }
        state.open.remove(&job);
        state.push(Event::End { job, end: End::Cancelled });
        drop(state);
        self.shared.announce();
    }

    /// Cancels every job.
    pub fn cancel_all(&self) {
        let jobs: Vec<JobId> = self.shared.lock().open.keys().copied().collect();
        for job in jobs {
            self.cancel(job);
        }
    }

    /// The next event, if there is one.
    #[must_use]
    pub fn try_next(&self) -> Option<Event> {
        self.shared.lock().pop()
    }

    /// The next event; `None` where none comes in time.
    #[must_use]
    pub fn next_within(&self, limit: Duration) -> Option<Event> {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        loop {
            if let Some(event) = state.pop() {
                return Some(event);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            state = self.shared.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Jobs that wait or run.
    #[must_use]
    pub fn open_jobs(&self) -> usize {
        self.shared.lock().open.len()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.cancel_all();
        {
            let mut state = self.shared.lock();
            state.handle_gone = true;
            state.questions.outdated.store(true, Ordering::Relaxed);
        }
        self.shared.arrived.notify_all();
        // An engine that is gone needs no message.
        self.sender.send(Message::Closed).ok();
        // A `wake` may hold the last handle: the engine's threads cannot wait for themselves, and end by themselves.
        if let Some(thread) = self.thread.take()
            && !OF_ENGINE.get()
            && thread.join().is_err()
        {
            tracing::error!("the engine's thread ended by a panic");
        }
    }
}

/// The engine's end. Dropping it, also by a panic, ends every open job as failed.
pub struct EngineEnd {
    receiver: Receiver<Message>,
    /// For the engine's own threads.
    back: SyncSender<Message>,
    shared: Arc<Shared>,
}

impl EngineEnd {
    /// The next request, questions excepted; `None` once every [`Handle`] is gone.
    #[must_use]
    pub fn next(&self) -> Option<Request> {
        loop {
            match self.receiver.recv() {
                Ok(Message::Request(request)) => return Some(request),
                Ok(Message::Done(_)) => {}
                Ok(Message::Closed) | Err(_) => return None,
            }
        }
    }

    /// What comes in next; `None` where nothing comes in time.
    pub(crate) fn next_within(&self, limit: Duration) -> Option<Message> {
        match self.receiver.recv_timeout(limit) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::Closed),
        }
    }

    /// By which the engine's own threads say that they are done.
    pub(crate) fn back(&self) -> SyncSender<Message> {
        self.back.clone()
    }

    /// Marks a job as running and gives the flag that cancels it; `None` where it was cancelled while it waited.
    #[must_use]
    pub fn start(&self, job: JobId) -> Option<Arc<AtomicBool>> {
        let mut state = self.shared.lock();
        let open = state.open.get_mut(&job)?;
        open.started = true;
        Some(Arc::clone(&open.cancel))
    }

    /// A request to unload was carried out.
    pub fn unloaded(&self) {
        let mut state = self.shared.lock();
        state.changes_waiting = state.changes_waiting.saturating_sub(1);
        drop(state);
        self.shared.arrived.notify_all();
    }

    /// What is asked beside the jobs, for a thread of its own.
    #[must_use]
    pub fn queries(&self) -> QueryReceiver {
        QueryReceiver { shared: Arc::clone(&self.shared) }
    }

    /// Something that sends events, and can be given to callbacks on other threads.
    #[must_use]
    pub fn sender(&self) -> EventSender {
        EventSender { shared: Arc::clone(&self.shared) }
    }

    /// Sends an event; an `End` for a job that has already ended is dropped.
    pub fn send(&self, event: Event) {
        send(&self.shared, event);
    }
}

/// The questions that are answered beside the jobs.
pub struct QueryReceiver {
    shared: Arc<Shared>,
}

/// What comes next of the questions.
pub enum NextQuery {
    /// This one, with a flag that is set once nobody waits for its answer.
    Asked(Request, Arc<AtomicBool>),
    /// Nothing was asked in this time.
    Nothing,
    /// Every [`Handle`] is gone.
    Over,
}

impl QueryReceiver {
    /// The next question, with a flag that is set once nobody waits for its answer; `None` once every [`Handle`] is gone.
    #[must_use]
    pub fn next(&self) -> Option<(Request, Arc<AtomicBool>)> {
        match self.next_within(None) {
            NextQuery::Asked(request, outdated) => Some((request, outdated)),
            NextQuery::Nothing | NextQuery::Over => None,
        }
    }

    /// The next question, where one comes in this time; without a limit, however long that takes.
    #[must_use]
    pub fn next_within(&self, limit: Option<Duration>) -> NextQuery {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = self.shared.lock();
        loop {
            if state.handle_gone {
                return NextQuery::Over;
            }
            let working = state.open.values().any(|open| open.started);
            if state.questions.devices && (state.changes_waiting == 0 || working) {
                state.questions.devices = false;
                return NextQuery::Asked(Request::ListDevices, Arc::default());
            }
            if let Some(recipe) = state.questions.estimate.take() {
                state.questions.outdated = Arc::default();
                return NextQuery::Asked(Request::Estimate(recipe), Arc::clone(&state.questions.outdated));
            }
            state = match deadline {
                None => self.shared.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return NextQuery::Nothing;
                    }
                    self.shared.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// Sends events from any thread.
#[derive(Clone)]
pub struct EventSender {
    shared: Arc<Shared>,
}

impl EventSender {
    /// Sends an event; an `End` for a job that has already ended is dropped.
    pub fn send(&self, event: Event) {
        send(&self.shared, event);
    }
}

fn send(shared: &Shared, event: Event) {
    let mut state = shared.lock();
    if let Event::End { job, .. } = &event
        && state.open.remove(job).is_none()
    {
        return;
    }
    // A line of a job's log can wait: its end comes for certain, and waking a reader for each line costs more than the line.
    let can_wait = matches!(event, Event::Log { job: Some(_), .. });
    if matches!(event, Event::Server { .. }) {
        state.changes_waiting = state.changes_waiting.saturating_sub(1);
    }
    state.push(event);
    drop(state);
    if !can_wait {
        shared.announce();
    }
}

impl Drop for EngineEnd {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.engine_gone = true;
        let mut jobs: Vec<JobId> = state.open.drain().map(|(job, _)| job).collect();
        jobs.sort_unstable();
        for job in jobs {
            let end = End::Failed(Failure {
                sentence: "The engine stopped before this picture was finished.".into(),
                hint: "Restart Atelier and generate again; your prompt and settings are kept.".into(),
                ..Failure::default()
            });
            state.push(Event::End { job, end });
        }
        drop(state);
        self.shared.announce();
    }
}

#[cfg(test)]
mod tests;
