//! Settings in a picture file, whichever program wrote it.
//!
//! `container` finds the texts of a file, and one reader for each program makes settings of them.
//! Invariants: a file is known by its signature; each text is bounded (4 MiB), and so are depth and
//! values of JSON, fields of EXIF, and the ways through a graph, so that time and memory follow the
//! file's bytes; what a reader does not understand or pass is listed, nothing is guessed.

mod a1111;
mod atelier;
mod civitai;
mod comfyui;
mod container;
mod draw_things;
mod easy_diffusion;
mod exif;
mod fields;
mod fooocus;
mod invokeai;
mod iptc;
#[cfg(test)]
mod newest_tests;
mod novelai;
mod sd_cpp;
mod settings;
mod sidecar;
mod stealth;
mod swarmui;
mod tensor_art;
#[cfg(test)]
mod tests;
mod texts;
mod unfold;
mod xmp;

use std::path::Path;

use atelier_core::json::has_more_values;
use atelier_language::tr;

pub(crate) use container::{webp_exif, webp_profile};
use settings::MAX_LORAS;
pub use settings::{PictureControl, PictureHires, PictureLora, PictureModel, PictureSettings, PictureTiles, Tool};
use texts::Texts;

use crate::PictureError;
use crate::stored_recipe::MAX_VALUES;

/// Fields that are listed as not understood, and bytes of a name and of a value there; the file's
/// own texts have all of it.
const MAX_LISTED: usize = 256;
const MAX_NAME: usize = 200;
const MAX_LISTED_BYTES: usize = 64 << 10;

/// A reader of one program's texts; `None` where they are not that program's.
type Reader = fn(&Texts) -> Option<PictureSettings>;

/// Those that are told by a mark of their own come before those that are told by a form.
const READERS: [Reader; 10] = [
    atelier::read,
    invokeai::read,
    swarmui::read,
    fooocus::read,
    novelai::read,
    draw_things::read,
    comfyui::read,
    tensor_art::read,
    a1111::read,
    easy_diffusion::read,
];

/// Reads what a picture file says of how it was made, or a text file of the same name beside it.
/// Takes bounded memory and time, and looks at no pixels. Blocks.
///
/// # Errors
/// If the file cannot be read or is no picture.
pub fn read_settings(path: &Path) -> Result<PictureSettings, PictureError> {
    let (width, height) = crate::decode::header_size(path)?;
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

/// As [`read_settings`], and where the file tells nothing, looks for a text that is hidden in the
/// lowest bits of its pixels. Decodes the picture. Blocks.
///
/// # Errors
/// As [`read_settings`].
pub fn read_stealth_settings(path: &Path) -> Result<PictureSettings, PictureError> {
    let settings = read_settings(path)?;
    if settings.tool.is_some() {
        return Ok(settings);
    }
    let texts = stealth::read(&crate::decode::decode(path)?.image.into_rgba8());
    let found = texts.map(|texts| settings_of(&texts)).filter(|found| !found.raw_texts.is_empty());
    Ok(found.map_or_else(|| settings.clone(), |found| PictureSettings { width: settings.width, height: settings.height, ..found }))
}

/// What texts say that a program wrote into a picture, by key.
///
/// ```
/// use atelier_core::recipe::Seed;
/// use atelier_media::settings_of_texts;
///
/// let text = "a lake\nNegative prompt: people\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 42, Size: 512x768";
/// let settings = settings_of_texts(vec![("parameters".to_owned(), text.to_owned())]);
/// assert_eq!(settings.prompt.as_deref(), Some("a lake"));
/// assert_eq!(settings.seed, Some(Seed(42)));
/// ```
#[must_use]
pub fn settings_of_texts(texts: Vec<(String, String)>) -> PictureSettings {
    settings_of(&texts.into_iter().collect())
}

fn settings_of(texts: &Texts) -> PictureSettings {
    let unfolded = unfold::unfolded(texts);
    let known = unfolded.as_ref().unwrap_or(texts);
    let found = READERS.iter().find_map(|read| read(known)).unwrap_or_default();
    let mut settings = PictureSettings { raw_texts: texts.iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect(), ..found };
    let mut notes: Vec<(String, String)> = texts.passed_over().to_vec();
    for (key, _) in texts.iter().filter(|(_, text)| fields::is_object(text) && has_more_values(text.as_bytes(), MAX_VALUES)) {
        notes.push((fields::bounded(key, MAX_NAME), tr!("media-it-has-too-many-values", max_values = MAX_VALUES)));
    }
    for (count, part) in
        [(cut(&mut settings.loras, MAX_LORAS), tr!("media-loras")), (cut(&mut settings.not_understood, MAX_LISTED), tr!("media-fields"))]
    {
        if count > 0 {
            notes.push((part.to_owned(), tr!("media-more-are-skipped", count)));
        }
    }
    for (name, value) in &mut settings.not_understood {
        (*name, *value) = (fields::bounded(name, MAX_NAME), fields::bounded(value, MAX_LISTED_BYTES));
    }
    settings.not_understood.extend(notes);
    settings
}

/// Leaves so many entries, and returns how many it took away.
fn cut<T>(list: &mut Vec<T>, most: usize) -> usize {
    let count = list.len().saturating_sub(most);
    list.truncate(most);
    list.shrink_to_fit();
    count
}
