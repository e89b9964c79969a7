//! Faults of a manifest, and of the files that it names.

use std::io;
use std::path::PathBuf;

use atelier_language::tr;

/// A manifest could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It could not be read.
    #[error("{}", tr!("library-could-not-be-read-check-that", path = path.display(), source))]
    Read {
        /// The manifest.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something in it is wrong.
    #[error("{}", tr!("library-line-correct-this-line", path = path.display(), line, what))]
    Wrong {
        /// The manifest.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The fault, without a full stop.
        what: String,
    },
}

/// A file of a model is not as its manifest says.
#[derive(Debug, thiserror::Error)]
pub enum FaultyFile {
    /// It is not there, or may not be read.
    #[error("{}", tr!("library-could-not-be-read-download-the", path = path.display(), source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A link leads out of the model's folder.
    #[error("{}", tr!("library-leads-out-of-the", path = path.display()))]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// It has another size.
    #[error("{}", tr!("library-has-bytes-and-should", path = path.display(), found, expected))]
    Size {
        /// The file.
        path: PathBuf,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
    /// It has other contents.
    #[error("{}", tr!("library-does-not-match-the", path = path.display()))]
    Contents {
        /// The file.
        path: PathBuf,
    },
}
