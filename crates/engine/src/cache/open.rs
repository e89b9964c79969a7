//! Opening a context on a thread of its own, so that a cancel need not wait for it.
//!
//! The engine reads files and builds its modules and tokenizers in one call that looks at no
//! cancel. A job that is cancelled leaves the thread behind, which drops the context as soon as it
//! is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use parking_lot::Mutex;

use super::books::{BackgroundWork, POLL_INTERVAL};
use crate::devices;
use crate::ffi::{CallError, ConditioningCache, Context, ContextParams, JobCallbacks};
use crate::protocol::{LogLevel, PhaseKind};
use crate::threads::{STACK_BYTES, mark_engine_thread};
use atelier_core::placement::Module;
use atelier_core::recipe::Rgb8;

/// What the opening thread says.
enum Said {
    Log(LogLevel, String),
    Phase(PhaseKind),
    Load(Option<Module>, u64, u64),
    Opened(Box<Result<Context, CallError>>),
}

/// Callbacks of an opening, for the job's thread to call.
struct Relay {
    sender: Mutex<Sender<Said>>,
    cancel: AtomicBool,
}

impl Relay {
    fn send(&self, said: Said) {
        // Nobody listens after a cancel.
        let _ = self.sender.lock().send(said);
    }
}

impl JobCallbacks for Relay {
    fn log(&self, level: LogLevel, text: &str) {
        self.send(Said::Log(level, text.to_owned()));
    }
    fn phase(&self, phase: PhaseKind) {
        self.send(Said::Phase(phase));
    }
    fn load(&self, module: Option<Module>, done: u64, total: u64) {
        self.send(Said::Load(module, done, total));
    }
    fn step(&self, _: u32, _: u32, _: f32, _: f32) {}
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Opens a context; see [`Context::new`].
pub(super) fn open(
    params: &ContextParams,
    encodings: &Arc<ConditioningCache>,
    encoders: String,
    callbacks: &dyn JobCallbacks,
    background: BackgroundWork,
) -> Result<Context, CallError> {
    let (sender, receiver) = mpsc::channel();
    let relay = Arc::new(Relay { sender: Mutex::new(sender), cancel: AtomicBool::new(false) });
    let (params, encodings, said) = (params.clone(), Arc::clone(encodings), Arc::clone(&relay));
    let work = move || {
        mark_engine_thread();
        // Dropped last, after a context that nobody waits for.
        let _background = background;
        let _devices = devices::lock_list_of_job();
        let opened = Context::new(&params, &encodings, &encoders, &*said);
        said.send(Said::Opened(Box::new(opened)));
    };
    let spawned = thread::Builder::new().name("engine opening".into()).stack_size(STACK_BYTES).spawn(work);
    spawned.map_err(|_| CallError::new("the system has no threads left"))?;
    loop {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(Said::Opened(opened)) => return *opened,
            Ok(Said::Log(level, text)) => callbacks.log(level, &text),
            Ok(Said::Phase(phase)) => callbacks.phase(phase),
            Ok(Said::Load(module, done, total)) => callbacks.load(module, done, total),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(CallError::new("the model could not be opened")),
        }
        if callbacks.cancelled() {
            relay.cancel.store(true, Ordering::Relaxed);
            return Err(CallError::cancelled());
        }
    }
}
