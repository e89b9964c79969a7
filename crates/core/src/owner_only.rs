//! Files and folders that their owner alone may look into, where the system knows owners (Unix):
//! they hold prompts, or keys in links.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder and those above it, where they are missing; what is made is its owner's alone,
/// what is there stays as it is.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// [`create_folder`], which also makes a folder so that is there already, where its file system
/// knows permissions.
pub fn ensure_folder(path: &Path) -> io::Result<()> {
    create_folder(path)?;
    // Best effort: a folder on a stick, or another person's, takes files all the same.
    let _ = restrict(path);
    Ok(())
}

/// Options under which a file that is made is its owner's alone.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes the right to a file or folder from everybody but its owner; succeeds where there is none.
/// Where there is no such right (Windows), the person's own folders hold others off.
pub fn restrict(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        match fs::metadata(path) {
            Ok(file) if file.permissions().mode() & 0o077 != 0 => {
                fs::set_permissions(path, fs::Permissions::from_mode(file.permissions().mode() & 0o700))?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Makes an open file its owner's alone, to read and to write. On Windows its folder is that
/// already.
#[cfg_attr(not(unix), expect(clippy::unnecessary_wraps, reason = "it may fail elsewhere"))]
pub fn restrict_file(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_or_restricted_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (deep, file) = (folder.path().join("a/b"), folder.path().join("a/b/c"));
        create_folder(&deep).unwrap();
        create_folder(&deep).unwrap();
        assert_eq!((mode(&deep), mode(&folder.path().join("a"))), (0o700, 0o700));
        options().write(true).create(true).truncate(false).open(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        restrict(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        restrict(&folder.path().join("nothing")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        restrict_file(&File::open(&file).unwrap()).unwrap();
        assert_eq!(mode(&file), 0o600);

        fs::set_permissions(&deep, fs::Permissions::from_mode(0o755)).unwrap();
        create_folder(&deep).unwrap();
        assert_eq!(mode(&deep), 0o755, "one that is there stays as it is");
        ensure_folder(&deep).unwrap();
        assert_eq!(mode(&deep), 0o700);
    }
}
