//! One window for each person and home: a second start hands its files to the first and ends.
//!
//! Who holds the lock in the folder of data is the first; the system takes the lock back from a
//! process that ends in whatever way, so a crash locks nobody out. Files go over a local socket
//! that only this person can reach. A first window that does not answer has the lock all the same:
//! who opens a second one knows that it is not alone, and leaves the first one's files to it. A
//! window that is about to end takes no files: the later start waits for the lock and opens itself.
//! Not here: the command line's jobs, which run beside a window, and what is done with the files.

mod message;
mod socket;

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use interprocess::local_socket::Listener;
use interprocess::local_socket::prelude::*;

use atelier_core::mailbox::Mailbox;
use atelier_core::owner_only;
use socket::Address;

/// Name of the lock in the folder of data.
const LOCK_NAME: &str = "window.lock";
/// Longest wait for a first start that opens or closes at this very moment, or is too busy to
/// answer: closing waits for files and downloads.
const PATIENCE: Duration = Duration::from_secs(25);
/// Time between two tries.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// What a start is.
#[derive(Debug)]
pub enum Claim {
    /// The first: it opens the window, and later starts come to it.
    First(Instance),
    /// A later one: the first has its files. Nothing is left to do.
    HandedOver,
    /// Another one has the lock and does not answer: a window of its own would be a second one.
    Beside,
    /// There are no locks here: it opens a window of its own and knows of no other.
    Alone,
}

/// The right to be the first start, until it is dropped.
#[derive(Debug)]
pub struct Instance {
    /// Held for as long as this lives.
    _lock: File,
    /// `None` where the path of the folder is too long for a socket.
    address: Option<Address>,
    listener: Option<Listener>,
    is_closed: Arc<AtomicBool>,
    /// Files are taken now.
    takes_files: Arc<AtomicBool>,
}

/// Files of a later start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Absolute paths; empty where the window is only to come forward.
    pub files: Vec<PathBuf>,
}

/// Becomes the first start for this folder of data, or hands the files to the one that is. Waits
/// for a first start that opens, closes or is busy, but not for ever.
#[must_use]
pub fn claim(data: &Path, files: &[PathBuf]) -> Claim {
    claim_within(data, files, PATIENCE)
}

fn claim_within(data: &Path, files: &[PathBuf], patience: Duration) -> Claim {
    let alone = |error: &dyn std::fmt::Display| {
        tracing::warn!("this window opens beside others: {error}");
        Claim::Alone
    };
    let lock = match open_lock(data) {
        Ok(lock) => lock,
        Err(error) => return alone(&error),
    };
    let address = Address::of(data);
    let deadline = Instant::now() + patience;
    loop {
        match lock.try_lock() {
            Ok(()) => {
                let listener = address.as_ref().ok_or_else(no_address).and_then(Address::listen);
                let listener = listener.inspect_err(|error| tracing::warn!("no other start can reach this window: {error}")).ok();
                let takes_files = Arc::new(AtomicBool::new(true));
                return Claim::First(Instance { _lock: lock, address, listener, is_closed: Arc::default(), takes_files });
            }
            Err(TryLockError::Error(error)) => return alone(&error),
            Err(TryLockError::WouldBlock) => {}
        }
        match address.as_ref().ok_or_else(no_address).and_then(|address| hand_over(address, files)) {
            Ok(()) => return Claim::HandedOver,
            Err(error) if Instant::now() > deadline => {
                tracing::warn!("the window that is open does not answer: {error}");
                return Claim::Beside;
            }
            Err(_) => thread::sleep(RETRY_INTERVAL),
        }
    }
}

fn open_lock(data: &Path) -> io::Result<File> {
    owner_only::create_folder(data)?;
    File::options().create(true).append(true).open(data.join(LOCK_NAME))
}

fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the path of its folder is too long for a socket")
}

fn hand_over(address: &Address, files: &[PathBuf]) -> io::Result<()> {
    let (messages, refused) = message::encode(files);
    for file in refused {
        tracing::warn!("{} cannot be handed to the open window", file.display());
    }
    messages.iter().try_for_each(|message| address.send(message))
}

impl Instance {
    /// Listens to later starts on a thread of its own; each comes as a message, and `wake` is
    /// called after it. No files are taken from the moment on at which `is_terminated`: the program
    /// is about to end.
    ///
    /// # Errors
    /// If the system can start no thread.
    pub fn listen(
        &mut self,
        is_terminated: Arc<AtomicBool>,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Arc<Mailbox<Handover>>> {
        let mailbox = Arc::new(Mailbox::new(wake));
        let Some(listener) = self.listener.take() else { return Ok(mailbox) };
        let (inbox, is_closed, takes_files) = (Arc::clone(&mailbox), Arc::clone(&self.is_closed), Arc::clone(&self.takes_files));
        thread::Builder::new().name("second starts".into()).spawn(move || {
            for connection in listener.incoming() {
                if is_closed.load(Ordering::Acquire) {
                    return;
                }
                // Who comes while the window closes tries again and becomes the first.
                let is_open = || takes_files.load(Ordering::Acquire) && !is_terminated.load(Ordering::Acquire);
                let take = |files| is_open().then(|| inbox.send(Handover { files }));
                if let Err(error) = connection.and_then(|stream| socket::receive(stream, take)) {
                    tracing::warn!("a message of another start was not read: {error}");
                    thread::sleep(RETRY_INTERVAL);
                }
            }
        })?;
        Ok(mailbox)
    }

    /// Takes files of later starts, or none for now: they wait until it does, or until this process
    /// is over.
    pub fn set_taking_files(&self, takes_files: bool) {
        self.takes_files.store(takes_files, Ordering::Release);
    }

    /// Takes no more files: the window closes. Later starts wait until this process is over.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.set_taking_files(false);
        if let Some(address) = &self.address {
            address.remove();
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
