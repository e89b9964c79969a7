//! Finished pictures: where they are written, under which names and with which metadata.
//!
//! The only place that keeps a picture; window and command line both call it.

use std::path::{Path, PathBuf};

use atelier_core::paths;
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{ImageSource, PictureInfo, Recipe, Rgb8};
use atelier_engine::{JobId, Picture, Preview};
use atelier_library::model_name;
use atelier_media::{Metadata, PictureError, StoredRecipe};

use crate::picture_index::PictureIndex;

/// Destination of the pictures of a job.
#[derive(Debug, PartialEq)]
pub enum Destination {
    /// A folder; each picture gets a name of its own, and nothing there is replaced.
    Folder {
        folder: PathBuf,
        /// Recipe of the job.
        recipe: Box<Recipe>,
        /// False: the files say nothing of how they were made.
        has_metadata: bool,
    },
    /// Exactly this file; the further pictures of a batch get a number.
    Named {
        /// The first picture's file.
        path: PathBuf,
        /// Pictures of earlier jobs that go by the same name.
        earlier: u32,
        /// Recipe of the job.
        recipe: Box<Recipe>,
        /// False: the files say nothing of how they were made.
        has_metadata: bool,
    },
    /// Exactly this file, with the metadata of the picture that was upscaled.
    Upscaled {
        path: PathBuf,
        /// The picture that was upscaled.
        source: PathBuf,
        model: PathBuf,
    },
}

/// A picture that was kept.
#[derive(Debug, PartialEq, Eq)]
pub struct KeptPicture {
    pub path: PathBuf,
    /// Why the gallery does not have it yet, in a sentence.
    pub warning: Option<String>,
}

impl Destination {
    /// Writes a finished picture of a job and adds it to the gallery.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, picture: &Picture, job: JobId, index: &mut PictureIndex) -> Result<KeptPicture, PictureError> {
        let path = self.write(picture)?;
        Ok(self.indexed(path, job, index))
    }

    /// Writes a picture that another studio made, and adds it to the gallery. Its recipe is the one
    /// that its file says, or else the one that was asked for; `model` is the model's name there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep_received(
        &self,
        said: Option<StoredRecipe>,
        picture: &Picture,
        (studio, model): (&str, Option<&str>),
        job: JobId,
        index: &mut PictureIndex,
    ) -> Result<KeptPicture, PictureError> {
        let Picture { info, image, .. } = picture;
        let metadata = |asked: &Recipe| Metadata::made_on(studio, received_recipe(said, asked, model, *info, image), image);
        let path = match self {
            Self::Folder { folder, recipe, has_metadata } => {
                let metadata = if *has_metadata { metadata(recipe) } else { Metadata::default() };
                atelier_media::save_with_metadata(folder, &recipe.prompt, info.seed, image, &metadata)?
            }
            Self::Named { path, earlier, recipe, has_metadata } => {
                let path = numbered(path, earlier.saturating_add(info.index));
                let metadata = if *has_metadata { metadata(recipe) } else { Metadata::default() };
                atelier_media::write_picture(&path, image, &metadata)?;
                path
            }
            Self::Upscaled { path, .. } => {
                let path = numbered(path, info.index);
                atelier_media::write_picture(&path, image, &metadata(&Recipe::default()))?;
                path
            }
        };
        Ok(self.indexed(path, job, index))
    }

    /// Adds a picture that was written to the gallery.
    fn indexed(&self, path: PathBuf, job: JobId, index: &mut PictureIndex) -> KeptPicture {
        let batch = index.group().or_else(|| self.is_batch().then(|| index.batch_of(job)));
        let warning = index.add(&path, None, self.parent(), batch).err();
        KeptPicture { path, warning }
    }

    /// Finds out before the work whether the pictures can be kept. Blocks.
    ///
    /// # Errors
    /// Where they cannot.
    pub fn check_place(&self) -> Result<(), PictureError> {
        let path = match self {
            Self::Folder { folder, .. } => folder.join("picture.png"),
            Self::Named { path, .. } | Self::Upscaled { path, .. } => path.clone(),
        };
        paths::check_writable(&path).map_err(|source| PictureError::Write { path, source })
    }

    /// True where its job makes several pictures.
    fn is_batch(&self) -> bool {
        match self {
            Self::Folder { recipe, .. } | Self::Named { recipe, .. } => recipe.batch_count > 1,
            Self::Upscaled { .. } => false,
        }
    }

    /// The picture that its pictures are made from, where that is a file.
    #[must_use]
    pub fn parent(&self) -> Option<PathBuf> {
        match self {
            Self::Folder { recipe, .. } | Self::Named { recipe, .. } => init_file(recipe),
            Self::Upscaled { source, .. } => Some(source.clone()),
        }
    }

    /// Writes a finished picture and returns its path.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, picture: &Picture) -> Result<PathBuf, PictureError> {
        let Picture { info, notes, image } = picture;
        match self {
            Self::Folder { folder, recipe, has_metadata: true } => store_picture(folder, recipe, *info, notes, image),
            Self::Folder { folder, recipe, has_metadata: false } => {
                atelier_media::save_with_metadata(folder, &recipe.prompt, info.seed, image, &Metadata::default())
            }
            Self::Named { path, earlier, recipe, has_metadata } => {
                let path = numbered(path, earlier.saturating_add(info.index));
                if *has_metadata {
                    write_picture(&path, recipe, *info, notes, image)?;
                } else {
                    atelier_media::write_picture(&path, image, &Metadata::default())?;
                }
                Ok(path)
            }
            Self::Upscaled { path, source, model } => {
                let path = numbered(path, info.index);
                // A JPEG, or a PNG of another program, has no metadata that could be kept.
                let metadata = atelier_media::read_metadata(source).unwrap_or_default().upscaled(model, image);
                atelier_media::write_picture(&path, image, &metadata)?;
                Ok(path)
            }
        }
    }
}

