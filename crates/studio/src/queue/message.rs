//! Protocol of the queue: requests to its thread, events from it, as plain data.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use atelier_core::advice::Advice;
use atelier_core::recipe::Recipe;
use atelier_engine::{Begin, Event, Failure, JobId, Preview, Step};
use atelier_gallery::PictureId;
use atelier_gallery::queue::{JobState, NewJob, Owner, Pace, PauseMode, QueuedJob, QueuedJobId};
use atelier_language::tr;

/// Request to the queue.
#[derive(Clone, Debug)]
pub enum QueueRequest {
    Add(Box<NewJob>),
    /// Add a job of which the caller wants to know the number; [`QueueEvent::Added`] answers.
    AddFor(Ticket, Box<NewJob>),
    /// Cancel a job, whether it waits or runs.
    Cancel(QueuedJobId),
    /// Cancel every job that waits.
    CancelWaiting,
    CancelAll,
    /// Let a job that is held, failed or was cancelled wait again.
    Retry(QueuedJobId),
    /// Add the same job again.
    Duplicate(QueuedJobId),
    /// Put a waiting job directly before another one; `None`: behind all others.
    Move(QueuedJobId, Option<QueuedJobId>),
    /// Replace the recipe of a waiting job; with the name of its model.
    Edit(QueuedJobId, Box<Recipe>, String),
    /// Let a waiting job run on this device; `None`: where its recipe says.
    SetDevice(QueuedJobId, Option<String>),
    SetPause(PauseMode),
    /// Let jobs whose model is in memory go before others, or not.
    SetFollowsModel(bool),
    /// Answer the question about the jobs that ran when the program ended.
    AnswerCrash(CrashAnswer),
    /// Forget the jobs that ended; their pictures stay.
    ForgetEnded,
    /// Look again for models that jobs wait for.
    LookForModels,
    /// Pace of a model at this place, as it is predicted; until a picture of it shows another.
    SetPredictedPace {
        /// The model's name, as it is shown.
        model: String,
        /// The backends of the placement.
        place: String,
        /// The pace; `None`: it is not known any more.
        pace: Option<Pace>,
    },
    /// A person waits for a picture that the engine makes beside the queue, or no longer: batches
    /// step aside behind the forming picture.
    SetAwaited(bool),
    /// Stop what runs, and begin nothing more: the program is about to end. What runs now goes on
    /// at the next start.
    StopForEnd,
}

/// Mark of an added job until its number is known; unique within the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

impl Ticket {
    /// A mark that nobody else has.
    #[must_use]
    pub fn draw() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Answer to the question about the jobs that ran when the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashAnswer {
    BeginAgain,
    /// Keep them until they are asked for.
    Leave,
    Cancel,
}

/// Event from the queue.
#[derive(Clone, Debug)]
pub enum QueueEvent {
    /// The queue as a whole; replaces every snapshot before it.
    Snapshot(Arc<QueueSnapshot>),
    /// The answer to [`QueueRequest::AddFor`]: the job's number, or why it was not added.
    Added {
        ticket: Ticket,
        job: Result<QueuedJobId, Advice>,
    },
    /// What the engine does for a job, for those that connected to the queue; the service's own
    /// reader has the engine's events. Of steps and previews the newest of a job.
    Progress {
        job: QueuedJobId,
        progress: JobProgress,
    },
    /// The engine is about to get a job; comes before any event of the engine about it.
    Submitted {
        engine_job: JobId,
        job: QueuedJobId,
        owner: Owner,
        /// The recipe that the engine gets: of the pictures that are missing.
        recipe: Box<Recipe>,
    },
    /// The engine did not take a job; no event of the engine is about it.
    NotSubmitted {
        engine_job: JobId,
        /// Sentence that says why.
        reason: String,
    },
    /// A picture of the engine was kept, or could not be.
    PictureKept {
        /// The engine's number of the job.
        engine_job: JobId,
        owner: Owner,
        /// Index of the picture in the engine's job.
        index: u32,
        /// Its file and number, or the reason why there is none.
        result: Result<KeptPicture, Advice>,
    },
    Ended(EndedJob),
    /// Something went wrong that is about no single picture.
    Problem(Advice),
    /// Something that a person is to know; nothing is lost.
    Notice(Advice),
}

/// What the engine does for a job. Indexes of pictures are those of the whole job.
#[derive(Clone, Debug)]
pub enum JobProgress {
    /// It began, with these settings.
    Begin(Box<Begin>),
    Step(Step),
    Preview(Preview),
    /// It failed, for this reason and with this cause; comes before the snapshot that says so.
    Failed(Box<Failure>),
}

/// A picture that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPicture {
    /// Its file.
    pub path: PathBuf,
    /// Its number in the gallery.
    pub id: PictureId,
}

/// A job that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedJob {
    pub job: QueuedJobId,
    pub state: JobState,
    /// Beginning of its prompt.
    pub prompt: String,
    /// Number of its kept pictures.
    pub pictures: usize,
    /// Seconds since the engine began it.
    pub secs: f64,
    /// True where no other job of its owner waits or runs.
    pub is_last: bool,
    pub owner: Owner,
    /// The reason why it failed.
    pub reason: Option<String>,
}

