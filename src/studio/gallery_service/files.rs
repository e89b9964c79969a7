//! Copies of pictures: into the folder of finished pictures, and out of the gallery.

use std::fs;
use std::path::Path;

use atelier_core::paths;
use atelier_gallery::{Database, GalleryError, NewPicture, PictureId, PictureKind};

/// Largest picture file that is copied, in bytes; larger ones are no pictures that Atelier can read.
const MOST_BYTES: u64 = 1 << 30;

/// Copies a picture into the folder of finished pictures, under its own name or one with a number, and indexes it. One that is there already
/// is not copied.
pub(super) fn import(database: &mut Database, picture: &Path, folder: &Path) -> Result<PictureId, GalleryError> {
    let failed = |source| GalleryError::File { path: picture.to_owned(), source };
    // Headers first: what is no picture is not copied.
    atelier_media::image_size(&atelier_core::recipe::ImageSource::File(picture.to_owned()))?;
    if picture.parent() == Some(folder) {
        return database.record_picture(&NewPicture::read(picture, PictureKind::Import)?);
    }
    if fs::metadata(picture).map_err(failed)?.len() > MOST_BYTES {
        return Err(failed(std::io::Error::other("it is too large for a picture")));
    }
    let bytes = fs::read(picture).map_err(failed)?;
    let path = paths::write_new(folder, numbered_names(picture), |file| std::io::Write::write_all(file, &bytes)).map_err(failed)?;
    database.record_picture(&NewPicture::read(&path, PictureKind::Import)?)
}

/// `name.png`, `name (2).png`, `name (3).png` and so on.
fn numbered_names(path: &Path) -> impl Iterator<Item = String> + use<> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map(|it| format!(".{}", it.to_string_lossy())).unwrap_or_default();
    (1_u32..).map(move |number| if number == 1 { format!("{stem}{ending}") } else { format!("{stem} ({number}){ending}") })
}
