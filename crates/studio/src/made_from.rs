//! What a picture was made from, where that was in no file of the person's, as what a canvas shows:
//! kept in a hidden folder beside the picture, so that it can be made again from its file alone.
//!
//! A name follows from the pixels, so pictures that began alike share one file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atelier_core::recipe::{ImageSource, Recipe, Rgb8, Samples};
use sha2::{Digest as _, Sha256};

/// Name of the folder; a scan of the gallery passes hidden ones over.
pub(crate) const FOLDER: &str = ".made-from";
/// Bytes of the hash that a name holds: two pictures of a person never have the same.
const NAME_BYTES: usize = 16;
/// Samples that are hashed at a time.
const BLOCK: usize = 1 << 14;
const ENDING: &str = ".png";

/// The name of a file for these pixels.
#[must_use]
pub(crate) fn file_name(pixels: &Rgb8) -> String {
    let mut hash = Sha256::new();
    for side in [pixels.width(), pixels.height()] {
        hash.update(side.to_le_bytes());
    }
    hash.update(pixels.pixels());
    if let Some(fine) = pixels.fine() {
        // Others that look the same over white are other pictures.
        match &fine.samples {
            Samples::Eight(samples) => hash.update(samples),
            Samples::Sixteen(samples) => {
                for block in samples.chunks(BLOCK) {
                    hash.update(block.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<u8>>());
                }
            }
        }
        hash.update(fine.profile.as_deref().unwrap_or_default());
    }
    let digits = hash.finalize().iter().take(NAME_BYTES).fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    digits + ENDING
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

/// Names of the files that are kept beside the pictures of `folder` and are older than `least_age`:
/// a picture may be about to be recorded. Blocks.
pub(crate) fn old_names(folder: &Path, least_age: Duration) -> BTreeSet<String> {
    let entries = fs::read_dir(folder.join(FOLDER)).into_iter().flatten().flatten();
    let is_old = |entry: &fs::DirEntry| {
        let time = entry.metadata().and_then(|file| file.modified());
        time.ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age >= least_age)
    };
    // What has another kind of name, nobody kept here.
    let is_kept = |name: &String| name.len() == 2 * NAME_BYTES + ENDING.len() && name.ends_with(ENDING);
    entries.filter(is_old).filter_map(|entry| entry.file_name().into_string().ok()).filter(is_kept).collect()
}

/// Removes these files from those that are kept beside the pictures of `folder`, and the folder for
/// them once it is empty. Blocks.
pub(crate) fn remove<'a>(folder: &Path, names: impl Iterator<Item = &'a String>) {
    let own = folder.join(FOLDER);
    for name in names {
        if let Err(error) = fs::remove_file(own.join(name)) {
            tracing::warn!("{name} stays in {}: {error}", own.display());
        }
    }
    // It is not empty as a rule, and stays then.
    let _ = fs::remove_dir(own);
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{FineColours, InitImage};

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
    fn pictures_that_look_the_same_over_white_have_names_of_their_own() {
        let white = || Rgb8::new(1, 1, vec![255; 3]).unwrap();
        let fine = |samples, profile: Option<Vec<u8>>| {
            let fine = FineColours { samples, has_alpha: true, profile, is_beyond_srgb: false, from_print: None };
            white().with_fine(Some(fine)).unwrap()
        };
        let pictures = [
            white(),
            fine(Samples::Eight(vec![0, 0, 0, 0]), None),
            fine(Samples::Eight(vec![255, 255, 255, 9]), None),
            fine(Samples::Eight(vec![0, 0, 0, 0]), Some(vec![1])),
            fine(Samples::Sixteen(vec![0, 0, 0, 0]), None),
        ];
        let names: BTreeSet<String> = pictures.iter().map(file_name).collect();
        assert_eq!(names.len(), pictures.len());
    }

    #[test]
    fn old_names_are_told_and_other_files_are_nobodys() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join(FOLDER);
        assert!(old_names(home.path(), Duration::ZERO).is_empty());
        fs::create_dir(&own).unwrap();
        let name = file_name(&Rgb8::new(1, 1, vec![1, 2, 3]).unwrap());
        for name in [name.as_str(), "notes.txt", "short.png"] {
            fs::write(own.join(name), "x").unwrap();
        }
        assert!(old_names(home.path(), Duration::from_hours(1)).is_empty(), "they are new");
        let old = old_names(home.path(), Duration::ZERO);
        assert_eq!(old, BTreeSet::from([name.clone()]));
        remove(home.path(), old.iter());
        assert!(!own.join(&name).exists() && own.join("notes.txt").exists() && own.join("short.png").exists());
    }

    #[test]
    fn the_same_pixels_have_one_name_and_others_another() {
        let name = |width, height, value| file_name(&Rgb8::new(width, height, vec![value; (width * height * 3) as usize]).unwrap());
        assert_eq!(name(4, 2, 7), name(4, 2, 7));
        assert!(name(4, 2, 7) != name(2, 4, 7) && name(4, 2, 7) != name(4, 2, 8));
        assert_eq!(name(1, 1, 0).len(), 36);
    }
}
