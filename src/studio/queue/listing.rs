//! The queue as a command without a thread sees it.

use std::path::Path;

use atelier_gallery::queue::{JobState, PauseMode};
use atelier_gallery::{Database, GalleryError};

use super::lock::EngineLock;
use super::message::QueueRow;
use super::policy::Situation;

/// The queue at one moment.
#[derive(Clone, Debug)]
pub struct QueueListing {
    /// Jobs that have not ended in the order in which they run, then those that ended last.
    pub rows: Vec<QueueRow>,
    /// The pause.
    pub pause: PauseMode,
    /// True where a process runs the queue.
    pub is_running: bool,
}

/// Reads the queue in this database. Blocks.
///
/// # Errors
/// If the database cannot be read.
pub fn list_jobs(database: &Path) -> Result<QueueListing, GalleryError> {
    let is_running = !EngineLock::beside(Some(database)).try_take();
    let (database, _) = Database::open(database)?;
    let (jobs, control) = (database.jobs()?, database.queue_control()?);
    let nothing = std::collections::BTreeMap::default();
    let situation = Situation {
        jobs: &jobs,
        active: &[],
        resident: &[],
        pause: control.pause,
        follows_model: control.follows_model,
        is_awaited: false,
        is_owner: true,
        moved_up: &nothing,
    };
    let mut before = 0;
    let rows = jobs.iter().map(|job| {
        let (is_waiting, reason) = (situation.is_waiting(job), situation.reason(job, before));
        before += usize::from(job.state == JobState::Running || (job.state == JobState::Waiting && job.wanted_model.is_none()));
        QueueRow { job: job.clone(), engine_job: None, is_waiting, reason, ends_in_secs: None }
    });
    Ok(QueueListing { rows: rows.collect(), pause: control.pause, is_running })
}
