//! Work with files that is no single feature's, for the worker of files. All of it blocks; nothing
//! here knows the state or draws.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atelier_core::reading::LeftOut;
use atelier_core::recipe::{ImageSource, Rgb8};
use atelier_language::tr;
use atelier_media::PictureError;

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It could not be written.
    #[error("{}", tr!("window-could-not-be-written", path = path.display(), source))]
    Write {
        /// The file or folder.
        path: PathBuf,
        source: io::Error,
    },
    /// It is a picture file, and could not be read or written.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// It ended the program.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// The system could not show it.
    #[error("{}", tr!("window-could-not-be-opened", path = path.display(), reason))]
    Open { path: PathBuf, reason: String },
}

/// Reads a picture of any kind that Atelier knows.
///
/// # Errors
/// Fails if there is no such file, or if it is no picture.
pub fn read_picture(path: &Path) -> Result<Rgb8, FileError> {
    Ok(atelier_media::read_image(&ImageSource::File(path.to_owned()))?)
}

/// Opens a file with the system's program for it.
pub(crate) fn open_file(path: &Path) -> Result<(), FileError> {
    opener::open(path).map_err(|error| FileError::Open { path: path.to_owned(), reason: error.to_string() })
}

/// Shows a folder in the system's file manager, with this file marked where it is there.
pub(crate) fn open_folder(folder: &Path, file: Option<&Path>) -> Result<(), FileError> {
    let failed = |reason: String| FileError::Open { path: folder.to_owned(), reason };
    fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    match file.filter(|it| it.is_file()) {
        Some(file) => opener::reveal(file),
        None => opener::open(folder),
    }
    .map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_picture_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken.png");
        fs::write(&path, b"\x89PNG\r\n\x1a\nnot really").unwrap();
        assert!(matches!(read_picture(&path), Err(FileError::Picture(_))));
        assert!(matches!(read_picture(&folder.path().join("none.png")), Err(FileError::Picture(_))));
    }
}
