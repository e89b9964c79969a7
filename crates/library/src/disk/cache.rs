//! Cache of the status of files, on the disk: a file of the same path, size and time is not read
//! again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::facts::FileStatus;
use super::walk::FileEntry;
use atelier_core::paths;
use atelier_language::{chosen_language, tr};

/// The version that this program writes; another one's cache is read as an empty one. To be raised
/// whenever `identify` learns something.
const VERSION: u32 = 3;
/// A larger file is not ours: so many files as are remembered take less.
const MAX_BYTES: u64 = 64 << 20;
/// Beyond so many, what was not seen in the last look is forgotten.
const MAX_FILES: usize = 20_000;

/// Status of files, by path, size and time.
#[derive(Debug, Default)]
pub struct FactsCache {
    path: PathBuf,
    files: BTreeMap<PathBuf, Entry>,
    changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    modified: u64,
    about: FileStatus,
    /// Tag of the language in which a fault is told.
    #[serde(default)]
    language: String,
    #[serde(skip)]
    seen: bool,
}

#[derive(Serialize, Deserialize)]
struct Stored<F> {
    version: u32,
    files: F,
}

impl FactsCache {
    /// Reads the cache; one that is missing, damaged or of another version is empty.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
        let stored: Option<Stored<BTreeMap<PathBuf, Entry>>> = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
        let files = stored.filter(|it| it.version == VERSION).map(|it| it.files).unwrap_or_default();
        Self { path: path.to_owned(), files, changed: false }
    }

    /// The cached status; `None` if the file is not cached or has changed, or has a fault that was
    /// told in another language.
    pub fn get(&mut self, file: &FileEntry) -> Option<FileStatus> {
        let entry = self.files.get_mut(&file.path)?;
        entry.seen = true;
        let is_told = !matches!(entry.about, FileStatus::Faulty { .. }) || entry.language == chosen_language().tag();
        (entry.bytes == file.bytes && Some(entry.modified) == file.modified && is_told).then(|| entry.about.clone())
    }

    /// Remembers what a file is. A file whose time the system does not tell is not remembered, nor
    /// is one that could not be read.
    pub fn put(&mut self, file: &FileEntry, about: &FileStatus) {
        let passing = matches!(about, FileStatus::Unread | FileStatus::Faulty { fault: crate::Fault::Unreadable, .. });
        // JSON has no form for names that are no text.
        let (Some(modified), false, Some(_)) = (file.modified, passing, file.path.to_str()) else { return };
        let language = chosen_language().tag().to_owned();
        self.files.insert(file.path.clone(), Entry { bytes: file.bytes, modified, about: about.clone(), language, seen: true });
        self.changed = true;
    }

    /// Writes what is new.
    ///
    /// # Errors
    /// If the file cannot be written; then the same files are read again at the next start.
    pub fn save(&mut self) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        if self.files.len() > MAX_FILES {
            self.files.retain(|_, it| it.seen);
        }
        let mut text = serde_json::to_vec(&Stored { version: VERSION, files: &self.files })?;
        if text.len() as u64 > MAX_BYTES {
            self.files.retain(|_, it| it.seen);
            text = serde_json::to_vec(&Stored { version: VERSION, files: &self.files })?;
        }
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, tr!("library-there-are-too-many")));
        }
        paths::write_atomic_bytes(&self.path, &text)?;
        self.changed = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
