//! Library service: one thread that owns the scanner, the catalogue, the downloads and the library's settings.
//!
//! A caller sends [`LibraryRequest`]s and reads [`LibraryEvent`]s: plain data both ways, and neither side waits for the other. Invariants: a
//! newer snapshot, queue or check progress replaces an unread older one; every other event is read in order and never dropped. Not here:
//! drawing, the engine, the state of a window.

mod config;
mod downloads;
mod files;
mod message;
mod notifier;
mod shortcut;
mod snapshot;
mod worker;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;
use atelier_library::downloads::{Options, TokenStore};

use atelier_library::ModelCard;
pub use message::{CheckedFile, DownloadsState, FileCheck, LibraryEvent, LibraryRequest, RemovalPreview};
use message::{Message, is_replaced_by};
pub use snapshot::{FolderSummary, LibrarySettings, LibrarySnapshot, TokenState};
use worker::Worker;

/// Folders and collaborators of the library service; tests replace some of them.
#[derive(Clone)]
pub struct LibraryOptions {
    /// The folders of this person.
    pub paths: Paths,
    /// Watch the folders for changes.
    pub watch: bool,
    /// Changes the options of the download queue before it starts.
    pub downloads: Arc<dyn Fn(&mut Options) + Send + Sync>,
    /// Token store, by the folder of the downloads' journal; a test must not touch a person's keyring.
    pub tokens: fn(&Path) -> TokenStore,
    /// Moves a file or folder to the trash.
    pub trash: fn(&Path) -> Result<(), String>,
}

impl std::fmt::Debug for LibraryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LibraryOptions").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl LibraryOptions {
    /// Options of the shipped program for these folders.
    #[must_use]
    pub fn usual(paths: Paths) -> Self {
        Self { paths, watch: true, downloads: Arc::new(|_| ()), tokens: TokenStore::new, trash: atelier_library::to_trash }
    }
}

/// Handle of the library thread. Dropping it ends the thread, which then waits for nothing but what is being written.
pub struct LibraryService {
    messages: Sender<Message>,
    events: Arc<EventSender>,
    ended: Receiver<()>,
}

/// The worker's end of the mailbox, shared with its helper threads.
struct EventSender(Mailbox<LibraryEvent>);

impl EventSender {
    /// Sends an event in place of the unread ones that it outdates.
    fn send(&self, event: LibraryEvent) {
        let outdates = is_replaced_by(&event);
        self.0.send_replacing(event, outdates);
    }
}

impl LibraryService {
    /// Starts the thread, which reads settings, catalogues and folders by itself. `builtin`: card put before all others. `wake` is called
    /// after each event, on any thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(options: LibraryOptions, builtin: Option<ModelCard>, wake: impl Fn() + Send + Sync + 'static) -> std::io::Result<Self> {
        let events = Arc::new(EventSender(Mailbox::new(wake)));
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
        self.events.0.try_next()
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
