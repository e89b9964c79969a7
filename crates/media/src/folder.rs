//! Picture files of a folder. Only reads.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Endings of picture files; the files themselves are known by their first bytes.
pub const PICTURE_ENDINGS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];
/// Files of a folder that are looked at.
const MAX_FILES: usize = 10_000;

/// True for the name of a file that may be a picture.
#[must_use]
pub fn is_picture_name(name: &OsStr) -> bool {
    let ending = Path::new(name).extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| PICTURE_ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it)))
}

/// The picture files that lie in a folder, not in those inside it, in the order of their names.
/// Hidden ones are left out.
///
/// # Errors
/// If the folder cannot be read.
pub fn picture_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    let entries = fs::read_dir(folder)?.take(MAX_FILES).flatten();
    let named = entries.filter(|entry| is_picture_name(&entry.file_name()) && !is_hidden(&entry.file_name()));
    let mut files: Vec<PathBuf> = named.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_come_in_the_order_of_their_names_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("d.png")).unwrap();
        for name in ["c.webp", "a.PNG", "b.jpeg", "notes.txt", ".hidden.png", "id_embeds.bin"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<_> = picture_files(folder.path()).unwrap().iter().map(|it| it.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.PNG", "b.jpeg", "c.webp"]);
        assert!(picture_files(&folder.path().join("none")).is_err());
    }
}
