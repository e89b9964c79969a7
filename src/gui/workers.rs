//! The threads behind the window, so that its own never waits.
//!
//! Work goes in, answers come out and wake the window. Invariants: no work is ever dropped; each
//! worker does its work in the order in which it was given; a panic costs the work in which it
//! happened and is answered. What an answer is, [`crate::gui::context`] says.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::mailbox::Mailbox;
use atelier_core::reading::ReadingMarks;
use atelier_language::tr;

/// Something that wakes the window; may be called from any thread.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// A thread that does work in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worker {
    /// Reads and writes files. What was given to it before the window closes is done.
    Files,
    /// Converts pixels.
    Pixels,
}

/// Marks of what is read unasked, opened where they are first used; `None` where this person has no
/// folders.
pub(crate) type LazyMarks = LazyLock<Option<ReadingMarks>, Box<dyn FnOnce() -> Option<ReadingMarks> + Send>>;

/// The threads behind the window. `A`: an answer.
pub(crate) struct Workers<A> {
    files: WorkerQueue<A>,
    pixels: WorkerQueue<A>,
    answers: Arc<Mailbox<A>>,
    reading_marks: Arc<LazyMarks>,
}

impl<A: Send + 'static> Workers<A> {
    /// Starts the threads. `reading_marks`: the folder of [`ReadingMarks`]; `None` where this
    /// person has no folders. `panicked`: the answer of work that panicked.
    ///
    /// # Errors
    /// Fails if the system can start no thread.
    pub(crate) fn start(reading_marks: Option<PathBuf>, wake: Wake, panicked: fn() -> A) -> io::Result<Self> {
        let answers = Arc::new(Mailbox::new(move || wake()));
        let files = WorkerQueue::start("files", &answers, panicked)?;
        let pixels = WorkerQueue::start("pixels", &answers, panicked)?;
        let open: Box<dyn FnOnce() -> Option<ReadingMarks> + Send> =
            Box::new(move || reading_marks.map(|folder| ReadingMarks::open(&folder)));
        Ok(Self { files, pixels, answers, reading_marks: Arc::new(LazyLock::new(open)) })
    }

    /// Gives work to a worker; `None` is no answer. Never waits.
    pub(crate) fn push(&self, worker: Worker, work: impl FnOnce() -> Option<A> + Send + 'static) {
        match worker {
            Worker::Files => self.files.push(Box::new(work)),
            Worker::Pixels => self.pixels.push(Box::new(work)),
        }
    }

    /// Does work that may take long on a thread of its own, of this name. Its answer is made of an
    /// error where the system can start no thread, or the work panics.
    pub(crate) fn spawn<T>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
        answer: impl FnOnce(io::Result<T>) -> A + Send + 'static,
    ) {
        // What a thread that cannot be started was given is gone, so the thread is started first.
        let (sender, receiver) = channel();
        let answers = Arc::clone(&self.answers);
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            if let Ok(given) = receiver.recv() {
                finish_alone(given, &answers);
            }
        });
        match spawned {
            Ok(_) => drop(sender.send((work, answer))),
            Err(error) => self.answers.send(answer(Err(error))),
        }
    }

    /// The next answer. Never waits.
    pub(crate) fn next_answer(&self) -> Option<A> {
        self.answers.try_next()
    }

    /// Marks of what is read unasked, for work with files.
    pub(crate) fn reading_marks(&self) -> Arc<LazyMarks> {
        Arc::clone(&self.reading_marks)
    }

    /// Finishes the work with files that was given so far, but not for longer than this; false
    /// where some is left.
    #[must_use]
    pub(crate) fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.files.finish(deadline)
    }
}

fn finish_alone<A, T>((work, answer): (impl FnOnce() -> T, impl FnOnce(io::Result<T>) -> A), answers: &Mailbox<A>) {
    let done = catch_unwind(AssertUnwindSafe(work)).map_err(|_| io::Error::other(tr!("window-internal-error")));
    answers.send(answer(done));
}

type Work<A> = Box<dyn FnOnce() -> Option<A> + Send>;

/// A thread with a queue of work, in order. Nothing is dropped, and adding never waits.
struct WorkerQueue<A> {
    work: Sender<Work<A>>,
    ended: Receiver<()>,
}

impl<A: Send + 'static> WorkerQueue<A> {
    fn start(name: &str, answers: &Arc<Mailbox<A>>, panicked: fn() -> A) -> io::Result<Self> {
        let (sender, given) = channel::<Work<A>>();
        let (ended_sender, ended) = channel();
        let answers = Arc::clone(answers);
        thread::Builder::new().name(name.into()).spawn(move || {
            for work in given {
                // What it was about to change is dropped with it.
                if let Some(answer) = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Some(panicked())) {
                    answers.send(answer);
                }
            }
            // Nobody listens any more where the window did not wait for the end.
            let _ = ended_sender.send(());
        })?;
        Ok(Self { work: sender, ended })
    }

    fn push(&self, work: Work<A>) {
        if self.work.send(work).is_err() {
            tracing::error!("a worker thread of the window ended unexpectedly");
        }
    }

    /// Waits until all of it is done; false where that takes longer: a disk may hang.
    fn finish(self, deadline: Instant) -> bool {
        drop(self.work);
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> (Workers<String>, Receiver<()>) {
        let (woken, wake) = channel();
        let wakes = move || {
            // The last ones come when nobody listens any more.
            let _ = woken.send(());
        };
        let workers = Workers::start(None, Arc::new(wakes), || "panicked".to_owned()).unwrap();
        (workers, wake)
    }

    fn answers(workers: &Workers<String>, wake: &Receiver<()>, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        while all.len() < count {
            wake.recv_timeout(Duration::from_mins(1)).unwrap();
            all.extend(std::iter::from_fn(|| workers.next_answer()));
        }
        all
    }

    #[test]
    fn no_work_is_lost_and_all_of_it_is_done_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (workers, _wake) = started();
        let count = 192;
        for n in 0..count {
            let (before, path) = (folder.path().join(format!("{}", n - 1)), folder.path().join(format!("{n}")));
            workers.push(Worker::Files, move || {
                if n == 0 || before.is_file() {
                    std::fs::write(path, "").unwrap();
                }
                None
            });
        }
        assert!(workers.finish(Duration::from_mins(1)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), count as usize);
    }

    #[test]
    fn a_panic_is_answered_and_costs_no_other_work() {
        let (workers, wake) = started();
        for worker in [Worker::Files, Worker::Pixels] {
            workers.push(worker, || panic!("a fault"));
            workers.push(worker, || Some("done".to_owned()));
            assert_eq!(answers(&workers, &wake, 2), ["panicked", "done"]);
        }
        let answer = |done: io::Result<u8>| done.map_or_else(|error| error.to_string(), |number| number.to_string());
        workers.spawn("alone", || 7, answer);
        assert_eq!(answers(&workers, &wake, 1), ["7"]);
        workers.spawn("alone", || panic!("a fault"), answer);
        assert_eq!(answers(&workers, &wake, 1), ["internal error"]);
    }
}
