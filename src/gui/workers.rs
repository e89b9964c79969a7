//! The threads behind the window, so that its own never waits.
//!
//! Tasks go in, reports come out and wake the window. Invariants: no task is ever dropped; each task that has a report gets exactly one.
//! The tasks themselves are in [`crate::gui::files`].

use std::cell::LazyCell;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::gui::files::{DialogKind, DialogResult, FileTask, PixelTask, Report, file_task, pixel_task, show_dialog};
use atelier_core::mailbox::Mailbox;
use atelier_core::reading::ReadingMarks;
use atelier_engine::{DEFAULT_PORT, RemoteError, ServerAddress, probe};
use atelier_studio::desktop_notification::DesktopNotification;
use atelier_studio::updates::{Feed, UpdateError, Version};

/// Something that wakes the window; may be called from any thread.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// The threads behind the window.
pub(crate) struct Workers {
    files: WorkerQueue<FileTask>,
    pixels: WorkerQueue<PixelTask>,
    reports: Arc<Mailbox<Report>>,
}

impl Workers {
    /// Starts the threads. `reading_marks`: the folder of [`ReadingMarks`]; `None` where this person has no folders.
    ///
    /// # Errors
    /// Fails if the system can start no thread.
    pub(crate) fn start(reading_marks: Option<PathBuf>, wake: Wake) -> io::Result<Self> {
        let reports = Arc::new(Mailbox::new(move || wake()));
        let marks = LazyCell::new(move || reading_marks.map(|folder| ReadingMarks::open(&folder)));
        let files = WorkerQueue::start("files", &reports, move |task| file_task(task, marks.as_ref()))?;
        let pixels = WorkerQueue::start("pixels", &reports, pixel_task)?;
        Ok(Self { files, pixels, reports })
    }

    /// Adds a task for the disk thread.
    pub(crate) fn file(&self, task: FileTask) {
        self.files.push(task);
    }

    /// Adds a task for the pixel thread.
    pub(crate) fn pixel(&self, task: PixelTask) {
        self.pixels.push(task);
    }

    /// The next report. Never waits.
    pub(crate) fn next_report(&self) -> Option<Report> {
        self.reports.try_next()
    }

    /// Shows a file dialog on a thread of its own; [`Report::DialogClosed`] follows.
    pub(crate) fn dialog(&self, kind: DialogKind, file_name: String) {
        let reports = Arc::clone(&self.reports);
        let spawned = thread::Builder::new().name("dialog".into()).spawn(move || {
            reports.send(Report::DialogClosed(kind, show_dialog(kind, &file_name)));
        });
        if spawned.is_err() {
            self.reports.send(Report::DialogClosed(kind, DialogResult::NoDialog));
        }
    }

    /// Shows a message of the system on a thread of its own; nothing follows.
    pub(crate) fn notify(notification: DesktopNotification) {
        let spawned = thread::Builder::new().name("notification".into()).spawn(move || notification.show());
        if let Err(error) = spawned {
            tracing::warn!("a system notification was not shown: {error}");
        }
    }

    /// Tests a server on a thread of its own; [`Report::ServerTested`] follows.
    pub(crate) fn probe(&self, server: ServerAddress) {
        let (reports, address) = (Arc::clone(&self.reports), server.clone());
        let spawned = thread::Builder::new().name("probe".into()).spawn(move || {
            let (host, port) = address.as_str().rsplit_once(':').unwrap_or((address.as_str(), ""));
            let found = probe(host, port.parse().unwrap_or(DEFAULT_PORT));
            reports.send(Report::ServerTested(address, found));
        });
        if spawned.is_err() {
            let error = RemoteError::Lost(server.to_string());
            self.reports.send(Report::ServerTested(server, Err(error)));
        }
    }

    /// Looks for a new version on a thread of its own; [`Report::UpdatesChecked`] follows. `seen`: the newest one that was ever told.
    pub(crate) fn check_updates(&self, feed: Feed, seen: Option<Version>, on_demand: bool) {
        let reports = Arc::clone(&self.reports);
        let spawned = thread::Builder::new().name("updates".into()).spawn(move || {
            let result = feed.check(seen);
            reports.send(Report::UpdatesChecked { result, on_demand });
        });
        if let Err(error) = spawned {
            let result = Err(UpdateError::Fetch(error.to_string()));
            self.reports.send(Report::UpdatesChecked { result, on_demand });
        }
    }

    /// Finishes every task given so far, but not for longer than this; false where some are left.
    #[must_use]
    pub(crate) fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.files.finish(deadline)
    }
}

/// A thread with a queue of tasks, in order. Nothing is dropped, and adding never waits.
struct WorkerQueue<T> {
    tasks: Sender<T>,
    ended: Receiver<()>,
}

impl<T: Send + 'static> WorkerQueue<T> {
    fn start(name: &str, reports: &Arc<Mailbox<Report>>, mut run: impl FnMut(T) -> Option<Report> + Send + 'static) -> io::Result<Self> {
        let (sender, tasks) = channel::<T>();
        let (ended_sender, ended) = channel();
        let reports = Arc::clone(reports);
        thread::Builder::new().name(name.into()).spawn(move || {
            for task in tasks {
                if let Some(report) = run(task) {
                    reports.send(report);
                }
            }
            // Nobody listens any more where the window did not wait for the end.
            let _ = ended_sender.send(());
        })?;
        Ok(Self { tasks: sender, ended })
    }

    fn push(&self, task: T) {
        if self.tasks.send(task).is_err() {
            tracing::error!("a worker thread of the window ended unexpectedly");
        }
    }

    /// Waits until every task is done; false where that takes longer: a disk may hang.
    fn finish(self, deadline: Instant) -> bool {
        drop(self.tasks);
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Rgb8;

    #[test]
    fn no_task_is_lost_when_more_come_than_the_queue_holds() {
        let folder = tempfile::tempdir().unwrap();
        let workers = Workers::start(None, Arc::new(|| {})).unwrap();
        let tasks = 192;
        for n in 0..tasks {
            workers.file(FileTask::SaveAs {
                target: folder.path().join(format!("{n}.png")),
                kept: None,
                recipe: Box::default(),
                notes: Vec::new(),
                pixels: Some(Arc::new(Rgb8::new(1, 1, vec![7; 3]).unwrap())),
            });
        }
        assert!(workers.finish(Duration::from_mins(1)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), tasks);
    }
}
