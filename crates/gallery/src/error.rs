//! Errors of the database of pictures and jobs.

use std::io;
use std::path::PathBuf;

use atelier_core::reading::LeftOut;
use atelier_core::stored_file::is_disk_trouble;
use atelier_language::tr;
use atelier_media::PictureError;
use rusqlite::ErrorCode;

/// The database, or a file beside it, could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum GalleryError {
    /// The database refused.
    #[error("{}", tr!("index-the-index-of-your-pictures-could", reason = reason(_0)))]
    Database(#[from] rusqlite::Error),
    /// A file could not be read or written.
    #[error("{}", tr!("index-could-not-be-used", path = path.display(), source))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A newer Atelier wrote the database; it stays as it is.
    #[error("{}", tr!("index-was-written-by-a", path = _0.display()))]
    Newer(PathBuf),
    /// The database is damaged, and others have it open.
    #[error("{}", tr!("index-is-damaged-and-another", path = _0.display()))]
    DamagedInUse(PathBuf),
    /// A path has characters that are no text.
    #[error("{}", tr!("index-has-characters-that-cannot", path = _0.display()))]
    PathIsNoText(PathBuf),
    /// A picture could not be read or written.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A file ended the program while it was read unasked, so it is left out.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// A search that cannot be understood.
    #[error("{0}")]
    Query(String),
    /// What was asked for cannot be done; the sentence says why and what to do.
    #[error("{0}")]
    Refused(String),
}

impl GalleryError {
    /// An error of the system about this file or folder.
    pub(crate) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }

    /// True where another connection holds the database.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Database(error) => matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)),
            _ => false,
        }
    }

    /// True where the disk has no room left.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Database(error) => error.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::File { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// True where the same may succeed later: the disk is full, protected against changes or away,
    /// or another connection writes for long.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Database(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::ReadOnly
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::CannotOpen
                        | ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                )
            ),
            Self::File { source, .. } | Self::Picture(PictureError::Write { source, .. }) => is_disk_trouble(source),
            Self::DamagedInUse(_) => true,
            _ => false,
        }
    }

    /// True where the database itself is damaged: it is to be begun anew
    /// ([`crate::Database::report_damage`]).
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Database(error) => matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
            _ => false,
        }
    }
}

/// The database's reason in words for a person.
fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => tr!("index-its-disk-is-full-2").into(),
        Some(ErrorCode::ReadOnly) => tr!("index-its-disk-is-write").into(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            tr!("index-its-disk-is-full", error)
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_errors() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let full = connection.execute_batch("PRAGMA max_page_count = 2; CREATE TABLE a (b); CREATE TABLE c (d);").unwrap_err();
        assert!(GalleryError::from(full).is_disk_full());
        assert!(GalleryError::file("/a", io::ErrorKind::StorageFull.into()).is_disk_full());
        assert!(!GalleryError::file("/a", io::ErrorKind::NotFound.into()).is_disk_full());
    }
}
