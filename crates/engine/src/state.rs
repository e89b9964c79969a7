//! State that the jobs of an engine share.

use parking_lot::{Mutex, MutexGuard};

use crate::cache::Cache;
use crate::estimate::EstimateCache;
use crate::history::History;
use atelier_library::HeaderCache;

/// State that the jobs of an engine share.
#[derive(Default)]
pub(crate) struct EngineState {
    pub(crate) cache: Cache,
    headers: Mutex<HeaderCache>,
    pub(crate) estimates: EstimateCache,
    pub(crate) history: History,
}

impl EngineState {
    /// State without models, with the measurements of earlier processes.
    pub(crate) fn new(history: History) -> Self {
        Self { history, ..Self::default() }
    }

    /// Headers of model files.
    pub(crate) fn headers(&self) -> MutexGuard<'_, HeaderCache> {
        self.headers.lock()
    }
}
