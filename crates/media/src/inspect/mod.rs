//! Settings in a picture file, whichever program wrote it.

mod settings;

use std::path::Path;

pub use settings::{PictureLora, PictureModel, PictureSettings, Tool};

use crate::{PictureError, read_metadata};

/// Reads what a picture file says of how it was made. Takes bounded memory and time, looks at headers only. Blocks.
///
/// # Errors
/// If the file cannot be read or is no picture.
pub fn read_settings(path: &Path) -> Result<PictureSettings, PictureError> {
    let size = crate::image_size(&atelier_core::recipe::ImageSource::File(path.to_owned()))?;
    let mut settings = PictureSettings { width: size.0, height: size.1, ..PictureSettings::default() };
    let metadata = read_metadata(path).unwrap_or_default();
    if metadata.recipe.is_some() {
        settings.tool = Some(Tool::Atelier);
    }
    settings.recipe = metadata.recipe;
    Ok(settings)
}
