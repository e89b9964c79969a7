//! Jobs as rows: reading, adding and editing.

use std::collections::HashMap;
use std::path::Path;

use atelier_core::recipe::{LocalFile, Recipe, Seed, Stored};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, Transaction, params};
use time::OffsetDateTime;

use super::job::{JobPicture, JobState, Lane, NewJob, QueuedJob, QueuedJobId, StepProgress};
use super::owner::{Owner, User};
use super::recipes::DecodedRecipes;
use crate::{Database, GalleryError, PictureId};

/// Jobs that ended and are still listed.
const MAX_LISTED: i64 = 50;
/// Jobs that ended and can still be asked for by their number; older ones are forgotten. Their
/// pictures stay.
pub(super) const MAX_ENDED: i64 = 1000;

const COLUMNS: &str = "id, state, lane, recipe, folder, model, wanted_model, device, preview, group_ms, owner, user, first_seed, attempts, crashes, resumes, \
     progress_picture, progress_step, progress_steps, reason, is_moved_up, is_placed, cancel_requested, created_ms, began_ms, ended_ms";

impl Database {
    /// Adds a job at the end of its lane.
    ///
    /// # Errors
    /// If the database cannot be written to, or a path of the job is no text.
    pub fn add_job(&mut self, job: &NewJob) -> Result<QueuedJobId, GalleryError> {
        let recipe = to_text(&job.recipe)?;
        let folder = path_text(&job.folder)?;
        self.change_jobs(|transaction| {
            transaction.execute(
                "INSERT INTO job (state, lane, order_key, recipe, folder, model, wanted_model, device, preview, group_ms, owner, user, created_ms)
                 VALUES ('waiting', ?1, (SELECT coalesce(max(order_key), 0) + 1 FROM job WHERE lane = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    job.lane.number(),
                    recipe,
                    folder,
                    job.model,
                    job.wanted_model,
                    job.device,
                    job.preview,
                    job.group,
                    job.owner.name(),
                    job.user.number(),
                    now_ms()
                ],
            )?;
            Ok(QueuedJobId(transaction.last_insert_rowid()))
        })
    }

    /// The jobs that have not ended, in the order in which they run, then the last that ended,
    /// newest first.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn jobs(&self) -> Result<Vec<QueuedJob>, GalleryError> {
        let mut jobs = Vec::new();
        for found in [OPEN, &ended()] {
            jobs.append(&mut read_jobs(self.connection(), &self.recipes, found, ())?);
        }
        Ok(jobs)
    }

