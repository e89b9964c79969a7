//! The engine's end: requests are sorted as they arrive.
//!
//! Jobs and controls wait in one queue for the engine's thread. Queries wait beside it, the newest
//! of each kind, for a thread of their own. A cancel only sets the flag of its job, so that it is
//! seen within milliseconds whatever the engine's thread does. Invariants: receiving never blocks;
//! each job that was received gets exactly one `End`, also when the engine's thread panics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::protocol::{Control, End, Event, Failure, JobId, Query, Request, Task};
use atelier_core::mailbox::Mailbox;
use atelier_core::recipe::Recipe;
use atelier_language::tr;

/// Time between two looks at devices that are watched.
const WATCH_INTERVAL: Duration = Duration::from_secs(3);

/// Jobs that may be open; a person never queues so many.
const MAX_JOBS: usize = 4096;

/// The engine cannot take a request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Too many jobs are open.
    #[error("{}", tr!("engine-the-queue-is-full"))]
    Full,
    /// The engine's thread has ended.
    #[error("{}", tr!("engine-the-engine-has-stopped"))]
    Gone,
}

/// Work on a thread of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkId {
    Job(JobId),
    /// A server is added; one at a time, because that needs all devices.
    AddServer,
}

/// Input of the engine's thread.
pub(crate) enum Input {
    /// A job to run.
    Job(JobId, Task),
    /// A control to carry out; never `Cancel` or `WatchDevices`.
    Control(Control),
    /// The thread of this work is idle again.
    WorkEnded(WorkId),
    /// The thread of the preload is idle again.
    PreloadEnded,
    /// The thread of the measurement is idle again.
    MeasurementEnded,
    /// No request will follow.
    Closed,
}

/// Sorts requests and sends events.
pub(crate) struct Dispatcher {
    state: Mutex<State>,
    /// Something changed that a thread for queries may wait for.
    changed: Condvar,
    input: Mailbox<Input>,
    output: Box<dyn Fn(Event) + Send + Sync>,
}

#[derive(Default)]
struct State {
    /// Jobs without an `End`.
    jobs: BTreeMap<JobId, Job>,
    queries: Queries,
    /// Controls that are not carried out yet and after which the devices differ.
    pending_changes: usize,
    /// No request will follow.
    is_closed: bool,
    /// The engine's thread has ended.
    is_gone: bool,
}

#[derive(Default)]
struct Job {
    cancel: Arc<AtomicBool>,
    is_running: bool,
}

/// The newest query of each kind.
#[derive(Default)]
struct Queries {
    estimate: Option<Box<Recipe>>,
    devices: bool,
    /// Time of the next look at the devices; `None` where nobody watches them.
    next_look: Option<Instant>,
    /// Set when the answer to the estimate that is being made is not wanted any more.
    outdated: Arc<AtomicBool>,
}

impl Dispatcher {
    /// A dispatcher whose events go to `output`, on any thread.
    pub(crate) fn new(output: impl Fn(Event) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), input: Mailbox::new(|| {}), output: Box::new(output) })
    }

    pub(crate) fn receive(&self, request: Request) -> Result<(), Busy> {
        let mut state = self.state.lock();
        if state.is_gone {
            return Err(Busy::Gone);
        }
        match request {
            Request::Job { .. } if state.jobs.len() >= MAX_JOBS => return Err(Busy::Full),
            Request::Job { job, task } => {
                state.jobs.insert(job, Job::default());
                self.input.send(Input::Job(job, task));
            }
            Request::Query(Query::Estimate(recipe)) => {
                state.queries.outdated.store(true, Ordering::Relaxed);
                state.queries.estimate = Some(recipe);
                self.changed.notify_all();
            }
            Request::Query(Query::Devices) => {
                state.queries.devices = true;
                self.changed.notify_all();
            }
            Request::Control(Control::Cancel(job)) => {
                let Some(found) = state.jobs.get(&job) else { return Ok(()) };
                found.cancel.store(true, Ordering::Relaxed);
                if !found.is_running {
                    state.jobs.remove(&job);
                    drop(state);
                    (self.output)(Event::End { job, end: End::Cancelled });
                }
            }
            Request::Control(Control::WatchDevices(watches)) => {
                state.queries.next_look = watches.then(|| Instant::now() + WATCH_INTERVAL);
                self.changed.notify_all();
            }
            Request::Control(control) => {
                state.pending_changes += usize::from(changes_devices(&control));
                self.input.send(Input::Control(control));
            }
        }
        Ok(())
    }

    /// No request will follow.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.queries.outdated.store(true, Ordering::Relaxed);
        self.changed.notify_all();
        self.input.send(Input::Closed);
    }

    /// Sends an event; an `End` of a job that has ended is dropped.
    pub(crate) fn send(&self, event: Event) {
        if let Event::End { job, .. } = &event
            && self.state.lock().jobs.remove(job).is_none()
        {
            return;
        }
        let is_change = matches!(event, Event::Server { .. });
        (self.output)(event);
        // After the event: who waits for the list of devices has read by then why one is missing.
        if is_change {
            self.finish_change();
        }
    }

    /// Appends input of the engine's own threads.
    pub(crate) fn push(&self, input: Input) {
        self.input.send(input);
    }

    fn finish_change(&self) {
        let mut state = self.state.lock();
        state.pending_changes = state.pending_changes.saturating_sub(1);
        self.changed.notify_all();
    }
}

