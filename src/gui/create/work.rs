//! Work of the Create view for the worker of files. All of it blocks; nothing here knows the state
//! or draws.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::files::FileError;
use crate::gui::identify::{FileKind, identify};
use atelier_core::advice::Advice;
use atelier_core::paths::{self, Paths};
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8};
use atelier_core::words::prompt_lines;
use atelier_engine::Picture;
use atelier_language::tr;
use atelier_library::diffusers_files;
use atelier_media::{CopyForm, ExportFormat, ExportLoss, ExportedBytes, export_bytes, export_pixels, pixel_losses};
use atelier_studio::opened_picture::{KnownModels, OpenedPicture, read_opened_picture};
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::prompt_text::{MAX_MIB, PromptTextError, read_prompt_text};
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

/// The prompts of a text file, one a line. `Err`: why there are none, in a sentence.
pub(crate) fn read_prompts(path: &Path) -> Result<Vec<String>, String> {
    let read = File::open(path).map_err(PromptTextError::Unreadable).and_then(read_prompt_text);
    let text = read.map_err(|error| match error {
        PromptTextError::Unreadable(error) => tr!("create-cannot-be-read", path = path.display(), error),
        PromptTextError::TooLarge | PromptTextError::NoText => tr!("create-is-not-a-text", path = path.display(), mib = MAX_MIB),
    })?;
    Ok(prompt_lines(&text).map(str::to_owned).collect())
}

/// Of these files, those that are not there.
pub(crate) fn missing(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter(|path| !path.is_file()).collect()
}

/// Keeps a picture that no job of the queue made. `paths`: the person's folders; without any it is
/// in no index.
pub(crate) fn keep(destination: &Destination, picture: &Picture, paths: Option<Paths>) -> Result<PathBuf, Advice> {
    let hint = tr!("create-the-picture-is-still");
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

/// Result of saving a picture where the person wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SaveResult {
    /// Its file, and what its format could not keep.
    Saved(PathBuf, Vec<ExportLoss>),
    /// There is a file of this name, and nobody said that it may go.
    Exists(PathBuf),
}

