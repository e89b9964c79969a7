//! Small pictures for the screen, in a database of their own that may be deleted at any time.

use std::path::Path;
use std::time::Duration;

use atelier_core::owner_only;
use atelier_core::paths::remove_if_there;
use atelier_core::reading::ReadingMarks;
use atelier_core::recipe::{ImageSource, Rgb8};
use atelier_language::tr;
use atelier_media::{decode_jpeg, encode_jpeg, read_image, thumbnail};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{FileHash, GalleryError};

/// Longest wait for another connection that writes.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Quality of the JPEGs, of 100.
const QUALITY: u8 = 82;
/// Bytes of thumbnails that are kept, where nobody says otherwise: about 100,000 of 256 pixels and
/// 20,000 of 512.
const MAX_BYTES: u64 = 2 << 30;
/// Thumbnails that are removed at once where there are too many bytes.
const REMOVED_AT_ONCE: i64 = 256;

/// Version of the tables.
const VERSION: i64 = 1;

/// `made` says which are oldest; `total` has the bytes of all.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS thumbnail (
    made INTEGER PRIMARY KEY,
    file_hash BLOB NOT NULL,
    side INTEGER NOT NULL,
    jpeg BLOB NOT NULL,
    UNIQUE (file_hash, side)
);
CREATE TABLE IF NOT EXISTS total (bytes INTEGER NOT NULL);
INSERT INTO total SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM total);
CREATE TRIGGER IF NOT EXISTS thumbnail_added AFTER INSERT ON thumbnail BEGIN
    UPDATE total SET bytes = bytes + length(new.jpeg);
END;
CREATE TRIGGER IF NOT EXISTS thumbnail_removed AFTER DELETE ON thumbnail BEGIN
    UPDATE total SET bytes = bytes - length(old.jpeg);
END;
PRAGMA user_version = 1;
";

/// Longest side of a thumbnail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThumbnailSize {
    /// 256 pixels.
    Small,
    /// 512 pixels.
    Large,
}

impl ThumbnailSize {
    /// The longest side in pixels.
    #[must_use]
    pub const fn pixels(self) -> u32 {
        match self {
            Self::Small => 256,
            Self::Large => 512,
        }
    }
}

/// A connection to the thumbnails; several, also of other processes, may be open at once. A thread
/// has one of its own.
pub struct Thumbnails {
    connection: Connection,
    most_bytes: u64,
}

