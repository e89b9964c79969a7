//! The file of the database: opening, versions, and what happens to a damaged one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use crate::GalleryError;
use crate::schema::STEPS;

/// Longest wait for another connection or process that writes.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Time between two tries to open a database that another connection makes.
const BUSY_INTERVAL: Duration = Duration::from_millis(10);

/// A connection to the database; several, also of other processes, may be open at once. A thread has one of its own.
pub struct Database {
    connection: Connection,
    /// Folder of the journals of folders that are not Atelier's own; `None` for a database that is in no file.
    journals: Option<PathBuf>,
}

/// State of the contents as one connection sees it; see [`Database::version`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseVersion {
    by_others: i64,
    by_this: u64,
}

/// State in which the database was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseState {
    /// It was there, and whole.
    Whole,
    /// It was not there, or empty; the pictures' folders are to be scanned.
    New,
    /// It was damaged or of a newer version and was put aside, here; the pictures' folders are to be scanned.
    PutAside(PathBuf),
}

impl Database {
    /// Opens the database in this file, with its folder made where it is missing. A damaged one, also one that [`Self::report_damage`] was
    /// called for, or one of a newer version, is put aside under another name and begun anew. Blocks.
    ///
    /// # Errors
    /// If the folder cannot be written to, or another process holds the database for too long.
    pub fn open(path: &Path) -> Result<(Self, DatabaseState), GalleryError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| GalleryError::file(folder, error))?;
        }
        let report = damage_report(path);
        let is_reported = report.exists() && is_unused(path);
        let deadline = Instant::now() + BUSY_WAIT;
        let opened = loop {
            if is_reported {
                break Ok(None);
            }
            match Self::open_as_it_is(path) {
                // SQLite does not wait by itself where two connections make a database at the same time.
                Err(error) if error.is_busy() && Instant::now() < deadline => thread::sleep(BUSY_INTERVAL),
                opened => break opened,
            }
        };
        let (mut database, state) = match opened {
            Ok(Some((database, is_new))) => (database, if is_new { DatabaseState::New } else { DatabaseState::Whole }),
            Ok(None) => Self::begin_anew(path)?,
            Err(error) if error.is_damage() => Self::begin_anew(path)?,
            Err(error) => return Err(error),
        };
        if state != DatabaseState::Whole {
            database.restore_collections()?;
        }
        if is_reported {
            fs::remove_file(&report).map_err(|error| GalleryError::file(report, error))?;
        }
        Ok((database, state))
    }

    /// Looks through the whole file for damage that opening does not see. Blocks, for about a second where there are 100,000 pictures.
    ///
    /// # Errors
    /// One that [`GalleryError::is_damage`], where it is damaged; the database's.
    pub fn check(&self) -> Result<(), GalleryError> {
        let answer: String = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if answer == "ok" {
            return Ok(());
        }
        Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT), Some(answer)).into())
    }

    /// A number that is another one after any change of the database, by this connection or by another one.
    ///
    /// # Errors
    /// The database's.
    pub fn version(&self) -> Result<DatabaseVersion, GalleryError> {
        let by_others = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(DatabaseVersion { by_others, by_this: self.connection.total_changes() })
    }

    /// Notes beside the database that it is damaged, so that the next [`Self::open`] begins it anew once no connection uses it.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn report_damage(path: &Path) -> Result<(), GalleryError> {
        let report = damage_report(path);
        fs::write(&report, []).map_err(|error| GalleryError::file(report, error))
    }

    /// A database that lasts as long as it is open, for who has no folder of their own. Journals are not to be written from it.
    ///
    /// # Errors
    /// If memory is short.
    pub fn in_memory() -> Result<Self, GalleryError> {
        let connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        for step in STEPS {
            connection.execute_batch(step)?;
        }
        Ok(Self { connection, journals: None })
    }

    /// The open database, and true where it had no tables; `None` where it is of a newer version.
    fn open_as_it_is(path: &Path) -> Result<Option<(Self, bool)>, GalleryError> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_WAIT)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // With a write-ahead log the last transactions may be lost to a power cut unless each is flushed; a person's work is worth 3 ms.
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: usize = transaction.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))?.try_into().unwrap_or(usize::MAX);
        if version > STEPS.len() {
            return Ok(None);
        }
        for step in &STEPS[version..] {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "user_version", STEPS.len() as i64)?;
        transaction.commit()?;
        let journals = path.parent().unwrap_or(Path::new(".")).join("gallery-journals");
        Ok(Some((Self { connection, journals: Some(journals) }, version == 0)))
    }

    fn begin_anew(path: &Path) -> Result<(Self, DatabaseState), GalleryError> {
        let aside = free_name(path);
        fs::rename(path, &aside).map_err(|error| GalleryError::file(path, error))?;
        for suffix in ["-wal", "-shm"] {
            let (from, to) = (with_suffix(path, suffix), with_suffix(&aside, suffix));
            if from.exists() {
                fs::rename(&from, &to).map_err(|error| GalleryError::file(from, error))?;
            }
        }
        match Self::open_as_it_is(path)? {
            Some((database, _)) => Ok((database, DatabaseState::PutAside(aside))),
            None => unreachable!("a new file has no version"),
        }
    }

    /// Folder of the journals of folders that are not Atelier's own; `None` where nothing is written beside the database.
    pub(crate) fn journals(&self) -> Option<&Path> {
        self.journals.as_deref()
    }

    /// The connection.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Runs changes that happen together or not at all. Waits while another connection writes.
    ///
    /// # Errors
    /// What `change` returns, or the database's; nothing is changed then.
    pub(crate) fn write<T>(
        &mut self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, GalleryError>,
    ) -> Result<T, GalleryError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = change(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }
}

