//! One window for each person and home: a second start hands its files to the first and ends.
//!
//! Who holds the lock in the folder of data is the first; the system takes the lock back from a process that ends in whatever way, so a
//! crash locks nobody out. Files go over a local socket that only this person can reach. Where anything of this fails, a window opens
//! as ever. Not here: the command line's jobs, which run beside a window, and what is done with the files.

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
use atelier_core::paths;
use socket::Address;

/// Name of the lock in the folder of data.
const LOCK_NAME: &str = "window.lock";
/// Longest wait for a first start that opens or closes at this very moment: closing waits for files and downloads.
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
    /// Nobody can be asked: it opens a window of its own.
    Alone,
}

/// The right to be the first start, until it is dropped.
#[derive(Debug)]
pub struct Instance {
    /// Held for as long as this lives.
    _lock: File,
    address: Address,
    listener: Option<Listener>,
    is_closing: Arc<AtomicBool>,
}

/// Files of a later start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Absolute paths; empty where the window is only to come forward.
    pub files: Vec<PathBuf>,
}

/// Becomes the first start for this folder of data, or hands the files to the one that is. Waits for a first start that opens or closes,
/// but not for one that does not answer.
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
    let Some(address) = Address::of(data) else { return alone(&"the path of its folder is too long for a socket") };
    let deadline = Instant::now() + patience;
    loop {
        match lock.try_lock() {
            Ok(()) => {
                // Without a socket others open windows of their own.
                let listener = address.listen().inspect_err(|error| tracing::warn!("no other start can reach this window: {error}")).ok();
                return Claim::First(Instance { _lock: lock, address, listener, is_closing: Arc::default() });
            }
            Err(TryLockError::Error(error)) => return alone(&error),
            Err(TryLockError::WouldBlock) => {}
        }
        match hand_over(&address, files) {
            Ok(()) => return Claim::HandedOver,
            Err(error) if error.kind() == io::ErrorKind::TimedOut || Instant::now() > deadline => return alone(&error),
            Err(_) => thread::sleep(RETRY_INTERVAL),
        }
    }
}

fn open_lock(data: &Path) -> io::Result<File> {
    paths::create_private_folder(data)?;
    File::options().create(true).append(true).open(data.join(LOCK_NAME))
}

fn hand_over(address: &Address, files: &[PathBuf]) -> io::Result<()> {
    let (messages, refused) = message::encode(files);
    for file in refused {
        tracing::warn!("{} cannot be handed to the open window", file.display());
    }
    messages.iter().try_for_each(|message| address.send(message))
}

impl Instance {
    /// Listens to later starts on a thread of its own; each comes as a message, and `wake` is called after it.
    ///
    /// # Errors
    /// If the system can start no thread.
    pub fn listen(&mut self, wake: impl Fn() + Send + Sync + 'static) -> io::Result<Arc<Mailbox<Handover>>> {
        let mailbox = Arc::new(Mailbox::new(wake));
        let Some(listener) = self.listener.take() else { return Ok(mailbox) };
        let (inbox, is_closing) = (Arc::clone(&mailbox), Arc::clone(&self.is_closing));
        thread::Builder::new().name("second starts".into()).spawn(move || {
            for connection in listener.incoming() {
                // Who comes while the window closes tries again and becomes the first.
                if is_closing.load(Ordering::Acquire) {
                    return;
                }
                let received = connection.and_then(|stream| socket::receive(stream, |files| inbox.send(Handover { files })));
                if let Err(error) = received {
                    tracing::warn!("a message of another start was not read: {error}");
                    thread::sleep(RETRY_INTERVAL);
                }
            }
        })?;
        Ok(mailbox)
    }

    /// Takes no more files: the window closes. Later starts wait until this process is over.
    pub fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
        self.address.remove();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
