//! What the queue does with jobs of a process that ended without a word.

use std::io;
use std::path::PathBuf;

use rusqlite::params;

use super::job::{JobState, QueuedJobId};
use super::order::put_first;
use super::pictures::PictureReservation;
use super::rows::now_ms;
use crate::{Database, GalleryError};

/// Sentence about a job that is not begun by itself any more.
const CRASHED_TWICE: &str = "Atelier ended twice while it made this. It waits until you ask for it.";

/// Result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Jobs that ran when the program ended; they are held, and first in their lanes.
    pub held: Vec<QueuedJobId>,
    /// Pictures whose files were written and not yet recorded; they are now.
    pub found: Vec<PathBuf>,
}

impl Database {
    /// Sets the queue right after a process that ran it ended without a word. Only for the process that has the right to run it. Blocks.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn recover_queue(&mut self) -> Result<Recovery, GalleryError> {
        let found = self.record_written_pictures()?;
        let running: Vec<(QueuedJobId, bool)> = {
            let mut query = self
                .connection()
                .prepare("SELECT id, began_ms IS NOT NULL FROM job WHERE state = 'running' ORDER BY lane DESC, order_key DESC")?;
            query.query_map([], |row| Ok((QueuedJobId(row.get(0)?), row.get(1)?)))?.collect::<Result<_, _>>()?
        };
        let any_begun = running.iter().any(|(_, begun)| *begun);
        let mut held = Vec::new();
        for (id, begun) in running {
            let Some(job) = self.job(id)? else { continue };
            let is_complete = job.missing_pictures().is_none();
            let is_suspect = begun || !any_begun;
            self.write(|transaction| {
                if is_complete || job.cancel_requested {
                    let state = if is_complete { JobState::Done } else { JobState::Cancelled };
                    let change = "UPDATE job SET state = ?2, ended_ms = ?3, cancel_requested = 0 WHERE id = ?1";
                    transaction.execute(change, params![id.0, state.key(), now_ms()])?;
                } else if is_suspect {
                    put_first(transaction, id)?;
                    let reason = (job.crashes > 0).then_some(CRASHED_TWICE);
                    let change = "UPDATE job SET state = 'held', crashes = crashes + 1, reason = ?2 WHERE id = ?1";
                    transaction.execute(change, params![id.0, reason])?;
                    held.insert(0, id);
                } else {
                    let change = "UPDATE job SET state = 'waiting', attempts = max(attempts - 1, 0) WHERE id = ?1";
                    transaction.execute(change, [id.0])?;
                }
                Ok(())
            })?;
        }
        Ok(Recovery { held, found })
    }

    /// Records reserved pictures whose files are there; forgets the other reservations, and what was begun to be written for them.
    fn record_written_pictures(&mut self) -> Result<Vec<PathBuf>, GalleryError> {
        let reservations: Vec<PictureReservation> = {
            let mut query =
                self.connection().prepare("SELECT job_id, picture_index, path, sha256 FROM job_picture WHERE picture_id IS NULL")?;
            let rows = query.query_map([], |row| {
                let path = PathBuf::from(row.get::<_, String>(2)?);
                Ok(PictureReservation { job: QueuedJobId(row.get(0)?), index: row.get(1)?, path, sha256: row.get(3)? })
            })?;
            rows.collect::<Result<_, _>>()?
        };
        let mut found = Vec::new();
        for reservation in reservations {
            let part = reservation.path.with_file_name(reservation.part_name());
            if let Err(error) = atelier_core::paths::remove_if_there(&part)
                && error.kind() != io::ErrorKind::NotADirectory
            {
                tracing::warn!("{} stays: {error}", part.display());
            }
            match reservation.is_written() {
                Ok(true) => {
                    self.record_job_picture(&reservation)?;
                    found.push(reservation.path);
                    continue;
                }
                Ok(false) => {}
                // A disk that is not there now: the picture would be made again, under another name, and nothing is lost.
                Err(error) => tracing::warn!("{} was not looked at: {error}", reservation.path.display()),
            }
            self.write(|transaction| {
                transaction.execute(
                    "DELETE FROM job_picture WHERE job_id = ?1 AND picture_index = ?2 AND picture_id IS NULL",
                    params![reservation.job.0, reservation.index],
                )?;
                Ok(())
            })?;
        }
        Ok(found)
    }
}