/// Controls after which the devices, or their free memory, differ.
const fn changes_devices(control: &Control) -> bool {
    match control {
        Control::AddServer(_) | Control::UnloadAll | Control::Unload(_) => true,
        Control::Cancel(_)
        | Control::Keep { .. }
        | Control::SetReserve(_)
        | Control::PlaceAutomatically(_)
        | Control::WatchDevices(_)
        | Control::Preload(_)
        | Control::Measure(_) => false,
    }
}

/// The engine's end. Dropping it, also by a panic, ends every open job as failed.
pub struct EngineEnd {
    dispatcher: Arc<Dispatcher>,
}

impl EngineEnd {
    pub(crate) const fn new(dispatcher: Arc<Dispatcher>) -> Self {
        Self { dispatcher }
    }

    /// Waits for the next job or control; `None` once every [`Handle`](crate::Handle) is gone.
    #[must_use]
    pub fn next(&self) -> Option<Request> {
        loop {
            match self.dispatcher.input.wait() {
                Input::Job(job, task) => return Some(Request::Job { job, task }),
                Input::Control(control) => return Some(Request::Control(control)),
                Input::WorkEnded(_) | Input::PreloadEnded | Input::MeasurementEnded => {}
                Input::Closed => {
                    // For the next call.
                    self.dispatcher.push(Input::Closed);
                    return None;
                }
            }
        }
    }

    /// The next input; `None` where none comes within `limit`.
    pub(crate) fn next_within(&self, limit: Duration) -> Option<Input> {
        self.dispatcher.input.next_within(limit)
    }

    /// Marks a job as running and returns the flag that cancels it; `None` where it was cancelled
    /// while it waited.
    #[must_use]
    pub fn start(&self, job: JobId) -> Option<Arc<AtomicBool>> {
        let mut state = self.dispatcher.state.lock();
        let cancel = state.jobs.get_mut(&job).map(|job| {
            job.is_running = true;
            Arc::clone(&job.cancel)
        });
        self.dispatcher.changed.notify_all();
        cancel
    }

    /// Declares that an unload was carried out: devices are listed after that.
    pub fn finish_unload(&self) {
        self.dispatcher.finish_change();
    }

    /// The queries, for a thread of their own.
    #[must_use]
    pub fn queries(&self) -> QueryReceiver {
        QueryReceiver { dispatcher: Arc::clone(&self.dispatcher) }
    }

    /// Sends events from any thread.
    #[must_use]
    pub fn sender(&self) -> EventSender {
        EventSender { dispatcher: Arc::clone(&self.dispatcher) }
    }

    /// Sends an event; an `End` of a job that has ended is dropped.
    pub fn send(&self, event: Event) {
        self.dispatcher.send(event);
    }

    pub(crate) const fn dispatcher(&self) -> &Arc<Dispatcher> {
        &self.dispatcher
    }
}

impl Drop for EngineEnd {
    fn drop(&mut self) {
        let jobs: Vec<JobId> = {
            let mut state = self.dispatcher.state.lock();
            state.is_gone = true;
            state.jobs.keys().copied().collect()
        };
        for job in jobs {
            let failure = Failure::new(tr!("engine-the-engine-stopped-before"), tr!("engine-restart-atelier-and-generate"));
            self.send(Event::End { job, end: End::Failed(failure) });
        }
    }
}

/// Sends events from any thread.
#[derive(Clone)]
pub struct EventSender {
    dispatcher: Arc<Dispatcher>,
}

impl EventSender {
    /// Sends an event; an `End` of a job that has ended is dropped.
    pub fn send(&self, event: Event) {
        self.dispatcher.send(event);
    }
}

/// Queries, read by one thread.
pub struct QueryReceiver {
    dispatcher: Arc<Dispatcher>,
}

