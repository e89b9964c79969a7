//! Folders of Atelier, and atomic writes of files.
//!
//! Invariants: a file is whole or it is not there: everything is written beside its place, flushed
//! to the disk, and then renamed. Folders are only named here; they are made when something is
//! written into them.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use atelier_language::tr;
use directories::{ProjectDirs, UserDirs};
use tempfile::NamedTempFile;

/// The environment variable that moves all folders beneath one; for tests and for portable
/// installations.
pub const HOME_VARIABLE: &str = "ATELIER_HOME";

/// The folders of this person on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The stored settings.
    pub settings_file: PathBuf,
    /// Files that belong to Atelier alone: settings of the library, catalogues, downloads, logs,
    /// measurements of devices.
    pub data: PathBuf,
    /// Pictures, in a folder that the person can see.
    pub pictures: PathBuf,
    /// Models that Atelier downloads.
    pub models: PathBuf,
}

/// The system names no home folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("core-your-home-folder-is", value = HOME_VARIABLE))]
pub struct NoHome;

impl Paths {
    /// The folders of the person who runs this, or those beneath `ATELIER_HOME` where it is set.
    pub fn find() -> Result<Self, NoHome> {
        Self::of(std::env::var_os(HOME_VARIABLE))
    }

    fn of(home: Option<OsString>) -> Result<Self, NoHome> {
        if let Some(home) = home.filter(|home| !home.is_empty()) {
            return Ok(Self::beneath(Path::new(&home)));
        }
        let project = ProjectDirs::from("", "", "Atelier").ok_or(NoHome)?;
        let user = UserDirs::new().ok_or(NoHome)?;
        let pictures = user.picture_dir().map_or_else(|| user.home_dir().join("Pictures"), Path::to_path_buf);
        Ok(Self {
            settings_file: project.config_dir().join("settings.json"),
            data: project.data_local_dir().to_path_buf(),
            pictures: pictures.join("Atelier"),
            models: user.home_dir().join("models"),
        })
    }

    /// The library's settings, with model folders and accepted licences, beside the settings.
    #[must_use]
    pub fn library_file(&self) -> PathBuf {
        self.settings_file.with_file_name("library.json")
    }

    /// The studios of the network that this person keeps, with their tokens.
    #[must_use]
    pub fn studios_file(&self) -> PathBuf {
        self.data.join("studios.json")
    }

    /// The person's own catalogues of models, beside the settings.
    #[must_use]
    pub fn catalogues(&self) -> PathBuf {
        self.settings_file.with_file_name("catalogues")
    }

    /// The person's styles, one file each, beside the settings.
    #[must_use]
    pub fn styles(&self) -> PathBuf {
        self.settings_file.with_file_name("styles")
    }

    /// Cache of the kinds of model files; can be made again.
    #[must_use]
    pub fn facts_file(&self) -> PathBuf {
        self.data.join("model-files.json")
    }

    /// Database of pictures and jobs. Its pictures can be indexed again, its waiting jobs cannot be
    /// made again.
    #[must_use]
    pub fn gallery_file(&self) -> PathBuf {
        self.data.join("gallery.sqlite")
    }

    /// Folder of the pictures that others asked for over the network, with a folder for each of them.
    #[must_use]
    pub fn shared_pictures(&self) -> PathBuf {
        self.pictures.join("Shared")
    }

    /// Database of thumbnails; can be made again.
    #[must_use]
    pub fn thumbnails_file(&self) -> PathBuf {
        self.data.join("thumbnails.sqlite")
    }

    /// The sheet that was made last.
    #[must_use]
    pub fn sheet_file(&self) -> PathBuf {
        self.data.join("sheet.json")
    }

    /// Canvases as they were when the program kept them last.
    #[must_use]
    pub fn canvases(&self) -> PathBuf {
        self.data.join("canvases")
    }

    /// Markers of files that are read unasked, and the list of those that ended the program
    /// ([`crate::reading`]).
    #[must_use]
    pub fn reading_marks(&self) -> PathBuf {
        self.data.join("reading")
    }

    /// State of the downloads.
    #[must_use]
    pub fn downloads(&self) -> PathBuf {
        self.data.join("downloads")
    }

