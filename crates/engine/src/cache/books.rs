//! The lock of the cache's books, and the threads that work for it without the lock.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::models::{Garbage, Models};

/// Interval at which a job that waits looks for a cancel.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The models in memory, and who waits for them.
#[derive(Default)]
pub(super) struct Books {
    pub(super) state: Mutex<Models>,
    /// A lease ended, or memory was freed.
    pub(super) changed: Condvar,
}

impl Books {
    /// Frees what nobody needs any more, without the lock, and wakes those who wait.
    pub(super) fn free(&self, garbage: Garbage) {
        let freed = garbage.free();
        self.state.lock().note_freed(freed);
        self.changed.notify_all();
    }
}

/// A thread that may outlive the job that it works for, but not the engine.
pub(super) struct BackgroundWork(Arc<Books>);

impl BackgroundWork {
    pub(super) fn new(books: &Arc<Books>) -> Self {
        books.state.lock().background_work += 1;
        Self(Arc::clone(books))
    }
}

impl Drop for BackgroundWork {
    fn drop(&mut self) {
        self.0.state.lock().background_work -= 1;
        self.0.changed.notify_all();
    }
}
