//! The thread that knows what is on the disk.
//!
//! Invariants: asking never blocks; the list of files comes before any header is read, and is
//! filled in behind; a slow reader gets the newest state, never a queue of old ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_core::mailbox::Mailbox;
use atelier_core::reading::ReadingMarks;
use atelier_language::tr;
use parking_lot::Mutex;

use super::DiskFile;
use super::cache::FactsCache;
use super::facts::{FileStatus, inspect_file};
use super::layout::{Folder, same_folder};
use super::walk::{FileEntry, walk};
use super::watch::Watch;
use crate::Fault;

/// Headers that are read between two states.
const BATCH: usize = 16;
/// Quiet time before the next scan.
const QUIET: Duration = Duration::from_millis(300);
/// The longest sleep of the thread without a request.
const IDLE: Duration = Duration::from_hours(1);
/// Longest wait for quiet.
const AT_LATEST: Duration = Duration::from_secs(3);

/// Folders and files of a scanner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannerOptions {
    /// Atelier's own folder for models.
    pub models_root: PathBuf,
    /// Folders that the person added.
    pub added: Vec<PathBuf>,
    /// File of the cache of facts.
    pub cache_file: PathBuf,
    /// Folder of the marks of files that are read unasked.
    pub marks: PathBuf,
    /// True if changes are noticed; a command that ends at once needs none.
    pub watch: bool,
}

/// Result of a scan, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanResult {
    /// The folders, Atelier's own first.
    pub folders: Vec<Folder>,
    /// The files of all of them, each once.
    pub files: Vec<Arc<DiskFile>>,
    /// Folders and files that could not be read, in sentences.
    pub problems: Vec<String>,
    /// True if every folder was listed.
    pub listed: bool,
    /// True if every file was looked into, too.
    pub complete: bool,
    /// Grows with each state.
    pub state: u64,
}

impl ScanResult {
    /// The file at this path.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Arc<DiskFile>> {
        self.files.iter().find(|it| it.path == path)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum ScanRequest {
    /// Scan these folders from now on.
    Folders { models_root: PathBuf, added: Vec<PathBuf> },
    /// Scan again: something changed, or the person wants to be sure.
    Again,
}

/// The caller's end. Dropping it ends the thread.
pub struct Scanner {
    shared: Arc<Shared>,
    latest: Mutex<Arc<ScanResult>>,
    thread: Option<JoinHandle<()>>,
}

/// Mailboxes in both directions: requests, and results, of which the newest counts.
struct Shared {
    requests: Mailbox<ScanRequest>,
    results: Mailbox<Arc<ScanResult>>,
    stop: AtomicBool,
}

impl Shared {
    fn request(&self, request: ScanRequest) {
        // Another scan makes an unread wish for one needless; folders replace folders.
        let is_folders = matches!(request, ScanRequest::Folders { .. });
        self.requests.send_replacing(request, |unread| match unread {
            ScanRequest::Again => true,
            ScanRequest::Folders { .. } => is_folders,
        });
    }
}

impl Scanner {
    /// Starts the thread. `wake` is called, from any thread, whenever there is something new.
    #[must_use]
    pub fn start(options: ScannerOptions, wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self::start_with(options, inspect_file, wake)
    }

