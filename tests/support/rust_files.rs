//! The files of Rust in folders, for the tests that read sources.

use std::fs;
use std::path::PathBuf;

/// Files of Rust in these folders and in all below them but build outputs, sorted.
pub(crate) fn rust_files(folders: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = folders.into_iter().collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
