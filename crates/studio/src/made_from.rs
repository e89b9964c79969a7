//! What a picture was made from, where that was in no file of the person's, as what a canvas shows:
//! kept in a hidden folder beside the picture, so that it can be made again from its file alone.
//!
//! A name follows from the pixels, so pictures that began alike share one file.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atelier_core::recipe::{ImageSource, Recipe, Rgb8};
use sha2::{Digest as _, Sha256};

/// Name of the folder; a scan of the gallery passes hidden ones over.
const FOLDER: &str = ".made-from";
/// Bytes of the hash that a name holds: two pictures of a person never have the same.
const NAME_BYTES: usize = 16;

/// The name of a file for these pixels.
#[must_use]
pub(crate) fn file_name(pixels: &Rgb8) -> String {
    let mut hash = Sha256::new();
    for side in [pixels.width(), pixels.height()] {
        hash.update(side.to_le_bytes());
    }
    hash.update(pixels.pixels());
    let digits = hash.finalize().iter().take(NAME_BYTES).fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    digits + ".png"
}

/// Keeps the pictures of a recipe that lie in `sources`, or that another folder of pictures keeps,
/// beside the pictures of `folder`. Blocks.
///
/// # Errors
/// If one of them cannot be kept.
pub(crate) fn keep(recipe: &Recipe, sources: &Path, folder: &Path) -> io::Result<()> {
    let own = folder.join(FOLDER);
    for source in recipe.pictures() {
        let ImageSource::File(path) = source else { continue };
        let (Some(from), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let target = own.join(name);
        if (from != sources && from.file_name().is_none_or(|name| name != FOLDER)) || target.exists() {
            continue;
        }
        fs::create_dir_all(&own)?;
        // On one disk a second name takes no room.
        if fs::hard_link(path, &target).is_err() {
            fs::copy(path, &target)?;
        }
    }
    Ok(())
}

/// The file of this name of which a picture in `folder` was made, beside it or kept for it, where
/// `is_it` takes it.
pub(crate) fn find(folder: &Path, name: &str, is_it: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    [folder.join(name), folder.join(FOLDER).join(name)].into_iter().find(|path| is_it(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::InitImage;

    #[test]
    fn what_lay_beside_the_queue_is_kept_with_the_picture_and_files_of_the_person_are_not() {
        let home = tempfile::tempdir().unwrap();
        let (sources, pictures, own) = (home.path().join("sources"), home.path().join("Pictures"), home.path().join("own.png"));
        fs::create_dir_all(&sources).unwrap();
        fs::create_dir_all(&pictures).unwrap();
        fs::write(&own, "mine").unwrap();
        let start = sources.join("start.png");
        fs::write(&start, "start").unwrap();
        let init = InitImage { image: ImageSource::File(start.clone()), strength: 0.5 };
        let recipe = Recipe { init: Some(init), mask: Some(ImageSource::File(own)), ..Recipe::default() };
        keep(&recipe, &sources, &pictures).unwrap();
        keep(&recipe, &sources, &pictures).unwrap();
        fs::remove_file(&start).unwrap();
        let found = |folder: &Path, name| find(folder, name, Path::is_file);
        let kept = found(&pictures, "start.png").unwrap();
        assert_eq!(fs::read(&kept).unwrap(), b"start");
        assert_eq!(found(&pictures, "own.png"), None);

        // Made again into another folder, that one has it too.
        let again = Recipe { init: Some(InitImage { image: ImageSource::File(kept), strength: 0.5 }), ..Recipe::default() };
        let other = home.path().join("Other");
        keep(&again, &sources, &other).unwrap();
        assert!(found(&other, "start.png").is_some());
    }

    #[test]
    fn the_same_pixels_have_one_name_and_others_another() {
        let name = |width, height, value| file_name(&Rgb8::new(width, height, vec![value; (width * height * 3) as usize]).unwrap());
        assert_eq!(name(4, 2, 7), name(4, 2, 7));
        assert!(name(4, 2, 7) != name(2, 4, 7) && name(4, 2, 7) != name(4, 2, 8));
        assert_eq!(name(1, 1, 0).len(), 36);
    }
}
