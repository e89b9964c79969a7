//! Files that ended the program while it read them by itself.
//!
//! Before a file is read that no person asked for by name (a scan, a thumbnail, a canvas to
//! recover), a marker on the disk names it; the marker is cleared afterwards. A marker that still
//! names a file when its process is gone names what ended that process: the file is left out until
//! it changes. Who was killed at that moment looks the same, so a file that was named once is tried
//! again after a day, and left out for good if it is named again.
//!
//! Invariants: a marker is a locked file of one process, so what another process reads now is no
//! crash; marking a file costs two short writes and no flush (the system keeps what an ended
//! process wrote); without a folder that can be written to, files are read unmarked.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use atelier_language::tr;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::owner_only;
use crate::paths::{remove_if_there, write_private};

/// Held while markers are made and looked through.
const LOCK_NAME: &str = "lock";
/// The list of files that are left out.
const LEFT_OUT_NAME: &str = "left-out.json";
/// Ending of a marker's name.
const MARKER_ENDING: &str = "reading";
/// Files that are left out at once; beyond them, the oldest is tried again.
const MAX_LEFT_OUT: usize = 1000;
/// Largest list that is read, in bytes.
const MAX_LIST_BYTES: u64 = 8 << 20;
/// Largest marker that is read, in bytes: a path has a few thousand at most.
const MAX_MARKER_BYTES: u64 = 64 << 10;
/// Ends after which a file is left out until it changes.
const MAX_ENDS: u32 = 2;
/// Seconds after which a file that was named once is tried again.
const RETRY_SECS: u64 = 24 * 60 * 60;

/// Number of the next marker of this process.
static NEXT_MARKER: AtomicU64 = AtomicU64::new(0);

/// The markers of this process, and the files that are left out. Any thread may use it.
#[derive(Debug)]
pub struct ReadingMarks {
    folder: PathBuf,
    /// Markers that name no file now.
    free: Mutex<Vec<Marker>>,
    /// Files that ended the program, by path.
    named: Mutex<HashMap<String, NamedFile>>,
    /// True once a marker could not be written, which is logged once.
    is_failure_logged: AtomicBool,
}

/// A file that is left out, because Atelier ended while it read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("core-atelier-crashed-while-reading", path = path.display()))]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
}

/// A file in the state that it had when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileState {
    path: String,
    bytes: u64,
    /// In nanoseconds since 1970; 0 where the system does not tell.
    modified_ns: u64,
}

impl FileState {
    /// `None` where there is no file.
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let path = std::path::absolute(path).ok()?;
        let since = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        let modified_ns = since.and_then(|it| u64::try_from(it.as_nanos()).ok()).unwrap_or_default();
        // Names that are no text are told apart well enough by size and time.
        Some(Self { path: path.to_string_lossy().into_owned(), bytes: metadata.len(), modified_ns })
    }
}

/// A file that ended the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct NamedFile {
    file: FileState,
    /// How often it did.
    ends: u32,
    /// When that was noticed last, in seconds since 1970.
    noticed_secs: u64,
}

impl NamedFile {
    fn is_left_out(&self, now_secs: u64) -> bool {
        self.ends >= MAX_ENDS || now_secs < self.noticed_secs.saturating_add(RETRY_SECS)
    }
}

/// A file of a line, which names what is read; locked while its process lives.
#[derive(Debug)]
struct Marker {
    path: PathBuf,
    file: File,
}

impl Marker {
    /// A new one, which names nothing. The caller has the folder's lock.
    fn create(folder: &Path) -> io::Result<Self> {
        loop {
            let number = NEXT_MARKER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{}-{number}.{MARKER_ENDING}", std::process::id()));
            match owner_only::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    file.lock()?;
                    return Ok(Self { path, file });
                }
                // Of a process that had this number before.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        // At once: a process may end between two writes.
        self.file.write_all(&[line, b"\n"].concat())
    }

    /// The file that a marker of an ended process names. What a longer line left behind the first
    /// one counts for nothing.
    fn read(file: &File) -> Option<FileState> {
        let mut text = Vec::new();
        file.take(MAX_MARKER_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(text.split(|byte| *byte == b'\n').next()?).ok()
    }
}

/// A marker that names a file; cleared when it is dropped, also by a panic of the reader, which
/// ends no process.
struct Marked<'a> {
    marks: &'a ReadingMarks,
    marker: Option<Marker>,
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        let Some(mut marker) = self.marker.take() else { return };
        match marker.write(b"") {
            Ok(()) => self.marks.free.lock().push(marker),
            // A marker that cannot be cleared must not name a file that was read well.
            Err(error) => {
                self.marks.log_failure(&error);
                marker.remove();
            }
        }
    }
}

impl Marker {
    fn remove(self) {
        let Self { path, file } = self;
        drop(file);
        if let Err(error) = remove_if_there(&path) {
            tracing::warn!("{} could not be removed: {error}", path.display());
        }
    }
}

