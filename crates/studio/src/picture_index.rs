//! Pictures that Atelier keeps, added to the gallery's index.

use std::path::{Path, PathBuf};

use atelier_core::paths::Paths;
use atelier_engine::JobId;
use atelier_gallery::{Database, DatabaseState, FolderKind, GalleryError, NewPicture, PictureKind, now_ms};
use atelier_language::tr;

/// Adds kept pictures to the gallery. Opens the index with the first one; a thread has one of its
/// own.
pub struct PictureIndex {
    paths: Option<Paths>,
    database: Option<Database>,
    /// What a person is to know of the index as it was found.
    warning: Option<String>,
    /// The job that a batch number was given to last.
    last_batch: Option<(JobId, i64)>,
    /// The number of a group of jobs, whose pictures have it.
    group: Option<i64>,
}

impl PictureIndex {
    /// The index of the person with these folders; without any, nothing is added.
    #[must_use]
    pub const fn new(paths: Option<Paths>) -> Self {
        Self { paths, database: None, warning: None, last_batch: None, group: None }
    }

    /// Makes the pictures that are added from now on one group, whatever job they are of.
    pub fn begin_group(&mut self) {
        self.join_group(now_ms());
    }

    /// Adds the pictures from now on to the group of this number.
    pub const fn join_group(&mut self, group: i64) {
        self.group = Some(group);
    }

    /// The number of that group.
    #[must_use]
    pub const fn group(&self) -> Option<i64> {
        self.group
    }

    /// Number for the pictures of a job: the time at which its first one is kept, so that no two
    /// runs of the program share one.
    pub fn batch_of(&mut self, job: JobId) -> i64 {
        let batch = self.last_batch.filter(|(last, _)| *last == job).map_or_else(now_ms, |(_, batch)| batch);
        self.last_batch = Some((job, batch));
        batch
    }

    /// Adds a picture that was written. `own_folder` is the folder that the person lets Atelier
    /// keep pictures in, where it is not the usual one; `parent` is the picture that it was made
    /// from. Blocks.
    ///
    /// # Errors
    /// A sentence for a person, where it could not be added; its file is there all the same, and
    /// the next scan of its folder adds it. Also where it was added to an index that was found
    /// damaged.
    pub fn add(&mut self, path: &Path, own_folder: Option<&Path>, parent: Option<PathBuf>, batch: Option<i64>) -> Result<(), String> {
        self.try_add(path, own_folder, parent, batch).map_err(|error| {
            self.database = None;
            tracing::warn!("a picture was not added to the gallery: {error}");
            tr!("studio-the-picture-is-saved", error)
        })?;
        self.warning.take().map_or(Ok(()), Err)
    }

    fn try_add(&mut self, path: &Path, own_folder: Option<&Path>, parent: Option<PathBuf>, batch: Option<i64>) -> Result<(), GalleryError> {
        let Some(paths) = &self.paths else { return Ok(()) };
        let database = match &mut self.database {
            Some(database) => database,
            none => {
                let (database, state) = open_gallery(paths)?;
                self.warning = state.warning();
                none.insert(database)
            }
        };
        if let Some(folder) = own_folder {
            add_own_folder(database, folder)?;
        }
        let parent = parent.and_then(|path| std::path::absolute(path).ok());
        let picture = NewPicture { parent, batch, ..NewPicture::read(path, PictureKind::Kept)? };
        database.record_picture(&picture)?;
        if let Err(error) = database.write_journals() {
            tracing::warn!("the gallery's journals were not written: {error}");
        }
        Ok(())
    }
}

/// Opens the index of a person, with Atelier's own folder of pictures in it, and tells how it was
/// found.
///
/// # Errors
/// If it cannot be written to.
pub fn open_gallery(paths: &Paths) -> Result<(Database, DatabaseState), GalleryError> {
    let (mut database, state) = Database::open(&paths.gallery_file())?;
    add_own_folder(&mut database, &paths.pictures)?;
    Ok((database, state))
}

/// Makes a folder one of Atelier's own in the gallery.
///
/// # Errors
/// The database's.
pub(super) fn add_own_folder(database: &mut Database, path: &Path) -> Result<(), GalleryError> {
    let is_known = database.folders()?.iter().any(|folder| folder.kind == FolderKind::Own && folder.path == path);
    if !is_known {
        database.add_folder(path, FolderKind::Own)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Rgb8;
    use atelier_gallery::{Order, Query};
    use atelier_media::{Metadata, write_picture};

    #[test]
    fn a_picture_is_added_and_one_that_cannot_be_is_a_sentence() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::beneath(home.path());
        let path = paths.pictures.join("a.png");
        write_picture(&path, &Rgb8::new(2, 2, vec![7; 12]).unwrap(), &Metadata::default()).unwrap();
        let mut index = PictureIndex::new(Some(paths.clone()));
        index.add(&path, None, None, Some(7)).unwrap();
        let found = open_gallery(&paths).unwrap().0.search(&Query::parse("batch:7"), Order::Newest).unwrap();
        assert_eq!(found.len(), 1);
        let sentence = index.add(&paths.pictures.join("gone.png"), None, None, None).unwrap_err();
        assert!(sentence.contains("not in the gallery yet"), "{sentence}");
        index.add(&path, Some(home.path()), None, None).unwrap();
        assert_eq!(open_gallery(&paths).unwrap().0.folders().unwrap().len(), 2);
        assert_eq!(index.batch_of(JobId(1)), index.batch_of(JobId(1)));

        let blocked = Paths { data: path.join("no folder"), ..paths };
        assert!(PictureIndex::new(Some(blocked)).add(&path, None, None, None).is_err());
        assert_eq!(PictureIndex::new(None).add(&path, None, None, None), Ok(()));
    }
}