/// The queue as a whole.
#[derive(Clone, Debug)]
pub struct QueueSnapshot {
    /// Jobs that have not ended in the order in which they are expected to end, those that the engine
    /// is at first; then those that ended last.
    pub rows: Vec<QueueRow>,
    pub pause: PauseMode,
    /// Jobs whose model is in memory may go before others.
    pub follows_model: bool,
    /// False where another process runs the queue.
    pub is_owner: bool,
    /// The disk takes nothing now: nothing begins until what happened is written.
    pub is_blocked: bool,
    /// Time of this snapshot, from which predicted ends count.
    pub at: Instant,
}

impl Default for QueueSnapshot {
    fn default() -> Self {
        Self { rows: Vec::new(), pause: PauseMode::No, follows_model: true, is_owner: true, is_blocked: false, at: Instant::now() }
    }
}

impl QueueSnapshot {
    /// The row of this job.
    #[must_use]
    pub fn row(&self, id: QueuedJobId) -> Option<&QueueRow> {
        self.rows.iter().find(|row| row.job.id == id)
    }

    /// The rows that wait: the engine is not at them.
    pub fn waiting(&self) -> impl Iterator<Item = &QueueRow> {
        self.rows.iter().filter(|row| row.is_waiting)
    }

    /// The job that the person at the machine added last, of those that have not ended.
    #[must_use]
    pub fn newest(&self) -> Option<&QueueRow> {
        self.rows.iter().filter(|row| !row.job.state.is_ended() && row.job.owner.is_person()).max_by_key(|row| row.job.id)
    }

    /// The jobs about which a person is to be asked.
    pub fn questions(&self) -> impl Iterator<Item = &QueueRow> {
        self.rows.iter().filter(|row| row.job.is_question())
    }

    /// Seconds until the last job ends, from the time of the snapshot; `None` where that is not
    /// known.
    #[must_use]
    pub fn ends_in_secs(&self) -> Option<f64> {
        let mut ends =
            self.rows.iter().filter(|row| matches!(row.job.state, JobState::Waiting | JobState::Running)).map(|row| row.ends_in_secs);
        let first = ends.next()??;
        ends.try_fold(first, |last, end| Some(last.max(end?)))
    }
}

/// A job of the queue as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    pub job: QueuedJob,
    /// The engine's number, while it has the job.
    pub engine_job: Option<JobId>,
    /// True where the engine is not at it yet.
    pub is_waiting: bool,
    /// Why it waits; `None` where it does not.
    pub reason: Option<WaitReason>,
    /// Seconds of work on it that are left, however many others there are; `None` where that is not
    /// known.
    pub secs_left: Option<f64>,
    /// Seconds until its end, from the time of the snapshot; `None` where that is not known.
    pub ends_in_secs: Option<f64>,
}

impl QueueRow {
    /// True where its place, settings and device can be changed.
    #[must_use]
    pub const fn can_change(&self) -> bool {
        self.is_waiting
    }

    /// True where it can wait again.
    #[must_use]
    pub const fn can_retry(&self) -> bool {
        matches!(self.job.state, JobState::Held | JobState::Failed | JobState::Cancelled)
    }
}

/// Why a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// It is the next one.
    Next,
    /// This many jobs are before it.
    Behind(usize),
    /// What a person waits for is made first; this many jobs are before it.
    BehindInteractive(usize),
    /// The live picture is made first.
    Live,
    /// The queue is paused.
    Paused,
    /// A question about a job before it has no answer yet.
    Question,
    /// What happened cannot be written to the disk now.
    Disk,
    /// Its model is being downloaded, or is to be.
    Model(String),
    /// Models of other jobs hold the memory that it needs.
    Memory(Vec<String>),
    /// It waits until a person asks for it; a sentence says why.
    Held(String),
    /// Another program of this person runs the queue.
    OtherProcess,
}

impl WaitReason {
    /// The reason in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let jobs = |count: &usize| if *count == 1 { tr!("studio-1-job").to_owned() } else { tr!("studio-jobs", count) };
        match self {
            Self::Next => tr!("studio-next").into(),
            Self::Behind(count) => tr!("studio-behind", jobs = jobs(count)),
            Self::BehindInteractive(count) => tr!("studio-waits-for-of-higher", jobs = jobs(count)),
            Self::Live => tr!("studio-waits-for-the-live").into(),
            Self::Paused => tr!("studio-the-queue-is-paused").into(),
            Self::Question => tr!("studio-waits-for-your-answer").into(),
            Self::Disk => tr!("studio-waits-for-free-disk").into(),
            Self::Model(model) => tr!("studio-waits-for-the-download", model),
            Self::Memory(models) => tr!("studio-waits-for-the-memory", models = models.join(", ")),
            Self::Held(reason) => reason.clone(),
            Self::OtherProcess => tr!("studio-another-atelier-runs-the").into(),
        }
    }
}

/// Message to the queue's thread.
#[derive(Debug)]
pub(super) enum Message {
    Request(QueueRequest),
    Engine(Event),
    Stop,
}
