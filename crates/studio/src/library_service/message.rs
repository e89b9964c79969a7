//! Protocol of the library service: requests to its thread, events from it, as plain data.

use std::path::PathBuf;
use std::sync::Arc;

use atelier_core::mailbox::Mailbox;
use atelier_core::recipe::ModelFiles;
use atelier_downloads::{HubFile, JobSnapshot, Repository, Token};
use atelier_library::{Defaults, Machine, Problem, Runnable, Usage};

use super::snapshot::LibrarySnapshot;

/// Request to the library thread.
#[derive(Debug)]
pub enum LibraryRequest {
    /// Memory and speed of this machine, by which good first models are chosen.
    SetMachine(Box<Machine>),
    /// Download the catalogue's model of this name: `id` or `id:variant`.
    Download(String),
    /// Download the files that this loose model lacks.
    DownloadMissing(String),
    /// Download a file of a Hugging Face repository.
    DownloadHubFile(String, HubFile),
    /// Add links (downloaded), folders and files (used in place).
    Add(Vec<PathBuf>),
    PauseDownload(String),
    /// Resume a paused or failed download.
    ResumeDownload(String),
    /// Cancel a download and remove its partial files.
    CancelDownload(String),
    /// Move a download before another one; `None`: to the end.
    MoveDownload(String, Option<String>),
    /// Start the download queue again after [`DownloadsState::Refused`].
    StartDownloads,
    /// Search Hugging Face; [`LibraryEvent::SearchResults`] answers.
    SearchHub(String),
    /// List the model files of a repository; [`LibraryEvent::RepositoryFiles`] answers.
    ListRepository(String),
    /// Resolve the files and settings of a model; [`LibraryEvent::Runnable`] answers.
    ResolveModel(String),
    /// Find the other parts of the model with this main file, those of `preferred` first;
    /// [`LibraryEvent::ModelAssembled`] answers.
    AssembleModel {
        /// The main file, and parts that stay as they are.
        files: ModelFiles,
        /// The parts of the model in use.
        preferred: ModelFiles,
    },
    /// Record that the person accepted the licence of this model.
    AcceptLicence(String),
    /// List what deleting a model would remove; [`LibraryEvent::RemovalPreview`] answers.
    PreviewRemoval(String),
    /// Move a model to the trash.
    Remove(String),
    /// Compare every byte of a model with its published sums; [`LibraryEvent::Check`]s answer.
    CheckFiles(String),
    StopCheck(String),
    /// Stop using a folder.
    ForgetFolder(PathBuf),
    /// Folder of downloaded models; `None`: the default one.
    SetModelsRoot(Option<PathBuf>),
    /// Number of files downloaded at the same time, from 1 to 8.
    SetParallelFiles(usize),
    /// Save this Hugging Face token; `None`: delete the saved one.
    SetToken(Option<Token>),
    /// Read settings and catalogues again and scan all folders.
    Rescan,
    /// Read the settings again: the command line writes the same file.
    ReloadSettings,
}

/// Event from the library thread.
#[derive(Debug)]
pub enum LibraryEvent {
    /// The library as a whole; replaces every snapshot before it.
    Snapshot(Arc<LibrarySnapshot>),
    /// The download queue, in its order.
    Queue(Vec<JobSnapshot>),
    DownloadsState(DownloadsState),
    /// Repositories found for a search text, or a sentence.
    SearchResults(String, Result<Vec<Repository>, String>),
    /// Model files of a repository, or a sentence.
    RepositoryFiles(String, Result<Vec<HubFile>, String>),
    /// Files and settings of a model that was asked for.
    Runnable(Result<Runnable, Problem>),
    /// A model round a file.
    ModelAssembled(Box<AssembledModel>),
    /// Files that deleting a model would remove.
    RemovalPreview(Box<RemovalPreview>),
    /// Progress or result of a check, by model; `None`: stopped or impossible.
    Check(String, Option<FileCheck>),
    /// A link or name led to this repository; its files follow as
    /// [`LibraryEvent::RepositoryFiles`].
    RepositoryOpened(String),
    /// The download of this id and name is complete.
    Downloaded(String, String),
    /// Sentence for the person.
    Notice(String),
}

