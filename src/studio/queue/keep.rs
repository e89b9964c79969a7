//! Keeping a picture of a job: its name is reserved, its file written, its row recorded, in this order.

use std::io;
use std::path::PathBuf;

use atelier_core::advice::Advice;
use atelier_core::paths::write_new_by_part;
use atelier_core::recipe::{PictureInfo, Recipe};
use atelier_engine::Picture;
use atelier_gallery::Database;
use atelier_gallery::queue::{PictureReservation, QueuedJob};
use atelier_media::picture_file_names;

use crate::studio::picture_index::add_own_folder;
use crate::studio::results;

/// Keeps a picture of a job in the job's folder and returns its file. `index`: in the whole job. Blocks.
///
/// # Errors
/// If the file or its row cannot be written; the picture is in no file then, or in one that the next start finds.
pub(super) fn keep_picture(database: &mut Database, job: &QueuedJob, index: u32, picture: &Picture) -> Result<PathBuf, Advice> {
    let failed =
        |reason: String| Advice::new(format!("A picture could not be kept: {reason}."), "Make room on the disk, or choose another folder.");
    let info = PictureInfo { index, ..picture.info };
    let (width, height) = (picture.image.width(), picture.image.height());
    let recipe = Recipe { width, height, ..Recipe::clone(&job.recipe) };
    let bytes = results::encode_picture(&recipe, info, &picture.notes, &picture.image).map_err(|error| failed(error.to_string()))?;
    if let Err(error) = add_own_folder(database, &job.folder) {
        tracing::warn!("{} is not a folder of the gallery: {error}", job.folder.display());
    }
    for name in picture_file_names(&recipe.prompt, info.seed) {
        let path = job.folder.join(name);
        if path.symlink_metadata().is_ok() {
            continue;
        }
        let reservation = PictureReservation::new(job.id, index, path, &bytes);
        if !database.reserve_picture(&reservation).map_err(|error| failed(error.to_string()))? {
            continue;
        }
        match write_new_by_part(&reservation.path, &reservation.part_name(), &bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(failed(format!("{}: {error}", job.folder.display()))),
        }
        database.record_job_picture(&reservation).map_err(|error| failed(error.to_string()))?;
        // What the file does not tell is also written beside the pictures; the next picture tries again.
        if let Err(error) = database.write_journals() {
            tracing::warn!("the gallery's journals were not written: {error}");
        }
        return Ok(reservation.path);
    }
    Err(failed("every name for its file is taken".into()))
}
