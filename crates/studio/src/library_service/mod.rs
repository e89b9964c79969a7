//! Library service: one thread that owns the scanner, the catalogue, the downloads and the
//! library's settings.
//!
//! A caller sends [`LibraryRequest`]s and reads [`LibraryEvent`]s: plain data both ways, and
//! neither side waits for the other. Invariants: a newer snapshot, queue or check progress replaces
//! an unread older one; every other event is read in order and never dropped. Not here: drawing,
//! the engine, the state of a window.

mod add;
mod assemble;
mod config;
mod dispatch;
mod downloads;
mod files;
mod message;
mod notifier;
mod options;
mod shortcut;
mod snapshot;
mod worker;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::mailbox::Mailbox;
use atelier_library::ModelCard;

pub use message::{AssembledModel, CheckedFile, DownloadsState, FileCheck, LibraryEvent, LibraryRequest, RemovalPreview};
use message::{EventSender, Message};
pub use options::LibraryOptions;
pub use snapshot::{FolderSummary, LibrarySettings, LibrarySnapshot, TokenState};
use worker::Worker;

/// Handle of the library thread. Dropping it ends the thread, which then waits for nothing but what
/// is being written.
pub struct LibraryService {
    messages: Sender<Message>,
    events: Arc<EventSender>,
    ended: Receiver<()>,
}

impl LibraryService {
    /// Starts the thread, which reads settings, catalogues and folders by itself. `builtin`: card
    /// put before all others. `wake` is called after each event, on any thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(options: LibraryOptions, builtin: Option<ModelCard>, wake: impl Fn() + Send + Sync + 'static) -> std::io::Result<Self> {
        let events = Arc::new(EventSender::new(Mailbox::new(wake)));
        let (messages, received) = channel();
        let (end, ended) = channel();
        let (worker_events, worker_messages) = (Arc::clone(&events), messages.clone());
        thread::Builder::new().name("library".into()).spawn(move || {
            Worker::open(options, builtin, worker_events, worker_messages).run(&received);
            // Nobody listens any more where the caller did not wait for the end.
            let _ = end.send(());
        })?;
        Ok(Self { messages, events, ended })
    }

    /// Sends a request; one to a thread that has ended is logged and lost.
    pub fn send(&self, request: LibraryRequest) {
        if self.messages.send(Message::Request(request)).is_err() {
            tracing::error!("the library's thread has ended");
        }
    }

    /// The oldest unread event.
    #[must_use]
    pub fn try_next(&self) -> Option<LibraryEvent> {
        self.events.try_next()
    }

    /// Ends the thread; false where it did not end within `limit`.
    #[must_use]
    pub fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        if self.messages.send(Message::Stop).is_err() {
            tracing::error!("the library's thread has ended");
        }
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

impl Drop for LibraryService {
    fn drop(&mut self) {
        // Its thread may have ended already.
        let _ = self.messages.send(Message::Stop);
    }
}
