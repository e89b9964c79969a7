//! The right to run the queue: one process has it, and the system takes it back from a process that ends in whatever way.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The lock, while this process has it or tries to get it.
#[derive(Debug)]
pub(super) struct EngineLock {
    /// `None`: there is nothing that others could share.
    file: Option<File>,
    is_held: bool,
}

impl EngineLock {
    /// The lock beside this database. Where the system gives none, this process has the right: a picture is worth more than a second queue.
    pub(super) fn beside(database: Option<&Path>) -> Self {
        let file = database.and_then(|database| {
            let path = database.with_file_name("queue.lock");
            open(&path).inspect_err(|error| tracing::warn!("the queue cannot be locked: {error}")).ok()
        });
        Self { is_held: file.is_none(), file }
    }

    /// True where this process has the right.
    pub(super) const fn is_held(&self) -> bool {
        self.is_held
    }

    /// Takes the right where nobody has it; true where this process has it now.
    pub(super) fn try_take(&mut self) -> bool {
        if let Some(file) = self.file.as_ref().filter(|_| !self.is_held) {
            self.is_held = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => {
                    tracing::warn!("the queue cannot be locked: {error}");
                    true
                }
            };
        }
        self.is_held
    }

    /// Gives the right up.
    pub(super) fn release(&mut self) {
        if let Some(file) = &self.file {
            self.is_held = file.unlock().inspect_err(|error| tracing::warn!("the queue stays locked: {error}")).is_err();
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    fs::create_dir_all(path.parent().map_or_else(PathBuf::new, Path::to_path_buf))?;
    File::options().read(true).write(true).create(true).truncate(false).open(path)
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
}
