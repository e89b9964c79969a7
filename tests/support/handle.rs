//! A handle that its own `wake` uses too, so that a test sees each event on the engine's thread.

use std::ops::Deref;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use atelier_engine::Handle;

/// The handle of an engine. Dropping it waits for the engine's threads: none may be in the engine
/// when the process exits.
pub(crate) struct WatchedHandle(Option<Arc<Handle>>);

impl WatchedHandle {
    /// Starts an engine by `start`, which is given the function to call for each event; that calls
    /// `wake` with the handle.
    pub(crate) fn start(start: impl FnOnce(Box<dyn Fn() + Send + Sync>) -> Handle, wake: impl Fn(&Handle) + Send + Sync + 'static) -> Self {
        let slot: Arc<OnceLock<Weak<Handle>>> = Arc::default();
        let seen = Arc::clone(&slot);
        let handle = Arc::new(start(Box::new(move || {
            if let Some(handle) = seen.get().and_then(Weak::upgrade) {
                wake(&handle);
            }
        })));
        slot.set(Arc::downgrade(&handle)).unwrap();
        Self(Some(handle))
    }
}

impl Deref for WatchedHandle {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        self.0.as_ref().expect("it is taken when it is dropped")
    }
}

impl Drop for WatchedHandle {
    fn drop(&mut self) {
        let Some(mut handle) = self.0.take() else { return };
        handle.cancel_all();
        // While a thread of the engine is in `wake`, it would drop the last handle, and nobody
        // could wait for it.
        while let Err(shared) = Arc::try_unwrap(handle) {
            handle = shared;
            thread::yield_now();
        }
    }
}