/// Keeps a finished picture in a folder, under a name of its own, and returns its path.
///
/// # Errors
/// If the folder cannot be written to.
pub fn store_picture(
    folder: &Path,
    recipe: &Recipe,
    info: PictureInfo,
    notes: &[PictureNote],
    image: &Rgb8,
) -> Result<PathBuf, PictureError> {
    atelier_media::save_picture(folder, recipe, model_name(&recipe.files), info, notes, image)
}

/// The recipe of a picture that another studio made: the one that its file `said`, with the pictures
/// that were asked for, or else all that was asked for. `model`: the model's name there.
pub(crate) fn received_recipe(
    said: Option<StoredRecipe>,
    asked: &Recipe,
    model: Option<&str>,
    info: PictureInfo,
    image: &Rgb8,
) -> StoredRecipe {
    let asked = StoredRecipe::of(asked, info, image.width(), image.height(), |_| 0).named(model.map(str::to_owned));
    match said {
        Some(said) => said.with_pictures_of(asked),
        None => asked,
    }
}

/// Encodes a finished picture with its metadata as the bytes of its file.
///
/// # Errors
/// If memory is short.
pub fn encode_picture(recipe: &Recipe, info: PictureInfo, notes: &[PictureNote], image: &Rgb8) -> Result<Vec<u8>, PictureError> {
    atelier_media::encode_picture(image, &Metadata::of(recipe, model_name(&recipe.files), info, notes, image))
}

/// Writes a finished picture to exactly this file, replacing one that is there.
///
/// # Errors
/// If the file cannot be written.
pub fn write_picture(path: &Path, recipe: &Recipe, info: PictureInfo, notes: &[PictureNote], image: &Rgb8) -> Result<(), PictureError> {
    atelier_media::write_picture(path, image, &Metadata::of(recipe, model_name(&recipe.files), info, notes, image))
}

/// The file that a recipe begins with.
#[must_use]
pub fn init_file(recipe: &Recipe) -> Option<PathBuf> {
    match &recipe.init.as_ref()?.image {
        ImageSource::File(path) => Some(path.clone()),
        ImageSource::Pixels(_) => None,
    }
}

/// Writes a preview into a folder and returns its path.
///
/// # Errors
/// If the folder cannot be written to.
pub fn write_preview(folder: &Path, preview: &Preview) -> Result<PathBuf, PictureError> {
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
    use std::sync::Arc;

    use super::*;
    use atelier_core::recipe::{ImageSource, Seed};

    const INFO: PictureInfo = PictureInfo { index: 0, seed: Some(Seed(42)), cpu_math: None, merged_loras: false };

    fn picture(side: u32) -> Rgb8 {
        Rgb8::new(side, side, (0..side * side * 3).map(|n| (n % 251) as u8).collect()).unwrap()
    }

    fn read(path: &Path) -> Rgb8 {
        atelier_media::read_image(&ImageSource::File(path.to_owned())).unwrap()
    }

    #[test]
    fn two_pictures_of_the_same_second_and_seed_are_both_kept_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("Pictures/Atelier");
        let first = store_picture(&folder, &Recipe::default(), INFO, &[], &picture(8)).unwrap();
        let second = store_picture(&folder, &Recipe::default(), INFO, &[], &picture(9)).unwrap();
        assert_ne!(first, second);
        assert_eq!(read(&first), picture(8));
        assert_eq!(read(&second), picture(9));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "nothing temporary is left");
    }

    #[test]
    fn pictures_are_written_without_metadata_where_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let recipe = Box::new(Recipe { prompt: "a lake".into(), ..Recipe::default() });
        let picture = Picture { info: INFO, notes: Vec::new(), image: Arc::new(picture(8)) };
        for has_metadata in [true, false] {
            let in_folder = Destination::Folder { folder: folder.path().to_owned(), recipe: recipe.clone(), has_metadata };
            let path = folder.path().join("named.png");
            let named = Destination::Named { path, earlier: 0, recipe: recipe.clone(), has_metadata };
            for destination in [in_folder, named] {
                let metadata = atelier_media::read_metadata(&destination.write(&picture).unwrap()).unwrap();
                assert_eq!(metadata != Metadata::default(), has_metadata, "{destination:?}");
            }
        }
    }

    #[test]
    fn the_first_picture_has_the_given_name_and_the_others_a_number() {
        assert_eq!(numbered(Path::new("a/b.v1.png"), 0), Path::new("a/b.v1.png"));
        assert_eq!(numbered(Path::new("a/b.v1.png"), 1), Path::new("a/b.v1_2.png"));
        assert_eq!(numbered(Path::new("b"), 9), Path::new("b_10"));
    }
}
