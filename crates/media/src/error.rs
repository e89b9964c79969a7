//! Errors of picture files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Error of a picture file. Its text is a clause with the next step after a semicolon.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file cannot be opened or read.
    #[error("{} could not be read: {source}; check that the file exists and is readable", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file cannot be written.
    #[error("the picture could not be written to {}: {source}; choose a writable folder on a disk with free space", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        source: io::Error,
    },
    /// The file is no picture, or a damaged one.
    #[error("{} is not a picture that Atelier can read ({reason}); use a PNG, JPEG or WebP file", path.display())]
    NotAPicture {
        path: PathBuf,
        /// The cause, in the decoder's words.
        reason: String,
    },
    /// The file is no canvas, or a damaged one.
    #[error("{} is not a canvas that Atelier can read ({reason}); open another file", path.display())]
    NotACanvas { path: PathBuf, reason: String },
    /// The canvas does not fit in a file; nothing was written.
    #[error("the canvas does not fit in {} ({reason}); remove layers, or crop it", path.display())]
    CanvasTooLarge {
        path: PathBuf,
        /// What is too large.
        reason: String,
    },
    /// The picture is larger than Atelier takes.
    #[error("{} is too large ({width}x{height}); make it smaller, {max} pixels a side at most", path.display())]
    TooLarge {
        path: PathBuf,
        /// Its width in pixels.
        width: u32,
        /// Its height in pixels.
        height: u32,
        /// The longest side in pixels that is read.
        max: u32,
    },
    /// The picture cannot be brought into a format, or back from it.
    #[error("the picture could not be converted: {reason}; choose another format")]
    Encode {
        /// The cause, in the codec's words.
        reason: String,
    },
    /// The picture has no pixels.
    #[error("the picture has no pixels; choose another one")]
    Empty,
}

impl PictureError {
    /// The bare cause, for a sentence of the caller's that says what was not done.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => source.to_string(),
            Self::NotAPicture { reason, .. }
            | Self::NotACanvas { reason, .. }
            | Self::CanvasTooLarge { reason, .. }
            | Self::Encode { reason } => reason.clone(),
            Self::TooLarge { .. } | Self::Empty => self.to_string(),
        }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_path_buf(), source }
    }

    pub(crate) fn not_a_picture(path: &Path, reason: impl fmt::Display) -> Self {
        Self::NotAPicture { path: path.to_path_buf(), reason: reason.to_string() }
    }
}
