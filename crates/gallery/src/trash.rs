//! Moving pictures to the trash, and back.

use std::fs;
use std::path::{Path, PathBuf};

use atelier_language::tr;
use rusqlite::{OptionalExtension, params};

use crate::stored_path::StoredPath;
use crate::{Database, FileHash, FileIdentity, GalleryError, PictureId, PictureState};

/// Folder that holds deleted pictures where the system has no trash, in the folder of the index.
const OWN_TRASH: &str = ".trash";

/// The system's trash.
pub trait Trash {
    /// Moves a file to the trash.
    ///
    /// # Errors
    /// The system's message, where it has no trash for this disk or refuses the file.
    fn put(&mut self, path: &Path) -> Result<(), String>;

    /// Moves the file back that was there, to where it was.
    ///
    /// # Errors
    /// A sentence, where it is no longer in the trash or cannot be moved.
    fn restore(&mut self, path: &Path, hash: FileHash) -> Result<(), String>;
}

/// Result of deleting or restoring pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrashReport {
    /// Pictures that were moved.
    pub moved: Vec<PictureId>,
    /// Files that were not, and why, in a sentence.
    pub failed: Vec<(PathBuf, String)>,
}

impl Database {
    /// Moves pictures to the system's trash; where it does not take a file, into a folder `.trash`
    /// beside the pictures. A missing file is only marked. Blocks.
    ///
    /// # Errors
    /// The database's.
    pub fn move_to_trash(&mut self, ids: &[PictureId], trash: &mut dyn Trash) -> Result<TrashReport, GalleryError> {
        let mut report = TrashReport::default();
        for picture in self.pictures(ids)? {
            if picture.state == PictureState::Trashed {
                continue;
            }
            let is_there = picture.path.symlink_metadata().is_ok();
            let kept_at = match is_there.then(|| trash.put(&picture.path)) {
                None | Some(Ok(())) => PathBuf::new(),
                Some(Err(why)) => match self.move_to_own_trash(&picture.path) {
                    Ok(path) => path,
                    Err(error) => {
                        report.failed.push((picture.path, tr!("index-the-file-was-not", why, error)));
                        continue;
                    }
                },
            };
            self.write(|transaction| {
                transaction.execute("UPDATE picture SET state = 'trashed' WHERE id = ?1", [picture.id.0])?;
                transaction.execute("INSERT OR REPLACE INTO trashed_file VALUES (?1, ?2)", params![picture.id.0, StoredPath(kept_at)])?;
                Ok(())
            })?;
            report.moved.push(picture.id);
        }
        Ok(report)
    }

    /// Moves pictures back from the trash to where they were. Replaces no file. Blocks.
    ///
    /// # Errors
    /// The database's.
    pub fn restore_from_trash(&mut self, ids: &[PictureId], trash: &mut dyn Trash) -> Result<TrashReport, GalleryError> {
        let mut report = TrashReport::default();
        for picture in self.pictures(ids)?.into_iter().filter(|it| it.state == PictureState::Trashed) {
            let sql = "SELECT path FROM trashed_file WHERE picture_id = ?1";
            let kept_at: Option<StoredPath> = self.connection().query_row(sql, [picture.id.0], |row| row.get(0)).optional()?;
            let kept_at = kept_at.map(|it| it.0).filter(|it| !it.as_os_str().is_empty());
            let result = if picture.path.symlink_metadata().is_ok() {
                let is_same = FileIdentity::read(&picture.path).is_ok_and(|it| it.hash == picture.file_hash);
                if is_same { Ok(()) } else { Err(tr!("index-another-file-with-this").to_owned()) }
            } else if let Some(kept_at) = kept_at {
                move_file(&kept_at, &picture.path).map_err(|error| tr!("index-the-picture-could-not", error))
            } else {
                trash.restore(&picture.path, picture.file_hash)
            };
            if let Err(why) = result {
                report.failed.push((picture.path, why));
                continue;
            }
            self.write(|transaction| {
                let state = if picture.width == 0 { PictureState::Damaged } else { PictureState::Here };
                transaction.execute("UPDATE picture SET state = ?2 WHERE id = ?1", params![picture.id.0, state.key()])?;
                transaction.execute("DELETE FROM trashed_file WHERE picture_id = ?1", [picture.id.0])?;
                Ok(())
            })?;
            report.moved.push(picture.id);
        }
        Ok(report)
    }

