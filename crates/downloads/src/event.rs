//! Events and snapshots of the download queue, as plain data.

use super::failure::Failure;
use super::hub::{HubFile, Repository};
use atelier_language::tr;

/// Something happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A job, its status or its progress has changed; [`super::Downloads::snapshot`] has the
    /// newest.
    QueueChanged,
    /// A job waits for a person.
    Paused {
        /// The job.
        id: String,
        /// The cause.
        why: PauseReason,
    },
    /// A job has ended without all of its files. What it has is kept for another try.
    Failed {
        /// The job.
        id: String,
        /// The cause.
        failure: Failure,
    },
    /// A job has ended: its files are whole and in their places.
    Done {
        /// The job.
        id: String,
    },
    /// A job has ended because a person did not want it any longer; what it had brought is gone.
    Cancelled {
        /// The job.
        id: String,
    },
    /// Something that a person is to know and that is about no single job, in a sentence.
    Notice(String),
    /// Results of a search on Hugging Face. Only the newest answer is kept for a slow reader.
    Found {
        /// The text of the search.
        text: String,
        /// The repositories, or why there is no answer.
        answer: Result<Vec<Repository>, Failure>,
    },
    /// Name of the file at an address.
    Probed {
        /// The address.
        url: String,
        /// The name that its server tells, or why there is none.
        answer: Result<String, Failure>,
    },
    /// The files of a repository on Hugging Face.
    RepositoryFiles {
        /// Owner and name.
        repo: String,
        /// Its files, or why there is no answer.
        answer: Result<Vec<HubFile>, Failure>,
    },
}

/// Progress of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Bytes that are there.
    pub bytes: u64,
    /// Bytes of all files; `None` while the size of one is not known.
    pub total: Option<u64>,
    /// Bytes a second, of late.
    pub rate: f64,
    /// Seconds until it is done, at this rate; `None` where that cannot be said.
    pub seconds_left: Option<u64>,
    /// Each file.
    pub files: Vec<FileProgress>,
}

/// Progress of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProgress {
    /// Its place in the job's folder.
    pub name: String,
    /// Bytes that are there.
    pub bytes: u64,
    /// Its size in bytes, where it is known.
    pub total: Option<u64>,
    /// Its stage.
    pub stage: Stage,
}

/// Stage of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It waits for its turn.
    #[default]
    Waiting,
    /// The bytes on disk are read, to resume after them.
    Checking,
    /// It comes in.
    Loading,
    /// Another job brings the same file.
    Shared,
    /// The server or the line failed; it is tried again soon.
    Retrying,
    /// It is flushed to the disk, and unpacked where it is an archive.
    Finishing,
    /// It is whole and in its place.
    Done,
}

/// Reason for which a job waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// A person paused it.
    ByPerson,
    /// The disk has no room for it.
    DiskFull {
        /// Bytes that are still to come.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
}

impl PauseReason {
    /// A sentence for a person, and what to do.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::ByPerson => tr!("downloads-paused-resume-at-any").into(),
            Self::DiskFull { needed, free } => tr!(
                "downloads-the-disk-is-full",
                needed = atelier_core::format::file_size(*needed),
                free = atelier_core::format::file_size(*free)
            ),
        }
    }
}

/// A job as the queue has it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSnapshot {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its status.
    pub status: Status,
    /// Its progress.
    pub progress: Progress,
}

/// Status of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// It waits for its turn.
    Waiting,
    /// It is being downloaded.
    Running,
    /// It waits for a person.
    Paused(PauseReason),
    /// It has failed, and can be tried again.
    Failed(Failure),
}
