//! Threads that work for an engine.

use std::cell::Cell;
use std::sync::mpsc::{self, SendError, Sender};
use std::thread;

use atelier_language::tr;

use crate::protocol::Failure;

/// Stack of a thread that calls the engine, which builds deep graphs by recursion.
pub(crate) const STACK_BYTES: usize = 16 << 20;

thread_local! {
    static IS_ENGINE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one that works for an engine.
pub(crate) fn mark_engine_thread() {
    IS_ENGINE_THREAD.set(true);
}

/// This thread works for an engine, so it must not wait for one.
pub(crate) fn is_engine_thread() -> bool {
    IS_ENGINE_THREAD.get()
}

/// The system gives no thread.
pub(crate) fn no_thread() -> Failure {
    Failure::new(tr!("engine-the-system-has-no"), tr!("engine-close-other-programs-then"))
}

type Work = Box<dyn FnOnce() + Send>;

/// Idle threads, reused because the allocator gives each new thread memory of its own.
#[derive(Default)]
pub(crate) struct Workers {
    idle: Vec<Worker>,
}

/// A thread that runs one piece of work after the other.
pub(crate) struct Worker(Sender<Work>);

impl Workers {
    /// Runs `work` on an idle thread, then `ended`, also after a panic. `None` where the system
    /// gives no thread.
    pub(crate) fn run(&mut self, work: impl FnOnce() + Send + 'static, ended: impl FnOnce() + Send + 'static) -> Option<Worker> {
        /// Calls its closure when it is dropped.
        struct OnDrop<F: FnOnce()>(Option<F>);
        impl<F: FnOnce()> Drop for OnDrop<F> {
            fn drop(&mut self) {
                if let Some(call) = self.0.take() {
                    call();
                }
            }
        }
        let ended = OnDrop(Some(ended));
        let mut work: Work = Box::new(move || {
            let _ended = ended;
            work();
        });
        while let Some(worker) = self.idle.pop() {
            match worker.0.send(work) {
                Ok(()) => return Some(worker),
                // That thread did not survive its last job.
                Err(SendError(refused)) => work = refused,
            }
        }
        let (sender, queue) = mpsc::channel::<Work>();
        let serve = move || {
            mark_engine_thread();
            for work in queue {
                work();
            }
        };
        thread::Builder::new().name("engine job".into()).stack_size(STACK_BYTES).spawn(serve).ok()?;
        sender.send(work).ok()?;
        Some(Worker(sender))
    }

    /// Takes a thread back whose work has ended.
    pub(crate) fn release(&mut self, worker: Worker) {
        self.idle.push(worker);
    }
}
