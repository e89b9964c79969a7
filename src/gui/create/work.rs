//! Work of the Create view for the worker of files. All of it blocks; nothing here knows the state
//! or draws.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::files::FileError;
use crate::gui::identify::{FileKind, identify};
use atelier_core::advice::Advice;
use atelier_core::paths::{self, Paths};
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8};
use atelier_engine::Picture;
use atelier_library::diffusers_files;
use atelier_studio::opened_picture::{KnownModels, OpenedPicture, read_opened_picture};
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::results::{self, Destination};

/// A file that came from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// A picture, with its settings where it has some.
    Picture(Option<Box<OpenedPicture>>),
    /// Anything else.
    Other(FileKind),
}

/// Finds out what these files are.
pub(crate) fn identify_all(paths: Vec<PathBuf>) -> Vec<(PathBuf, FileKind)> {
    expanded(paths).map(|path| (identify(&path), path)).map(|(kind, path)| (path, kind)).collect()
}

/// Reads files that came from outside.
pub(crate) fn open_all(paths: Vec<PathBuf>, known: &KnownModels<'_>) -> Vec<(PathBuf, Opened)> {
    let open = |path: &Path| match identify(path) {
        FileKind::Picture => Opened::Picture(read_opened_picture(path, known).map(Box::new)),
        other => Opened::Other(other),
    };
    expanded(paths).map(|path| (open(&path), path)).map(|(opened, path)| (path, opened)).collect()
}

/// These paths, with the files of its parts in place of each folder that is a model.
fn expanded(paths: Vec<PathBuf>) -> impl Iterator<Item = PathBuf> {
    paths.into_iter().flat_map(|path| {
        let files = diffusers_files(&path);
        if files.is_empty() { vec![path] } else { files }
    })
}

/// Of these files, those that are not there.
pub(crate) fn missing(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter(|path| !path.is_file()).collect()
}

/// Keeps a picture that no job of the queue made. `paths`: the person's folders; without any it is
/// in no index.
pub(crate) fn keep(destination: &Destination, picture: &Picture, paths: Option<Paths>) -> Result<PathBuf, Advice> {
    let hint = "The picture is still in memory: save it elsewhere with \"Save as\" before you close Atelier.";
    let path = destination.write(picture).map_err(|error| Advice::new(error.to_string(), hint))?;
    let folder = path.parent();
    if let Err(sentence) = PictureIndex::new(paths).add(&path, folder, None, None) {
        tracing::warn!("{sentence}");
    }
    Ok(path)
}

/// A picture that is written where the person wants it.
#[derive(Debug)]
pub(crate) struct SavedPicture {
    /// Its file, which is copied with all its metadata; `None` writes a new one.
    pub(crate) kept: Option<PathBuf>,
    /// Its recipe, for a picture without a file.
    pub(crate) recipe: Recipe,
    /// What a person should know of it, for a picture without a file.
    pub(crate) notes: Vec<PictureNote>,
    /// Its pixels, for a picture without a file.
    pub(crate) pixels: Option<Arc<Rgb8>>,
}

/// Writes a picture to this file, or beside it with the ending of a PNG, and returns the file.
pub(crate) fn save_as(target: &Path, picture: &SavedPicture) -> Result<PathBuf, FileError> {
    // The file is a PNG, so its name ends so.
    let target = if target.extension().is_some_and(|it| it.eq_ignore_ascii_case("png")) {
        target.to_owned()
    } else {
        let mut name = target.as_os_str().to_owned();
        name.push(".png");
        PathBuf::from(name)
    };
    let SavedPicture { kept, recipe, notes, pixels } = picture;
    let failed = |source: io::Error| FileError::Write { path: target.clone(), source };
    match (kept.as_ref().map(fs::read), pixels) {
        // The kept file knows most about itself.
        (Some(Ok(png)), _) => paths::write_atomic_bytes(&target, &png).map_err(failed)?,
        (_, Some(pixels)) => {
            let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
            results::write_picture(&target, recipe, info, notes, pixels)?;
        }
        (Some(Err(error)), None) => return Err(failed(error)),
        (None, None) => return Err(failed(io::Error::other("the picture is no longer in memory"))),
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::files::read_picture;

    fn picture(side: u32) -> Rgb8 {
        let pixels = (0..side * side * 3).map(|n| (n % 251) as u8).collect();
        Rgb8::new(side, side, pixels).unwrap()
    }

    fn saved(kept: &Path, pixels: Option<Rgb8>) -> SavedPicture {
        SavedPicture { kept: Some(kept.to_owned()), recipe: Recipe::default(), notes: Vec::new(), pixels: pixels.map(Arc::new) }
    }

    #[test]
    fn saving_as_keeps_what_the_picture_knows_and_names_it_a_png() {
        let folder = tempfile::tempdir().unwrap();
        let info = PictureInfo { index: 0, seed: 42, cpu_math: None, merged_loras: false };
        let kept = results::store_picture(folder.path(), &Recipe::default(), info, &[], &picture(8)).unwrap();
        let file = save_as(&folder.path().join("mine.jpg"), &saved(&kept, None)).unwrap();
        assert_eq!(file.file_name().unwrap(), "mine.jpg.png");
        assert_eq!(fs::read(&file).unwrap(), fs::read(&kept).unwrap());
        let gone = folder.path().join("gone.png");
        let again = save_as(&folder.path().join("again.png"), &saved(&gone, Some(picture(8)))).unwrap();
        assert_eq!(read_picture(&again).unwrap(), picture(8));
    }
}
