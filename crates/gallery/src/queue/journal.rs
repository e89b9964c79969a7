//! Jobs that have not ended, in a file beside the database, so that a lost database costs none of
//! them.
//!
//! One JSON object a line, the last line about a job holds; one without a job says that it has
//! ended or is gone. Triggers note which jobs have no line yet (`job_due`), and each change of the
//! queue writes them in its own transaction: so processes do not mix lines, and no change of a job
//! is forgotten. A journal that cannot be written holds nothing up; its lines wait for the next
//! change.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use atelier_core::paths::write_private;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde::{Deserialize, Serialize};

use super::job::{JobState, Lane, QueuedJobId};
use super::owner::User;
use super::pictures::{PictureReservation, new_picture};
use super::rows::{job_in, path_text};
use crate::journal::{append_lines, read_lines};
use crate::record::record_picture;
use crate::{Database, GalleryError};

/// Longest line that is read, in bytes.
const MAX_LINE: u64 = 4 << 20;
/// Size from which the journal is written anew at a start, in bytes.
const MIN_COMPACTED: u64 = 64 << 10;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Line {
    id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JournaledJob>,
}

/// A job that has not ended. Names here are part of the format of the journal: they never change.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct JournaledJob {
    is_held: bool,
    lane: i64,
    order_key: f64,
    /// As the database has it.
    recipe: String,
    folder: String,
    model: String,
    wanted_model: Option<String>,
    device: Option<String>,
    preview: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    owner: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<i64>,
    /// The bits of the seed, as the database has them.
    first_seed: Option<i64>,
    crashes: u32,
    reason: Option<String>,
    is_placed: bool,
    created_ms: i64,
    pictures: Vec<JournaledPicture>,
}

/// A picture that a job has made and kept.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct JournaledPicture {
    index: u32,
    path: String,
    sha256: String,
}

/// Jobs of a queue that was lost.
#[derive(Debug, Default)]
pub(crate) struct LostJobs {
    jobs: BTreeMap<i64, JournaledJob>,
    /// The highest number that a job had.
    last_id: i64,
}

fn path(journals: &Path) -> PathBuf {
    journals.join("queue.jsonl")
}

