//! Walks through a folder and lists the model files in it. Only names, sizes and times are asked
//! for.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use atelier_language::tr;

use crate::shards;

use super::layout::{Folder, Hint, Layout, hint_of};

/// Folders inside folders; deeper ones are left out.
const MAX_DEPTH: usize = 16;
/// Entries of all folders together that are looked at.
const MAX_ENTRIES: usize = 400_000;
/// Model files that are listed.
const MAX_FILES: usize = 50_000;
/// Problems that are told; more say nothing new.
const MAX_PROBLEMS: usize = 20;

/// A model file, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub modified: Option<u64>,
    /// Purpose of its folder.
    pub hint: Option<Hint>,
}

/// Result of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The files, by path.
    pub files: Vec<FileEntry>,
    /// Folders and files that could not be read, in sentences.
    pub problems: Vec<String>,
}

/// Lists the model files of a folder. `go_on` is asked at each inner folder; where it says no, the
/// walk ends with what it has.
#[must_use]
pub fn walk(folder: &Folder, go_on: &dyn Fn() -> bool) -> Walk {
    let mut walker = Walker { layout: folder.layout, found: Walk::default(), seen: HashSet::new(), entries: 0, go_on };
    for (root, hint) in &folder.roots {
        walker.folder(root, *hint, 0);
    }
    let mut found = walker.found;
    found.files.sort_by(|one, two| one.path.cmp(&two.path));
    found.files.dedup_by(|one, two| one.path == two.path);
    found
}

struct Walker<'a> {
    layout: Layout,
    found: Walk,
    /// Folders that were walked, links followed: a loop is entered once.
    seen: HashSet<PathBuf>,
    entries: usize,
    go_on: &'a dyn Fn() -> bool,
}

impl Walker<'_> {
    fn folder(&mut self, path: &Path, hint: Option<Hint>, depth: usize) {
        if depth > MAX_DEPTH || self.is_full() || !(self.go_on)() {
            return;
        }
        let entries = match fs::canonicalize(path) {
            Ok(real) => self.seen.insert(real).then(|| fs::read_dir(path)),
            Err(error) => Some(Err(error)),
        };
        let entries = match entries {
            Some(Ok(entries)) => entries,
            Some(Err(error)) => return self.problem(path, &error),
            None => return,
        };
        let mut inner = Vec::new();
        for entry in entries {
            self.entries += 1;
            if self.is_full() {
                let sentence = tr!("library-has-too-many-files", path = path.display());
                return self.say(sentence);
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.problem(path, &error);
                    break;
                }
            };
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Caches, repositories, and what is still being written.
            if name.starts_with('.') {
                continue;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_file() && !is_model_file(&path) {
                continue;
            }
            // Follows a link; one that leads nowhere is nothing.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_dir() {
                inner.push((path, hint.or_else(|| self.hint(&name))));
            } else if metadata.is_file() && is_model_file(&path) {
                self.found.files.push(FileEntry { path, bytes: metadata.len(), modified: modified(&metadata), hint });
            }
        }
        for (path, hint) in inner {
            self.folder(&path, hint, depth + 1);
        }
    }

    /// In Atelier's own folders a model may be called anything, also `vae`.
    fn hint(&self, name: &str) -> Option<Hint> {
        if self.layout == Layout::Own { None } else { hint_of(name) }
    }

    fn is_full(&self) -> bool {
        self.entries > MAX_ENTRIES || self.found.files.len() >= MAX_FILES
    }

    fn problem(&mut self, path: &Path, error: &io::Error) {
        let advice = if error.kind() == io::ErrorKind::NotFound {
            tr!("library-connect-its-disk-or")
        } else {
            tr!("library-change-its-permissions")
        };
        self.say(tr!("library-cannot-be-read-3", path = path.display(), error, advice));
    }

    fn say(&mut self, sentence: String) {
        if self.found.problems.len() < MAX_PROBLEMS && !self.found.problems.contains(&sentence) {
            self.found.problems.push(sentence);
        }
    }
}

/// Ending of models that look at pictures.
pub(crate) const ONNX_ENDING: &str = "onnx";

/// True if a file of this name can be a model.
#[must_use]
pub fn is_model_file(path: &Path) -> bool {
    // Of a model in several files the first one stands for all.
    has_model_ending(path) && !shards::is_later(path)
}

/// True if a file of this name can be a model, or a part of one.
#[must_use]
pub fn has_model_ending(path: &Path) -> bool {
    const ENDINGS: [&str; 8] = ["safetensors", "sft", "gguf", "ckpt", "pt", "pth", "bin", ONNX_ENDING];
    path.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it.eq_ignore_ascii_case(ending)))
}

/// When a file was changed, in nanoseconds since 1970.
pub(crate) fn modified(metadata: &Metadata) -> Option<u64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

#[cfg(test)]
mod tests;
