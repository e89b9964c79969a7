//! The threads behind the window, so that its own never waits.
//!
//! Tasks go in, reports come out and wake the window. Invariants: no task is ever dropped (a full queue waits on the window's side, not
//! in it); a report is sent for every task that has one. What the tasks do is in [`crate::gui::files`].

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::gui::files::{DialogKind, DialogResult, FileTask, PixelTask, Report, file_task, pixel_task, show_dialog};
use atelier_engine::{DEFAULT_PORT, RemoteError, ServerAddress, probe};

/// Tasks that wait in a thread's own queue; more wait on the window's side.
const QUEUE: usize = 64;

/// Something that wakes the window; may be called from any thread.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// The threads behind the window.
pub(crate) struct Workers {
    files: Lane<FileTask>,
    pixels: Lane<PixelTask>,
    reports: Receiver<Report>,
    sender: Sender<Report>,
    wake: Wake,
}

impl Workers {
    /// Starts the threads.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub(crate) fn start(wake: Wake) -> io::Result<Self> {
        let (sender, reports) = channel();
        let files = Lane::start("files", &sender, &wake, file_task)?;
        let pixels = Lane::start("pixels", &sender, &wake, |task| Some(pixel_task(task)))?;
        Ok(Self { files, pixels, reports, sender, wake })
    }

    /// Asks the disk thread.
    pub(crate) fn file(&mut self, task: FileTask) {
        self.files.push(task);
    }

    /// Asks the pixel thread.
    pub(crate) fn pixel(&mut self, task: PixelTask) {
        self.pixels.push(task);
    }

    /// Hands on what waits and returns the next report. Never waits.
    pub(crate) fn next_report(&mut self) -> Option<Report> {
        self.files.pump();
        self.pixels.pump();
        self.reports.try_recv().ok()
    }

    /// Shows a file dialog on a thread of its own; `Report::DialogClosed` answers.
    pub(crate) fn dialog(&self, kind: DialogKind, file_name: String) {
        let (sender, wake) = (self.sender.clone(), Arc::clone(&self.wake));
        let spawned = thread::Builder::new().name("dialog".into()).spawn(move || {
            report(&sender, &wake, Report::DialogClosed(kind, show_dialog(kind, &file_name)));
        });
        if spawned.is_err() {
            report(&self.sender, &self.wake, Report::DialogClosed(kind, DialogResult::NoDialog));
        }
    }

    /// Looks at a server on a thread of its own; `Report::ServerTested` answers.
    pub(crate) fn probe(&self, server: ServerAddress) {
        let (sender, wake) = (self.sender.clone(), Arc::clone(&self.wake));
        let asked = server.clone();
        let spawned = thread::Builder::new().name("probe".into()).spawn(move || {
            let (host, port) = asked.as_str().rsplit_once(':').unwrap_or((asked.as_str(), ""));
            let found = probe(host, port.parse().unwrap_or(DEFAULT_PORT));
            report(&sender, &wake, Report::ServerTested(asked, found));
        });
        if spawned.is_err() {
            let problem = RemoteError::Lost(server.to_string());
            report(&self.sender, &self.wake, Report::ServerTested(server, Err(problem)));
        }
    }

    /// Finishes every task given so far, but not for longer than this; false where some are left.
    #[must_use]
    pub(crate) fn finish(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        self.files.finish(deadline)
    }
}

/// A thread with its queue.
struct Lane<T> {
    sender: SyncSender<T>,
    /// What the queue had no room for; nothing is dropped.
    waiting: VecDeque<T>,
    ended: Receiver<()>,
}

impl<T: Send + 'static> Lane<T> {
    fn start(name: &str, reports: &Sender<Report>, wake: &Wake, run: impl Fn(T) -> Option<Report> + Send + 'static) -> io::Result<Self> {
        let (sender, tasks) = sync_channel::<T>(QUEUE);
        let (ended_sender, ended) = sync_channel(1);
        let (reports, wake) = (reports.clone(), Arc::clone(wake));
        thread::Builder::new().name(name.into()).spawn(move || {
            for task in tasks {
                if let Some(result) = run(task) {
                    report(&reports, &wake, result);
                }
            }
            // Nobody listens any more where the window did not wait for the end.
            let _ = ended_sender.send(());
        })?;
        Ok(Self { sender, waiting: VecDeque::new(), ended })
    }

    fn push(&mut self, task: T) {
        self.waiting.push_back(task);
        self.pump();
    }

    fn pump(&mut self) {
        while let Some(task) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(task) | TrySendError::Disconnected(task)) = self.sender.try_send(task) {
                self.waiting.push_front(task);
                return;
            }
        }
    }

    fn finish(self, deadline: Instant) -> bool {
        let Self { sender, waiting, ended } = self;
        if waiting.is_empty() {
            drop(sender);
        } else {
            // Handing on may wait for room, and a disk may hang: only the wait for the end is bounded.
            let handed = thread::Builder::new().name("files-last".into()).spawn(move || {
                for task in waiting {
                    if sender.send(task).is_err() {
                        return;
                    }
                }
            });
            if handed.is_err() {
                return false;
            }
        }
        ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }
}

/// A window that is gone needs no report.
fn report(sender: &Sender<Report>, wake: &Wake, report: Report) {
    if sender.send(report).is_ok() {
        wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::create::session::PictureId;
    use atelier_core::recipe::PictureInfo;
    use atelier_core::recipe::Rgb8;

    #[test]
    fn no_task_is_lost_when_more_come_than_the_queue_holds() {
        let folder = tempfile::tempdir().unwrap();
        let mut workers = Workers::start(Arc::new(|| {})).unwrap();
        let tasks = QUEUE * 3;
        for n in 0..tasks {
            let info = PictureInfo { index: 0, seed: n as i64 };
            workers.file(FileTask::Store {
                id: PictureId(n as u64),
                folder: folder.path().to_owned(),
                recipe: Box::default(),
                info,
                pixels: Arc::new(Rgb8::new(1, 1, vec![7; 3]).unwrap()),
            });
        }
        assert!(workers.finish(Duration::from_mins(1)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), tasks);
    }
}
