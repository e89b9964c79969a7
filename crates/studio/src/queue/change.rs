//! What is to be written to the disk, as plain data.

use std::time::Instant;

use atelier_core::recipe::Seed;
use atelier_engine::{End, JobId, Picture};
use atelier_gallery::queue::{JobOutcome, PauseMode, QueuedJobId, StepProgress};

use super::active::ActiveJob;
use super::message::QueueRequest;
use super::remote_run::MadeOn;

/// Something that is to be written.
pub(super) enum Change {
    Request(Box<QueueRequest>),
    /// The engine began a job, with the seed of the whole job's first picture.
    Begin(QueuedJobId, Seed),
    Step(QueuedJobId, StepProgress),
    /// A finished picture, to be kept.
    Picture(Box<UnkeptPicture>),
    /// The engine ended a job.
    End(Box<EndedRun>),
    /// What becomes of a job that the engine did not take.
    Outcome(QueuedJobId, JobOutcome),
    Pause(PauseMode),
}

/// A finished picture that is in no file yet.
pub(super) struct UnkeptPicture {
    pub(super) engine_job: JobId,
    pub(super) id: QueuedJobId,
    /// Index in the whole job.
    pub(super) index: u32,
    pub(super) picture: Picture,
    /// The studio that made it; `None`: this one.
    pub(super) made_on: Option<MadeOn>,
    /// A person knows that it waits for the disk.
    pub(super) is_told: bool,
}

/// A job that the engine has ended and whose row does not say so yet.
pub(super) struct EndedRun {
    pub(super) active: ActiveJob,
    pub(super) end: End,
    pub(super) is_told: bool,
}

/// The disk takes nothing now.
pub(super) struct DiskTrouble {
    pub(super) next_try: Instant,
}
