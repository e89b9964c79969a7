//! How much of the disk kept pictures take.

use std::fs;
use std::io;
use std::path::Path;

use crate::made_from;

/// Bytes of the pictures that are kept in this folder, and of what they were made from; 0 where it
/// is not there. Other folders in it do not count, as the one of pictures that were deleted where
/// the system has no trash. Blocks.
///
/// # Errors
/// If the folder cannot be read.
pub fn bytes_kept(folder: &Path) -> io::Result<u64> {
    Ok(bytes_in(folder)?.saturating_add(bytes_in(&folder.join(made_from::FOLDER))?))
}

/// Bytes of the files that lie in a folder and are not hidden.
fn bytes_in(folder: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut bytes = 0_u64;
    for entry in entries {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // One that goes away meanwhile takes nothing.
        if !is_hidden
            && let Ok(file) = entry.metadata()
            && file.is_file()
        {
            bytes = bytes.saturating_add(file.len());
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_and_what_they_were_made_from_count_and_other_files_do_not() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("Anna");
        assert_eq!(bytes_kept(&folder).unwrap(), 0);
        for (name, bytes) in
            [("a.png", 3), ("b.png", 40), (".made-from/c.png", 500), (".trash/d.png", 6000), (".atelier-marks.jsonl", 70_000)]
        {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![7; bytes]).unwrap();
        }
        assert_eq!(bytes_kept(&folder).unwrap(), 543);
        assert!(bytes_kept(&folder.join("a.png")).is_err());
    }
}
