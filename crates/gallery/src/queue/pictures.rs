//! Pictures of jobs: reserved before their file is written, recorded after.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use atelier_core::recipe::ImageSource;
use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::job::{QueuedJob, QueuedJobId};
use super::rows::path_text;
use crate::record::record_picture;
use crate::{Database, GalleryError, NewPicture, PictureId, PictureKind};

/// A picture's file name that is reserved, and what will be in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureReservation {
    /// The job.
    pub job: QueuedJobId,
    /// Index of the picture in the job, from 0.
    pub index: u32,
    /// The file.
    pub path: PathBuf,
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
}

impl PictureReservation {
    /// A reservation of a file with these bytes.
    #[must_use]
    pub fn new(job: QueuedJobId, index: u32, path: PathBuf, bytes: &[u8]) -> Self {
        Self { job, index, path, sha256: Sha256::digest(bytes).into() }
    }

    /// Name of the file while it is written, in the same folder.
    #[must_use]
    pub fn part_name(&self) -> String {
        format!(".atelier-job-{}-{}.part", self.job, self.index)
    }

    /// True where the file is there, with the bytes that were reserved.
    pub(super) fn is_written(&self) -> io::Result<bool> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(<[u8; 32]>::from(hash.finalize()) == self.sha256),
                read => hash.update(&buffer[..read]),
            }
        }
    }
}

impl Database {
    /// Reserves a file name for a picture of a job, in place of one reserved before. Returns false
    /// where another picture has the name.
    ///
    /// # Errors
    /// If the database cannot be written to, or the path is no text.
    pub fn reserve_picture(&mut self, reservation: &PictureReservation) -> Result<bool, GalleryError> {
        let path = path_text(&reservation.path)?;
        self.change_jobs(|transaction| {
            let taken = "SELECT EXISTS (SELECT 1 FROM job_picture WHERE path = ?1 AND NOT (job_id = ?2 AND picture_index = ?3))";
            if transaction.query_row(taken, params![path, reservation.job.0, reservation.index], |row| row.get(0))? {
                return Ok(false);
            }
            transaction.execute(
                "INSERT INTO job_picture (job_id, picture_index, path, sha256) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (job_id, picture_index) DO UPDATE SET path = excluded.path, sha256 = excluded.sha256
                 WHERE picture_id IS NULL",
                params![reservation.job.0, reservation.index, path, reservation.sha256],
            )?;
            Ok(true)
        })
    }

    /// The reservation of a picture whose file is written and which is not recorded.
    ///
    /// # Errors
    /// If the database or the file cannot be read.
    pub fn written_picture(&self, job: QueuedJobId, index: u32) -> Result<Option<PictureReservation>, GalleryError> {
        let query = "SELECT path, sha256 FROM job_picture WHERE job_id = ?1 AND picture_index = ?2 AND picture_id IS NULL";
        let reserved = self.connection().prepare_cached(query)?.query_row(params![job.0, index], |row| {
            Ok(PictureReservation { job, index, path: row.get::<_, String>(0)?.into(), sha256: row.get(1)? })
        });
        let Some(reservation) = reserved.optional()? else { return Ok(None) };
        let is_written = reservation.is_written().map_err(|error| GalleryError::file(&reservation.path, error))?;
        Ok(is_written.then_some(reservation))
    }

    /// Records the picture of a reservation whose file is written: its row in the index and the
    /// progress of its job, in one transaction.
    ///
    /// # Errors
    /// If the file or the database cannot be used.
    pub fn record_job_picture(&mut self, reservation: &PictureReservation) -> Result<PictureId, GalleryError> {
        let picture = match self.job(reservation.job)? {
            Some(job) => new_picture(&job, reservation)?,
            None => NewPicture::read(&reservation.path, PictureKind::Kept)?,
        };
        self.change_jobs(|transaction| {
            let id = record_picture(transaction, &picture)?;
            transaction.execute(
                "UPDATE job_picture SET picture_id = ?3 WHERE job_id = ?1 AND picture_index = ?2",
                params![reservation.job.0, reservation.index, id.0],
            )?;
            Ok(id)
        })
    }
}

/// The picture of a job that is in this file, for the index.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn new_picture(job: &QueuedJob, reservation: &PictureReservation) -> Result<NewPicture, GalleryError> {
    let parent = job.recipe.init.as_ref().and_then(|init| match &init.image {
        ImageSource::File(path) => Some(path.clone()),
        ImageSource::Pixels(_) => None,
    });
    // The time, so that no two databases of this person give one number to two jobs.
    let batch = job.group.or_else(|| (job.picture_count() > 1).then_some(job.created_ms));
    Ok(NewPicture { parent, batch, owner: job.owner.clone(), ..NewPicture::read(&reservation.path, PictureKind::Kept)? })
}
