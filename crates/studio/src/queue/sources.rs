//! Pictures that jobs start from and that are in no file: they are written beside the queue, so
//! that a job outlives the process.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atelier_core::recipe::{ImageSource, Recipe};
use atelier_media::{Metadata, PictureError, write_picture};

use crate::made_from;

/// Gives every picture of a recipe a file, in this folder. Blocks.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write_pixels(recipe: &mut Recipe, folder: &Path) -> Result<(), PictureError> {
    for source in recipe.pictures_mut() {
        if let ImageSource::Pixels(pixels) = source {
            let path = folder.join(made_from::file_name(pixels));
            // One that is there is written anew: its age says that it is needed.
            write_picture(&path, pixels, &Metadata::default())?;
            *source = ImageSource::File(path);
        }
    }
    Ok(())
}

/// Removes the files in this folder that none of these recipes needs and that are older than
/// `least_age`: another process may be about to add their job. Blocks.
pub(super) fn remove_unused<'a>(folder: &Path, recipes: impl Iterator<Item = &'a Recipe>, least_age: Duration) {
    let used: BTreeSet<PathBuf> = recipes.flat_map(files_of).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let age = entry.metadata().and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
        if age >= least_age
            && !used.contains(&path)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::warn!("{} stays: {error}", path.display());
        }
    }
}

/// The files of the pictures of a recipe.
pub(super) fn files_of(recipe: &Recipe) -> impl Iterator<Item = PathBuf> {
    recipe.pictures().filter_map(|source| match source {
        ImageSource::File(path) => Some(path.clone()),
        ImageSource::Pixels(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{InitImage, Rgb8};

    #[test]
    fn pixels_become_a_file_that_goes_once_no_job_needs_it() {
        let folder = tempfile::tempdir().unwrap();
        let pixels = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let init = InitImage { image: ImageSource::Pixels(pixels.clone()), strength: 0.5 };
        let mut recipe = Recipe { init: Some(init), mask: Some(ImageSource::File("/mask.png".into())), ..Recipe::default() };
        recipe.person.images.push(ImageSource::Pixels(pixels.clone()));
        write_pixels(&mut recipe, folder.path()).unwrap();
        let ImageSource::File(path) = &recipe.init.as_ref().unwrap().image else { panic!("still pixels") };
        assert_eq!(atelier_media::read_image(&ImageSource::File(path.clone())).unwrap(), pixels);
        assert_eq!(recipe.mask, Some(ImageSource::File("/mask.png".into())));
        remove_unused(folder.path(), std::iter::empty(), Duration::from_hours(1));
        assert!(path.exists(), "its job may come yet");
        remove_unused(folder.path(), std::iter::empty(), Duration::ZERO);
        assert!(!path.exists());
    }
}