impl Thumbnails {
    /// Opens the database in this file. One that is damaged is deleted and begun anew; one of a
    /// newer version stays as it is, and thumbnails last as long as the process. Blocks.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn open(path: &Path) -> Result<Self, GalleryError> {
        if let Some(folder) = path.parent() {
            owner_only::create_folder(folder).map_err(|error| GalleryError::file(folder, error))?;
        }
        match Self::open_as_it_is(path) {
            Ok(Some(thumbnails)) => return Ok(thumbnails),
            Ok(None) => return Self::with_tables(Connection::open_in_memory()?),
            Err(error) if !error.is_damage() => return Err(error),
            Err(_) => {}
        }
        for suffix in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            remove_if_there(Path::new(&name)).map_err(|error| GalleryError::file(path, error))?;
        }
        Self::open_as_it_is(path)?.ok_or_else(|| GalleryError::Refused(tr!("index-could-not-be-rebuilt", path = path.display())))
    }

    fn open_as_it_is(path: &Path) -> Result<Option<Self>, GalleryError> {
        let made = owner_only::options().write(true).create(true).truncate(false).open(path).and_then(|_| owner_only::restrict(path));
        made.map_err(|error| GalleryError::file(path, error))?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_WAIT)?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if !(0..=VERSION).contains(&version) {
            return Ok(None);
        }
        connection.pragma_update(None, "journal_mode", "wal")?;
        // What a power cut takes can be made again.
        connection.pragma_update(None, "synchronous", "off")?;
        Self::with_tables(connection).map(Some)
    }

    fn with_tables(connection: Connection) -> Result<Self, GalleryError> {
        connection.execute_batch(TABLES)?;
        Ok(Self { connection, most_bytes: MAX_BYTES })
    }

    /// With another limit of bytes; the thumbnails that were made first go first.
    #[must_use]
    pub fn with_most_bytes(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// The thumbnail of a picture as JPEG, where it has been made.
    ///
    /// # Errors
    /// The database's.
    pub fn find(&self, file_hash: FileHash, size: ThumbnailSize) -> Result<Option<Vec<u8>>, GalleryError> {
        let mut statement = self.connection.prepare_cached("SELECT jpeg FROM thumbnail WHERE file_hash = ?1 AND side = ?2")?;
        Ok(statement.query_row(params![file_hash.0, size.pixels()], |row| row.get(0)).optional()?)
    }

    /// The thumbnail's pixels, made from the picture's file where it has not been made. Decodes
    /// with bounded memory; blocks, for a picture that is read for up to a second.
    ///
    /// # Errors
    /// If there is none and the file cannot be read, or is left out by `marks`; the database's.
    pub fn thumbnail(&self, marks: &ReadingMarks, path: &Path, file_hash: FileHash, size: ThumbnailSize) -> Result<Rgb8, GalleryError> {
        if let Some(pixels) = self.find(file_hash, size)?.and_then(|jpeg| decode_jpeg(&jpeg).ok()) {
            return Ok(pixels);
        }
        let picture = marks.read(path, || read_image(&ImageSource::File(path.to_owned())))??;
        self.store(&picture, file_hash)?;
        Ok(thumbnail(&picture, size.pixels()))
    }

    /// Makes and keeps the thumbnails of a picture that is in memory, in both sizes.
    ///
    /// # Errors
    /// The database's.
    pub fn store(&self, picture: &Rgb8, file_hash: FileHash) -> Result<(), GalleryError> {
        let large = thumbnail(picture, ThumbnailSize::Large.pixels());
        let small = thumbnail(&large, ThumbnailSize::Small.pixels());
        for (pixels, size) in [(large, ThumbnailSize::Large), (small, ThumbnailSize::Small)] {
            self.store_jpeg(file_hash, size, &encode_jpeg(&pixels, QUALITY)?)?;
        }
        Ok(())
    }

    /// Keeps a thumbnail, in place of the one there.
    ///
    /// # Errors
    /// The database's.
    pub fn store_jpeg(&self, file_hash: FileHash, size: ThumbnailSize, jpeg: &[u8]) -> Result<(), GalleryError> {
        self.connection
            .prepare_cached("DELETE FROM thumbnail WHERE file_hash = ?1 AND side = ?2")?
            .execute(params![file_hash.0, size.pixels()])?;
        let insert = "INSERT OR IGNORE INTO thumbnail (file_hash, side, jpeg) VALUES (?1, ?2, ?3)";
        self.connection.prepare_cached(insert)?.execute(params![file_hash.0, size.pixels(), jpeg])?;
        while self.bytes()? > self.most_bytes {
            let remove = "DELETE FROM thumbnail WHERE made IN (SELECT made FROM thumbnail ORDER BY made LIMIT ?1)";
            if self.connection.prepare_cached(remove)?.execute([REMOVED_AT_ONCE])? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Bytes of all thumbnails.
    ///
    /// # Errors
    /// The database's.
    pub fn bytes(&self) -> Result<u64, GalleryError> {
        let bytes: i64 = self.connection.prepare_cached("SELECT bytes FROM total")?.query_row([], |row| row.get(0))?;
        Ok(bytes.try_into().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::FileIdentity;

    fn picture(side: u32) -> Rgb8 {
        Rgb8::new(side, side / 2, (0..side * (side / 2) * 3).map(|n| (n / 97) as u8).collect()).unwrap()
    }

    #[test]
    fn a_thumbnail_is_made_once_and_outlives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        atelier_media::write_picture(&path, &picture(1024), &atelier_media::Metadata::default()).unwrap();
        let hash = FileIdentity::read(&path).unwrap().hash;
        let thumbnails = Thumbnails::open(&folder.path().join("data/thumbnails.sqlite")).unwrap();
        let marks = ReadingMarks::open(&folder.path().join("data/reading"));
        assert_eq!(thumbnails.find(hash, ThumbnailSize::Small).unwrap(), None);
        let pixels = thumbnails.thumbnail(&marks, &path, hash, ThumbnailSize::Small).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (256, 128));
        fs::remove_file(&path).unwrap();
        for (size, side) in [(ThumbnailSize::Small, 256), (ThumbnailSize::Large, 512)] {
            let again = thumbnails.thumbnail(&marks, &path, hash, size).unwrap();
            assert_eq!((again.width(), again.height()), (side, side / 2));
        }
        assert!(thumbnails.thumbnail(&marks, &path, FileHash([1; 16]), ThumbnailSize::Small).is_err());
    }

    #[test]
    fn bytes_are_bounded_and_the_first_ones_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let thumbnails = Thumbnails::open(&folder.path().join("t.sqlite")).unwrap().with_most_bytes(500_000);
        for n in 0..600_u16 {
            let mut hash = [0; 16];
            hash[..2].copy_from_slice(&n.to_le_bytes());
            thumbnails.store_jpeg(FileHash(hash), ThumbnailSize::Small, &[7; 1000]).unwrap();
            assert!(thumbnails.bytes().unwrap() <= 500_000);
        }
        assert_eq!(thumbnails.find(FileHash([0; 16]), ThumbnailSize::Small).unwrap(), None);
        let mut last = [0; 16];
        last[..2].copy_from_slice(&599_u16.to_le_bytes());
        assert!(thumbnails.find(FileHash(last), ThumbnailSize::Small).unwrap().is_some());
        thumbnails.store_jpeg(FileHash(last), ThumbnailSize::Small, &[8; 10]).unwrap();
        assert_eq!(thumbnails.find(FileHash(last), ThumbnailSize::Small).unwrap().unwrap(), [8; 10]);
    }

    #[test]
    fn a_damaged_database_is_begun_anew_and_a_newer_one_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.sqlite");
        fs::write(&path, [9; 5000]).unwrap();
        Thumbnails::open(&path).unwrap().store_jpeg(FileHash([1; 16]), ThumbnailSize::Small, &[1]).unwrap();
        let thumbnails = Thumbnails::open(&path).unwrap();
        assert_eq!(thumbnails.bytes().unwrap(), 1);
        thumbnails.connection.pragma_update(None, "user_version", 7).unwrap();
        drop(thumbnails);
        let before = fs::read(&path).unwrap();
        let newer = Thumbnails::open(&path).unwrap();
        assert_eq!(newer.bytes().unwrap(), 0);
        newer.store_jpeg(FileHash([1; 16]), ThumbnailSize::Small, &[1]).unwrap();
        drop(newer);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
