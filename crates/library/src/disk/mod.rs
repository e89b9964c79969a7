//! Scan of the disk: model files in Atelier's own folder and in folders that a person added,
//! inspected by their headers.
//!
//! Invariants: nothing here writes, moves or deletes anything in those folders
//! (`tests/architecture.rs` holds it; the one file that is written is Atelier's own cache); a
//! pickle is listed and never opened; whatever a folder holds (loops, folders that may not be read,
//! millions of files), the walk ends. Not here: which files make a model together (`assemble`), and
//! deleting (`remove`).

mod cache;
mod facts;
mod layout;
mod scanner;
mod walk;
mod watch;
mod wildcards;
mod yaml;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use cache::FactsCache;
pub use facts::{Facts, FileStatus, Training, inspect_file};
pub(super) use layout::same_folder;
pub use layout::{Folder, Hint, Layout};
pub use scanner::{ScanResult, Scanner, ScannerOptions};
pub(crate) use walk::ONNX_ENDING;
pub(super) use walk::modified;
pub use walk::{FileEntry, Walk, has_model_ending, is_model_file, walk};
pub use watch::FolderWatch;
pub use wildcards::{WILDCARDS_FOLDER, WildcardLists, is_list_named};

use super::manifest::Role;
use atelier_core::recipe::FileRole;

/// A model file on the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskFile {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was changed, in nanoseconds since 1970; `None` where the system does not tell.
    pub modified: Option<u64>,
    /// Purpose of its folder.
    pub hint: Option<Hint>,
    /// The facts of its header.
    pub status: FileStatus,
}

/// The model files that lie in this folder itself, by path; none where it cannot be read.
#[must_use]
pub fn folder_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| is_model_file(path) && path.is_file()).collect();
    files.sort();
    files
}

impl DiskFile {
    /// A file with the facts of its header, which is read now.
    #[must_use]
    pub fn inspect(path: &Path) -> Self {
        let bytes = fs::metadata(path).map_or(0, |file| file.len());
        Self { path: path.to_owned(), bytes, modified: None, hint: None, status: inspect_file(path) }
    }

    /// Its role: by its header, else by its folder.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        let of_folder = match self.hint {
            Some(Hint::Role(role)) => Some(role),
            Some(Hint::TextEncoder) | None => None,
        };
        match &self.status {
            FileStatus::Known(facts) => facts.role.or(of_folder.filter(|it| *it == Role::Embedding)),
            FileStatus::Unread | FileStatus::Pickle | FileStatus::Faulty { .. } => of_folder,
        }
    }

    /// The facts of its header; `None` where it was not read.
    #[must_use]
    pub const fn facts(&self) -> Option<&Arc<Facts>> {
        match &self.status {
            FileStatus::Known(facts) => Some(facts),
            FileStatus::Unread | FileStatus::Pickle | FileStatus::Faulty { .. } => None,
        }
    }

    /// True if a model can be built round it: it has a diffusion module.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.facts().is_some() && matches!(self.role(), Some(Role::Part(FileRole::Model | FileRole::Diffusion)))
    }
}

/// Number of sections in a list of ComfyUI's folders. For the fuzzing harness (`fuzz/`).
#[doc(hidden)]
#[must_use]
pub fn sections_of_model_paths(text: &str) -> usize {
    yaml::sections(text).len()
}
