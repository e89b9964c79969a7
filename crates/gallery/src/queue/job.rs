//! A job of the queue, as plain data.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use atelier_core::recipe::{Recipe, Seed};

use super::owner::{Owner, User};
use crate::PictureId;

/// Number of a job on disk; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuedJobId(pub i64);

impl fmt::Display for QueuedJobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for QueuedJobId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// It waits for its turn.
    Waiting,
    /// The engine has it.
    Running,
    /// It waits until a person asks for it.
    Held,
    /// All its pictures are made and kept.
    Done,
    /// It failed; pictures made before are kept.
    Failed,
    /// It was cancelled; pictures made before are kept.
    Cancelled,
}

impl JobState {
    /// All states.
    pub const ALL: [Self; 6] = [Self::Waiting, Self::Running, Self::Held, Self::Done, Self::Failed, Self::Cancelled];

    /// Its word in the database and in `--json`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Held => "held",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of this word. A word of a later version is a state that waits until a person asks.
    pub(super) fn from_key(key: &str) -> Self {
        Self::ALL.into_iter().find(|state| state.key() == key).unwrap_or(Self::Held)
    }

    /// True where nothing more happens by itself.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// Lane of a job: what a person waits for goes before batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A person waits for it.
    Interactive,
    /// It may take as long as it takes.
    Batch,
}

impl Lane {
    /// Its word in `--json`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Batch => "batch",
        }
    }

    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Interactive => 0,
            Self::Batch => 1,
        }
    }

    pub(super) const fn from_number(number: i64) -> Self {
        if number == 0 { Self::Interactive } else { Self::Batch }
    }
}

/// A job that is added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewJob {
    /// Its recipe; pictures that it starts from are files.
    pub recipe: Recipe,
    /// Its lane.
    pub lane: Lane,
    /// Folder of its pictures.
    pub folder: PathBuf,
    /// Name of its model, as it is shown.
    pub model: String,
    /// The catalogue's name of a model that is not on this machine; the job waits for its files.
    pub wanted_model: Option<String>,
    /// The device that it runs on, in place of its recipe's placement.
    pub device: Option<String>,
    /// Preview of its forming pictures, in the caller's words.
    pub preview: String,
    /// The group of jobs that it was added with: their pictures are one batch, and take steps that
    /// they have in common from each other. Milliseconds since 1970.
    pub group: Option<i64>,
    /// Who asked for it.
    pub owner: Owner,
    /// In the name of which user of theirs.
    pub user: User,
}

impl NewJob {
    /// A job of the person at this machine: whole models that are there, no previews, no group.
    #[must_use]
    pub fn of_person(recipe: Recipe, lane: Lane, folder: PathBuf, model: String) -> Self {
        Self {
            recipe,
            lane,
            folder,
            model,
            wanted_model: None,
            device: None,
            preview: String::new(),
            group: None,
            owner: Owner::person(),
            user: User::default(),
        }
    }
}

/// A picture that a job has made and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPicture {
    /// Index in the job, from 0.
    pub index: u32,
    /// Its file.
    pub path: PathBuf,
    /// Its number in the index.
    pub picture: PictureId,
}

/// Last step that was noted of a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepProgress {
    /// Index of the picture in the job, from 0.
    pub picture: u32,
    /// Steps finished.
    pub done: u32,
    /// Steps in all.
    pub total: u32,
}

/// A job of the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedJob {
    /// Its number.
    pub id: QueuedJobId,
    /// Its state.
    pub state: JobState,
    /// Its lane.
    pub lane: Lane,
    /// Its recipe.
    pub recipe: Arc<Recipe>,
    /// Folder of its pictures.
    pub folder: PathBuf,
    /// Name of its model, as it is shown.
    pub model: String,
    /// The catalogue's name of a model whose files the recipe lacks.
    pub wanted_model: Option<String>,
    /// The device that it runs on, in place of its recipe's placement.
    pub device: Option<String>,
    /// Preview of its forming pictures, in the caller's words.
    pub preview: String,
    /// The group of jobs that it was added with.
    pub group: Option<i64>,
    /// Who asked for it.
    pub owner: Owner,
    /// In the name of which user of theirs.
    pub user: User,
    /// Its kept pictures, by index.
    pub pictures: Vec<JobPicture>,
    /// Seed of the first picture, once it is drawn.
    pub first_seed: Option<Seed>,
    /// Times that the engine took it.
    pub attempts: u32,
    /// Times that the program ended while it ran.
    pub crashes: u32,
    /// Times that it went on with pictures made before.
    pub resumes: u32,
    /// The last step that was noted.
    pub progress: Option<StepProgress>,
    /// Sentence of why it is held or failed.
    pub reason: Option<String>,
    /// True where it went before others because its model was in memory.
    pub is_moved_up: bool,
    /// True where a person gave it its place.
    pub is_placed: bool,
    /// True where another process asked that it be cancelled.
    pub cancel_requested: bool,
    /// Time at which it was added, in milliseconds since 1970.
    pub created_ms: i64,
    /// Time at which the engine began it, in milliseconds since 1970.
    pub began_ms: Option<i64>,
    /// Time at which it ended, in milliseconds since 1970.
    pub ended_ms: Option<i64>,
}

impl QueuedJob {
    /// True where the program ended while it ran, and a person is to be asked about it.
    #[must_use]
    pub fn is_question(&self) -> bool {
        self.state == JobState::Held && self.crashes > 0 && self.reason.is_none()
    }

    /// Number of its pictures.
    #[must_use]
    pub fn picture_count(&self) -> u32 {
        self.recipe.batch_count.max(1)
    }

    /// Pictures that are not made yet: the first of the gaps. `None` where all are made.
    #[must_use]
    pub fn missing_pictures(&self) -> Option<Range<u32>> {
        let is_made = |index: u32| self.pictures.iter().any(|picture| picture.index == index);
        let start = (0..self.picture_count()).find(|index| !is_made(*index))?;
        let end = (start..self.picture_count()).find(|index| is_made(*index)).unwrap_or(self.picture_count());
        Some(start..end)
    }

    /// The recipe of these pictures alone, each with the seed that it has in the whole job.
    #[must_use]
    pub fn recipe_of(&self, pictures: &Range<u32>) -> Recipe {
        let seed = self.first_seed.or(self.recipe.seed).map(|seed| seed.after(u64::from(pictures.start)));
        Recipe { seed, batch_count: pictures.end - pictures.start, ..Recipe::clone(&self.recipe) }
    }
}
