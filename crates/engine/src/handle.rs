//! The caller's end of the engine.
//!
//! A [`Handle`] sends [`Request`]s and reads [`Event`]s, and shares nothing else with the engine:
//! its sender may as well write to the pipe of a child process. Invariants: sending never blocks;
//! every submitted job gets exactly one `End`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::engine_end::{Busy, Dispatcher, EngineEnd};
use crate::event_mailbox::{EventMailbox, UnreadEvents};
use crate::outside::{OutsideJob, OutsideJobs};
use crate::protocol::{Control, Event, JobId, MeasureDevices, Query, Request, ResidentId, ServerAddress, Task};
use crate::threads::is_engine_thread;
use atelier_core::placement::Reserve;
use atelier_core::recipe::Recipe;

/// Transport of requests to the engine. Dropping it tells the engine that no request will follow.
pub(crate) trait RequestSender: Send + Sync {
    /// Sends a request without waiting for what it does.
    fn send(&self, request: Request) -> Result<(), Busy>;
}

/// Sends requests to an engine in this process. Dropping it waits for the engine's thread.
struct LocalSender {
    dispatcher: Arc<Dispatcher>,
    thread: Option<JoinHandle<()>>,
}

impl RequestSender for LocalSender {
    fn send(&self, request: Request) -> Result<(), Busy> {
        self.dispatcher.receive(request)
    }
}

impl Drop for LocalSender {
    fn drop(&mut self) {
        self.dispatcher.close();
        // A `wake` may hold the last handle: the engine's threads cannot wait for themselves, and
        // end by themselves.
        if let Some(thread) = self.thread.take()
            && !is_engine_thread()
            && thread.join().is_err()
        {
            tracing::error!("the engine's thread ended by a panic");
        }
    }
}

/// The two ends of an engine in this process. `wake` is called, from any thread, whenever a new
/// event can be read.
#[must_use]
pub fn channel(wake: impl Fn() + Send + Sync + 'static) -> (Handle, EngineEnd) {
    let (connection, end) = Connection::new(wake);
    (connection.handle(None), end)
}

/// A handle to be, whose engine has no thread yet.
pub(crate) struct Connection {
    dispatcher: Arc<Dispatcher>,
    events: Arc<EventMailbox>,
}

impl Connection {
    /// A connection, and the engine's end of it.
    pub(crate) fn new(wake: impl Fn() + Send + Sync + 'static) -> (Self, EngineEnd) {
        let events = Arc::new(EventMailbox::new(wake));
        let mailbox = Arc::clone(&events);
        let dispatcher = Dispatcher::new(move |event| mailbox.deliver(event));
        (Self { dispatcher: Arc::clone(&dispatcher), events }, EngineEnd::new(dispatcher))
    }

    /// The handle, which waits for this thread when it is dropped: a process must not exit while
    /// one is in the engine.
    pub(crate) fn handle(self, thread: Option<JoinHandle<()>>) -> Handle {
        Handle::new(LocalSender { dispatcher: self.dispatcher, thread }, self.events)
    }
}

/// The caller's end. Dropping it cancels every job and waits for the engine's thread to end.
pub struct Handle {
    requests: Box<dyn RequestSender>,
    events: Arc<EventMailbox>,
    next_job: AtomicU64,
    outside: Arc<OutsideJobs>,
}

impl Handle {
    /// A handle that sends its requests here, and reads the events that are delivered to this
    /// mailbox.
    pub(crate) fn new(requests: impl RequestSender + 'static, events: Arc<EventMailbox>) -> Self {
        Self { requests: Box::new(requests), events, next_job: AtomicU64::new(1), outside: Arc::default() }
    }

    /// Submits a job and returns its number.
    ///
    /// # Errors
    /// If too many jobs are open or the engine is gone; then no event will carry the number.
    pub fn submit(&self, task: Task) -> Result<JobId, Busy> {
        self.submit_announced(task, |_| {})
    }

    /// Submits a job and returns its number. `announce` is called with the number before any event
    /// can carry it.
    ///
    /// # Errors
    /// If too many jobs are open or the engine is gone; then no event will carry the number.
    pub fn submit_announced(&self, task: Task, announce: impl FnOnce(JobId)) -> Result<JobId, Busy> {
        let job = JobId(self.next_job.fetch_add(1, Ordering::Relaxed));
        announce(job);
        self.events.open(job);
        self.requests.send(Request::Job { job, task }).inspect_err(|_| self.events.forget(job))?;
        Ok(job)
    }

