//! The right to run the queue: one process has it, and the system takes it back from a process that
//! ends in whatever way.
//!
//! The file of the lock says that a process runs the queue, and is cut to one byte where that one
//! ends by itself. Cutting needs no room, so after an end on a full disk, when no row could be
//! written, nobody takes the jobs that ran for ones that made Atelier crash.

use std::fs::{File, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use atelier_core::owner_only;
use atelier_gallery::queue::LastEnd;

/// What is in the file while a process runs the queue.
const RUNNING: &[u8] = b"running\n";
/// Length of the file after an end by itself. That of a process that was killed is longer; an older
/// Atelier's is empty.
const ENDED_BYTES: u64 = 1;

/// The lock, while this process has it or tries to get it.
#[derive(Debug)]
pub(super) struct EngineLock {
    /// `None`: there is nothing that others could share.
    file: Option<File>,
    is_held: bool,
    last_end: LastEnd,
}

impl EngineLock {
    /// The lock beside this database. Where the system gives none, this process has the right: a
    /// picture is worth more than a second queue.
    pub(super) fn beside(database: Option<&Path>) -> Self {
        let file = database.and_then(|database| {
            let path = database.with_file_name("queue.lock");
            open(&path).inspect_err(|error| tracing::warn!("the queue cannot be locked: {error}")).ok()
        });
        Self { is_held: file.is_none(), file, last_end: LastEnd::Killed }
    }

    /// True where this process has the right.
    pub(super) const fn is_held(&self) -> bool {
        self.is_held
    }

    /// How the process that had the right before ended.
    pub(super) const fn last_end(&self) -> LastEnd {
        self.last_end
    }

    /// Takes the right where nobody has it; true where this process has it now.
    pub(super) fn try_take(&mut self) -> bool {
        if let Some(file) = self.file.as_ref().filter(|_| !self.is_held) {
            self.is_held = match file.try_lock() {
                Ok(()) => {
                    let has_ended = file.metadata().is_ok_and(|it| it.len() == ENDED_BYTES);
                    self.last_end = if has_ended { LastEnd::ByItself } else { LastEnd::Killed };
                    true
                }
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => {
                    tracing::warn!("the queue cannot be locked: {error}");
                    true
                }
            };
        }
        self.is_held
    }

    /// Notes that jobs run from now on; what the last process left has been set right.
    pub(super) fn mark(&mut self) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(RUNNING)).and_then(|()| file.sync_data())
        {
            tracing::warn!("a crash would not be noticed: {error}");
        }
    }

    /// Gives the right up, at an end by itself.
    pub(super) fn release(&mut self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.is_held) {
            if let Err(error) = file.set_len(ENDED_BYTES) {
                tracing::warn!("the next start takes this end for a crash: {error}");
            }
            self.is_held = file.unlock().inspect_err(|error| tracing::warn!("the queue stays locked: {error}")).is_err();
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        owner_only::create_folder(folder)?;
    }
    owner_only::options().read(true).write(true).create(true).truncate(false).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_right_and_another_gets_it_once_it_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("gallery.sqlite");
        let (mut one, mut other) = (EngineLock::beside(Some(&database)), EngineLock::beside(Some(&database)));
        assert!(one.try_take() && one.try_take() && !other.try_take());
        one.release();
        assert!(!one.is_held() && other.try_take() && !one.try_take());
        drop(other);
        assert!(one.try_take(), "who ends gives it up");
        assert!(EngineLock::beside(None).is_held());
    }

    #[test]
    fn the_next_one_knows_an_end_by_itself_from_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("gallery.sqlite");
        let take = || {
            let mut lock = EngineLock::beside(Some(&database));
            assert!(lock.try_take());
            lock
        };
        let mut first = take();
        assert_eq!(first.last_end(), LastEnd::Killed, "nobody said that it ended by itself");
        first.mark();
        // The system gives the lock of a process that is killed to the next one, and leaves its
        // file.
        drop(first);
        let looked = take();
        assert_eq!(looked.last_end(), LastEnd::Killed);
        drop(looked);
        let mut second = take();
        assert_eq!(second.last_end(), LastEnd::Killed, "a look changes nothing");
        second.mark();
        second.release();
        assert_eq!(take().last_end(), LastEnd::ByItself);
    }
}
