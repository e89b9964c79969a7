//! Jobs as rows: reading, adding and editing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use atelier_core::recipe::{LocalRecipe, Recipe};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use time::OffsetDateTime;

use super::job::{JobPicture, JobState, Lane, NewJob, QueuedJob, QueuedJobId, StepProgress};
use crate::{Database, GalleryError, PictureId};

/// Jobs that ended and are still listed.
const MOST_ENDED: i64 = 50;

const COLUMNS: &str = "id, state, lane, recipe, folder, model, wanted_model, device, preview, first_seed, attempts, crashes, resumes, \
     progress_picture, progress_step, progress_steps, reason, is_moved_up, is_placed, cancel_requested, created_ms, began_ms, ended_ms";

impl Database {
    /// Adds a job at the end of its lane.
    ///
    /// # Errors
    /// If the database cannot be written to, or a path of the job is no text.
    pub fn add_job(&mut self, job: &NewJob) -> Result<QueuedJobId, GalleryError> {
        let recipe = to_text(&job.recipe)?;
        let folder = path_text(&job.folder)?;
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO job (state, lane, order_key, recipe, folder, model, wanted_model, device, preview, created_ms)
                 VALUES ('waiting', ?1, (SELECT coalesce(max(order_key), 0) + 1 FROM job WHERE lane = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![job.lane.number(), recipe, folder, job.model, job.wanted_model, job.device, job.preview, now_ms()],
            )?;
            Ok(QueuedJobId(transaction.last_insert_rowid()))
        })
    }

    /// The jobs that have not ended, in the order in which they run, then the last that ended, newest first.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn jobs(&self) -> Result<Vec<QueuedJob>, GalleryError> {
        let mut jobs = Vec::new();
        for (condition, order) in [
            ("state IN ('waiting', 'running', 'held')", "lane, order_key".to_owned()),
            ("state IN ('done', 'failed', 'cancelled')", format!("ended_ms DESC, id DESC LIMIT {MOST_ENDED}")),
        ] {
            let mut query = self.connection().prepare_cached(&format!("SELECT {COLUMNS} FROM job WHERE {condition} ORDER BY {order}"))?;
            for row in query.query_map([], read)? {
                jobs.push(row?);
            }
        }
        let mut pictures = pictures(self.connection())?;
        for job in &mut jobs {
            job.pictures = pictures.remove(&job.id).unwrap_or_default();
        }
        Ok(jobs)
    }

    /// The job of this number.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn job(&self, id: QueuedJobId) -> Result<Option<QueuedJob>, GalleryError> {
        let query = format!("SELECT {COLUMNS} FROM job WHERE id = ?1");
        let mut job = self.connection().query_row(&query, [id.0], read).optional()?;
        if let Some(job) = &mut job {
            job.pictures = pictures(self.connection())?.remove(&id).unwrap_or_default();
        }
        Ok(job)
    }

    /// Replaces the recipe of a job that the engine does not have; pictures that it made before no longer count. Returns true if it was
    /// changed.
    ///
    /// # Errors
    /// If the database cannot be written to, or a path of the recipe is no text.
    pub fn edit_job(&mut self, id: QueuedJobId, recipe: &Recipe, model: &str) -> Result<bool, GalleryError> {
        let text = to_text(recipe)?;
        self.write(|transaction| {
            let changed = transaction.execute(
                "UPDATE job SET recipe = ?2, model = ?3, wanted_model = CASE WHEN ?4 THEN wanted_model END, first_seed = NULL,
                 progress_picture = NULL WHERE id = ?1 AND state IN ('waiting', 'held')",
                params![id.0, text, model, recipe.files.is_empty()],
            )?;
            if changed > 0 {
                transaction.execute("DELETE FROM job_picture WHERE job_id = ?1", [id.0])?;
            }
            Ok(changed > 0)
        })
    }

    /// Gives a job whose model has come its files and settings. Returns true if it was changed.
    ///
    /// # Errors
    /// If the database cannot be written to, or a path of the recipe is no text.
    pub fn set_job_model(&mut self, id: QueuedJobId, recipe: &Recipe) -> Result<bool, GalleryError> {
        let text = to_text(recipe)?;
        self.write(|transaction| {
            let change = "UPDATE job SET recipe = ?2, wanted_model = NULL WHERE id = ?1 AND state IN ('waiting', 'held')";
            Ok(transaction.execute(change, params![id.0, text])? > 0)
        })
    }

    /// Lets a job that the engine does not have run on this device; `None`: where its recipe says. Returns true if it was changed.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn set_job_device(&mut self, id: QueuedJobId, device: Option<&str>) -> Result<bool, GalleryError> {
        self.write(|transaction| {
            let change = "UPDATE job SET device = ?2 WHERE id = ?1 AND state IN ('waiting', 'held')";
            Ok(transaction.execute(change, params![id.0, device])? > 0)
        })
    }

    /// Adds the same job again, behind the one that is copied where that waits; its pictures get new seeds where their seeds were drawn.
    /// Returns `None` where there is no such job.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn duplicate_job(&mut self, id: QueuedJobId) -> Result<Option<QueuedJobId>, GalleryError> {
        self.write(|transaction| {
            let added = transaction.execute(
                "INSERT INTO job (state, lane, order_key, recipe, folder, model, wanted_model, device, preview, is_placed, created_ms)
                 SELECT 'waiting', lane,
                     CASE WHEN state IN ('waiting', 'held') THEN (order_key + coalesce(
                         (SELECT min(order_key) FROM job AS next WHERE next.lane = job.lane AND next.order_key > job.order_key),
                         order_key + 2)) / 2
                     ELSE (SELECT max(order_key) + 1 FROM job AS last WHERE last.lane = job.lane) END,
                     recipe, folder, model, wanted_model, device, preview, 0, ?2
                 FROM job WHERE id = ?1",
                params![id.0, now_ms()],
            )?;
            Ok((added > 0).then(|| QueuedJobId(transaction.last_insert_rowid())))
        })
    }
}