    /// All folders beneath one.
    #[must_use]
    pub fn beneath(home: &Path) -> Self {
        Self {
            settings_file: home.join("settings.json"),
            data: home.join("data"),
            pictures: home.join("Pictures").join("Atelier"),
            models: home.join("models"),
        }
    }
}

/// The person's folder for sockets, which the system empties and nobody else may look into; `None`
/// where the system has none.
#[must_use]
pub fn runtime_folder() -> Option<PathBuf> {
    ProjectDirs::from("", "", "Atelier")?.runtime_dir().map(Path::to_path_buf)
}

/// Removes a file; succeeds where there is none.
pub fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Who may read a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    /// Those of the file that is replaced; of a new one, those that the person's umask allows.
    Usual,
    /// Its owner alone, from the file's first moment on.
    Owner,
}

/// Writes a file whole, replacing the one there, or leaves everything as it was. Its folder is made
/// where it is missing, a link is followed, and the permissions of the old file are kept.
pub fn write_atomic(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write_whole(path, Readers::Usual, write)
}

/// [`write_atomic`] for bytes that are already there.
pub fn write_atomic_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomic(path, |file| file.write_all(bytes))
}

/// [`write_atomic`] for what is its owner's alone, as prompts and keys are: nobody else may read
/// the file, also where others might read the one that it replaces.
pub fn write_private_with(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    write_whole(path, Readers::Owner, write)
}

/// [`write_private_with`] for bytes that are already there.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_private_with(path, |file| file.write_all(bytes))
}

fn write_whole(path: &Path, readers: Readers, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let old = match fs::metadata(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(old) = old else {
        let temp = write_beside(path, readers, write)?;
        return persist(temp, path);
    };
    if old.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, tr!("core-a-folder-with-this")));
    }
    if !old.is_file() {
        // A pipe or /dev/null: there is nothing to replace.
        return write(&mut OpenOptions::new().write(true).open(path)?);
    }
    if old.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, tr!("core-the-existing-file-is")));
    }
    let path = fs::canonicalize(path)?;
    let temp = write_beside(&path, readers, write)?;
    if readers == Readers::Usual {
        temp.as_file().set_permissions(old.permissions())?;
    }
    persist(temp, &path)
}

/// Gives a file that is whole its name, replacing the one there. Both are in one folder, and the
/// file has been flushed.
pub fn rename_whole(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(to);
    Ok(())
}

/// Writes a new file whole, under the first of these names that is free in the folder, and returns
/// its path. Never replaces a file.
pub fn write_new(
    folder: &Path,
    names: impl IntoIterator<Item = String>,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let mut temp = write_beside(&folder.join("new"), Readers::Usual, write)?;
    for name in names {
        let path = folder.join(name);
        match temp.persist_noclobber(&path) {
            Ok(_) => {
                sync_folder(&path);
                return Ok(path);
            }
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => temp = failed.file,
            Err(failed) => return Err(failed.error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, tr!("core-every-name-for-the")))
}

/// Writes a new file, by way of a file of the name `part` in the same folder, which is made where
/// it is missing. What an earlier try left of the part is replaced.
///
/// # Errors
/// `AlreadyExists` where there is a file of this name; it stays as it is.
pub fn write_new_by_part(path: &Path, part: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    remove_if_there(&folder.join(part))?;
    let mut temp = part_builder(part, "", Readers::Usual).rand_bytes(0).tempfile_in(folder)?;
    temp.write_all(bytes)?;
    temp.as_file().sync_all()?;
    temp.persist_noclobber(path).map_err(|failed| failed.error)?;
    sync_folder(path);
    Ok(())
}

/// Finds out whether a file can be written here, and leaves nothing behind. A folder that is missing
/// is not made; the one in which it would be is tried.
///
/// # Errors
/// The place cannot be written to.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let there = folder_of(path).ancestors().find(|folder| folder.as_os_str().is_empty() || folder.exists());
    let folder = there.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    part_builder(".atelier-", ".part", Readers::Owner).tempfile_in(folder).map(drop)
}