impl ReadingMarks {
    /// The marks in this folder ([`crate::paths::Paths::reading_marks`]). Files that ended
    /// processes which are gone by now are left out from here on. Blocks.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        let marks =
            Self { folder: folder.to_owned(), free: Mutex::default(), named: Mutex::default(), is_failure_logged: AtomicBool::new(false) };
        // A start that reads nothing makes no folder.
        if !folder.is_dir() {
            return marks;
        }
        let found = marks.locked(|| {
            let mut named = read_list(&marks.folder);
            let markers = markers_of_ended(&marks.folder);
            let ended_by: Vec<FileState> = markers.iter().filter_map(|(_, file)| Marker::read(file)).collect();
            let has_changed = forget_changed(&mut named) | !ended_by.is_empty();
            for file in ended_by {
                note_end(&mut named, file, now_secs());
            }
            if has_changed {
                write_list(&marks.folder, &mut named)?;
            }
            for (path, file) in markers {
                Marker { path, file }.remove();
            }
            Ok(named)
        });
        match found {
            Ok(named) => *marks.named.lock() = named,
            Err(error) => {
                marks.log_failure(&error);
                *marks.named.lock() = read_list(folder);
            }
        }
        marks
    }

    /// Reads a file that nobody asked for by name. Blocks as the reader does.
    ///
    /// # Errors
    /// If the file ended the program before; it is not read then.
    pub fn read<T>(&self, path: &Path, read: impl FnOnce() -> T) -> Result<T, LeftOut> {
        // What is not there is the reader's to tell.
        let Some(file) = FileState::of(path) else { return Ok(read()) };
        let was_named = self.named.lock().get(&file.path).is_some_and(|it| it.file == file);
        if was_named && self.is_left_out_now(&file) {
            return Err(LeftOut { path: path.to_owned() });
        }
        let marked = self.mark(&file);
        let result = read();
        drop(marked);
        if was_named {
            self.forgive(&file);
        }
        Ok(result)
    }

    /// True where this file, as it is now, is left out.
    #[must_use]
    pub fn is_left_out(&self, path: &Path) -> bool {
        let is_any_named = !self.named.lock().is_empty();
        is_any_named && FileState::of(path).is_some_and(|file| self.is_left_out_now(&file))
    }

    /// The files that are left out, by path.
    #[must_use]
    pub fn left_out(&self) -> Vec<PathBuf> {
        let now = now_secs();
        let mut paths: Vec<PathBuf> =
            self.named.lock().values().filter(|it| it.is_left_out(now)).map(|it| PathBuf::from(&it.file.path)).collect();
        paths.sort();
        paths
    }

    fn is_left_out_now(&self, file: &FileState) -> bool {
        self.named.lock().get(&file.path).is_some_and(|it| it.file == *file && it.is_left_out(now_secs()))
    }

    fn mark(&self, file: &FileState) -> Marked<'_> {
        let free = self.free.lock().pop();
        let marker = free.map_or_else(|| self.locked(|| Marker::create(&self.folder)), Ok).and_then(|mut marker| {
            marker.write(&serde_json::to_vec(file)?)?;
            Ok(marker)
        });
        Marked { marks: self, marker: marker.inspect_err(|error| self.log_failure(error)).ok() }
    }

    /// The file was read well after all.
    fn forgive(&self, file: &FileState) {
        self.named.lock().remove(&file.path);
        let written = self.locked(|| {
            let mut named = read_list(&self.folder);
            named.remove(&file.path);
            write_list(&self.folder, &mut named)
        });
        if let Err(error) = written {
            self.log_failure(&error);
        }
    }

    /// Does this while no other process or thread looks through the markers.
    fn locked<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        owner_only::create_folder(&self.folder)?;
        let lock = owner_only::options().read(true).write(true).create(true).truncate(false).open(self.folder.join(LOCK_NAME))?;
        lock.lock()?;
        work()
    }

    fn log_failure(&self, error: &io::Error) {
        if !self.is_failure_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!("what is read cannot be marked in {}: {error}", self.folder.display());
        }
    }
}

impl Drop for ReadingMarks {
    fn drop(&mut self) {
        std::mem::take(self.free.get_mut()).into_iter().for_each(Marker::remove);
    }
}

/// The markers whose processes are gone, locked. The caller has the folder's lock.
fn markers_of_ended(folder: &Path) -> Vec<(PathBuf, File)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let markers = entries.filter(|path| path.extension().is_some_and(|it| it == MARKER_ENDING));
    let opened = markers.filter_map(|path| Some((File::options().read(true).write(true).open(&path).ok()?, path)));
    opened.filter_map(|(file, path)| file.try_lock().is_ok().then_some((path, file))).collect()
}

fn read_list(folder: &Path) -> HashMap<String, NamedFile> {
    let mut text = Vec::new();
    let read = File::open(folder.join(LEFT_OUT_NAME)).and_then(|file| file.take(MAX_LIST_BYTES).read_to_end(&mut text));
    // A damaged list says nothing: what was on it is tried again.
    let named: Vec<NamedFile> = read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default();
    named.into_iter().map(|it| (it.file.path.clone(), it)).collect()
}

fn write_list(folder: &Path, named: &mut HashMap<String, NamedFile>) -> io::Result<()> {
    let mut list: Vec<&NamedFile> = named.values().collect();
    list.sort_by(|a, b| (b.noticed_secs, &a.file.path).cmp(&(a.noticed_secs, &b.file.path)));
    list.truncate(MAX_LEFT_OUT);
    write_private(&folder.join(LEFT_OUT_NAME), &serde_json::to_vec_pretty(&list)?)?;
    let kept: Vec<String> = list.into_iter().map(|it| it.file.path.clone()).collect();
    named.retain(|path, _| kept.contains(path));
    Ok(())
}

/// Forgets files that are there and others now; true where there were some.
fn forget_changed(named: &mut HashMap<String, NamedFile>) -> bool {
    let before = named.len();
    named.retain(|path, it| FileState::of(Path::new(path)).is_none_or(|now| now == it.file));
    named.len() < before
}

fn note_end(named: &mut HashMap<String, NamedFile>, file: FileState, now_secs: u64) {
    let ends = named.get(&file.path).filter(|it| it.file == file).map_or(0, |it| it.ends) + 1;
    named.insert(file.path.clone(), NamedFile { file, ends, noticed_secs: now_secs });
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
