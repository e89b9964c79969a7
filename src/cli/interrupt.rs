//! Ctrl-C: the first press cancels the job, which ends as cancelled; the second ends the program at
//! once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use atelier_engine::Handle;

/// The warning where Ctrl-C cannot be listened for.
pub(super) fn no_ctrl_c(error: &ctrlc::Error) -> String {
    format!("warning: Ctrl-C will end the program immediately: {error}")
}

/// Meaning of a press of Ctrl-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Press {
    /// Cancel, and wait for the end.
    First,
    Again,
}

/// State of Ctrl-C, and the engine whose jobs it cancels.
#[derive(Default)]
pub(super) struct Interrupt {
    pressed: AtomicBool,
    handle: OnceLock<Weak<Handle>>,
}

impl Interrupt {
    /// Called on the signal's thread.
    pub(super) fn press(&self) -> Press {
        if self.pressed.swap(true, Ordering::SeqCst) {
            return Press::Again;
        }
        self.cancel();
        Press::First
    }

    pub(super) fn pressed(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }

    /// From now on a press cancels the jobs of this engine.
    pub(super) fn watch(&self, handle: &Arc<Handle>) {
        // A second engine in one run there is none.
        let _ = self.handle.set(Arc::downgrade(handle));
    }

    /// To be called after a job was submitted: the press may have come just before.
    pub(super) fn submitted(&self) {
        if self.pressed() {
            self.cancel();
        }
    }

    fn cancel(&self) {
        if let Some(handle) = self.handle.get().and_then(Weak::upgrade) {
            handle.cancel_all();
        }
    }
}
