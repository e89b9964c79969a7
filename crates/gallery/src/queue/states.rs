//! Changes of a job's state.

use rusqlite::params;

use super::job::{JobState, QueuedJobId, StepProgress};
use super::order::put_first;
use super::rows::{forget_oldest, now_ms, state_of};
use crate::{Database, GalleryError};
use atelier_core::recipe::Seed;

/// Outcome of a job that the engine had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The engine made all that it was asked for.
    Done,
    /// It was cancelled.
    Cancelled,
    /// It failed; a sentence says why.
    Failed(String),
    /// It waits for a person; a sentence says why.
    Held(String),
    /// It goes on later, before all others of its lane.
    Suspended,
    /// The engine had not begun it; it waits as before.
    Withdrawn,
}

impl Database {
    /// Hands a waiting job to the engine. Returns false where it does not wait any more. Flushed by
    /// [`Self::begin_job`], which comes before the engine computes.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn start_job(&mut self, id: QueuedJobId) -> Result<bool, GalleryError> {
        self.unflushed()?.change_jobs(|transaction| {
            let change = "UPDATE job SET state = 'running', attempts = attempts + 1, began_ms = NULL, reason = NULL, cancel_requested = 0
                          WHERE id = ?1 AND state = 'waiting'";
            Ok(transaction.execute(change, [id.0])? > 0)
        })
    }

    /// Notes that the engine began a job, with the seed of the whole job's first picture.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn begin_job(&mut self, id: QueuedJobId, first_seed: Seed) -> Result<(), GalleryError> {
        self.change_jobs(|transaction| {
            transaction.execute(
                "UPDATE job SET began_ms = ?2, first_seed = coalesce(first_seed, ?3),
                 resumes = resumes + (EXISTS (SELECT 1 FROM job_picture WHERE job_id = ?1 AND picture_id IS NOT NULL) OR crashes > 0)
                 WHERE id = ?1 AND state = 'running'",
                params![id.0, now_ms(), first_seed.bits()],
            )?;
            Ok(())
        })
    }

    /// Notes the step of a running job. After a power cut it may be an earlier one.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn note_step(&mut self, id: QueuedJobId, step: StepProgress) -> Result<(), GalleryError> {
        self.unflushed()?.change_jobs(|transaction| {
            transaction.execute(
                "UPDATE job SET progress_picture = ?2, progress_step = ?3, progress_steps = ?4 WHERE id = ?1 AND state = 'running'",
                params![id.0, step.picture, step.done, step.total],
            )?;
            Ok(())
        })
    }

    /// Notes what became of a running job. One that is suspended waits first in its lane, unless it
    /// has all its pictures: then it is done. Returns its state.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn end_job(&mut self, id: QueuedJobId, outcome: &JobOutcome) -> Result<Option<JobState>, GalleryError> {
        let is_complete = self.job(id)?.is_some_and(|job| job.missing_pictures().is_none());
        self.change_jobs(|transaction| {
            if state_of(transaction, id)? != Some(JobState::Running) {
                return state_of(transaction, id);
            }
            let end = |state: JobState, reason: Option<&str>| {
                let ended_ms = state.is_ended().then(now_ms);
                let change = "UPDATE job SET state = ?2, reason = ?3, ended_ms = ?4, cancel_requested = 0 WHERE id = ?1";
                transaction.execute(change, params![id.0, state.key(), reason, ended_ms]).map(|_| state)
            };
            let state = match outcome {
                JobOutcome::Done => end(JobState::Done, None)?,
                JobOutcome::Suspended | JobOutcome::Withdrawn if is_complete => end(JobState::Done, None)?,
                JobOutcome::Cancelled => end(JobState::Cancelled, None)?,
                JobOutcome::Failed(reason) => end(JobState::Failed, Some(reason))?,
                JobOutcome::Held(reason) => end(JobState::Held, Some(reason))?,
                JobOutcome::Suspended => {
                    put_first(transaction, id)?;
                    end(JobState::Waiting, None)?
                }
                JobOutcome::Withdrawn => {
                    transaction.execute("UPDATE job SET attempts = max(attempts - 1, 0) WHERE id = ?1", [id.0])?;
                    end(JobState::Waiting, None)?
                }
            };
            if state.is_ended() {
                forget_oldest(transaction)?;
            }
            Ok(Some(state))
        })
    }

    /// Cancels a job: at once where it waits; one that the engine has is marked for the process
    /// that runs it. Returns its state.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn cancel_job(&mut self, id: QueuedJobId) -> Result<Option<JobState>, GalleryError> {
        self.change_jobs(|transaction| {
            transaction.execute("UPDATE job SET cancel_requested = 1 WHERE id = ?1 AND state = 'running'", [id.0])?;
            transaction.execute(
                "UPDATE job SET state = 'cancelled', reason = NULL, ended_ms = ?2 WHERE id = ?1 AND state IN ('waiting', 'held')",
                params![id.0, now_ms()],
            )?;
            state_of(transaction, id)
        })
    }

    /// Cancels every job that waits or is held. Returns their number.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn cancel_waiting_jobs(&mut self) -> Result<usize, GalleryError> {
        self.change_jobs(|transaction| {
            let change = "UPDATE job SET state = 'cancelled', reason = NULL, ended_ms = ?1 WHERE state IN ('waiting', 'held')";
            Ok(transaction.execute(change, [now_ms()])?)
        })
    }

    /// Lets a job that is held, failed or was cancelled wait again, with the pictures and seeds
    /// that it has; a held one stays where it is, others go to the end. Returns true if it waits
    /// now.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn retry_job(&mut self, id: QueuedJobId) -> Result<bool, GalleryError> {
        self.change_jobs(|transaction| {
            let change = "UPDATE job SET order_key = CASE WHEN state = 'held' THEN order_key
                              ELSE (SELECT max(order_key) + 1 FROM job AS last WHERE last.lane = job.lane) END,
                          state = 'waiting', reason = NULL, ended_ms = NULL, cancel_requested = 0
                          WHERE id = ?1 AND state IN ('held', 'failed', 'cancelled')";
            Ok(transaction.execute(change, [id.0])? > 0)
        })
    }

    /// Leaves jobs that are held for a person who was asked and does not want them now.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn leave_held_jobs(&mut self, reason: &str) -> Result<(), GalleryError> {
        self.change_jobs(|transaction| {
            transaction.execute("UPDATE job SET reason = ?1 WHERE state = 'held' AND reason IS NULL", [reason])?;
            Ok(())
        })
    }

    /// Forgets the jobs that ended; their pictures stay. Returns their number.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn forget_ended_jobs(&mut self) -> Result<usize, GalleryError> {
        self.change_jobs(|transaction| {
            const ENDED: &str = "state IN ('done', 'failed', 'cancelled')";
            transaction.execute(&format!("DELETE FROM job_picture WHERE job_id IN (SELECT id FROM job WHERE {ENDED})"), [])?;
            Ok(transaction.execute(&format!("DELETE FROM job WHERE {ENDED}"), [])?)
        })
    }
}