/// The present, in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    (OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000).try_into().unwrap_or(i64::MAX)
}

/// A path as the database stores it.
///
/// # Errors
/// If it is no text.
pub(super) fn path_text(path: &Path) -> Result<&str, GalleryError> {
    path.to_str().ok_or_else(|| GalleryError::PathIsNoText(path.to_owned()))
}

/// State of a job within a transaction; `None` where there is no such job.
pub(super) fn state_of(transaction: &Transaction<'_>, id: QueuedJobId) -> Result<Option<JobState>, GalleryError> {
    let key = transaction.query_row("SELECT state FROM job WHERE id = ?1", [id.0], |row| row.get::<_, String>(0)).optional()?;
    Ok(key.map(|key| JobState::from_key(&key)))
}

fn to_text(recipe: &Recipe) -> Result<String, GalleryError> {
    serde_json::to_string(&LocalRecipe::from(recipe)).map_err(|_| {
        let is_no_text = |(_, path): &(_, &Path)| path.to_str().is_none();
        GalleryError::PathIsNoText(recipe.files.iter().find(is_no_text).map(|(_, path)| path.to_owned()).unwrap_or_default())
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<QueuedJob> {
    let recipe: String = row.get("recipe")?;
    // A recipe that cannot be read is one without files, which the engine refuses with a sentence.
    let recipe = serde_json::from_str::<LocalRecipe>(&recipe).unwrap_or_default();
    let progress = match (row.get("progress_picture")?, row.get("progress_step")?, row.get("progress_steps")?) {
        (Some(picture), Some(done), Some(total)) => Some(StepProgress { picture, done, total }),
        _ => None,
    };
    Ok(QueuedJob {
        id: QueuedJobId(row.get("id")?),
        state: JobState::from_key(&row.get::<_, String>("state")?),
        lane: Lane::from_number(row.get("lane")?),
        recipe: Arc::new(recipe.into()),
        folder: row.get::<_, String>("folder")?.into(),
        model: row.get("model")?,
        wanted_model: row.get("wanted_model")?,
        device: row.get("device")?,
        preview: row.get("preview")?,
        pictures: Vec::new(),
        first_seed: row.get("first_seed")?,
        attempts: row.get("attempts")?,
        crashes: row.get("crashes")?,
        resumes: row.get("resumes")?,
        progress,
        reason: row.get("reason")?,
        is_moved_up: row.get("is_moved_up")?,
        is_placed: row.get("is_placed")?,
        cancel_requested: row.get("cancel_requested")?,
        created_ms: row.get("created_ms")?,
        began_ms: row.get("began_ms")?,
        ended_ms: row.get("ended_ms")?,
    })
}

fn pictures(connection: &Connection) -> Result<BTreeMap<QueuedJobId, Vec<JobPicture>>, GalleryError> {
    let mut by_job = BTreeMap::<_, Vec<_>>::new();
    let mut query = connection.prepare_cached(
        "SELECT job_id, picture_index, path, picture_id FROM job_picture WHERE picture_id IS NOT NULL ORDER BY job_id, picture_index",
    )?;
    let rows = query.query_map([], |row| {
        let picture = JobPicture { index: row.get(1)?, path: row.get::<_, String>(2)?.into(), picture: PictureId(row.get(3)?) };
        Ok((QueuedJobId(row.get(0)?), picture))
    })?;
    for row in rows {
        let (job, picture) = row?;
        by_job.entry(job).or_default().push(picture);
    }
    Ok(by_job)
}
