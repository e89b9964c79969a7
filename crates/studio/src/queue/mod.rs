//! The queue: jobs on disk, given to the engine one after the other, and their pictures kept. No
//! face.
//!
//! One thread has the database and decides; a caller sends [`QueueRequest`]s and reads
//! [`QueueEvent`]s. Of several processes one owns the engine, by a lock of the system's; the others
//! change rows, which that one notices. Invariants: a job is on the disk before the engine has it;
//! its pictures are kept whether or not anybody reads events; what the disk does not take now is
//! kept in memory and tried again, and nothing begins until then; the caller's reading of engine
//! events is not disturbed.
//!
//! The engine cannot go on within a picture: a pause "after this picture" stops behind it, a pause
//! "at once" begins that picture again later.

mod active;
mod answers;
mod change;
mod changes;
mod keep;
mod listing;
mod lock;
mod message;
mod model_lookup;
mod options;
mod policy;
mod predict;
mod publish;
mod remote;
mod remote_run;
mod shares;
mod sources;
mod subscribers;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::mailbox::Mailbox;
use atelier_engine::{Event, Handle};

pub use listing::{QueueListing, list_jobs, settle_queue};
use message::Message;
pub use message::{CrashAnswer, EndedJob, JobProgress, KeptPicture, QueueEvent, QueueRequest, QueueRow, QueueSnapshot, Ticket, WaitReason};
pub use model_lookup::ModelLookup;
pub use options::{CrashedJobs, QueueOptions};
use subscribers::Publisher;
use worker::Worker;

/// Handle of the queue's thread. Dropping it ends the thread; jobs that run then go on at the next
/// start.
pub struct QueueService {
    messages: Sender<Message>,
    events: Arc<Publisher>,
    ended: Receiver<()>,
}

/// A second face of the same queue: it sends requests, and reads every event from its beginning on.
/// One that is never read fills memory.
pub struct QueueClient {
    messages: Sender<Message>,
    events: Arc<Mailbox<QueueEvent>>,
}

impl QueueClient {
    /// Sends a request; one to a thread that has ended is logged and lost.
    pub fn send(&self, request: QueueRequest) {
        send(&self.messages, request);
    }

    /// The oldest unread event; `None` where none comes within `limit`.
    #[must_use]
    pub fn next_within(&self, limit: Duration) -> Option<QueueEvent> {
        self.events.next_within(limit)
    }
}

fn send(messages: &Sender<Message>, request: QueueRequest) {
    if messages.send(Message::Request(request)).is_err() {
        tracing::error!("the queue's thread has ended");
    }
}

impl QueueService {
    /// Starts the thread, which opens the database by itself. `wake` is called after each event, on
    /// any thread.
    ///
    /// # Errors
    /// If the system can start no thread.
    pub fn start(options: QueueOptions, engine: Arc<Handle>, wake: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let events = Arc::new(Publisher::new(wake));
        let (messages, received) = channel();
        let observed = messages.clone();
        let readers = Arc::clone(&events);
        let is_observer = engine.observe(move |event| {
            if concerns_queue(event) || (matches!(event, Event::Preview { .. }) && readers.has_subscribers()) {
                // Nobody listens any more once the queue has ended.
                let _ = observed.send(Message::Engine(event.clone()));
            }
        });
        debug_assert!(is_observer, "an engine has one queue");
        let (end, ended) = channel();
        let sender = Arc::clone(&events);
        thread::Builder::new().name("queue".into()).spawn(move || {
            Worker::open(options, engine, sender).run(&received);
            // Nobody listens any more where the caller did not wait for the end.
            let _ = end.send(());
        })?;
        Ok(Self { messages, events, ended })
    }

    /// Sends a request; one to a thread that has ended is logged and lost.
    pub fn send(&self, request: QueueRequest) {
        send(&self.messages, request);
    }

    /// A second face of this queue, for as long as it is kept.
    #[must_use]
    pub fn connect(&self) -> QueueClient {
        QueueClient { messages: self.messages.clone(), events: self.events.subscribe() }
    }

    /// The oldest unread event.
    #[must_use]
    pub fn try_next(&self) -> Option<QueueEvent> {
        self.events.try_next()
    }

    /// The oldest unread event; `None` where none comes within `limit`.
    #[must_use]
    pub fn next_within(&self, limit: Duration) -> Option<QueueEvent> {
        self.events.next_within(limit)
    }

    /// Ends the thread once what it was told is done; false where it did not end within `limit`.
    #[must_use]
    pub fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        if self.messages.send(Message::Stop).is_err() {
            tracing::error!("the queue's thread has ended");
        }
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

impl Drop for QueueService {
    fn drop(&mut self) {
        // Its thread may have ended already.
        let _ = self.messages.send(Message::Stop);
    }
}

/// True for events that the queue acts on; the others are for the reader alone.
const fn concerns_queue(event: &Event) -> bool {
    matches!(
        event,
        Event::Begin { .. } | Event::Step { .. } | Event::Picture { .. } | Event::Waiting { .. } | Event::Residency(_) | Event::End { .. }
    )
}

#[cfg(test)]
mod tests;
