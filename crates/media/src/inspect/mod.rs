//! Settings in a picture file, whichever program wrote it.
//!
//! `container` finds the texts of a file, and one reader for each program makes settings of them. Invariants: a file is known by its
//! signature; each text is bounded (4 MiB), and so is the depth of JSON; what a reader does not understand is listed, nothing is guessed.

mod a1111;
mod atelier;
mod comfyui;
mod container;
mod draw_things;
mod easy_diffusion;
mod exif;
mod fields;
mod fooocus;
mod invokeai;
mod novelai;
mod settings;
mod sidecar;
mod stealth;
mod swarmui;
#[cfg(test)]
mod tests;
mod texts;
mod xmp;

use std::path::Path;

pub use settings::{PictureHires, PictureLora, PictureModel, PictureSettings, Tool};
use texts::Texts;

use crate::PictureError;

/// A reader of one program's texts; `None` where they are not that program's.
type Reader = fn(&Texts) -> Option<PictureSettings>;

/// Those that are told by a mark of their own come before those that are told by a form.
const READERS: [Reader; 9] = [
    atelier::read,
    invokeai::read,
    swarmui::read,
    fooocus::read,
    novelai::read,
    draw_things::read,
    comfyui::read,
    a1111::read,
    easy_diffusion::read,
];

/// Reads what a picture file says of how it was made, or a text file of the same name beside it. Takes bounded memory and time, and looks
/// at no pixels. Blocks.
///
/// # Errors
/// If the file cannot be read or is no picture.
pub fn read_settings(path: &Path) -> Result<PictureSettings, PictureError> {
    let (width, height) = crate::image_size(&atelier_core::recipe::ImageSource::File(path.to_owned()))?;
    let texts = container::read(path)?;
    let mut settings = settings_of(&texts);
    if settings.tool.is_none()
        && let Some((beside, texts)) = sidecar::read(path)
    {
        let found = settings_of(&texts);
        if found.tool.is_some() {
            let mut raw_texts = std::mem::take(&mut settings.raw_texts);
            raw_texts.push(beside);
            settings = PictureSettings { raw_texts, ..found };
        }
    }
    (settings.width, settings.height) = (width, height);
    Ok(settings)
}

/// As [`read_settings`], and where the file tells nothing, looks for a text that is hidden in the lowest bits of its pixels. Decodes the
/// picture. Blocks.
///
/// # Errors
/// As [`read_settings`].
pub fn read_stealth_settings(path: &Path) -> Result<PictureSettings, PictureError> {
    let settings = read_settings(path)?;
    if settings.tool.is_some() {
        return Ok(settings);
    }
    let texts = stealth::read(&crate::decode::decode(path)?);
    let found = texts.map(|texts| settings_of(&texts)).filter(|found| !found.raw_texts.is_empty());
    Ok(found.map_or_else(|| settings.clone(), |found| PictureSettings { width: settings.width, height: settings.height, ..found }))
}

/// What texts say that a program wrote into a picture, by key.
#[must_use]
pub fn settings_of_texts(texts: Vec<(String, String)>) -> PictureSettings {
    settings_of(&texts.into_iter().collect())
}

fn settings_of(texts: &Texts) -> PictureSettings {
    let found = READERS.iter().find_map(|read| read(texts));
    PictureSettings { raw_texts: texts.iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect(), ..found.unwrap_or_default() }
}
