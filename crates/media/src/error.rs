//! Errors of picture files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use atelier_language::tr;

/// Error of a picture file. Its text is a clause with the next step after a semicolon.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file cannot be opened or read.
    #[error("{}", tr!("media-could-not-be-read", path = path.display(), source))]
    Read { path: PathBuf, source: io::Error },
    /// The file cannot be written.
    #[error("{}", tr!("media-the-picture-could-not-be-written", path = path.display(), source))]
    Write {
        /// The file or folder.
        path: PathBuf,
        source: io::Error,
    },
    /// The file is no picture, or a damaged one.
    #[error("{}", tr!("media-is-not-a-picture", path = path.display(), reason))]
    NotAPicture {
        path: PathBuf,
        /// The cause; what a decoder says is quoted in it.
        reason: String,
    },
    /// The file is no canvas, or a damaged one.
    #[error("{}", tr!("media-is-not-a-canvas", path = path.display(), reason))]
    NotACanvas { path: PathBuf, reason: String },
    /// The canvas does not fit in a file; nothing was written.
    #[error("{}", tr!("media-the-canvas-does-not", path = path.display(), reason))]
    CanvasTooLarge {
        path: PathBuf,
        /// What is too large.
        reason: String,
    },
    /// The picture is larger than Atelier takes.
    #[error("{}", tr!("media-is-too-large-x", path = path.display(), width, height, max))]
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
    #[error("{}", tr!("media-the-picture-could-not", reason))]
    Encode {
        /// The cause, in the codec's words.
        reason: String,
    },
    /// The picture has no pixels.
    #[error("{}", tr!("media-the-picture-has-no"))]
    Empty,
}

/// What a decoder says of a file, as a reason of ours.
pub(crate) fn decoder_words(words: impl fmt::Display) -> String {
    tr!("media-its-decoder-says", words)
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

    /// A file that its decoder refuses, in words of its own, which are English.
    pub(crate) fn not_decoded(path: &Path, words: impl fmt::Display) -> Self {
        Self::not_a_picture(path, decoder_words(words))
    }

    pub(crate) fn not_a_picture(path: &Path, reason: impl fmt::Display) -> Self {
        Self::NotAPicture { path: path.to_path_buf(), reason: reason.to_string() }
    }
}
