//! Configuration of the library: folders, accepted licences and limits, in one small file that the
//! window and the command line share.
//!
//! Apart from the window's settings, because a command must be able to add a folder while the
//! window is open, and neither may undo what the other wrote: every change reads the file again.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf, absolute};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::disk::{ScannerOptions, WILDCARDS_FOLDER, WildcardLists, same_folder};
use atelier_core::paths::{self, Paths};
use atelier_language::tr;

/// A file larger than this is not ours.
const MAX_BYTES: u64 = 1 << 20;
/// Number of files downloaded at the same time by default.
const USUALLY_AT_ONCE: usize = 3;

/// Configuration of the library: folders, accepted licences and limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LibraryConfig {
    /// Folder of downloaded models; `None` is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models_root: Option<PathBuf>,
    /// Folders that are used in place, and never changed.
    pub folders: Vec<PathBuf>,
    /// Models (by id) whose terms the person saw and accepted.
    pub accepted: BTreeSet<String>,
    /// True if the engine may open pickled upscalers (`.pth`).
    pub allow_pickles: bool,
    /// Number of files downloaded at the same time; `None` is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downloads_at_once: Option<usize>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl LibraryConfig {
    /// True if the person accepted the terms of the model of this name, `ID` or `ID:VARIANT`.
    #[must_use]
    pub fn has_accepted(&self, name: &str) -> bool {
        self.accepted.contains(model_of(name))
    }

    /// The person accepted the terms of the model of this name.
    pub fn accept(&mut self, name: &str) {
        self.accepted.insert(model_of(name).to_owned());
    }
}

/// The variants of a model come under its terms.
fn model_of(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// A change of the places did not happen.
#[derive(Debug, thiserror::Error)]
pub enum LibraryConfigError {
    /// The file is damaged or cannot be read.
    #[error("{}", tr!("library-could-not-be-read", path = path.display(), source))]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{}", tr!("library-could-not-be-written", path = path.display(), source))]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no such folder.
    #[error("{}", tr!("library-is-not-a-readable", path = path.display()))]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// It is used already.
    #[error("{}", tr!("library-is-already-in-use", path = path.display()))]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

impl LibraryConfig {
    /// Reads the file; a missing one means that nothing is set.
    ///
    /// # Errors
    /// If it is damaged or cannot be read.
    pub fn read(path: &Path) -> Result<Self, LibraryConfigError> {
        let failed = |source| LibraryConfigError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        match File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)) {
            Ok(_) => serde_json::from_str(&text).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(failed(error)),
        }
    }

    /// The lists of words of a person: their own, and those of the programs whose models are used in
    /// place. Returns a sentence for each thing that could not be read. Blocks.
    #[must_use]
    pub fn word_lists(paths: &Paths) -> (WildcardLists, Vec<String>) {
        let (folders, problem) = match Self::read(&paths.library_file()) {
            Ok(config) => (config.folders, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let (lists, unread) = WildcardLists::read_beside(Some(&paths.data.join(WILDCARDS_FOLDER)), &folders);
        (lists, unread.into_iter().chain(problem).collect())
    }

    /// Reads the file, changes it, and writes it.
    ///
    /// # Errors
    /// If it cannot be read or written, or the change is refused; then the file is as it was.
    pub fn change(path: &Path, change: impl FnOnce(&mut Self) -> Result<(), LibraryConfigError>) -> Result<Self, LibraryConfigError> {
        let mut places = Self::read(path)?;
        change(&mut places)?;
        let failed = |source| LibraryConfigError::Write { path: path.to_owned(), source };
        let text = serde_json::to_vec_pretty(&places).map_err(|error| failed(error.into()))?;
        paths::write_atomic_bytes(path, &text).map_err(failed)?;
        Ok(places)
    }

    /// Adds a folder (or an `extra_model_paths.yaml`) that is used in place.
    ///
    /// # Errors
    /// If there is none, or it is used already.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), LibraryConfigError> {
        // The folder is named by words that hold from anywhere.
        let folder = absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let list =
            folder.extension().is_some_and(|it| it.eq_ignore_ascii_case("yaml") || it.eq_ignore_ascii_case("yml")) && folder.is_file();
        if !list && std::fs::read_dir(&folder).is_err() {
            return Err(LibraryConfigError::NoFolder { path: folder });
        }
        if self.folders.iter().any(|it| same_folder(it, &folder)) {
            return Err(LibraryConfigError::InUse { path: folder });
        }
        self.folders.push(folder);
        Ok(())
    }

    /// Forgets a folder; its files stay as they are. False where it was not used.
    pub fn forget_folder(&mut self, folder: &Path) -> bool {
        let before = self.folders.len();
        self.folders.retain(|it| !same_folder(it, folder));
        self.folders.len() < before
    }

    /// Folder of downloaded models.
    #[must_use]
    pub fn models_root(&self, paths: &Paths) -> PathBuf {
        self.models_root.clone().unwrap_or_else(|| paths.models.clone())
    }

    /// Number of files downloaded at the same time: from 1 to 8.
    #[must_use]
    pub fn at_once(&self) -> usize {
        self.downloads_at_once.unwrap_or(USUALLY_AT_ONCE).clamp(1, 8)
    }

    /// Folders and files of a scanner.
    #[must_use]
    pub fn scanner(&self, paths: &Paths, watch: bool) -> ScannerOptions {
        ScannerOptions {
            models_root: self.models_root(paths),
            added: self.folders.clone(),
            cache_file: paths.facts_file(),
            marks: paths.reading_marks(),
            watch,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_set_is_kept_also_what_is_not_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config/library.json");
        assert_eq!(LibraryConfig::read(&path).unwrap(), LibraryConfig::default());
        fs::create_dir(dir.path().join("mine")).unwrap();
        let add = |places: &mut LibraryConfig| places.add_folder(&dir.path().join("mine"));
        LibraryConfig::change(&path, add).unwrap();
        let known = LibraryConfig::change(&path, |it| it.add_folder(&dir.path().join("mine/../mine"))).unwrap_err();
        assert!(matches!(known, LibraryConfigError::InUse { .. }), "{known}");
        assert!(matches!(
            LibraryConfig::change(&path, |it| it.add_folder(&dir.path().join("gone"))),
            Err(LibraryConfigError::NoFolder { .. })
        ));
        let text = fs::read_to_string(&path).unwrap().replacen('{', "{\"future\": [1],", 1);
        fs::write(&path, text).unwrap();
        let places = LibraryConfig::change(&path, |it| {
            it.accept("flux.1-dev:Q4_0");
            assert!(it.has_accepted("flux.1-dev") && it.has_accepted("flux.1-dev:Q2_K") && !it.has_accepted("flux.1"));
            Ok(())
        });
        assert_eq!(places.unwrap(), LibraryConfig::read(&path).unwrap());
        let mut places = LibraryConfig::read(&path).unwrap();
        assert!(places.other.contains_key("future") && places.folders == [dir.path().join("mine")]);
        assert!(places.forget_folder(&dir.path().join("mine")) && !places.forget_folder(&dir.path().join("mine")));
    }

    #[test]
    fn a_damaged_file_is_told_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("library.json");
        fs::write(&path, "{ not JSON").unwrap();
        assert!(matches!(LibraryConfig::change(&path, |_| Ok(())), Err(LibraryConfigError::Read { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ not JSON");
    }
}
