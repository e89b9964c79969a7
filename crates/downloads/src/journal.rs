//! Journal of the queue, from one start to the next.
//!
//! The progress of a file is not in it: the part beside its path says so. One job that cannot be
//! read loses one job, not all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::event::{PauseReason, Status};
use super::failure::{Cause, Failure};
use super::index::DownloadIndex;
use super::job::DownloadJob;
use atelier_core::json::has_more_values;
use atelier_core::paths;
use atelier_core::stored_file::{Unreadable, aside_name, put_aside, read_stored};
use atelier_language::tr;

/// The version that this program writes.
const VERSION: u32 = 1;
/// Longest journal that is read, in bytes, and values in it: thirty jobs of as many files as a
/// repository may have take less.
const MAX_BYTES: u64 = 64 << 20;
const MAX_VALUES: usize = 1 << 19;

/// The queue, as it is remembered.
#[derive(Default)]
pub(super) struct StoredQueue {
    pub(super) jobs: Vec<StoredJob>,
    pub(super) index: DownloadIndex,
}

/// A job, as it is remembered.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredJob {
    pub(super) job: DownloadJob,
    #[serde(default)]
    pub(super) state: StoredState,
    /// Each file: whether it is in its place, and whether this job brought it there.
    #[serde(default)]
    pub(super) files: Vec<StoredFile>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredFile {
    #[default]
    #[serde(rename = "wanted")]
    Pending,
    /// It was there before the job.
    #[serde(rename = "found")]
    Existing,
    /// The job downloaded it.
    #[serde(rename = "brought")]
    Downloaded,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredState {
    /// It goes on by itself.
    #[default]
    Waiting,
    Paused,
    Full {
        needed: u64,
        free: u64,
    },
    Failed {
        sentence: String,
        hint: String,
        cause: String,
        #[serde(default)]
        licence_url: Option<String>,
    },
}

impl From<&Status> for StoredState {
    fn from(status: &Status) -> Self {
        match status {
            Status::Waiting | Status::Running => Self::Waiting,
            Status::Paused(PauseReason::ByPerson) => Self::Paused,
            Status::Paused(PauseReason::DiskFull { needed, free }) => Self::Full { needed: *needed, free: *free },
            Status::Failed(failure) => Self::Failed {
                sentence: failure.advice.sentence.clone(),
                hint: failure.advice.hint.clone(),
                cause: word(&failure.cause).into(),
                licence_url: match &failure.cause {
                    Cause::Gated { licence_url } => licence_url.clone(),
                    _ => None,
                },
            },
        }
    }
}

impl From<StoredState> for Status {
    fn from(stored: StoredState) -> Self {
        match stored {
            StoredState::Waiting => Self::Waiting,
            StoredState::Paused => Self::Paused(PauseReason::ByPerson),
            StoredState::Full { needed, free } => Self::Paused(PauseReason::DiskFull { needed, free }),
            StoredState::Failed { sentence, hint, cause, licence_url } => {
                let plain = PLAIN.iter().find(|it| it.0 == cause).map(|it| it.1.clone());
                let cause = plain.unwrap_or(if cause == GATED { Cause::Gated { licence_url } } else { Cause::Server });
                Self::Failed(Failure::new(cause, sentence, hint))
            }
        }
    }
}

const GATED: &str = "gated";
const PLAIN: [(&str, Cause); 8] = [
    ("unreachable", Cause::Unreachable),
    ("not_found", Cause::NotFound),
    ("too_many", Cause::TooMany),
    ("server", Cause::Server),
    ("mismatch", Cause::Mismatch),
    ("archive", Cause::Archive),
    ("disk", Cause::Disk),
    ("job", Cause::Job),
];

fn word(cause: &Cause) -> &'static str {
    PLAIN.iter().find(|it| it.1 == *cause).map_or(GATED, |it| it.0)
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    jobs: Vec<serde_json::Value>,
    #[serde(default)]
    #[serde(rename = "shelf")]
    index: serde_json::Value,
}

/// Path of the journal in its folder.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("downloads.json")
}