    /// The job of this number.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn job(&self, id: QueuedJobId) -> Result<Option<QueuedJob>, GalleryError> {
        read_job(self.connection(), &self.recipes, id)
    }

    /// Replaces the recipe of a job that the engine does not have; pictures that it made before no
    /// longer count. Returns true if it was changed.
    ///
    /// # Errors
    /// If the database cannot be written to, or a path of the recipe is no text.
    pub fn edit_job(&mut self, id: QueuedJobId, recipe: &Recipe, model: &str) -> Result<bool, GalleryError> {
        let text = to_text(recipe)?;
        self.change_jobs(|transaction| {
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
        self.change_jobs(|transaction| {
            let change = "UPDATE job SET recipe = ?2, wanted_model = NULL WHERE id = ?1 AND state IN ('waiting', 'held')";
            Ok(transaction.execute(change, params![id.0, text])? > 0)
        })
    }

    /// Lets a job that the engine does not have run on this device; `None`: where its recipe says.
    /// Returns true if it was changed.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn set_job_device(&mut self, id: QueuedJobId, device: Option<&str>) -> Result<bool, GalleryError> {
        self.change_jobs(|transaction| {
            let change = "UPDATE job SET device = ?2 WHERE id = ?1 AND state IN ('waiting', 'held')";
            Ok(transaction.execute(change, params![id.0, device])? > 0)
        })
    }

    /// Adds the same job again, behind the one that is copied where that waits; its pictures get
    /// new seeds where their seeds were drawn. Returns `None` where there is no such job.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn duplicate_job(&mut self, id: QueuedJobId) -> Result<Option<QueuedJobId>, GalleryError> {
        self.change_jobs(|transaction| {
            let added = transaction.execute(
                "INSERT INTO job (state, lane, order_key, recipe, folder, model, wanted_model, device, preview, owner, user, is_placed, created_ms)
                 SELECT 'waiting', lane,
                     CASE WHEN state IN ('waiting', 'held') THEN (order_key + coalesce(
                         (SELECT min(order_key) FROM job AS next WHERE next.lane = job.lane AND next.order_key > job.order_key),
                         order_key + 2)) / 2
                     ELSE (SELECT max(order_key) + 1 FROM job AS last WHERE last.lane = job.lane) END,
                     recipe, folder, model, wanted_model, device, preview, owner, user, 0, ?2
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
    serde_json::to_string(&Stored::of(recipe, &LocalFile::of)).map_err(|_| {
        let is_no_text = |(_, path): &(_, &Path)| path.to_str().is_none();
        GalleryError::PathIsNoText(recipe.files.iter().find(is_no_text).map(|(_, path)| path.to_owned()).unwrap_or_default())
    })
}

/// The columns of a row, one after another. SQLite finds a column by its place at once and by its
/// name by comparing all, which was half of the time that a list takes.
struct Columns<'row, 'statement> {
    row: &'row Row<'statement>,
    next: usize,
}

impl<'row> Columns<'row, '_> {
    fn next<T: FromSql>(&mut self, name: &str) -> rusqlite::Result<T> {
        let place = self.take(name);
        self.row.get(place)
    }

    fn next_text(&mut self, name: &str) -> rusqlite::Result<&'row str> {
        let place = self.take(name);
        Ok(self.row.get_ref(place)?.as_str()?)
    }

    fn take(&mut self, name: &str) -> usize {
        debug_assert_eq!(self.row.as_ref().column_name(self.next), Ok(name), "the order of COLUMNS");
        self.next += 1;
        self.next - 1
    }
}

/// The job of a row of [`COLUMNS`], in their order; without its pictures.
fn read(row: &Row<'_>, recipes: &DecodedRecipes) -> rusqlite::Result<QueuedJob> {
    let mut columns = Columns { row, next: 0 };
    Ok(QueuedJob {
        id: QueuedJobId(columns.next("id")?),
        state: JobState::from_key(columns.next_text("state")?),
        lane: Lane::from_number(columns.next("lane")?),
        recipe: recipes.get(columns.next_text("recipe")?),
        folder: columns.next_text("folder")?.into(),
        model: columns.next("model")?,
        wanted_model: columns.next("wanted_model")?,
        device: columns.next("device")?,
        preview: columns.next("preview")?,
        group: columns.next("group_ms")?,
        owner: Owner::named(columns.next_text("owner")?),
        user: User::from_number(columns.next("user")?),
        first_seed: columns.next::<Option<i64>>("first_seed")?.map(Seed::from_bits),
        attempts: columns.next("attempts")?,
        crashes: columns.next("crashes")?,
        resumes: columns.next("resumes")?,
        progress: match (columns.next("progress_picture")?, columns.next("progress_step")?, columns.next("progress_steps")?) {
            (Some(picture), Some(done), Some(total)) => Some(StepProgress { picture, done, total }),
            _ => None,
        },
        reason: columns.next("reason")?,
        is_moved_up: columns.next("is_moved_up")?,
        is_placed: columns.next("is_placed")?,
        cancel_requested: columns.next("cancel_requested")?,
        created_ms: columns.next("created_ms")?,
        began_ms: columns.next("began_ms")?,
        ended_ms: columns.next("ended_ms")?,
        pictures: Vec::new(),
    })
}

/// The jobs that have not ended, in their order.
const OPEN: &str = "FROM job WHERE state IN ('waiting', 'running', 'held') ORDER BY lane, order_key";

/// The job of a number.
const ONE: &str = "FROM job WHERE id = ?1";

/// The jobs that ended last, newest first: as the index `job_ended` has them.
fn ended() -> String {
    format!(
        "FROM job INDEXED BY job_ended WHERE state IN ('done', 'failed', 'cancelled') ORDER BY ended_ms DESC, id DESC LIMIT {MAX_LISTED}"
    )
}

/// Jobs that ended longest ago, beyond those that are kept.
const FORGOTTEN: &str = "SELECT id FROM job INDEXED BY job_ended WHERE state IN ('done', 'failed', 'cancelled') ORDER BY ended_ms DESC, id DESC LIMIT -1 OFFSET ?1";

/// The job of this number, on any connection.
pub(super) fn job_in(connection: &Connection, id: QueuedJobId) -> Result<Option<QueuedJob>, GalleryError> {
    read_job(connection, &DecodedRecipes::default(), id)
}

fn read_job(connection: &Connection, recipes: &DecodedRecipes, id: QueuedJobId) -> Result<Option<QueuedJob>, GalleryError> {
    Ok(read_jobs(connection, recipes, ONE, [id.0])?.pop())
}

/// The jobs that this rest of a query finds, with their kept pictures: two queries for all of them.
fn read_jobs(
    connection: &Connection,
    recipes: &DecodedRecipes,
    found: &str,
    bound: impl Params + Copy,
) -> Result<Vec<QueuedJob>, GalleryError> {
    let mut query = connection.prepare_cached(&jobs_query(found))?;
    let mut jobs: Vec<QueuedJob> = query.query_map(bound, |row| read(row, recipes))?.collect::<Result<_, _>>()?;
    let places: HashMap<i64, usize> = jobs.iter().enumerate().map(|(place, job)| (job.id.0, place)).collect();
    let mut query = connection.prepare_cached(&pictures_query(found))?;
    let mut rows = query.query(bound)?;
    while let Some(row) = rows.next()? {
        if let Some(job) = places.get(&row.get(0)?).and_then(|place| jobs.get_mut(*place)) {
            job.pictures.push(JobPicture { index: row.get(1)?, path: row.get::<_, String>(2)?.into(), picture: PictureId(row.get(3)?) });
        }
    }
    for job in &mut jobs {
        job.pictures.sort_by_key(|picture| picture.index);
    }
    Ok(jobs)
}

/// The jobs that this rest of a query finds.
fn jobs_query(found: &str) -> String {
    format!("SELECT {COLUMNS} {found}")
}

/// The kept pictures of the jobs that this rest of a query finds; a cross join reads the jobs first
/// and then their pictures alone. In no order: one would be sorted anew.
fn pictures_query(found: &str) -> String {
    format!(
        "SELECT job_id, picture_index, path, picture_id FROM (SELECT id AS found_id {found}) CROSS JOIN job_picture ON job_id = found_id
         WHERE picture_id IS NOT NULL"
    )
}

/// Forgets the jobs that ended longest ago; their pictures stay.
pub(super) fn forget_oldest(transaction: &Transaction<'_>) -> Result<(), GalleryError> {
    let ids: Vec<i64> = transaction.prepare_cached(FORGOTTEN)?.query_map([MAX_ENDED], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for id in ids {
        transaction.prepare_cached("DELETE FROM job_picture WHERE job_id = ?1")?.execute([id])?;
        transaction.prepare_cached("DELETE FROM job WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
