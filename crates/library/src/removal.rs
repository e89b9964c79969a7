//! Taking a model away: only what Atelier downloaded, only while it is as it was downloaded, and to
//! the system's trash.
//!
//! Two must agree that a file is Atelier's: the journal of downloads, and its place in Atelier's
//! own folder of models; of a model with a manifest, that too. A file that a person put there,
//! changed or linked stays; so does one that another model uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use atelier_language::tr;

use super::disk::modified;
use super::manifest::Sha256;
use super::models::{Installed, Models};
use super::usage::{all_files, manifest_of};

/// A file that Atelier downloaded, as the journal of downloads has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadRecord {
    /// Its path.
    pub path: PathBuf,
    /// Its size then, in bytes.
    pub bytes: u64,
    /// Its time then, in nanoseconds since 1970.
    pub modified: Option<u64>,
    /// Its sum, as it was checked.
    pub sha256: Option<Sha256>,
}

/// The files that Atelier downloaded, by the journal in this folder.
#[must_use]
pub fn downloaded(journal: &Path) -> Vec<DownloadRecord> {
    let nanoseconds = |time: SystemTime| u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok();
    let of = |it: atelier_downloads::DownloadedFile| DownloadRecord {
        modified: it.modified.and_then(nanoseconds),
        path: it.path,
        bytes: it.size,
        sha256: Some(it.sha256),
    };
    atelier_downloads::downloaded_files(journal).into_iter().map(of).collect()
}

/// Plan of the removal of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The model's id.
    pub model: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The files that go.
    pub going: Vec<PathBuf>,
    /// The files that stay, and why.
    pub staying: Vec<(PathBuf, Stays)>,
    /// Size of the files that go, in bytes. Bytes that have a second name on the disk come free
    /// with that.
    pub bytes: u64,
    /// True if the folder goes as a whole, because nothing else is in it.
    whole: bool,
    /// The manifest, which goes with the files.
    manifest: Option<PathBuf>,
}

/// Reason for which a file stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// Atelier did not download it.
    NotOurs,
    /// It was changed since.
    Changed,
    /// This model uses it.
    UsedBy(String),
}

impl Stays {
    /// The reason, for a person.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::NotOurs => tr!("library-stays-because-atelier-did").into(),
            Self::Changed => tr!("library-stays-because-it-was").into(),
            Self::UsedBy(model) => tr!("library-stays-because-uses-it", model),
        }
    }
}

/// A model is not taken away.
#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    /// Nothing of it is Atelier's.
    #[error("{}", tr!("library-was-not-downloaded-by", model, folder = folder.display()))]
    NotOurs {
        /// The model's id.
        model: String,
        /// Its path.
        folder: PathBuf,
    },
    /// It is no folder of Atelier's.
    #[error("{}", tr!("library-is-not-in-ateliers", folder = folder.display()))]
    Outside {
        /// Its path.
        folder: PathBuf,
    },
    /// It is Atelier's, and stays all the same.
    #[error("{}", tr!("library-so-nothing-is-deleted", path = path.display(), why = why.sentence()))]
    Stays {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: Stays,
    },
    /// The trash did not take it.
    #[error("{}", tr!("library-could-not-be-moved", path = path.display(), why))]
    Trash {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        why: String,
    },
}

impl Removal {
    /// Says what would happen.
    ///
    /// # Errors
    /// If nothing may be deleted.
    pub fn plan(model: &Installed, models_root: &Path, models: &Models, downloaded: &[DownloadRecord]) -> Result<Self, RemovalError> {
        let (id, folder) = (model.manifest.id.clone(), model.folder.clone());
        let plain = fs::symlink_metadata(&folder).is_ok_and(|it| it.is_dir());
        let real = |path: &Path| fs::canonicalize(path).ok();
        if !plain || real(&folder).is_none() || real(&folder).as_deref().and_then(Path::parent) != real(models_root).as_deref() {
            return Err(RemovalError::Outside { folder });
        }
        let mut removal = Self::nothing(id, folder);
        for file in &model.manifest.files {
            let path = file.filename.in_folder(&removal.folder);
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            removal.judge(path, &metadata, models, downloaded);
        }
        if removal.going.is_empty() {
            return Err(RemovalError::NotOurs { model: removal.model, folder: removal.folder });
        }
        let manifest = manifest_of(&removal.folder);
        let ours = |path: &PathBuf| *path == manifest || removal.going.contains(path);
        removal.whole = removal.staying.is_empty() && all_files(&removal.folder).is_some_and(|it| it.iter().all(ours));
        removal.manifest = Some(manifest);
        Ok(removal)
    }