/// Reads what is remembered, and how many jobs of it make no sense, which are left out.
///
/// # Errors
/// If it cannot be read now, a newer Atelier wrote it, or it makes no sense.
pub(super) fn read(path: &Path) -> Result<(StoredQueue, usize), Unreadable> {
    let file = read_stored(path, MAX_BYTES, |text| {
        if has_more_values(text, MAX_VALUES) {
            return Err(Unreadable::damaged(tr!("downloads-it-has-too-many")));
        }
        let file: File = serde_json::from_slice(text).map_err(Unreadable::damaged)?;
        if file.version > VERSION { Err(Unreadable::Newer) } else { Ok(file) }
    })?;
    let Some(file) = file else { return Ok((StoredQueue::default(), 0)) };
    let count = file.jobs.len();
    let jobs: Vec<StoredJob> =
        file.jobs.into_iter().filter_map(|job| serde_json::from_value::<StoredJob>(job).ok().filter(|it| it.job.check().is_ok())).collect();
    let left_out = count - jobs.len();
    Ok((StoredQueue { jobs, index: serde_json::from_value(file.index).unwrap_or_default() }, left_out))
}

/// [`read`] for who writes it from now on: what makes no sense is kept beside, as a sentence for a
/// person says.
///
/// # Errors
/// If it is not to be written: it cannot be read now, a newer Atelier wrote it, or it cannot be
/// kept beside.
pub(super) fn take_over(path: &Path) -> Result<(StoredQueue, Option<String>), Unreadable> {
    match read(path) {
        Ok((remembered, 0)) => Ok((remembered, None)),
        Ok((remembered, left_out)) => {
            let aside = aside_name(path);
            fs::copy(path, &aside).map_err(Unreadable::Now)?;
            let files = if left_out == 1 { tr!("downloads-1-entry-was").to_owned() } else { tr!("downloads-entries-were", left_out) };
            Ok((remembered, Some(tr!("downloads-invalid-and-left-out", files, aside = aside.display()))))
        }
        Err(Unreadable::Damaged(reason)) => {
            let aside = put_aside(path).map_err(Unreadable::Now)?;
            let sentence = tr!("downloads-the-download-list-was", aside = aside.display());
            tracing::warn!("{sentence} {reason}");
            Ok((StoredQueue::default(), Some(sentence)))
        }
        Err(error) => Err(error),
    }
}

/// The text that [`read`] reads.
pub(super) fn text(remembered: &StoredQueue) -> Result<Vec<u8>, serde_json::Error> {
    let jobs = remembered.jobs.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    serde_json::to_vec(&File { version: VERSION, jobs, index: serde_json::to_value(&remembered.index)? })
}

/// Writes it, for its owner alone: some links have a key of the person's in them.
pub(super) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    paths::write_private(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_comes_back() {
        let failed = |cause| Status::Failed(Failure::new(cause, "a", "b"));
        let mut all = vec![
            Status::Waiting,
            Status::Paused(PauseReason::ByPerson),
            Status::Paused(PauseReason::DiskFull { needed: 2, free: 1 }),
            failed(Cause::Gated { licence_url: Some("x".into()) }),
        ];
        all.extend(PLAIN.iter().map(|it| failed(it.1.clone())));
        for status in all {
            let text = serde_json::to_string(&StoredState::from(&status)).unwrap();
            assert_eq!(Status::from(serde_json::from_str::<StoredState>(&text).unwrap()), status);
        }
    }

    #[test]
    fn one_bad_job_is_lost_alone_and_a_bad_file_is_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        let taken = || take_over(&path).unwrap();
        assert!(taken().0.jobs.is_empty());
        let good = r#"{"job":{"id":"a","name":"A","folder":"a","files":[{"source":{"url":"http://x/y"},"filename":"y"}]}}"#;
        fs::write(&path, format!(r#"{{"version":1,"jobs":[{{"job":7}},{good}]}}"#)).unwrap();
        let (found, said) = taken();
        assert_eq!((found.jobs.len(), found.jobs[0].state.clone()), (1, StoredState::Waiting));
        assert!(said.unwrap().contains("downloads.json.bad"), "what was left out is kept");
        write(&path, &text(&found).unwrap()).unwrap();
        let (found, said) = taken();
        assert_eq!((found.jobs.len(), said), (1, None));
        fs::write(&path, "{ broken").unwrap();
        let (found, said) = taken();
        assert!(found.jobs.is_empty() && said.unwrap().contains("downloads.json.bad2"));
        assert_eq!(fs::read(folder.path().join("downloads.json.bad2")).unwrap(), b"{ broken");
    }

    #[test]
    fn what_cannot_be_read_now_or_is_of_a_newer_version_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        fs::write(&path, r#"{"version":2,"jobs":[]}"#).unwrap();
        assert!(matches!(take_over(&path), Err(Unreadable::Newer)));
        assert_eq!(fs::read_to_string(&path).unwrap(), r#"{"version":2,"jobs":[]}"#);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(matches!(take_over(&path), Err(Unreadable::Now(_))));
        assert!(path.is_dir() && fs::read_dir(folder.path()).unwrap().count() == 1, "nothing has another name");
    }
}