/// File whose presence says that the database is damaged inside.
fn damage_report(path: &Path) -> PathBuf {
    with_suffix(path, ".damaged")
}

/// True where no other connection, also of another process, has the database open: one that locks it for itself alone shares it with nobody.
fn is_unused(path: &Path) -> bool {
    let lock = || {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        connection.execute_batch("BEGIN EXCLUSIVE; ROLLBACK")
    };
    // Whatever else stops the lock is part of the damage.
    !lock().map_err(GalleryError::from).is_err_and(|error| error.is_busy())
}

/// `gallery.sqlite.bad`, or the first with a number that is free.
fn free_name(path: &Path) -> PathBuf {
    let first = with_suffix(path, ".bad");
    let mut name = first.clone();
    let mut number = 2_u32;
    while name.exists() {
        name = with_suffix(&first, &number.to_string());
        number += 1;
    }
    name
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_database_has_tables_and_is_found_whole_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/gallery.sqlite");
        let (database, state) = Database::open(&path).unwrap();
        assert_eq!(state, DatabaseState::New);
        assert_eq!(database.connection().query_row("SELECT count(*) FROM picture", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
        drop(database);
        assert_eq!(Database::open(&path).unwrap().1, DatabaseState::Whole);
    }

    #[test]
    fn the_version_differs_after_a_change_of_this_connection_or_of_another_one_and_not_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gallery.sqlite");
        let [database, other] = [(); 2].map(|()| Database::open(&path).unwrap().0);
        let add = |database: &Database, tag: i64| {
            database.connection().execute("INSERT INTO tag VALUES (?1, 'tag ' || ?1)", [tag]).unwrap();
            database.version().unwrap()
        };
        let first = database.version().unwrap();
        assert_eq!(database.version().unwrap(), first);
        let second = add(&database, 1);
        assert_ne!(second, first);
        add(&other, 2);
        assert_ne!(database.version().unwrap(), second);
    }

    #[test]
    fn damage_inside_the_file_is_found_and_the_database_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gallery.sqlite");
        let (database, _) = Database::open(&path).unwrap();
        database.check().unwrap();
        let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            INSERT INTO tag SELECT i, 'tag ' || i FROM n";
        database.connection().execute_batch(fill).unwrap();
        drop(database);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0x5a);
        fs::write(&path, bytes).unwrap();
        let (database, state) = Database::open(&path).unwrap();
        assert_eq!(state, DatabaseState::Whole, "the first pages are");
        assert!(database.check().unwrap_err().is_damage());
        Database::report_damage(&path).unwrap();
        assert_eq!(Database::open(&path).unwrap().1, DatabaseState::Whole, "another connection uses it");
        drop(database);
        let (database, state) = Database::open(&path).unwrap();
        assert_eq!(state, DatabaseState::PutAside(folder.path().join("gallery.sqlite.bad")));
        database.check().unwrap();
        drop(database);
        assert_eq!(Database::open(&path).unwrap().1, DatabaseState::Whole, "it is reported once");
    }

    #[test]
    fn a_damaged_database_and_one_of_a_newer_version_are_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gallery.sqlite");
        fs::write(&path, [7; 9000]).unwrap();
        let aside = folder.path().join("gallery.sqlite.bad");
        assert_eq!(Database::open(&path).unwrap().1, DatabaseState::PutAside(aside.clone()));
        assert_eq!(fs::read(&aside).unwrap(), [7; 9000]);

        let (database, _) = Database::open(&path).unwrap();
        database.connection().pragma_update(None, "user_version", 1000).unwrap();
        drop(database);
        assert_eq!(Database::open(&path).unwrap().1, DatabaseState::PutAside(folder.path().join("gallery.sqlite.bad2")));
    }
}