/// Result of waiting for a query.
pub enum NextQuery {
    /// A query, with a flag that is set once its answer is not wanted any more.
    Query(Query, Arc<AtomicBool>),
    /// It is time to look at the devices, which are watched.
    Look,
    /// None came in time.
    Timeout,
    /// Every [`Handle`](crate::Handle) is gone.
    Closed,
}

impl QueryReceiver {
    /// The next query, with a flag that is set once its answer is not wanted any more; `None` once
    /// every [`Handle`](crate::Handle) is gone.
    #[must_use]
    pub fn next(&self) -> Option<(Query, Arc<AtomicBool>)> {
        loop {
            match self.next_within(None) {
                NextQuery::Query(query, outdated) => return Some((query, outdated)),
                NextQuery::Look => {}
                NextQuery::Timeout | NextQuery::Closed => return None,
            }
        }
    }

    /// The next query, where one comes within `limit`; without a limit, however long that takes.
    #[must_use]
    pub fn next_within(&self, limit: Option<Duration>) -> NextQuery {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = self.dispatcher.state.lock();
        loop {
            if state.is_closed {
                return NextQuery::Closed;
            }
            // Behind a job that runs, a change of devices may take long to come.
            let is_settled = state.pending_changes == 0 || state.jobs.values().any(|job| job.is_running);
            if state.queries.devices && is_settled {
                state.queries.devices = false;
                return NextQuery::Query(Query::Devices, Arc::default());
            }
            if let Some(recipe) = state.queries.estimate.take() {
                state.queries.outdated = Arc::default();
                return NextQuery::Query(Query::Estimate(recipe), Arc::clone(&state.queries.outdated));
            }
            let (changed, now) = (&self.dispatcher.changed, Instant::now());
            let next_look = state.queries.next_look.filter(|_| is_settled);
            if next_look.is_some_and(|at| at <= now) {
                state.queries.next_look = Some(now + WATCH_INTERVAL);
                return NextQuery::Look;
            }
            if deadline.is_some_and(|deadline| deadline <= now) {
                return NextQuery::Timeout;
            }
            match deadline.into_iter().chain(next_look).min() {
                None => changed.wait(&mut state),
                Some(until) => drop(changed.wait_until(&mut state, until)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::protocol::RemoteError;

    #[test]
    fn devices_that_are_watched_are_looked_at_now_and_then_beside_all_queries() {
        let dispatcher = Dispatcher::new(|_| {});
        let end = EngineEnd::new(Arc::clone(&dispatcher));
        let queries = end.queries();
        let next = || queries.next_within(Some(Duration::ZERO));
        let watch = |watches| dispatcher.receive(Request::Control(Control::WatchDevices(watches))).unwrap();
        let wait = || dispatcher.state.lock().queries.next_look = Some(Instant::now());
        watch(true);
        assert!(matches!(next(), NextQuery::Timeout), "there was no time");
        wait();
        assert!(matches!(next(), NextQuery::Look) && matches!(next(), NextQuery::Timeout), "once an interval");
        wait();
        dispatcher.receive(Request::Query(Query::Devices)).unwrap();
        assert!(matches!(next(), NextQuery::Query(Query::Devices, _)), "who asks has no time to wait");
        watch(false);
        assert!(matches!(next(), NextQuery::Timeout));
    }

    #[test]
    fn a_server_is_answered_for_before_the_devices_are_listed() {
        let receiver: Arc<OnceLock<QueryReceiver>> = Arc::default();
        let (seen, listed) = (Arc::clone(&receiver), Arc::new(Mutex::new(Vec::new())));
        let during = Arc::clone(&listed);
        let dispatcher = Dispatcher::new(move |_| {
            let query = seen.get().map(|receiver| receiver.next_within(Some(Duration::ZERO)));
            during.lock().push(matches!(query, Some(NextQuery::Timeout)));
        });
        let end = EngineEnd::new(Arc::clone(&dispatcher));
        assert!(receiver.set(end.queries()).is_ok());
        let server = "studio:50052";
        dispatcher.receive(Request::Control(Control::AddServer(server.parse().unwrap()))).unwrap();
        dispatcher.receive(Request::Query(Query::Devices)).unwrap();
        dispatcher.send(Event::Server { server: server.parse().unwrap(), added: Err(RemoteError::Busy(server.to_owned())) });
        assert_eq!(*listed.lock(), [true], "the query waits while the answer is on its way");
        assert!(matches!(end.queries().next_within(Some(Duration::ZERO)), NextQuery::Query(Query::Devices, _)));
    }
}