/// Maker of the temporary files that become others.
fn part_builder<'a>(prefix: &'a str, suffix: &'a str, readers: Readers) -> tempfile::Builder<'a, 'a> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(suffix);
    // Temporary files are private by default.
    #[cfg(unix)]
    if readers == Readers::Usual {
        use std::os::unix::fs::PermissionsExt;
        // It becomes an ordinary file of the person's, within their umask.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder
}

fn write_beside(path: &Path, readers: Readers, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<NamedTempFile> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut temp = part_builder(".atelier-", ".part", readers).tempfile_in(folder)?;
    write(temp.as_file_mut())?;
    temp.as_file().sync_all()?;
    Ok(temp)
}

fn persist(temp: NamedTempFile, path: &Path) -> io::Result<()> {
    temp.persist(path).map_err(|failed| failed.error)?;
    sync_folder(path);
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Best effort: the file is whole whether or not the folder's entry has reached the disk.
fn sync_folder(path: &Path) {
    if cfg!(unix)
        && let Ok(folder) = File::open(folder_of(path))
    {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_folder_is_beneath_the_one_asked_for() {
        let paths = Paths::of(Some("/tmp/here".into())).unwrap();
        for path in [&paths.settings_file, &paths.data, &paths.pictures, &paths.models] {
            assert!(path.starts_with("/tmp/here"), "{}", path.display());
        }
        assert!(paths.pictures.ends_with("Pictures/Atelier"));
    }

    #[test]
    fn an_empty_variable_counts_as_none() {
        assert_eq!(Paths::of(Some(OsString::new())), Paths::of(None));
    }

    #[test]
    fn a_file_is_written_and_replaced_and_its_folder_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/settings.json");
        write_atomic_bytes(&path, b"one").unwrap();
        write_atomic_bytes(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(entries(path.parent().unwrap()), ["settings.json"]);
    }

    #[test]
    fn a_place_is_tried_and_left_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        check_writable(&folder.path().join("a/b/picture.png")).unwrap();
        assert_eq!(entries(folder.path()), [""; 0]);
        fs::write(folder.path().join("file"), b"").unwrap();
        assert!(check_writable(&folder.path().join("file/picture.png")).is_err());
        assert!(check_writable(&folder.path().join("file/a/picture.png")).is_err());
        assert_eq!(entries(folder.path()), ["file"]);
        check_writable(Path::new("picture.png")).unwrap();
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        write_atomic_bytes(&path, b"old").unwrap();
        let result = write_atomic(&path, |file| {
            file.write_all(b"half of the ne")?;
            Err(io::Error::other("the power went"))
        });
        assert_eq!(result.unwrap_err().to_string(), "the power went");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(entries(folder.path()), ["kept"]);
    }

    #[test]
    fn a_protected_file_and_a_folder_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("protected");
        write_atomic_bytes(&path, b"mine").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert_eq!(write_atomic_bytes(&path, b"yours").unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        assert_eq!(write_atomic_bytes(folder.path(), b"yours").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn a_new_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "mine").unwrap();
        let names = || ["a", "b"].map(String::from);
        let path = write_new(folder.path(), names(), |file| file.write_all(b"new")).unwrap();
        assert_eq!(path, folder.path().join("b"));
        let error = write_new(folder.path(), names(), |file| file.write_all(b"newer")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "new");
        assert_eq!(entries(folder.path()), ["a", "b"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        let ordinary = folder.path().join("ordinary");
        fs::write(&ordinary, "").unwrap();
        write_atomic_bytes(&real, b"one").unwrap();
        assert_eq!(fs::metadata(&real).unwrap().permissions(), fs::metadata(&ordinary).unwrap().permissions());
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomic_bytes(&link, b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"two");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_private_is_its_owners_alone_also_in_the_place_of_a_file_that_was_not() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = folder.join("prompts");
        write_private_with(&path, |file| {
            let inside = entries(&folder);
            assert_eq!((inside.len(), mode(&folder.join(&inside[0]))), (1, 0o600), "from its first moment on");
            file.write_all(b"a lake")
        })
        .unwrap();
        assert_eq!(mode(&path), 0o600);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_private(&link, b"a hut").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"a hut".to_vec(), 0o600));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_file_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        write_atomic_bytes(Path::new("/dev/null"), b"gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
