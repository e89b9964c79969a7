//! What the queue does with jobs of a process that ended without a word.

use std::io;
use std::path::PathBuf;

use atelier_language::tr;
use rusqlite::params;

use super::job::{JobState, QueuedJob, QueuedJobId};
use super::order::put_first;
use super::pictures::PictureReservation;
use super::rows::now_ms;
use crate::{Database, GalleryError};

/// How the process that ran the queue last ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastEnd {
    /// Without a word: it was killed, or a job made it crash.
    Killed,
    /// By itself, though it may have been unable to write what became of its jobs.
    ByItself,
}

/// Result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Jobs that ran when the program ended; they are held, and first in their lanes.
    pub held: Vec<QueuedJobId>,
    /// Pictures whose files were written and not yet recorded; they are now.
    pub found: Vec<PathBuf>,
}

/// Gives jobs that still have the state of a running one, though no process makes them, the state
/// that [`Database::recover_queue`] gives them. Pure.
pub fn as_recovered(jobs: &mut [QueuedJob], last_end: LastEnd) {
    let any_begun = jobs.iter().any(|job| job.state == JobState::Running && job.began_ms.is_some());
    for job in jobs.iter_mut().filter(|job| job.state == JobState::Running) {
        let is_suspect = last_end == LastEnd::Killed && (job.began_ms.is_some() || !any_begun);
        job.state = if job.missing_pictures().is_none() {
            JobState::Done
        } else if job.cancel_requested {
            JobState::Cancelled
        } else if is_suspect {
            job.reason = (job.crashes > 0).then(|| tr!("index-atelier-crashed-twice").to_owned());
            job.crashes += 1;
            JobState::Held
        } else {
            JobState::Waiting
        };
    }
}

impl Database {
    /// Sets the queue right after a process that ran it. Only for the process that has the right to
    /// run it. Blocks.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn recover_queue(&mut self, last_end: LastEnd) -> Result<Recovery, GalleryError> {
        let found = self.record_written_pictures()?;
        let mut running: Vec<QueuedJob> = self.jobs()?.into_iter().filter(|job| job.state == JobState::Running).collect();
        as_recovered(&mut running, last_end);
        let mut held = Vec::new();
        // Who is put first last is first.
        for job in running.iter().rev() {
            let id = job.id;
            self.change_jobs(|transaction| {
                match job.state {
                    JobState::Held => {
                        put_first(transaction, id)?;
                        let change = "UPDATE job SET state = 'held', crashes = ?2, reason = ?3 WHERE id = ?1";
                        transaction.execute(change, params![id.0, job.crashes, job.reason])?;
                        held.insert(0, id);
                    }
                    JobState::Waiting => {
                        let is_unbegun = job.began_ms.is_none();
                        if !is_unbegun {
                            put_first(transaction, id)?;
                        }
                        let change = "UPDATE job SET state = 'waiting', attempts = max(attempts - ?2, 0) WHERE id = ?1";
                        transaction.execute(change, params![id.0, is_unbegun])?;
                    }
                    state => {
                        let change = "UPDATE job SET state = ?2, ended_ms = ?3, cancel_requested = 0 WHERE id = ?1";
                        transaction.execute(change, params![id.0, state.key(), now_ms()])?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(Recovery { held, found })
    }

    /// Records reserved pictures whose files are there; forgets the other reservations, and what
    /// was begun to be written for them.
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
                tracing::warn!(
                    "the unfinished file of picture {} of job {} could not be removed: {error}",
                    reservation.index,
                    reservation.job
                );
            }
            match reservation.is_written() {
                Ok(true) => {
                    self.record_job_picture(&reservation)?;
                    found.push(reservation.path);
                    continue;
                }
                Ok(false) => {}
                // A disk that is not there now: the picture would be made again, under another
                // name, and nothing is lost.
                Err(error) => {
                    tracing::warn!("picture {} of job {} was not looked at: {error}", reservation.index, reservation.job);
                }
            }
            self.change_jobs(|transaction| {
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
