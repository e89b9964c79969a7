//! The task of one transfer, and the context that all transfers share.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::index::DownloadIndex;
use super::job::FileRequest;
use super::options::{FreeSpace, Inspect, RetryPolicy};
use super::progress_counter::ProgressCounter;
use super::web::Web;

/// Connection, settings and index that all transfers of a queue share.
pub(super) struct Context {
    pub(super) web: Web,
    pub(super) retry_policy: RetryPolicy,
    pub(super) free_space: FreeSpace,
    pub(super) inspect: Inspect,
    pub(super) root: PathBuf,
    pub(super) index: Mutex<DownloadIndex>,
}

impl Context {
    pub(super) fn index(&self) -> MutexGuard<'_, DownloadIndex> {
        self.index.lock()
    }
}

/// One file of a job, for one transfer.
#[derive(Clone)]
pub(super) struct FileTask {
    pub(super) wanted: FileRequest,
    pub(super) folder: PathBuf,
    pub(super) licence_url: Option<String>,
    /// True if a link brought it, and no manifest speaks for it.
    pub(super) by_link: bool,
    /// True if it waited for another job that downloaded a file from the same source.
    pub(super) waited: bool,
    pub(super) counter: Arc<ProgressCounter>,
    pub(super) stop: watch::Receiver<bool>,
}

impl FileTask {
    pub(super) fn target(&self) -> PathBuf {
        self.wanted.filename.in_folder(&self.folder)
    }

    pub(super) fn name(&self) -> &str {
        self.wanted.filename.as_str()
    }

    /// True if nothing tells whether the right bytes came but what they are.
    pub(super) fn is_unknown(&self) -> bool {
        self.by_link && self.wanted.size.is_none() && self.wanted.sha256.is_none()
    }

    pub(super) fn stopped(&self) -> bool {
        *self.stop.borrow()
    }
}
