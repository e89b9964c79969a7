//! Files and folders, with failures that name them.

use std::fs;
use std::path::Path;

use crate::failure::Failure;

/// Creates a folder and those above it.
pub(crate) fn create_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::new(format!("{} cannot be made: {error}", folder.display())))
}

/// Creates a folder that is empty.
pub(crate) fn replace_folder(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| Failure::new(format!("{} cannot be emptied: {error}", folder.display())))?;
    }
    create_folder(folder)
}

/// Copies a file with its permissions.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|error| Failure::new(format!("{} cannot be copied to {}: {error}", from.display(), to.display())))
}

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))
}

/// Writes a text file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::new(format!("{} cannot be written: {error}", path.display())))
}

/// Copies a folder with everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    create_folder(to)?;
    let entries = fs::read_dir(from).map_err(|error| Failure::new(format!("{} cannot be read: {error}", from.display())))?;
    for entry in entries.flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy_folder(&path, &target)? } else { copy(&path, &target)? }
    }
    Ok(())
}
