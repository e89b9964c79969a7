//! Faults of a manifest, and of the files that it names.

use std::io;
use std::path::PathBuf;

/// A manifest could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It could not be read.
    #[error("{path} could not be read: {source}. Check that the file exists and is readable.", path = path.display())]
    Read {
        /// The manifest.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Something in it is wrong.
    #[error("{path}, line {line}: {what}. Correct this line, or download the model again.", path = path.display())]
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
    #[error("{path} could not be read: {source}. Download the model again.", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A link leads out of the model's folder.
    #[error("{path} leads out of the model's folder. Put the file itself there, or download the model again.", path = path.display())]
    Outside {
        /// The file.
        path: PathBuf,
    },
    /// It has another size.
    #[error("{path} has {found} bytes and should have {expected}. Download the model again.", path = path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Bytes it should have.
        expected: u64,
        /// Bytes it has.
        found: u64,
    },
    /// It has other contents.
    #[error("{path} does not match the checksum in its manifest. The file is damaged: download the model again.", path = path.display())]
    Contents {
        /// The file.
        path: PathBuf,
    },
}
