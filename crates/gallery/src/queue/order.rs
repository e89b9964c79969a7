//! The order of waiting jobs.

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::job::QueuedJobId;
use crate::{Database, GalleryError};

/// Distance of two order keys below which all keys of a lane are written anew.
const MIN_GAP: f64 = 1e-6;

impl Database {
    /// Puts a job that waits directly before another one, into that one's lane; `None`: behind all
    /// others. Returns true if it was moved.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn move_job(&mut self, id: QueuedJobId, before: Option<QueuedJobId>) -> Result<bool, GalleryError> {
        self.change_jobs(|transaction| {
            let place = match before {
                Some(before) if before == id => return Ok(false),
                Some(before) => match place_before(transaction, id, before)? {
                    Some(place) => place,
                    None => return Ok(false),
                },
                None => transaction.query_row(
                    "SELECT coalesce(max(lane), 1), coalesce((SELECT max(order_key) FROM job AS last WHERE last.lane = max(job.lane)), 0) + 1
                     FROM job WHERE state IN ('waiting', 'held') AND id <> ?1",
                    [id.0],
                    |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?)),
                )?,
            };
            let change = "UPDATE job SET lane = ?2, order_key = ?3, is_placed = 1, is_moved_up = 0
                          WHERE id = ?1 AND state IN ('waiting', 'held')";
            Ok(transaction.execute(change, params![id.0, place.0, place.1])? > 0)
        })
    }

    /// Notes that these jobs went before others because their model was in memory.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn mark_moved_up(&mut self, id: QueuedJobId) -> Result<(), GalleryError> {
        self.change_jobs(|transaction| {
            transaction.execute("UPDATE job SET is_moved_up = 1 WHERE id = ?1", [id.0])?;
            Ok(())
        })
    }
}

/// Lane and key directly before a job; `None` where there is no such job.
fn place_before(transaction: &Transaction<'_>, id: QueuedJobId, before: QueuedJobId) -> Result<Option<(i64, f64)>, GalleryError> {
    let key_of = |job: QueuedJobId| {
        let query = "SELECT lane, order_key FROM job WHERE id = ?1 AND state IN ('waiting', 'running', 'held')";
        transaction.query_row(query, [job.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?))).optional()
    };
    for _ in 0..2 {
        let Some((lane, key)) = key_of(before)? else { return Ok(None) };
        let previous: Option<f64> = transaction.query_row(
            "SELECT max(order_key) FROM job WHERE lane = ?1 AND order_key < ?2 AND id <> ?3",
            params![lane, key, id.0],
            |row| row.get(0),
        )?;
        let Some(previous) = previous else { return Ok(Some((lane, key - 1.0))) };
        if key - previous > MIN_GAP {
            return Ok(Some((lane, f64::midpoint(key, previous))));
        }
        transaction.execute(
            "UPDATE job SET order_key = place.number FROM
             (SELECT id, row_number() OVER (ORDER BY order_key, id) AS number FROM job WHERE lane = ?1) AS place WHERE job.id = place.id",
            [lane],
        )?;
    }
    Ok(None)
}

/// Puts a job before all others of its lane.
pub(super) fn put_first(transaction: &Transaction<'_>, id: QueuedJobId) -> Result<(), GalleryError> {
    transaction.execute(
        "UPDATE job SET order_key = (SELECT min(order_key) - 1 FROM job AS first WHERE first.lane = job.lane) WHERE id = ?1",
        [id.0],
    )?;
    Ok(())
}
