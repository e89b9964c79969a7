//! Errors of the database of pictures and jobs.

use std::io;
use std::path::PathBuf;

/// The database, or a file beside it, could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum GalleryError {
    /// The database refused.
    #[error("the index of your pictures could not be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// A file could not be read or written.
    #[error("{path} could not be used: {source}", path = path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A path has characters that are no text.
    #[error("{path} has characters that cannot be stored; rename it", path = .0.display())]
    PathIsNoText(PathBuf),
}

impl GalleryError {
    /// An error of the system about this file or folder.
    pub(crate) fn file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}
