//! Backups of canvases: where each window keeps its own, and which wait to be opened again.
//!
//! This person's one window keeps them in the folder of canvases itself. One that opens beside a
//! window which does not answer keeps its own in a folder in there, locked while it lives: nobody
//! opens them meanwhile. Blocks.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use atelier_core::owner_only;
use atelier_core::paths;
use atelier_core::reading::ReadingMarks;
use atelier_language::tr;
use atelier_media::canvas_file::CANVAS_ENDING;

/// Begin of the name of a folder of a window beside others.
const OWN_PREFIX: &str = "window-";
/// Name of the lock in such a folder.
const LOCK_NAME: &str = "lock";

/// The folder of a window beside others, until it is dropped.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    /// Held for as long as this lives.
    _lock: File,
}

impl OwnFolder {
    /// A new folder in the folder of canvases.
    ///
    /// # Errors
    /// If the system refuses it or its lock.
    pub fn create(canvases: &Path) -> io::Result<Self> {
        let path = canvases.join(format!("{OWN_PREFIX}{:016x}", rand::random::<u64>()));
        owner_only::ensure_folder(&path)?;
        let lock = File::create(path.join(LOCK_NAME))?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Backups of windows that are closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Those that can be opened, the newest last.
    pub files: Vec<PathBuf>,
    /// Those that are left out, and folders that cannot be looked into, with reasons in clauses.
    pub problems: Vec<(PathBuf, String)>,
}

/// The backups that wait to be opened again. Folders of closed windows without any are removed.
#[must_use]
pub fn waiting(canvases: &Path, marks: &ReadingMarks) -> Waiting {
    let mut found = Waiting::default();
    let mut files = Vec::new();
    collect(canvases, &mut files, &mut found.problems);
    for folder in own_folders(canvases) {
        let is_in_use = File::open(folder.join(LOCK_NAME)).is_ok_and(|lock| lock.try_lock().is_err());
        if is_in_use {
            continue;
        }
        let before = files.len();
        collect(&folder, &mut files, &mut found.problems);
        if files.len() == before {
            // What else somebody put there keeps it.
            let removed = paths::remove_if_there(&folder.join(LOCK_NAME)).and_then(|()| fs::remove_dir(&folder));
            removed.unwrap_or_else(|error| tracing::warn!("{} stays: {error}", folder.display()));
        }
    }
    files.sort();
    let (left_out, files) = files.into_iter().map(|(_, path)| path).partition(|path| marks.is_left_out(path));
    found.files = files;
    let left_out: Vec<PathBuf> = left_out;
    found.problems.extend(left_out.into_iter().map(|path| (path, tr!("studio-atelier-crashed-while-reading").to_owned())));
    found
}

/// Adds the backups of a folder, and why it cannot be looked into.
fn collect(folder: &Path, files: &mut Vec<(SystemTime, PathBuf)>, problems: &mut Vec<(PathBuf, String)>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => return problems.push((folder.to_owned(), error.to_string())),
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|it| it == CANVAS_ENDING) {
            // Who knows no time of a file still opens it.
            let modified = fs::metadata(&path).and_then(|it| it.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((modified, path));
        }
    }
}

fn own_folders(canvases: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(canvases).into_iter().flatten().flatten();
    let is_own = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(OWN_PREFIX);
    entries.filter(|entry| is_own(&entry.file_name())).map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_of_a_window_that_lives_are_its_own_and_those_of_others_wait_however_many() {
        let home = tempfile::tempdir().unwrap();
        let canvases = home.path().join("canvases");
        let marks = ReadingMarks::open(&home.path().join("reading"));
        assert_eq!(waiting(&canvases, &marks), Waiting::default());
        let own = OwnFolder::create(&canvases).unwrap();
        let put = |folder: &Path, name: &str, secs: u64| {
            let file = File::create(folder.join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(secs)).unwrap();
            folder.join(name)
        };
        let mut expected: Vec<PathBuf> = (0..20).map(|n| put(&canvases, &format!("{n}.atelier"), 100 - n)).collect();
        expected.reverse();
        put(&canvases, "notes.txt", 1);
        let beside = put(own.path(), "a.atelier", 500);
        assert_eq!(waiting(&canvases, &marks).files, expected);
        let path = own.path().to_owned();
        drop(own);
        expected.push(beside.clone());
        assert_eq!(waiting(&canvases, &marks).files, expected);
        fs::remove_file(beside).unwrap();
        expected.pop();
        assert_eq!(waiting(&canvases, &marks), Waiting { files: expected, problems: vec![] });
        assert!(!path.exists(), "an empty folder goes");
    }

    #[test]
    fn a_folder_that_cannot_be_looked_into_is_named() {
        let home = tempfile::tempdir().unwrap();
        let canvases = home.path().join("canvases");
        fs::write(&canvases, "").unwrap();
        let marks = ReadingMarks::open(&home.path().join("reading"));
        assert_eq!(waiting(&canvases, &marks).problems[0].0, canvases);
    }
}
