//! The ends of jobs, on the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::job::FileRequest;
use super::journal::StoredFile;
use super::{index, part};
use crate::job::MANIFEST;
use atelier_core::paths;

/// Ends a job whose files are all there: its archives go, its manifest comes.
pub(super) fn finish(folder: &Path, archives: &[PathBuf], manifest: Option<&str>) -> io::Result<()> {
    for archive in archives {
        paths::remove_if_there(archive)?;
    }
    manifest.map_or(Ok(()), |text| paths::write_atomic_bytes(&folder.join(MANIFEST), text.as_bytes()))
}

/// Removes what a cancelled job has brought, and its folders where nothing else is in them.
pub(super) fn remove_all(root: &Path, folder: &Path, files: Vec<(FileRequest, StoredFile)>) {
    for (wanted, state) in files {
        let target = wanted.filename.in_folder(folder);
        let mut mine = Vec::new();
        if state == StoredFile::Downloaded {
            let unpacked = wanted.unpack.iter().flat_map(|list| list.names.iter().filter_map(|name| list.place(name).ok()));
            mine.extend(unpacked.map(|place| place.in_folder(folder)));
            mine.push(target.clone());
        }
        if !index::is_inside(root, &target).unwrap_or(false) {
            continue;
        }
        part::remove_part(&target);
        for path in &mine {
            if let Err(error) = paths::remove_if_there(path) {
                tracing::warn!(path = %path.display(), %error, "a file of a cancelled download could not be removed");
            }
        }
        mine.push(target);
        for path in &mine {
            let inner = path.ancestors().skip(1).take_while(|it| it.starts_with(folder) && *it != root);
            // A folder that is not empty stays.
            for empty in inner {
                let _ = fs::remove_dir(empty);
            }
        }
    }
}
