//! The thread that scans folders, and writes the marks of persons beside the pictures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;
use atelier_core::reading::ReadingMarks;
use atelier_gallery::{Database, GalleryError, ScanReport};
use atelier_language::tr;

use super::message::{GalleryEvent, send_event};

/// Time between two looks at what a scan has found so far.
const PUBLISH_EVERY: Duration = Duration::from_millis(700);

/// Time without a task after which the database is looked through for damage, once: its whole file
/// is read.
const QUIET_BEFORE_CHECK: Duration = Duration::from_secs(30);

/// Time between two tries of a task that a disk refused.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Task of this thread; a newer one of the same kind takes the place of an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Scan,
    WriteJournals,
    Stop,
}

pub(super) struct Scanning {
    tasks: Arc<Mailbox<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Scanning {
    /// Starts the thread, which calls `scanned` when pictures were added or changed. Without a
    /// thread nothing is scanned, which is logged.
    pub(super) fn start(
        paths: &Paths,
        events: Arc<Mailbox<GalleryEvent>>,
        scanned: impl Fn() + Send + 'static,
        is_stopping: Arc<AtomicBool>,
    ) -> Self {
        let tasks = Arc::new(Mailbox::new(|| {}));
        let (received, paths) = (Arc::clone(&tasks), paths.clone());
        let thread = thread::Builder::new().name("gallery scan".into()).spawn(move || {
            if let Err(error) = run(&paths, &received, &events, &scanned, &is_stopping) {
                send_event(&events, GalleryEvent::Notice(error.to_string()));
            }
        });
        if let Err(error) = &thread {
            tracing::error!("the folders of the gallery cannot be scanned: {error}");
        }
        Self { tasks, thread: thread.ok() }
    }

    pub(super) fn rescan(&self) {
        self.send(Task::Scan);
    }

    /// Writes changed marks beside the pictures.
    pub(super) fn write_journals(&self) {
        self.send(Task::WriteJournals);
    }

    fn send(&self, task: Task) {
        self.tasks.send_replacing(task, |unread| *unread == task);
    }

    /// Writes what is left to write, and ends the thread.
    pub(super) fn finish(mut self) {
        self.write_journals();
        self.send(Task::Stop);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the scan of the gallery crashed");
        }
    }
}

fn run(
    paths: &Paths,
    tasks: &Mailbox<Task>,
    events: &Arc<Mailbox<GalleryEvent>>,
    scanned: &dyn Fn(),
    is_stopping: &AtomicBool,
) -> Result<(), GalleryError> {
    let (mut database, _) = Database::open(&paths.gallery_file())?;
    let marks = ReadingMarks::open(&paths.reading_marks());
    let (mut is_checked, mut is_damage_reported) = (false, false);
    // What a disk refused, which was told.
    let (mut refused, mut is_told): (Option<Task>, bool) = (None, false);
    loop {
        let task = match refused {
            Some(_) => tasks.next_within(RETRY_INTERVAL).or(refused),
            None if is_checked => Some(tasks.wait()),
            None => tasks.next_within(QUIET_BEFORE_CHECK),
        };
        let result = match task {
            Some(Task::Stop) => return Ok(()),
            Some(Task::WriteJournals) => database.write_journals(),
            Some(Task::Scan) => scan(&mut database, &marks, events, scanned, is_stopping),
            None => {
                is_checked = true;
                database.check()
            }
        };
        let Err(error) = result else {
            if task == refused {
                (refused, is_told) = (None, false);
            }
            continue;
        };
        let mut sentence = error.to_string();
        if error.is_temporary() {
            // A scan also writes the journals.
            refused = if refused == Some(Task::Scan) { refused } else { task };
            if std::mem::replace(&mut is_told, true) {
                continue;
            }
            sentence.push_str(tr!("studio-atelier-tries-again-automatically"));
        }
        if error.is_damage() {
            if std::mem::replace(&mut is_damage_reported, true) {
                continue;
            }
            Database::report_damage(&paths.gallery_file())?;
            tr!("studio-the-index-of-your").clone_into(&mut sentence);
        }
        send_event(events, GalleryEvent::Notice(sentence));
    }
}

fn scan(
    database: &mut Database,
    marks: &ReadingMarks,
    events: &Arc<Mailbox<GalleryEvent>>,
    scanned: &dyn Fn(),
    is_stopping: &AtomicBool,
) -> Result<(), GalleryError> {
    let mut published = Instant::now();
    for folder in database.folders()? {
        let path = folder.path.clone();
        let mut progress = |report: &ScanReport| {
            if published.elapsed() >= PUBLISH_EVERY {
                published = Instant::now();
                send_event(events, GalleryEvent::Scanning(Some((path.clone(), report.looked_at))));
                scanned();
            }
        };
        let report = database.scan(folder.id, marks, &mut progress, &|| is_stopping.load(Ordering::Acquire))?;
        if report.newly_left_out > 0 {
            send_event(events, GalleryEvent::Notice(left_out_sentence(&report)));
        }
        scanned();
    }
    send_event(events, GalleryEvent::Scanning(None));
    Ok(())
}

/// Names the pictures that are left out.
fn left_out_sentence(report: &ScanReport) -> String {
    let (path, others) = report.left_out.split_first().map_or((String::new(), 0), |(it, rest)| (it.display().to_string(), rest.len()));
    let others = match others {
        0 => String::new(),
        1 => tr!("studio-and-another-picture").to_owned(),
        count => tr!("studio-and-other-pictures", count),
    };
    tr!("studio-atelier-crashed-while-reading-the-file", path, others)
}
