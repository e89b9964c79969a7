//! Who has the database open, told by a lock of the system's on a file beside it: who uses it
//! shares the lock, who puts it aside has it alone. SQLite's own locks cannot tell, since they are
//! of a file that is damaged, or has another name by then.

use std::fs::{File, TryLockError};
use std::path::Path;

use atelier_core::owner_only;

/// The lock, given up where it is dropped.
pub(crate) struct UseLock {
    /// `None`: the disk is protected against changes or knows no locks, so nothing is told.
    file: Option<File>,
}

impl UseLock {
    /// The lock on this file, which nobody has yet.
    pub(crate) fn on(path: &Path) -> Self {
        let file = owner_only::options().read(true).write(true).create(true).truncate(false).open(path);
        Self { file: file.inspect_err(|error| tracing::debug!("{} is not used: {error}", path.display())).ok() }
    }

    /// Shares it, also where it was held alone; false where another process has it alone.
    pub(crate) fn share(&mut self) -> bool {
        self.lock(File::try_lock_shared)
    }

    /// Takes it alone; false, with nothing held, where another connection has it.
    pub(crate) fn own(&mut self) -> bool {
        self.lock(File::try_lock)
    }

    fn lock(&mut self, take: fn(&File) -> Result<(), TryLockError>) -> bool {
        let Some(file) = &self.file else { return true };
        // One who shares it could not take it alone.
        let taken = file.unlock().map_err(TryLockError::Error).and_then(|()| take(file));
        match taken {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => {
                tracing::debug!("the index cannot be locked: {error}");
                self.file = None;
                true
            }
        }
    }
}
