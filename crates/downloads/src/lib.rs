//! Downloads: a queue that brings the files of models, on a thread of its own, and survives
//! whatever happens to the line, the server, the disk and the program.
//!
//! Plain data goes in and out, as with the engine: a [`Downloads`] never blocks its caller, events
//! wait in a mailbox, and a `wake` closure says that one came. Invariants: a file in its place is
//! whole and has the size and hash that were asked for; bytes that came are not fetched again;
//! every run of a job ends once. Not here: egui, the engine, what a model is.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod event;
mod failure;
mod fetch;
mod finalize;
mod hub;
mod index;
mod job;
mod journal;
pub mod link_text;
mod names;
mod options;
mod outbox;
mod part;
mod probe;
mod progress_counter;
mod queue;
mod queued_job;
mod reuse;
mod space;
mod task;
mod token;
mod transfer;
mod transfer_error;
mod unpack;
mod web;
mod writer;

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use atelier_core::owner_only;
use tokio::sync::mpsc;

pub use event::{Event, FileProgress, JobSnapshot, PauseReason, Progress, Stage, Status};
pub use failure::{Cause, Failure};
pub use fetch::fetch;
pub use hub::{HubFile, Repository};
pub use index::DownloadedFile;
pub use job::{DownloadJob, FileRequest, MANIFEST, Source, UnpackList};
pub use names::{FileName, Sha256};
pub use options::{FreeSpace, Inspect, Options, ProxyChoice, QueueError, RetryPolicy, StartError};
pub use space::free_bytes;
pub use token::{Token, TokenStore};

use outbox::{Outbox, PanicGuard};
use queue::{Command, Queue};

/// Commands that may wait; a person never gives so many.
const COMMANDS: usize = 4096;
/// Held while a process downloads, so that a second one does not.
const LOCK: &str = "downloads.lock";

/// The files that were downloaded and are remembered. Reads the journal; the queue need not run.
#[must_use]
pub fn downloaded_files(journal: &Path) -> Vec<DownloadedFile> {
    match journal::read(&journal::path(journal)) {
        Ok((remembered, _)) => remembered.index.into_kept(),
        Err(error) => {
            tracing::warn!("what was downloaded is not known: {error}");
            Vec::new()
        }
    }
}

/// True where the list of downloads in this folder can be read. For the fuzzing harness (`fuzz/`).
#[doc(hidden)]
#[must_use]
pub fn is_download_list(journal: &Path) -> bool {
    journal::read(&journal::path(journal)).is_ok()
}

/// Unpacks what the list names into the folder, with a limit of 1 GiB; true if all of it was there.
/// For the fuzzing harness (`fuzz/`).
#[doc(hidden)]
#[must_use]
pub fn unpack_archive(archive: &Path, folder: &Path, list: &UnpackList) -> bool {
    let around = unpack::Around { free: 1 << 30, stopped: &|| false, make_room: &|_| Ok(()) };
    unpack::unpack(archive, folder, list, &around).is_ok()
}

/// The queue, from outside. Dropping it stops everything where it is and waits for the thread; the
/// next start goes on from there.
pub struct Downloads {
    /// `None` only while dropping.
    sender: Option<mpsc::Sender<Command>>,
    outbox: Arc<Outbox>,
    thread: Option<JoinHandle<()>>,
}

impl Downloads {
    /// Starts the queue where the last one stopped. Reads files. `wake` is called from any thread
    /// whenever an event can be read.
    ///
    /// # Errors
    /// If another process downloads, or the folder or the network's settings cannot be used.
    pub fn start(options: Options, wake: impl Fn() + Send + Sync + 'static) -> Result<Self, StartError> {
        let folder = |source| StartError::Folder { path: options.journal.clone(), source };
        owner_only::create_folder(&options.journal).map_err(folder)?;
        let lock = File::options().write(true).create(true).truncate(false).open(options.journal.join(LOCK)).map_err(folder)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(StartError::InUse),
            // Some network disks know no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let list = journal::path(&options.journal);
        let (remembered, notice) = journal::take_over(&list).map_err(|source| StartError::Journal { path: list, source })?;
        let web = web::Web::new(&options.endpoint, options.token.clone(), &options.proxy, &options.retry_policy);
        let web = web.map_err(StartError::Network)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().thread_name("download-disk").build().map_err(folder)?;
        let outbox = Arc::new(Outbox::new(wake));
        let (sender, commands) = mpsc::channel(COMMANDS);
        if let Some(sentence) = notice {
            outbox.send(Event::Notice(sentence));
        }
        let outbox_of_thread = Arc::clone(&outbox);
        let journal = options.journal.clone();
        let thread = std::thread::Builder::new().name("downloads".into()).spawn(move || {
            let _lock = lock;
            let _guard = PanicGuard(Arc::clone(&outbox_of_thread));
            let queue = Queue::new(options, remembered, web, outbox_of_thread);
            runtime.block_on(queue.run(commands));
        });
        let thread = thread.map_err(|source| StartError::Folder { path: journal, source })?;
        Ok(Self { sender: Some(sender), outbox, thread: Some(thread) })
    }