    /// [`Self::start`] with another way to look into files, for tests.
    fn start_with(
        options: ScannerOptions,
        look: impl Fn(&Path) -> FileStatus + Send + 'static,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared { requests: Mailbox::new(|| {}), results: Mailbox::new(wake), stop: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("library".into()).spawn(move || {
            let watch = options.watch.then(|| {
                let shared = Arc::clone(&theirs);
                let changed = move || shared.request(ScanRequest::Again);
                Box::new(changed) as Box<dyn Fn() + Send>
            });
            let mut worker = Worker {
                folders: folders(&options.models_root, &options.added),
                cache: FactsCache::open(&options.cache_file),
                marks: ReadingMarks::open(&options.marks),
                look: Box::new(look),
                shared: theirs,
                result: ScanResult::default(),
                watch: None,
            };
            worker.run(watch);
        });
        // A system without threads for this has none for the engine either; then the library stays
        // empty.
        Self { shared, latest: Mutex::default(), thread: thread.ok() }
    }

    /// The newest result.
    #[must_use]
    pub fn result(&self) -> Arc<ScanResult> {
        let mut latest = self.latest.lock();
        while let Some(newer) = self.shared.results.try_next() {
            *latest = newer;
        }
        Arc::clone(&latest)
    }

    /// The first result after this state, or `None` where none comes within the time.
    #[must_use]
    pub fn after(&self, state: u64, within: Duration) -> Option<Arc<ScanResult>> {
        let end = Instant::now() + within;
        let mut result = self.result();
        while result.state <= state {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return None;
            }
            // In short waits, because the thread may end.
            if let Some(newer) = self.shared.results.next_within(left.min(Duration::from_millis(500))) {
                let mut latest = self.latest.lock();
                if newer.state > latest.state {
                    *latest = newer;
                }
            }
            result = self.result();
        }
        Some(result)
    }

    /// Waits until every file was looked into. For commands; the window never waits.
    #[must_use]
    pub fn complete(&self, go_on: &dyn Fn() -> bool) -> Arc<ScanResult> {
        let mut result = self.result();
        while !result.complete && go_on() && self.thread.as_ref().is_some_and(|it| !it.is_finished()) {
            result = self.after(result.state, Duration::from_millis(200)).unwrap_or(result);
        }
        self.result()
    }

    /// Looks at these folders from now on.
    pub fn set_folders(&self, models_root: PathBuf, added: Vec<PathBuf>) {
        self.shared.request(ScanRequest::Folders { models_root, added });
    }

    /// Looks at everything again.
    pub fn rescan(&self) {
        self.shared.request(ScanRequest::Again);
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the thread, which then sees the flag.
        self.shared.request(ScanRequest::Again);
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// The folders to look at: Atelier's own first, and each once.
fn folders(models_root: &Path, added: &[PathBuf]) -> Vec<Folder> {
    let mut folders = vec![Folder::own(models_root)];
    for path in added {
        if !folders.iter().any(|it| same_folder(&it.path, path)) {
            folders.push(Folder::recognise(path));
        }
    }
    folders
}

struct Worker {
    folders: Vec<Folder>,
    cache: FactsCache,
    marks: ReadingMarks,
    look: Box<dyn Fn(&Path) -> FileStatus + Send>,
    shared: Arc<Shared>,
    result: ScanResult,
    watch: Option<Watch>,
}

impl Worker {
    fn run(&mut self, changed: Option<Box<dyn Fn() + Send>>) {
        if let Some(changed) = changed {
            self.watch = Some(Watch::new(changed));
            self.watch_folders();
        }
        loop {
            let mut again = self.scan();
            while !again {
                if let Some(request) = self.shared.requests.next_within(IDLE) {
                    again = self.handle(request);
                }
                if self.stopped() {
                    return;
                }
            }
            self.wait_for_quiet();
            if self.stopped() {
                return;
            }
        }
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::SeqCst)
    }

    /// Changes come in bursts: one look after the last of them is enough.
    fn wait_for_quiet(&mut self) {
        let latest = Instant::now() + AT_LATEST;
        while !self.stopped() && Instant::now() < latest {
            match self.shared.requests.next_within(QUIET) {
                Some(request) => drop(self.handle(request)),
                None => return,
            }
        }
    }

    /// Takes an order; true where everything must be looked at again.
    fn handle(&mut self, request: ScanRequest) -> bool {
        if let ScanRequest::Folders { models_root, added } = request {
            self.folders = folders(&models_root, &added);
            self.watch_folders();
        }
        true
    }

    fn watch_folders(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        for (root, _) in self.folders.iter().flat_map(|it| &it.roots) {
            if root.is_dir() && !watch.add(root) {
                tracing::info!("changes in {} are not noticed automatically", root.display());
            }
        }
    }

    /// Lists the folders, then looks into the files that are not known. True where it was
    /// interrupted by an order.
    fn scan(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let go_on = move || !shared.stop.load(Ordering::SeqCst);
        let mut found: Vec<FileEntry> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut files = Vec::new();
        let mut problems = Vec::new();
        // A tree may have been laid out since it was added.
        self.folders =
            self.folders.iter().enumerate().map(|(at, it)| if at == 0 { it.clone() } else { Folder::recognise(&it.path) }).collect();
        for at in 0..self.folders.len() {
            let Some(folder) = self.folders.get(at) else { break };
            let mut walked = walk(folder, &go_on);
            // Atelier's own folder is made by the first download.
            if at > 0 || folder.path.exists() {
                problems.append(&mut walked.problems);
            }
            for file in walked.files {
                if seen.insert(file.path.clone()) {
                    let status = self.cache.get(&file).unwrap_or(FileStatus::Unread);
                    files.push(Arc::new(disk_file(&file, status)));
                    found.push(file);
                }
            }
            let listed = at + 1 == self.folders.len();
            let complete = listed && files.iter().all(|it| it.status != FileStatus::Unread);
            self.result = ScanResult {
                folders: self.folders.clone(),
                files: files.clone(),
                problems: problems.clone(),
                listed,
                complete,
                state: self.result.state,
            };
            self.publish();
        }
        let unread: Vec<usize> = files.iter().enumerate().filter(|(_, it)| it.status == FileStatus::Unread).map(|(at, _)| at).collect();
        for (done, at) in unread.iter().enumerate() {
            let Some(file) = found.get(*at) else { continue };
            let status = self.inspect_file(&file.path);
            self.cache.put(file, &status);
            if let Some(slot) = self.result.files.get_mut(*at) {
                *slot = Arc::new(disk_file(file, status));
            }
            let last = done + 1 == unread.len();
            if last || (done + 1).is_multiple_of(BATCH) {
                self.result.complete = last;
                self.publish();
            }
            if self.stopped() {
                break;
            }
            if let Some(request) = self.shared.requests.try_next() {
                self.save();
                return self.handle(request);
            }
        }
        self.save();
        false
    }

    /// A reader that panics must not take the library with it, and one that ended the program not
    /// the next start: the file is the one to blame.
    fn inspect_file(&self, path: &Path) -> FileStatus {
        let read = self.marks.read(path, || catch_unwind(AssertUnwindSafe(|| (self.look)(path))));
        let faulty = |fault, sentence, hint: &str| FileStatus::Faulty { fault, advice: Advice::new(sentence, hint) };
        let name = crate::header::file_name(path);
        match read {
            Ok(Ok(status)) => status,
            Ok(Err(_)) => {
                let hint = tr!("library-please-report-this-file");
                faulty(Fault::Damaged, tr!("library-internal-error-while-reading", name), hint)
            }
            // Not remembered, so that it is tried again.
            Err(_) => {
                let hint = tr!("library-download-the-file-again-or-delete");
                faulty(Fault::Unreadable, tr!("library-is-skipped-until-it", name), hint)
            }
        }
    }

    fn save(&mut self) {
        if let Err(error) = self.cache.save() {
            tracing::warn!("what the model files are could not be remembered: {error}");
        }
    }

    fn publish(&mut self) {
        self.result.state += 1;
        self.shared.results.send_replacing(Arc::new(self.result.clone()), |_| true);
    }
}

fn disk_file(file: &FileEntry, status: FileStatus) -> DiskFile {
    DiskFile { path: file.path.clone(), bytes: file.bytes, modified: file.modified, hint: file.hint, status }
}

#[cfg(test)]
mod tests;