    /// Says what would happen where a file is taken away that was downloaded by itself, from a
    /// link.
    ///
    /// # Errors
    /// If nothing may be deleted.
    pub fn plan_file(
        id: &str,
        file: &Path,
        models_root: &Path,
        models: &Models,
        downloaded: &[DownloadRecord],
    ) -> Result<Self, RemovalError> {
        let parent = file.parent().unwrap_or(models_root).to_owned();
        let real = |path: &Path| fs::canonicalize(path).ok();
        let inside = real(&parent).zip(real(models_root)).is_some_and(|(parent, root)| parent.starts_with(root));
        let (Ok(metadata), true) = (fs::symlink_metadata(file), inside) else {
            return Err(RemovalError::Outside { folder: parent });
        };
        // The model that it is the main file of goes with it.
        let own = models.loose.iter().find(|it| it.main.path == file).map_or(id, |it| &it.id);
        let mut removal = Self::nothing(own.to_owned(), parent);
        removal.judge(file.to_owned(), &metadata, models, downloaded);
        if let Some((_, why)) = removal.staying.pop() {
            return Err(match why {
                Stays::NotOurs => RemovalError::NotOurs { model: removal.model, folder: removal.folder },
                why => RemovalError::Stays { path: file.to_owned(), why },
            });
        }
        // The folders that were made for it go with it.
        let alone = |folder: &&Path| *folder != models_root && all_files(folder).is_some_and(|it| it.iter().all(|it| it == file));
        let made = file.ancestors().skip(1).take_while(alone).last().map(Path::to_owned);
        if let Some(made) = made.filter(|it| it.starts_with(models_root)) {
            (removal.folder, removal.whole) = (made, true);
        }
        Ok(removal)
    }

    fn nothing(model: String, folder: PathBuf) -> Self {
        Self { model, folder, going: Vec::new(), staying: Vec::new(), bytes: 0, whole: false, manifest: None }
    }

    /// Lets a file go, or stay.
    fn judge(&mut self, path: PathBuf, metadata: &fs::Metadata, models: &Models, downloaded: &[DownloadRecord]) {
        let same = |it: &DownloadRecord| it.bytes == metadata.len() && it.modified.is_some() && it.modified == modified(metadata);
        let why = match downloaded.iter().find(|it| it.path == path) {
            Some(it) if metadata.is_file() && same(it) => user_of(&path, &self.model, models).map(Stays::UsedBy),
            Some(_) if metadata.is_file() => Some(Stays::Changed),
            _ => Some(Stays::NotOurs),
        };
        if let Some(why) = why {
            self.staying.push((path, why));
        } else {
            self.bytes += metadata.len();
            self.going.push(path);
        }
    }

    /// Takes the model away, by `trash`.
    ///
    /// # Errors
    /// If the trash does not take a file; those before it are in the trash.
    pub fn carry_out(&self, trash: &mut dyn FnMut(&Path) -> Result<(), String>) -> Result<(), RemovalError> {
        let mut take = |path: &Path| trash(path).map_err(|why| RemovalError::Trash { path: path.to_owned(), why });
        if self.whole {
            return take(&self.folder);
        }
        for path in &self.going {
            take(path)?;
        }
        // Last, so that what is left after a failure is still known as this model.
        self.manifest.as_deref().map_or(Ok(()), take)
    }
}

/// The other model that uses this very file.
fn user_of(path: &Path, except: &str, models: &Models) -> Option<String> {
    let loose = models.loose.iter().map(|it| (&it.id, &it.assembly.files));
    let installed = models.installed.iter().filter_map(|it| Some((&it.manifest.id, it.files.as_ref().ok()?)));
    let uses = |files: &atelier_core::recipe::ModelFiles| files.iter().any(|(_, it)| it == path);
    installed.chain(loose).find(|(id, files)| *id != except && uses(files)).map(|(id, _)| id.clone())
}

/// Moves a file or folder to the system's trash.
///
/// # Errors
/// The system's message, if it has no trash for this disk or refuses the file.
pub fn to_trash(path: &Path) -> Result<(), String> {
    trash::delete(path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