/// Writes a picture to this file in the format of its ending; as a PNG, with the ending of one,
/// where it has no ending of a picture. `quality`: of a JPEG, 1 to 100. `replaces`: a file of exactly
/// this name goes.
pub(crate) fn save_as(target: &Path, picture: &SavedPicture, quality: u8, replaces: bool) -> Result<SaveResult, FileError> {
    let format = ExportFormat::of_ending(target, quality);
    let target = if format.is_some() {
        target.to_owned()
    } else {
        let mut name = target.as_os_str().to_owned();
        name.push(".png");
        PathBuf::from(name)
    };
    if !(replaces && format.is_some()) && target.exists() {
        return Ok(SaveResult::Exists(target));
    }
    let SavedPicture { kept, recipe, notes, pixels } = picture;
    let failed = |source: io::Error| FileError::Write { path: target.clone(), source };
    let format = format.unwrap_or(ExportFormat::Png);
    let ExportedBytes { bytes, losses } = match (kept, pixels) {
        // The kept file knows most about itself.
        (Some(kept), _) if kept.is_file() => export_bytes(kept, CopyForm::whole(format))?,
        (_, Some(pixels)) if format == ExportFormat::Png => {
            let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
            ExportedBytes { bytes: results::encode_picture(recipe, info, notes, pixels)?, losses: Vec::new() }
        }
        (_, Some(pixels)) => {
            let losses = pixel_losses(pixels, format).into_iter().chain([ExportLoss::Settings]).collect();
            ExportedBytes { bytes: export_pixels(pixels, format)?, losses }
        }
        (_, None) => return Err(failed(io::Error::other(tr!("create-the-picture-is-no")))),
    };
    paths::write_atomic_bytes(&target, &bytes).map_err(failed)?;
    Ok(SaveResult::Saved(target, losses))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::gui::files::read_picture;
    use atelier_core::recipe::Seed;

    fn picture(side: u32) -> Rgb8 {
        let pixels = (0..side * side * 3).map(|n| (n % 251) as u8).collect();
        Rgb8::new(side, side, pixels).unwrap()
    }

    fn saved(kept: &Path, pixels: Option<Rgb8>) -> SavedPicture {
        SavedPicture { kept: Some(kept.to_owned()), recipe: Recipe::default(), notes: Vec::new(), pixels: pixels.map(Arc::new) }
    }

    /// A picture in its folder, and that folder.
    fn kept() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let info = PictureInfo { index: 0, seed: Some(Seed(42)), cpu_math: None, merged_loras: false };
        let recipe = Recipe { prompt: "a lake at dawn".into(), ..Recipe::default() };
        let kept = results::store_picture(folder.path(), &recipe, info, &[], &picture(8)).unwrap();
        (folder, kept)
    }

    #[test]
    fn a_list_has_a_prompt_in_each_line() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list.txt");
        let read = |bytes: &[u8]| {
            fs::write(&list, bytes).unwrap();
            read_prompts(&list)
        };
        assert_eq!(read("\u{feff}a lake\r\n\n  a hut \n".as_bytes()), Ok(vec!["a lake".to_owned(), "a hut".to_owned()]));
        assert_eq!(read(b"\n \n"), Ok(Vec::new()));
        for bytes in [&b"a\0"[..], b"\xfc", &vec![b'a'; (16 << 20) + 1]] {
            assert!(read(bytes).unwrap_err().contains("not a text file"));
        }
        assert!(read_prompts(&folder.path().join("none.txt")).unwrap_err().contains("cannot be read"));
    }

    fn saved_at(result: Result<SaveResult, FileError>) -> PathBuf {
        match result.unwrap() {
            SaveResult::Saved(path, _) => path,
            SaveResult::Exists(path) => panic!("{} is there", path.display()),
        }
    }

    #[test]
    fn the_ending_decides_what_a_picture_is_saved_as() {
        let (folder, kept) = kept();
        let save = |name: &str| saved_at(save_as(&folder.path().join(name), &saved(&kept, None), 80, false));
        assert_eq!(fs::read(save("mine.PNG")).unwrap(), fs::read(&kept).unwrap(), "with all that it knows");
        for (name, begins) in [("a.jpg", &b"\xff\xd8\xff"[..]), ("b.JPEG", b"\xff\xd8\xff"), ("c.webp", b"RIFF")] {
            let file = save(name);
            assert_eq!(file.file_name().unwrap(), name);
            assert!(fs::read(&file).unwrap().starts_with(begins), "{name}");
            assert_eq!(read_picture(&file).unwrap().width(), 8);
        }
        assert_eq!(save("no ending").file_name().unwrap(), "no ending.png");
        assert_eq!(save("v1.5").file_name().unwrap(), "v1.5.png", "a point in a name is no ending");
        let read = String::from_utf8_lossy(&fs::read(folder.path().join("c.webp")).unwrap()).replace('\0', "");
        assert!(read.contains("a lake at dawn"), "the settings stay with it");
    }

    #[test]
    fn save_as_reports_losses() {
        let (folder, kept) = kept();
        let losses_of = |name: &str, picture: &SavedPicture| match save_as(&folder.path().join(name), picture, 80, false).unwrap() {
            SaveResult::Saved(_, losses) => losses,
            SaveResult::Exists(path) => panic!("{} is there", path.display()),
        };
        assert_eq!(losses_of("whole.jpg", &saved(&kept, None)), []);
        let clear = folder.path().join("clear.png");
        image::RgbaImage::from_pixel(8, 8, image::Rgba([9, 9, 9, 0])).save(&clear).unwrap();
        assert_eq!(losses_of("clear.jpg", &saved(&clear, None)), [ExportLoss::Transparency]);
        assert_eq!(losses_of("clear.webp", &saved(&clear, None)), []);
        let gone = saved(&folder.path().join("gone.png"), Some(picture(8)));
        assert_eq!(losses_of("gone.webp", &gone), [ExportLoss::Settings]);
        assert_eq!(losses_of("gone again.png", &gone), []);
    }

    #[test]
    fn a_better_jpeg_is_larger_and_a_file_that_is_there_is_asked_about() {
        let (folder, kept) = kept();
        let target = folder.path().join("out.jpg");
        let bytes_at = |quality| {
            let file = saved_at(save_as(&target, &saved(&kept, Some(picture(8))), quality, true));
            fs::metadata(file).unwrap().len()
        };
        assert!(bytes_at(10) < bytes_at(95));
        let before = fs::read(&target).unwrap();
        assert_eq!(save_as(&target, &saved(&kept, None), 50, false).unwrap(), SaveResult::Exists(target.clone()));
        assert_eq!(fs::read(&target).unwrap(), before);
        fs::write(folder.path().join("own.png"), "mine").unwrap();
        let own = save_as(&folder.path().join("own"), &saved(&kept, None), 50, true).unwrap();
        assert_eq!(own, SaveResult::Exists(folder.path().join("own.png")), "nobody was asked about this name");
    }

    #[test]
    fn a_picture_that_is_in_no_file_can_be_saved_in_each_format() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone.png");
        for name in ["again.png", "again.webp", "again.jpg"] {
            let file = saved_at(save_as(&folder.path().join(name), &saved(&gone, Some(picture(8))), 90, false));
            assert_eq!(read_picture(&file).unwrap().width(), 8);
        }
        assert_eq!(read_picture(&folder.path().join("again.png")).unwrap(), picture(8));
        assert!(save_as(&folder.path().join("none.png"), &saved(&gone, None), 90, false).is_err());
    }
}
