//! The queue as a command without a thread sees it.

use std::path::Path;

use atelier_gallery::queue::{JobState, LastEnd, PauseMode, as_recovered};
use atelier_gallery::{Database, DatabaseState, GalleryError};

use super::lock::EngineLock;
use super::message::QueueRow;
use super::policy::{MovedUp, Situation};
use super::predict::Paces;
use super::shares::Shares;

/// The queue at one moment.
#[derive(Clone, Debug)]
pub struct QueueListing {
    /// As in a [`QueueSnapshot`](super::QueueSnapshot).
    pub rows: Vec<QueueRow>,
    pub pause: PauseMode,
    /// True where a process runs the queue.
    pub is_running: bool,
    /// State in which the database was found.
    pub found: DatabaseState,
}

/// Reads the queue in this database. Where the process that ran it is gone, jobs are told as the
/// next one finds them. Blocks.
///
/// # Errors
/// If the database cannot be read.
pub fn list_jobs(database: &Path) -> Result<QueueListing, GalleryError> {
    let mut lock = EngineLock::beside(Some(database));
    let is_running = !lock.try_take();
    let (database, found) = Database::open(database)?;
    let (mut jobs, control) = (database.jobs()?, database.queue_control()?);
    if !is_running {
        as_recovered(&mut jobs, lock.last_end());
    }
    let (nothing, shares, paces) = (MovedUp::new(), Shares::default(), Paces::default());
    let situation = Situation {
        jobs: &jobs,
        active: &[],
        resident: &[],
        pause: control.pause,
        follows_model: control.follows_model,
        is_awaited: false,
        is_blocked: false,
        is_owner: true,
        moved_up: &nothing,
        shares: &shares,
        paces: &paces,
    };
    let rows = situation.rows(|_| None);
    Ok(QueueListing { rows, pause: control.pause, is_running, found })
}

/// Sets the queue right where the process that ran it is gone, so that nothing counts as running
/// that nobody makes. Blocks.
///
/// # Errors
/// If the database cannot be written to.
pub fn settle_queue(path: &Path, database: &mut Database) -> Result<(), GalleryError> {
    let mut lock = EngineLock::beside(Some(path));
    if lock.try_take() {
        if lock.last_end() == LastEnd::Killed || database.jobs()?.iter().any(|job| job.state == JobState::Running) {
            database.recover_queue(lock.last_end())?;
        }
        lock.release();
    }
    Ok(())
}