    /// Moves a file into `.trash` in its folder of the index, under a name that is free there.
    fn move_to_own_trash(&self, path: &Path) -> Result<PathBuf, GalleryError> {
        let folder = crate::folders::folder_of(self.connection(), path)?.map(|it| it.path);
        let folder = folder.or_else(|| path.parent().map(Path::to_owned)).unwrap_or_default().join(OWN_TRASH);
        fs::create_dir_all(&folder).map_err(|error| GalleryError::file(&folder, error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut names = (1..10_000_u32).map(|n| if n == 1 { folder.join(&name) } else { folder.join(format!("{n} {name}")) });
        let to = names.find(|it| it.symlink_metadata().is_err());
        let to = to.ok_or_else(|| GalleryError::Refused(tr!("index-every-name-in-its").to_owned()))?;
        move_file(path, &to).map_err(|error| GalleryError::file(path, error))?;
        Ok(to)
    }
}

/// Renames a file within a disk; never replaces one, but for one that appears in the same moment.
fn move_file(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::rename(from, to)
}

/// The trash of the system that this runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemTrash;

impl Trash for SystemTrash {
    fn put(&mut self, path: &Path) -> Result<(), String> {
        ::trash::delete(path).map_err(|error| error.to_string())
    }

    #[cfg(not(target_os = "macos"))]
    fn restore(&mut self, path: &Path, _hash: FileHash) -> Result<(), String> {
        let items = ::trash::os_limited::list().map_err(|error| tr!("index-the-trash-could-not", error))?;
        let newest = items.into_iter().filter(|item| item.original_path() == path).max_by_key(|item| {
            // On Linux the id is the path of a file that is written when an item is thrown away;
            // its times are not read.
            (item.time_deleted, fs::metadata(&item.id).and_then(|it| it.modified()).ok())
        });
        let Some(item) = newest else { return Err(tr!("index-the-picture-is-no").to_owned()) };
        ::trash::os_limited::restore_all([item]).map_err(|error| tr!("index-the-picture-could-not", error))
    }

    /// macOS tells nobody what is in its trash, but it is a folder.
    #[cfg(target_os = "macos")]
    fn restore(&mut self, path: &Path, hash: FileHash) -> Result<(), String> {
        let folder = std::env::home_dir().unwrap_or_default().join(".Trash");
        let entries = fs::read_dir(&folder).map_err(|error| tr!("index-the-trash-could-not", error))?;
        let is_it = |path: &PathBuf| FileIdentity::read(path).is_ok_and(|it| it.hash == hash);
        let found = entries.flatten().map(|entry| entry.path()).find(is_it);
        let Some(found) = found else { return Err(tr!("index-the-picture-is-no").to_owned()) };
        move_file(&found, path).map_err(|error| tr!("index-the-picture-could-not", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FolderKind;
    use crate::fixture::{Fixture, recipe};

    /// A trash in a folder; `None` refuses everything.
    struct TestTrash(Option<PathBuf>);

    impl Trash for TestTrash {
        fn put(&mut self, path: &Path) -> Result<(), String> {
            let folder = self.0.as_ref().ok_or("there is no trash")?;
            move_file(path, &folder.join(path.file_name().unwrap())).map_err(|error| error.to_string())
        }

        fn restore(&mut self, path: &Path, _: FileHash) -> Result<(), String> {
            let folder = self.0.as_ref().ok_or("there is no trash")?;
            move_file(&folder.join(path.file_name().unwrap()), path).map_err(|error| error.to_string())
        }
    }

    #[test]
    fn a_deleted_picture_comes_back_with_its_marks() {
        let mut it = Fixture::new();
        let folder = it.add_folder("own", FolderKind::Own);
        let id = it.record("own/a.png", &recipe("a lake", 1), 5);
        it.database.set_rating(&[id], 4).unwrap();
        for mut trash in [TestTrash(Some(it.path("bin"))), TestTrash(None)] {
            let report = it.database.move_to_trash(&[id], &mut trash).unwrap();
            assert_eq!((report.moved, report.failed.len()), (vec![id], 0));
            assert!(!it.path("own/a.png").exists());
            assert_eq!((it.found(""), it.found("is:trashed")), (vec![], vec!["a.png".to_owned()]));
            let scan = it.scan(folder);
            assert_eq!((scan.files, scan.missing, it.found("is:trashed").len()), (0, 0, 1), "its own trash is no folder of pictures");
            fs::write(it.path("own/a.png"), "another").unwrap();
            assert_eq!(it.database.restore_from_trash(&[id], &mut trash).unwrap().failed.len(), 1);
            assert_eq!(fs::read(it.path("own/a.png")).unwrap(), b"another");
            fs::remove_file(it.path("own/a.png")).unwrap();
            assert_eq!(it.database.restore_from_trash(&[id], &mut trash).unwrap().moved, [id]);
            assert_eq!(it.found("rating:4 is:here"), ["a.png"]);
            assert!(it.path("own/a.png").exists());
        }
    }

    #[test]
    fn a_missing_picture_is_only_marked_and_one_that_cannot_be_moved_stays() {
        let mut it = Fixture::new();
        it.add_folder("own", FolderKind::Own);
        let gone = it.record("own/a.png", &recipe("a lake", 1), 5);
        fs::remove_file(it.path("own/a.png")).unwrap();
        let stays = it.record("own/b.png", &recipe("a lake", 2), 6);
        // A file where the folder would have to be.
        fs::write(it.path("own/.trash"), "").unwrap();
        let report = it.database.move_to_trash(&[gone, stays], &mut TestTrash(None)).unwrap();
        assert_eq!((report.moved, report.failed.len()), (vec![gone], 1));
        assert!(it.path("own/b.png").exists());
        assert_eq!(it.found(""), ["b.png"]);
    }
}
