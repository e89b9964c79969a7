//! Where the pictures of a job go, and under which names.

use std::path::{Path, PathBuf};

use atelier_core::recipe::Recipe;
use atelier_engine::{Picture, Preview};
use atelier_library::model_name;
use atelier_media::{GalleryError, Metadata};

/// Where the pictures of a job go.
#[derive(Debug, PartialEq)]
pub(super) enum Output {
    /// Into a folder, under names of their own; nothing there is replaced.
    Folder { folder: PathBuf, recipe: Box<Recipe> },
    /// To exactly this file, and beside it those of a batch.
    Named { path: PathBuf, recipe: Box<Recipe> },
    /// To exactly this file, with what the picture it was made from says of itself.
    Enlarged { path: PathBuf, source: PathBuf, model: PathBuf },
}

impl Output {
    /// Writes a finished picture and returns its path.
    pub(super) fn write(&self, picture: &Picture) -> Result<PathBuf, GalleryError> {
        let Picture { info, image } = picture;
        match self {
            Self::Folder { folder, recipe } => atelier_media::save_picture(folder, recipe, model_name(&recipe.files), *info, image),
            Self::Named { path, recipe } => {
                let path = numbered(path, info.index);
                atelier_media::write_picture(&path, image, &Metadata::of(recipe, model_name(&recipe.files), *info, image))?;
                Ok(path)
            }
            Self::Enlarged { path, source, model } => {
                let path = numbered(path, info.index);
                // A JPEG, or a PNG of another program, says nothing that could be kept.
                let metadata = atelier_media::read_metadata(source).unwrap_or_default().upscaled(model, image);
                atelier_media::write_picture(&path, image, &metadata)?;
                Ok(path)
            }
        }
    }
}

/// Writes a preview into this folder and returns its path.
pub(super) fn write_preview(folder: &Path, preview: &Preview) -> Result<PathBuf, GalleryError> {
    let path = folder.join(format!("preview_{}_{:03}.png", preview.picture + 1, preview.step));
    atelier_media::write_picture(&path, &preview.image, &Metadata::default())?;
    Ok(path)
}

/// `OUT.png` for the first picture, `OUT_2.png` for the second.
fn numbered(path: &Path, index: u32) -> PathBuf {
    if index == 0 {
        return path.to_path_buf();
    }
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("_{}", index + 1));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_picture_has_the_name_asked_for_and_the_others_a_number() {
        assert_eq!(numbered(Path::new("a/b.v1.png"), 0), Path::new("a/b.v1.png"));
        assert_eq!(numbered(Path::new("a/b.v1.png"), 1), Path::new("a/b.v1_2.png"));
        assert_eq!(numbered(Path::new("b"), 9), Path::new("b_10"));
    }
}