/// Message in the library thread's channel: a request, or a report of one of its helper threads.
#[derive(Debug)]
pub(super) enum Message {
    Request(LibraryRequest),
    ScanChanged,
    DownloadsChanged,
    UsageCounted(Usage),
    TokenSaved(Option<Token>, std::io::Result<()>),
    /// `None`: stopped or impossible.
    CheckEnded(String, Option<Vec<CheckedFile>>),
    Stop,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DownloadsState {
    /// The queue is starting.
    #[default]
    Starting,
    /// The queue takes jobs.
    Ready,
    /// The queue cannot be used; a sentence says why.
    Refused(String),
}

/// A model round a file, found among the files of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembledModel {
    /// Name of the main file.
    pub name: String,
    pub files: ModelFiles,
    /// The settings that suit it; `None` where nobody knows what it is.
    pub defaults: Option<Defaults>,
    /// Sentences about parts that are not on this machine.
    pub missing: Vec<String>,
}

/// Preview of deleting a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovalPreview {
    /// Id of the model.
    pub id: String,
    /// Display name of the model.
    pub name: String,
    /// Names of the files that are removed.
    pub removed: Vec<String>,
    /// Names of the files that stay, each with the reason.
    pub kept: Vec<(String, String)>,
    /// Bytes that are removed.
    pub bytes: u64,
}

/// Integrity check of a model's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileCheck {
    /// The files are being read.
    Running {
        /// Bytes read so far.
        bytes: u64,
        /// Bytes to read, where known.
        total: Option<u64>,
    },
    /// Result for each file.
    Done(Vec<CheckedFile>),
}

/// Result of checking one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedFile {
    pub name: String,
    /// Neither damaged nor another file.
    pub is_right: bool,
    /// Result in words.
    pub words: String,
}

/// The mailbox of the events, shared by the library thread, its helper threads and the reader.
pub(super) struct EventSender(Mailbox<LibraryEvent>);

impl EventSender {
    pub(super) fn new(mailbox: Mailbox<LibraryEvent>) -> Self {
        Self(mailbox)
    }

    /// Sends an event in place of the unread ones that it outdates.
    pub(super) fn send(&self, event: LibraryEvent) {
        let outdates = is_replaced_by(&event);
        self.0.send_replacing(event, outdates);
    }

    /// The oldest unread event.
    pub(super) fn try_next(&self) -> Option<LibraryEvent> {
        self.0.try_next()
    }
}

/// Predicate over unread events: true for those that `event` makes worthless.
fn is_replaced_by(event: &LibraryEvent) -> impl Fn(&LibraryEvent) -> bool + use<> {
    enum Kind {
        Snapshot,
        Queue,
        CheckProgress(String),
        Other,
    }
    let kind = |event: &LibraryEvent| match event {
        LibraryEvent::Snapshot(_) => Kind::Snapshot,
        LibraryEvent::Queue(_) => Kind::Queue,
        LibraryEvent::Check(id, Some(FileCheck::Running { .. })) => Kind::CheckProgress(id.clone()),
        LibraryEvent::Check(..)
        | LibraryEvent::DownloadsState(_)
        | LibraryEvent::SearchResults(..)
        | LibraryEvent::RepositoryFiles(..)
        | LibraryEvent::Runnable(_)
        | LibraryEvent::ModelAssembled(_)
        | LibraryEvent::RemovalPreview(_)
        | LibraryEvent::RepositoryOpened(_)
        | LibraryEvent::Downloaded(..)
        | LibraryEvent::Notice(_) => Kind::Other,
    };
    let newer = kind(event);
    move |unread| match (&newer, kind(unread)) {
        (Kind::Snapshot, Kind::Snapshot) | (Kind::Queue, Kind::Queue) => true,
        (Kind::CheckProgress(newer), Kind::CheckProgress(older)) => *newer == older,
        (Kind::Snapshot | Kind::Queue | Kind::CheckProgress(_) | Kind::Other, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_snapshot_queue_or_progress_replaces_only_its_own_kind() {
        let progress = |id: &str, bytes| LibraryEvent::Check(id.into(), Some(FileCheck::Running { bytes, total: None }));
        let done = LibraryEvent::Check("a".into(), Some(FileCheck::Done(Vec::new())));
        let snapshot = || LibraryEvent::Snapshot(Arc::default());
        assert!(is_replaced_by(&snapshot())(&snapshot()));
        assert!(is_replaced_by(&LibraryEvent::Queue(Vec::new()))(&LibraryEvent::Queue(Vec::new())));
        assert!(!is_replaced_by(&LibraryEvent::Queue(Vec::new()))(&snapshot()));
        assert!(is_replaced_by(&progress("a", 2))(&progress("a", 1)));
        assert!(!is_replaced_by(&progress("a", 2))(&progress("b", 1)), "of another model");
        assert!(!is_replaced_by(&done)(&progress("a", 1)) && !is_replaced_by(&progress("a", 1))(&done), "ends are never dropped");
        let notice = || LibraryEvent::Notice(String::new());
        assert!(!is_replaced_by(&notice())(&notice()));
    }
}
