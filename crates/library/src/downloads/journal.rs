//! Journal of the queue, from one start to the next.
//!
//! The progress of a file is not in it: the part beside its path says so. One job that cannot be read loses one job, not all.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::event::{PauseReason, Status};
use super::failure::{Cause, Failure};
use super::index::DownloadIndex;
use super::job::Job;
use atelier_core::json::has_more_values;
use atelier_core::paths;

/// The version that this program writes.
const VERSION: u32 = 1;
/// Longest journal that is read, in bytes, and values in it: thirty jobs of as many files as a repository may have take less.
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
    pub(super) job: Job,
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

/// Reads what is remembered. A file that cannot be read is kept beside as `.bad`.
pub(super) fn read(path: &Path) -> StoredQueue {
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return StoredQueue::default(),
        Err(error) => return bad(path, &error),
    };
    if has_more_values(&text, MAX_VALUES) {
        return bad(path, &"it has too many values");
    }
    let file: File = match serde_json::from_slice(&text) {
        Ok(file) => file,
        Err(error) => return bad(path, &error),
    };
    let job = |value| match serde_json::from_value::<StoredJob>(value) {
        Ok(stored) if stored.job.check().is_ok() => Some(stored),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "a job of the download queue could not be read");
            None
        }
    };
    StoredQueue { jobs: file.jobs.into_iter().filter_map(job).collect(), index: serde_json::from_value(file.index).unwrap_or_default() }
}

fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_BYTES { Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long")) } else { Ok(text) }
}

fn bad(path: &Path, error: &dyn std::fmt::Display) -> StoredQueue {
    tracing::warn!(path = %path.display(), %error, "the download queue could not be read and is kept aside");
    if let Err(error) = fs::rename(path, path.with_extension("json.bad")) {
        tracing::warn!(%error, "it could not be kept aside");
    }
    StoredQueue::default()
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
        assert!(read(&path).jobs.is_empty());
        let good = r#"{"job":{"id":"a","name":"A","folder":"a","files":[{"source":{"url":"http://x/y"},"filename":"y"}]}}"#;
        fs::write(&path, format!(r#"{{"version":1,"jobs":[{{"job":7}},{good}]}}"#)).unwrap();
        let found = read(&path);
        assert_eq!((found.jobs.len(), found.jobs[0].state.clone()), (1, StoredState::Waiting));
        write(&path, &text(&found).unwrap()).unwrap();
        assert_eq!(read(&path).jobs.len(), 1);
        fs::write(&path, "{ broken").unwrap();
        assert!(read(&path).jobs.is_empty());
        assert_eq!(fs::read(folder.path().join("downloads.json.bad")).unwrap(), b"{ broken");
    }
}
