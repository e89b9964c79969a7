//! Disk usage of models. A file that has several names (hard links, as shared files of downloads
//! have) is counted once.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use super::disk::{Layout, ScanResult, walk};
use super::manifest::MANIFEST;
use super::models::Models;

/// Disk usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// By model, the largest first.
    pub models: Vec<ModelUse>,
    /// By folder, as they are looked through.
    pub folders: Vec<FolderUse>,
    /// All model files of all folders, each counted once, in bytes.
    pub total: u64,
}

/// Disk usage of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUse {
    /// The model's id.
    pub id: String,
    /// Its files, in bytes.
    pub bytes: u64,
    /// Bytes that another model has in common with it; they stay where it goes.
    pub shared: u64,
}

/// Disk usage of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderUse {
    /// The folder.
    pub path: PathBuf,
    /// Its layout.
    pub layout: Layout,
    /// Its model files.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Identity of the bytes behind a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    #[cfg(unix)]
    Inode(u64, u64),
    #[cfg(not(unix))]
    Path(PathBuf),
}

fn identity(path: &Path, metadata: &Metadata) -> Identity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let _ = path;
        Identity::Inode(metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        Identity::Path(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }
}

/// Counts. Asks the disk for each file, so it is for worker threads.
#[must_use]
pub fn usage(models: &Models, scan: &ScanResult) -> Usage {
    let mut users: HashMap<Identity, Vec<(usize, u64)>> = HashMap::new();
    let mut ids = Vec::new();
    let installed = models.installed.iter().map(|it| {
        let paths: Vec<PathBuf> = it.manifest.files.iter().map(|file| file.filename.in_folder(&it.folder)).collect();
        (it.manifest.id.clone(), paths)
    });
    let loose = models.loose.iter().map(|it| (it.id.clone(), it.assembly.files.iter().map(|(_, path)| path.to_owned()).collect()));
    for (id, paths) in installed.chain(loose) {
        let model = ids.len();
        ids.push(id);
        for path in paths {
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let users = users.entry(identity(&path, &metadata)).or_default();
            if !users.iter().any(|(it, _)| *it == model) {
                users.push((model, metadata.len()));
            }
        }
    }
    let mut sums: Vec<ModelUse> = ids.into_iter().map(|id| ModelUse { id, bytes: 0, shared: 0 }).collect();
    for users in users.values() {
        for (model, bytes) in users {
            if let Some(sum) = sums.get_mut(*model) {
                sum.bytes += bytes;
                sum.shared += if users.len() > 1 { *bytes } else { 0 };
            }
        }
    }
    sums.sort_by(|one, two| two.bytes.cmp(&one.bytes).then_with(|| one.id.cmp(&two.id)));
    let mut seen = HashSet::new();
    let mut total = 0;
    let mut folders = Vec::new();
    for folder in &scan.folders {
        let (mut files, mut bytes) = (0, 0);
        for file in walk(folder, &|| true).files {
            let Ok(metadata) = fs::metadata(&file.path) else { continue };
            files += 1;
            bytes += metadata.len();
            total += if seen.insert(identity(&file.path, &metadata)) { metadata.len() } else { 0 };
        }
        folders.push(FolderUse { path: folder.path.clone(), layout: folder.layout, files, bytes });
    }
    Usage { models: sums, folders, total }
}

/// Every file in a folder and the folders in it, links not followed; `None` where one cannot be
/// read.
pub(crate) fn all_files(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).ok()? {
            let entry = entry.ok()?;
            if entry.file_type().ok()?.is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    Some(files)
}

/// Path of a model's manifest.
pub(crate) fn manifest_of(folder: &Path) -> PathBuf {
    folder.join(MANIFEST)
}
