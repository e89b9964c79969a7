//! The person whom a `PhotoMaker` brings into a picture.

use std::path::Path;

use super::super::flags::PersonFlags;
use super::super::usage_error::UsageError;
use atelier_core::recipe::{ImageSource, Person};
use atelier_media::picture_files;

/// The person of flags, beginning with the one of a picture.
pub(super) fn of_flags(flags: &PersonFlags, usual: Person) -> Result<Person, UsageError> {
    let (images, usual_embedding) = match &flags.id_images_dir {
        Some(folder) => (images(folder)?, None),
        None => (usual.images, usual.id_embedding),
    };
    Ok(Person {
        images,
        style_strength: flags.style_strength.unwrap_or(usual.style_strength),
        id_embedding: flags.id_embed_path.clone().or(usual_embedding),
    })
}

/// The pictures of a folder. Reads the disk.
pub(super) fn images(folder: &Path) -> Result<Vec<ImageSource>, UsageError> {
    let problem = |reason: String| UsageError::NoPerson(folder.to_owned(), reason);
    let files = picture_files(folder).map_err(|error| problem(error.to_string()))?;
    match files.len() {
        0 => Err(problem("this folder contains no pictures".to_owned())),
        count if count > Person::MAX_IMAGES => {
            Err(problem(format!("this folder contains {count} pictures; the limit is {}", Person::MAX_IMAGES)))
        }
        _ => Ok(files.into_iter().map(ImageSource::File).collect()),
    }
}
