//! Keeping a picture of a job: its name is reserved, its file written, its row recorded, in this
//! order.

use std::io;
use std::path::Path;

use atelier_core::advice::Advice;
use atelier_core::paths::write_new_by_part;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8};
use atelier_core::stored_file::is_disk_trouble;
use atelier_engine::Picture;
use atelier_gallery::queue::{PictureReservation, QueuedJob};
use atelier_gallery::{Database, GalleryError};
use atelier_language::tr;
use atelier_media::{Metadata, PictureError, encode_picture, picture_file_names};

use crate::made_from;
use crate::picture_index::add_own_folder;
use crate::queue::message::KeptPicture;
use crate::queue::remote_run::MadeOn;
use crate::results;

/// A picture was not kept.
pub(super) struct KeepError {
    pub(super) advice: Advice,
    /// What the disk said, where the same may succeed later; the picture is to be kept in memory
    /// until then.
    pub(super) error: Option<GalleryError>,
}

impl KeepError {
    fn new(reason: &str) -> Self {
        let hint = tr!("studio-the-picture-is-still");
        Self { advice: Advice::new(tr!("studio-a-picture-could-not-be-saved-2", reason), hint), error: None }
    }

    fn of(error: GalleryError) -> Self {
        if !error.is_temporary() {
            return Self::new(&error.to_string());
        }
        let advice = Self::waits();
        Self { advice: Advice::new(tr!("studio-a-picture-could-not-be-saved", error), advice.hint), error: Some(error) }
    }

    /// Advice about a picture that waits for the disk.
    pub(super) fn waits() -> Advice {
        Advice::new(tr!("studio-a-picture-could-not"), tr!("studio-free-some-disk-space-the-picture"))
    }
}

/// Keeps a picture of a job in the job's folder, with what it was made from. `index`: in the whole
/// job, with the studio that made it where that was another one; `sources`: the folder of pictures
/// that were in no file. Blocks.
///
/// # Errors
/// If the file or its row cannot be written; the picture is in no file then, or in one that the
/// next start finds.
pub(super) fn keep_picture(
    database: &mut Database,
    job: &QueuedJob,
    (index, made_on): (u32, Option<&MadeOn>),
    picture: &Picture,
    sources: &Path,
) -> Result<KeptPicture, KeepError> {
    // An earlier try may have written the file, and found no room for its row.
    if let Some(reservation) = database.written_picture(job.id, index).map_err(KeepError::of)? {
        return record(database, &reservation);
    }
    let info = PictureInfo { index, ..picture.info };
    let (width, height) = (picture.image.width(), picture.image.height());
    let recipe = Recipe { width, height, ..Recipe::clone(&job.recipe) };
    let encoded = match made_on {
        Some(made_on) => encode_received(made_on, &recipe, info, picture),
        None => results::encode_picture(&recipe, info, &picture.notes, &picture.image),
    };
    let bytes = encoded.map_err(|error| KeepError::new(&error.to_string()))?;
    if let Err(error) = add_own_folder(database, &job.folder) {
        tracing::warn!("{} is not a folder of the gallery: {error}", job.folder.display());
    }
    if let Err(error) = made_from::keep(&recipe, sources, &job.folder) {
        tracing::warn!("what a picture was made from is not kept in {}: {error}", job.folder.display());
    }
    for name in picture_file_names(&recipe.prompt, info.seed) {
        let path = job.folder.join(name);
        if path.symlink_metadata().is_ok() {
            continue;
        }
        let reservation = PictureReservation::new(job.id, index, path, &bytes);
        if !database.reserve_picture(&reservation).map_err(KeepError::of)? {
            continue;
        }
        match write_new_by_part(&reservation.path, &reservation.part_name(), &bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(source) if is_disk_trouble(&source) => return Err(KeepError::of(GalleryError::File { path: job.folder.clone(), source })),
            Err(error) => return Err(KeepError::new(&format!("{}: {error}", job.folder.display()))),
        }
        return record(database, &reservation);
    }
    Err(KeepError::new(tr!("studio-every-name-for-its")))
}

/// The bytes of the file of a picture that another studio made: with the settings that its own file
/// said, or else those that were asked for.
fn encode_received(made_on: &MadeOn, asked: &Recipe, info: PictureInfo, picture: &Picture) -> Result<Vec<u8>, PictureError> {
    let image: &Rgb8 = &picture.image;
    let stored = results::received_recipe(made_on.said.clone(), asked, Some(&made_on.model.model), info, image);
    let notes = [stored.notes(), picture.notes.clone()].concat();
    let stored = stored.with_notes(&notes);
    encode_picture(image, &Metadata::made_on(&made_on.model.studio, stored, image))
}

/// Records a picture whose file is written.
fn record(database: &mut Database, reservation: &PictureReservation) -> Result<KeptPicture, KeepError> {
    let id = database.record_job_picture(reservation).map_err(KeepError::of)?;
    // What the file does not tell is also written beside the pictures; the next picture tries
    // again.
    if let Err(error) = database.write_journals() {
        tracing::warn!("the gallery's journals were not written: {error}");
    }
    Ok(KeptPicture { path: reservation.path.clone(), id })
}