    /// Adds a job at the end of the queue. One whose name is there already goes on, with the files
    /// of the new one.
    ///
    /// # Errors
    /// If it makes no sense, or nobody can take it.
    pub fn add(&self, job: DownloadJob) -> Result<(), QueueError> {
        job.check().map_err(QueueError::Job)?;
        self.send(Command::Add(Box::new(job)))
    }

    /// Stops a job where it is.
    ///
    /// # Errors
    /// If nobody can take the command; so with all that follow.
    pub fn pause(&self, id: &str) -> Result<(), QueueError> {
        self.send(Command::Pause(id.into()))
    }

    /// Lets a paused job go on.
    pub fn resume(&self, id: &str) -> Result<(), QueueError> {
        self.send(Command::Resume(id.into()))
    }

    /// Ends a job and removes what it has brought.
    pub fn cancel(&self, id: &str) -> Result<(), QueueError> {
        self.send(Command::Cancel(id.into()))
    }

    /// Tries a failed job again; what it has is kept.
    pub fn retry(&self, id: &str) -> Result<(), QueueError> {
        self.send(Command::Resume(id.into()))
    }

    /// Puts a job before another one, or at the end.
    pub fn reorder(&self, id: &str, before: Option<&str>) -> Result<(), QueueError> {
        self.send(Command::Reorder { id: id.into(), before: before.map(str::to_owned) })
    }

    /// Stops every job where it is.
    pub fn pause_all(&self) -> Result<(), QueueError> {
        self.send(Command::PauseAll)
    }

    /// From now on this token is sent to the endpoint.
    pub fn set_token(&self, token: Option<Token>) -> Result<(), QueueError> {
        self.send(Command::Token(token))
    }

    /// From now on so many files come at the same time.
    pub fn set_at_once(&self, files: usize) -> Result<(), QueueError> {
        self.send(Command::AtOnce(files))
    }

    /// Searches for models on Hugging Face; [`Event::Found`] answers.
    pub fn search(&self, text: &str) -> Result<(), QueueError> {
        self.send(Command::Search(text.into()))
    }

    /// Asks what the file behind an address is called; [`Event::Probed`] answers.
    pub fn probe(&self, url: &str) -> Result<(), QueueError> {
        self.send(Command::Probe(url.into()))
    }

    /// Asks for the files of a repository (`owner/name`); [`Event::RepositoryFiles`] answers.
    pub fn list_repository(&self, repo: &str) -> Result<(), QueueError> {
        self.send(Command::ListRepository(repo.into()))
    }

    fn send(&self, command: Command) -> Result<(), QueueError> {
        let sender = self.sender.as_ref().ok_or(QueueError::Gone)?;
        sender.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => QueueError::Full,
            mpsc::error::TrySendError::Closed(_) => QueueError::Gone,
        })
    }

    /// The next event, if there is one.
    #[must_use]
    pub fn try_next(&self) -> Option<Event> {
        self.outbox.try_next()
    }

    /// The next event; `None` where none comes in time.
    #[must_use]
    pub fn next_within(&self, limit: Duration) -> Option<Event> {
        self.outbox.next_within(limit)
    }

    /// The queue as it is now, in its order.
    #[must_use]
    pub fn snapshot(&self) -> Vec<JobSnapshot> {
        self.outbox.snapshot()
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        self.sender = None;
        // A `wake` may hold the last handle: the thread cannot wait for itself.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the downloads ended by a panic");
        }
    }
}