impl Database {
    /// Runs changes of jobs, which happen together or not at all, and writes the lines of those
    /// jobs.
    pub(super) fn change_jobs<T>(&mut self, change: impl FnOnce(&Transaction<'_>) -> Result<T, GalleryError>) -> Result<T, GalleryError> {
        let journals = self.journals().map(Path::to_owned);
        self.write(|transaction| {
            let result = change(transaction)?;
            if let Some(journals) = &journals
                && let Err(error) = write_due(transaction, journals)?
            {
                tracing::warn!("jobs could not be written beside the index: {error}");
            }
            Ok(result)
        })
    }

    /// Writes the journal anew where it has grown. Only for the process that has the right to run
    /// the queue.
    ///
    /// # Errors
    /// The database's.
    pub fn compact_queue_journal(&mut self) -> Result<(), GalleryError> {
        let Some(path) = self.journals().map(path) else { return Ok(()) };
        if !path.metadata().is_ok_and(|file| file.len() >= MIN_COMPACTED) {
            return Ok(());
        }
        if !self.is_restored()? {
            return Ok(());
        }
        self.write(|transaction| {
            let ids = ids(transaction, "SELECT id FROM job WHERE state IN ('waiting', 'running', 'held') ORDER BY id")?;
            let last: Option<i64> =
                transaction.query_row("SELECT max(seq) FROM sqlite_sequence WHERE name = 'job'", [], |row| row.get(0))?;
            let mut text = Vec::new();
            // That of a job that is gone keeps its number from being given again.
            for line in
                std::iter::once(Ok(Line { id: last.unwrap_or_default(), job: None })).chain(ids.iter().map(|id| line_of(transaction, *id)))
            {
                serde_json::to_writer(&mut text, &line?).map_err(|error| GalleryError::file(&path, error.into()))?;
                text.push(b'\n');
            }
            if let Err(error) = write_private(&path, &text) {
                tracing::warn!("{} could not be shortened: {error}", path.display());
            }
            Ok(())
        })
    }
}

/// Writes the lines that are due; those that cannot be written stay due, for the reason in the
/// inner error.
pub(crate) fn write_due(transaction: &Transaction<'_>, journals: &Path) -> Result<io::Result<()>, GalleryError> {
    let ids = ids(transaction, "SELECT job_id FROM job_due ORDER BY job_id")?;
    if ids.is_empty() {
        return Ok(Ok(()));
    }
    let lines = ids.iter().map(|id| line_of(transaction, *id)).collect::<Result<Vec<_>, _>>()?;
    if let Err(error) = append_lines(&path(journals), &lines, true) {
        return Ok(Err(error));
    }
    transaction.execute("DELETE FROM job_due", [])?;
    Ok(Ok(()))
}

fn ids(connection: &Connection, query: &str) -> Result<Vec<i64>, GalleryError> {
    let mut statement = connection.prepare_cached(query)?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn line_of(connection: &Connection, id: i64) -> Result<Line, GalleryError> {
    let query = "SELECT state, lane, order_key, recipe, folder, model, wanted_model, device, preview, first_seed, crashes, reason, is_placed, \
        created_ms, group_ms, owner, user FROM job WHERE id = ?1 AND state IN ('waiting', 'running', 'held')";
    let job = connection.prepare_cached(query)?.query_row([id], |row| {
        Ok(JournaledJob {
            is_held: row.get::<_, String>(0)? == JobState::Held.key(),
            lane: row.get(1)?,
            order_key: row.get(2)?,
            recipe: row.get(3)?,
            folder: row.get(4)?,
            model: row.get(5)?,
            wanted_model: row.get(6)?,
            device: row.get(7)?,
            preview: row.get(8)?,
            group: row.get(14)?,
            owner: row.get(15)?,
            user: Some(row.get(16)?).filter(|it| *it != User::default().number()),
            first_seed: row.get(9)?,
            crashes: row.get(10)?,
            reason: row.get(11)?,
            is_placed: row.get(12)?,
            created_ms: row.get(13)?,
            pictures: Vec::new(),
        })
    });
    let Some(mut job) = job.optional()? else { return Ok(Line { id, job: None }) };
    let query =
        "SELECT picture_index, path, hex(sha256) FROM job_picture WHERE job_id = ?1 AND picture_id IS NOT NULL ORDER BY picture_index";
    let mut pictures = connection.prepare_cached(query)?;
    let pictures = pictures.query_map([id], |row| Ok(JournaledPicture { index: row.get(0)?, path: row.get(1)?, sha256: row.get(2)? }))?;
    job.pictures = pictures.collect::<Result<_, _>>()?;
    Ok(Line { id, job: Some(job) })
}

/// Reads the journal among these. Lines that cannot be read are passed over.
///
/// # Errors
/// If it cannot be read now.
pub(crate) fn read(journals: &Path) -> io::Result<LostJobs> {
    let mut lost = LostJobs::default();
    read_lines(&path(journals), MAX_LINE, |line| {
        let Ok(Line { id, job }) = serde_json::from_slice::<Line>(line) else { return };
        lost.last_id = lost.last_id.max(id);
        match job.filter(|job| id > 0 && job.order_key.is_finite()) {
            Some(job) => drop(lost.jobs.insert(id, job)),
            None => drop(lost.jobs.remove(&id)),
        }
    })?;
    Ok(lost)
}

impl LostJobs {
    /// Adds the jobs to new tables, with the pictures that they have made and their files. One
    /// whose pictures are all there has ended.
    pub(crate) fn restore(&self, transaction: &Transaction<'_>) -> Result<(), GalleryError> {
        // Numbers of jobs that have ended are not given again either.
        let first =
            "INSERT INTO sqlite_sequence (name, seq) SELECT 'job', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'job')";
        transaction.execute(first, [])?;
        transaction.execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'job'", [self.last_id])?;
        for (id, job) in &self.jobs {
            let known = transaction.query_row("SELECT created_ms FROM job WHERE id = ?1", [id], |row| row.get::<_, i64>(0)).optional()?;
            if known == Some(job.created_ms) {
                continue;
            }
            // A job that came while the journal could not be read may have its number.
            let id = known.is_none().then_some(*id);
            let state = if job.is_held { JobState::Held } else { JobState::Waiting };
            transaction.execute(
                "INSERT INTO job (id, state, lane, order_key, recipe, folder, model, wanted_model, device, preview, first_seed, crashes,
                 reason, is_placed, created_ms, group_ms, owner, user)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
                params![
                    id,
                    state.key(),
                    Lane::from_number(job.lane).number(),
                    job.order_key,
                    job.recipe,
                    job.folder,
                    job.model,
                    job.wanted_model,
                    job.device,
                    job.preview,
                    job.first_seed,
                    job.crashes,
                    job.reason,
                    job.is_placed,
                    job.created_ms,
                    job.group,
                    job.owner,
                    job.user.unwrap_or(User::default().number())
                ],
            )?;
            let id = QueuedJobId(transaction.last_insert_rowid());
            for picture in &job.pictures {
                restore_picture(transaction, id, picture)?;
            }
            if job_in(transaction, id)?.is_some_and(|job| job.missing_pictures().is_none()) {
                transaction.execute("UPDATE job SET state = 'done', ended_ms = created_ms WHERE id = ?1", [id.0])?;
            }
        }
        Ok(())
    }
}

/// Records a picture whose file is there; one that is gone is made again.
fn restore_picture(transaction: &Transaction<'_>, id: QueuedJobId, picture: &JournaledPicture) -> Result<(), GalleryError> {
    let Some(job) = job_in(transaction, id)? else { return Ok(()) };
    let mut sha256 = [0; 32];
    for (byte, digits) in sha256.iter_mut().zip(picture.sha256.as_bytes().chunks(2)) {
        *byte = std::str::from_utf8(digits).ok().and_then(|it| u8::from_str_radix(it, 16).ok()).unwrap_or_default();
    }
    let reservation = PictureReservation { job: id, index: picture.index, path: picture.path.clone().into(), sha256 };
    let Ok(new) = new_picture(&job, &reservation) else {
        // Its name would bring words of the prompt into the log.
        tracing::warn!("picture {} of job {id} cannot be read, and is made again", picture.index);
        return Ok(());
    };
    let recorded = record_picture(transaction, &new)?;
    transaction.execute(
        "INSERT OR IGNORE INTO job_picture (job_id, picture_index, path, sha256, picture_id) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![id.0, reservation.index, path_text(&reservation.path)?, reservation.sha256, recorded.0],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
