//! The gallery's threads: one asks the database, one makes thumbnails and reads pixels, one scans
//! folders.
//!
//! A caller sends [`GalleryRequest`]s and reads [`GalleryEvent`]s: plain data both ways, and
//! neither side waits for the other. Invariants: a newer search, list of wanted pictures or
//! progress replaces an unread older one; marks, deletions and exports are carried out in order and
//! never dropped. Not here: drawing, the engine.

mod files;
mod images;
mod message;
mod scanning;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;

use images::{ImageRequest, Images};
use message::request_is_replaced_by;
pub use message::{Export, FolderSummary, Found, GalleryEvent, GalleryRequest, Mark, Overview, Search};
use worker::{Message, Worker};

pub use atelier_media::{CopyForm, ExportFormat};

/// Handle of the gallery's threads. Dropping it ends them.
pub struct GalleryService {
    requests: Arc<Mailbox<Message>>,
    images: Arc<Mailbox<ImageRequest>>,
    events: Arc<Mailbox<GalleryEvent>>,
    is_stopping: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl GalleryService {
    /// Starts the threads, which open the database and index the folder of finished pictures by
    /// themselves. `wake` is called after each event, on any thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(paths: &Paths, pictures_folder: PathBuf, wake: impl Fn() + Send + Sync + 'static) -> std::io::Result<Self> {
        let events = Arc::new(Mailbox::new(wake));
        let (requests, images) = (Arc::new(Mailbox::new(|| {})), Arc::new(Mailbox::new(|| {})));
        let is_stopping = Arc::new(AtomicBool::new(false));
        let (end, ended) = channel();
        let worker = Worker::new(paths, pictures_folder, Arc::clone(&events), Arc::clone(&requests), Arc::clone(&is_stopping));
        thread::Builder::new().name("gallery".into()).spawn(move || {
            worker.run();
            // Nobody listens any more where the caller did not wait for the end.
            let _ = end.send(());
        })?;
        let thumbnails = Images::new(paths, Arc::clone(&events), Arc::clone(&images));
        thread::Builder::new().name("thumbnails".into()).spawn(move || thumbnails.run())?;
        Ok(Self { requests, images, events, is_stopping, ended })
    }

    pub fn send(&self, request: GalleryRequest) {
        match request {
            GalleryRequest::Thumbnails(ids) => self.want(ImageRequest::Thumbnails(ids)),
            GalleryRequest::Pixels(ids) => self.want(ImageRequest::Pixels(ids)),
            request => {
                let outdates = request_is_replaced_by(&request);
                let is_outdated = |unread: &Message| if let Message::Request(unread) = unread { outdates(unread) } else { false };
                self.requests.send_replacing(Message::Request(request), is_outdated);
            }
        }
    }

    fn want(&self, request: ImageRequest) {
        let kind = std::mem::discriminant(&request);
        self.images.send_replacing(request, |unread| std::mem::discriminant(unread) == kind);
    }

    /// The oldest unread event.
    #[must_use]
    pub fn try_next(&self) -> Option<GalleryEvent> {
        self.events.try_next()
    }

    /// Ends the threads once everything that was asked for is written; false where that takes
    /// longer than `limit`.
    #[must_use]
    pub fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.stop();
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }

    fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.requests.send(Message::Stop);
        self.images.send(ImageRequest::Stop);
    }
}

impl Drop for GalleryService {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
