//! Marks of a person in files of their own, so that a lost index is rebuilt whole.
//!
//! A file a folder, one JSON object a line, the last line about a picture holds: beside the
//! pictures (`.atelier-marks.jsonl`) where the folder is Atelier's own, among Atelier's data where
//! it is somebody else's. Boards without pictures, saved searches and the list of folders are in
//! `collections.json` among the data. Lines that cannot be read are passed over.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use atelier_core::owner_only;
use atelier_core::stored_file::{Unreadable, put_aside, read_stored};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::file_identity::FileHash;
use crate::folders::{Folder, FolderKind};

/// Journal in a folder of Atelier's own.
pub(crate) const OWN_NAME: &str = ".atelier-marks.jsonl";
/// Longest line that is read, in bytes.
const MAX_LINE: u64 = 1 << 20;
/// Most lines that are read, and bytes of them.
const MAX_LINES: usize = 4_000_000;
const MAX_BYTES: u64 = 1 << 30;
/// Tags and boards of a picture that are read.
const MAX_NAMES: usize = 1000;
/// Most pictures of a journal that are read.
const MAX_ENTRIES: usize = 1_000_000;
/// Lines beyond twice the number of pictures, after which a journal is written anew.
const MAX_STALE_LINES: usize = 1000;

/// What a person said of a picture, and what its file does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct JournalEntry {
    /// Path in the folder, with `/` between folders; of a name that is not Unicode, what can be
    /// shown of it.
    pub(crate) file: String,
    pub(crate) hash: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) rating: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) flag: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    /// Boards by name, with the place on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) boards: Vec<(String, f64)>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<i64>,
    /// Who asked for it over the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// Hash of the file that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Journal of a folder, as it was read.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: HashMap<String, JournalEntry>,
    /// Paths by hash.
    by_hash: HashMap<FileHash, String>,
    lines: usize,
}

impl Journal {
    /// Where the journal of a folder is.
    pub(crate) fn path(folder: &Folder, journals: &Path) -> PathBuf {
        if folder.kind == FolderKind::Own {
            return folder.path.join(OWN_NAME);
        }
        let mut name = [0; 16];
        name.copy_from_slice(&Sha256::digest(folder.path.as_os_str().as_encoded_bytes())[..16]);
        journals.join(format!("{}.jsonl", FileHash(name)))
    }

    /// Reads a journal; empty where there is none.
    ///
    /// # Errors
    /// If it cannot be read now.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut journal = Self::default();
        read_lines(path, MAX_LINE, |line| {
            journal.lines += 1;
            let Ok(mut entry) = serde_json::from_slice::<JournalEntry>(line) else { return };
            entry.tags.truncate(MAX_NAMES);
            entry.boards.truncate(MAX_NAMES);
            entry.tags.shrink_to_fit();
            entry.boards.shrink_to_fit();
            let is_known = journal.entries.contains_key(&entry.file);
            if entry.file.is_empty() || (!is_known && journal.entries.len() >= MAX_ENTRIES) {
                return;
            }
            if let Some(hash) = FileHash::parse(&entry.hash) {
                journal.by_hash.insert(hash, entry.file.clone());
            }
            journal.entries.insert(entry.file.clone(), entry);
        })?;
        Ok(journal)
    }

    /// The entry about a file: by its hash, else by its path in the folder.
    pub(crate) fn entry(&self, relative: &Path, hash: FileHash) -> Option<&JournalEntry> {
        let name = journal_name(relative);
        let by_name = self.entries.get(&name);
        if by_name.is_some_and(|it| FileHash::parse(&it.hash) == Some(hash)) {
            return by_name;
        }
        self.by_hash.get(&hash).and_then(|name| self.entries.get(name)).or(by_name)
    }

    /// Paths of its entries, with `/` between folders.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Writes a journal anew where most of its lines are out of date. Nobody else may write to it
    /// meanwhile.
    pub(crate) fn compact(&self, path: &Path) -> io::Result<()> {
        if self.lines <= 2 * self.entries.len() + MAX_STALE_LINES {
            return Ok(());
        }
        let mut text = Vec::new();
        let mut names: Vec<&String> = self.entries.keys().collect();
        names.sort();
        for name in names {
            serde_json::to_writer(&mut text, &self.entries[name])?;
            text.push(b'\n');
        }
        atelier_core::paths::write_atomic_bytes(path, &text)
    }
}

/// Gives each line of a file to `each`, of at most so many bytes; none where there is no such file.
///
/// # Errors
/// If it cannot be read now: what follows is not known.
pub(crate) fn read_lines(path: &Path, max_line: u64, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    // A folder or a pipe of this name is no journal, and a pipe would hold us for ever.
    match fs::metadata(path) {
        Ok(file) if file.is_file() => {}
        Ok(_) => return Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut file = BufReader::new(File::open(path)?.take(MAX_BYTES));
    let mut line = Vec::new();
    for _ in 0..MAX_LINES {
        line.clear();
        if (&mut file).take(max_line).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        each(&line);
    }
    Ok(())
}

/// Appends lines and flushes them to the disk. A line that was cut off before is closed first.
/// `is_private`: the file is its owner's alone.
pub(crate) fn append_lines<T: Serialize>(path: &Path, lines: &[T], is_private: bool) -> io::Result<()> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    let mut options = if is_private { owner_only::options() } else { OpenOptions::new() };
    if let Some(folder) = path.parent() {
        if is_private { owner_only::create_folder(folder)? } else { fs::create_dir_all(folder)? }
    }
    let mut file = options.read(true).append(true).create(true).open(path)?;
    if is_private {
        owner_only::restrict(path)?;
    }
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.insert(0, b'\n');
        }
    }
    file.write_all(&text)?;
    file.sync_data()
}

/// Path in a folder as journals have it.
pub(crate) fn journal_name(relative: &Path) -> String {
    let parts: Vec<_> = relative.components().map(|it| it.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// What belongs to no picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Collections {
    pub(crate) folders: Vec<CollectedFolder>,
    pub(crate) boards: Vec<String>,
    pub(crate) saved_searches: Vec<(String, String)>,
}

/// A folder of the index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CollectedFolder {
    pub(crate) path: String,
    pub(crate) kind: String,
}

impl Collections {
    /// Longest file that is read, in bytes.
    const MAX_BYTES: u64 = 16 << 20;

    pub(crate) fn path(journals: &Path) -> PathBuf {
        journals.join("collections.json")
    }

    /// Reads them; empty where there are none, or where they were damaged, which are put aside.
    ///
    /// # Errors
    /// If they cannot be read now.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            return Ok(Self::default());
        }
        match read_stored(path, Self::MAX_BYTES, |bytes| serde_json::from_slice(bytes).map_err(Unreadable::damaged)) {
            Ok(read) => Ok(read.unwrap_or_default()),
            Err(Unreadable::Now(error)) => Err(error),
            Err(error) => {
                let aside = put_aside(path)?;
                tracing::warn!("boards and searches start empty, the old file is {}: {error}", aside.display());
                Ok(Self::default())
            }
        }
    }

    /// Writes them for their owner alone, where they differ from those there.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        if Self::read(path)? == *self && path.exists() {
            return owner_only::restrict(path);
        }
        if let Some(folder) = path.parent() {
            owner_only::create_folder(folder)?;
        }
        atelier_core::paths::write_private(path, &serde_json::to_vec_pretty(self)?)
    }
}

#[cfg(test)]
mod tests;