    /// Opens a job that the caller makes itself: the engine never hears of it, its readers do.
    /// `announce` is called with the number before any event can carry it.
    #[must_use]
    pub fn open_outside(&self, announce: impl FnOnce(JobId)) -> OutsideJob {
        let job = JobId(self.next_job.fetch_add(1, Ordering::Relaxed));
        // First there, so that who hears of it can cancel it; it sends nothing yet.
        let outside = OutsideJobs::open(&self.outside, job, &self.events);
        announce(job);
        outside
    }

    /// Queries the memory that a recipe takes; `Event::Estimated` answers, unless a newer query
    /// replaces this one.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn estimate(&self, recipe: Recipe) -> Result<(), Busy> {
        self.requests.send(Request::Query(Query::Estimate(Box::new(recipe))))
    }

    /// Queries the devices; `Event::Devices` answers.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn list_devices(&self) -> Result<(), Busy> {
        self.requests.send(Request::Query(Query::Devices))
    }

    /// Watches the devices, or no longer: `Event::Devices` comes whenever their memory differs by
    /// what a person sees.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn watch_devices(&self, watches: bool) -> Result<(), Busy> {
        self.control(Control::WatchDevices(watches))
    }

    /// Connects to a server; `Event::Server` answers.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn add_server(&self, server: ServerAddress) -> Result<(), Busy> {
        self.control(Control::AddServer(server))
    }

    /// Frees every model that no job uses; `Event::Residency` answers.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn unload(&self) -> Result<(), Busy> {
        self.control(Control::UnloadAll)
    }

    /// Frees one model, unless a job uses it; `Event::Residency` answers.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn unload_model(&self, model: ResidentId) -> Result<(), Busy> {
        self.control(Control::Unload(model))
    }

    /// Exempts a model from eviction, or no longer; `Event::Residency` answers.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn keep_model(&self, model: ResidentId, keep: bool) -> Result<(), Busy> {
        self.control(Control::Keep { model, keep })
    }

    /// Sets the memory of each device that stays free for other programs.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn set_reserve(&self, reserve: Reserve) -> Result<(), Busy> {
        self.control(Control::SetReserve(reserve))
    }

    /// Sets whether recipes without a placement get the quickest that fits, as they do at first, or
    /// the engine's default device.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn place_automatically(&self, places: bool) -> Result<(), Busy> {
        self.control(Control::PlaceAutomatically(places))
    }

    /// Begins to load the model of a recipe, so that its first picture waits less; `None` stops a
    /// preload.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn preload(&self, recipe: Option<Recipe>) -> Result<(), Busy> {
        self.control(Control::Preload(recipe.map(Box::new)))
    }

    /// Measures devices while no job runs; `Event::Rates` follows after each. `None` stops a
    /// measurement.
    ///
    /// # Errors
    /// If the engine is gone.
    pub fn measure(&self, devices: Option<MeasureDevices>) -> Result<(), Busy> {
        self.control(Control::Measure(devices))
    }

    /// Cancels a job. One that waits ends at once, one that runs as soon as the engine can stop;
    /// others are left alone.
    pub fn cancel(&self, job: JobId) {
        if self.outside.cancel(job) {
            return;
        }
        // An engine that is gone has ended its jobs.
        self.control(Control::Cancel(job)).ok();
    }

    pub fn cancel_all(&self) {
        for job in self.events.open_jobs() {
            self.cancel(job);
        }
    }

    /// Calls `observer` with every event from now on, before the event can be read here, on a
    /// thread of the engine: for a second reader that must not depend on the first. It must not
    /// wait. Returns false where there is an observer already.
    pub fn observe(&self, observer: impl Fn(&Event) + Send + Sync + 'static) -> bool {
        self.events.observe(observer)
    }

    /// A look at the events that were not read yet.
    #[must_use]
    pub fn unread(&self) -> UnreadEvents {
        UnreadEvents::of(&self.events)
    }

    fn control(&self, control: Control) -> Result<(), Busy> {
        self.requests.send(Request::Control(control))
    }

    /// The next event, if there is one.
    #[must_use]
    pub fn try_next(&self) -> Option<Event> {
        self.events.try_next()
    }

    /// The next event; `None` where none comes within `limit`.
    #[must_use]
    pub fn next_within(&self, limit: Duration) -> Option<Event> {
        self.events.next_within(limit)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.cancel_all();
    }
}

#[cfg(test)]
mod tests;
