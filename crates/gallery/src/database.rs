//! The file of the database: opening, versions, and what happens to a damaged one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use atelier_core::owner_only;
use atelier_core::stored_file::aside_name;
use atelier_language::tr;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use crate::GalleryError;
use crate::queue::DecodedRecipes;
use crate::schema::STEPS;
use crate::use_lock::UseLock;

/// SQLite's setting of what is flushed, and its value: with a write-ahead log a power cut may take
/// back the last transactions unless each is flushed, and a person's work is worth 3 ms.
const SYNCHRONOUS: &str = "synchronous";
const FLUSHED: &str = "full";

/// Longest wait for another connection or process that writes.
const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Time between two tries to open a database that another connection makes.
const BUSY_INTERVAL: Duration = Duration::from_millis(10);

/// Files that SQLite keeps beside the database, by what is added to its name.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// What a file of SQLite begins with, and bytes up to the end of its `user_version` (SQLite's file
/// format, 1.3).
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEAD: usize = 64;

/// A connection to the database; several, also of other processes, may be open at once. A thread
/// has one of its own.
pub struct Database {
    connection: Connection,
    /// Folder of the journals of folders that are not Atelier's own; `None` for a database that is
    /// in no file.
    journals: Option<PathBuf>,
    /// Dropped behind the connection: while it is held nobody puts the file aside.
    in_use: Option<UseLock>,
    /// Of the jobs that were listed.
    pub(crate) recipes: DecodedRecipes,
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
    /// It was damaged and was put aside, here; the pictures' folders are to be scanned.
    PutAside(PathBuf),
}

impl DatabaseState {
    /// What a person is to know of it, in sentences.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let Self::PutAside(aside) = self else { return None };
        Some(tr!("index-the-index-of-your", aside = aside.display()))
    }
}

impl Database {
    /// Opens the database in this file, with its folder made where it is missing. A damaged one,
    /// also one that [`Self::report_damage`] was called for, is put aside under another name and
    /// begun anew once nobody else has it open. Blocks.
    ///
    /// # Errors
    /// If the folder cannot be written to, a newer Atelier wrote the database, or others hold it
    /// for too long.
    pub fn open(path: &Path) -> Result<(Self, DatabaseState), GalleryError> {
        if let Some(folder) = path.parent() {
            owner_only::create_folder(folder).map_err(|error| GalleryError::file(folder, error))?;
        }
        let deadline = Instant::now() + BUSY_WAIT;
        let report = damage_report(path);
        let mut is_reported = report.exists();
        refuse_newer(path)?;
        let mut lock = UseLock::on(&lock_file(path));
        loop {
            if !lock.share() {
                // Another process puts it aside just now.
                wait_until(deadline, path)?;
                continue;
            }
            if !is_reported {
                match Self::open_restored(path) {
                    Ok(opened) => return Ok(Self::begin(opened, lock)),
                    // SQLite does not wait by itself where two connections make a database at the
                    // same time.
                    Err(error) if error.is_busy() && Instant::now() < deadline => {
                        thread::sleep(BUSY_INTERVAL);
                        continue;
                    }
                    Err(error) if error.is_damage() => {}
                    Err(error) => return Err(error),
                }
            }
            // Whoever has the file alone looks once more: another process may have begun it anew
            // meanwhile.
            if !lock.own() || !is_unused(path) {
                if !std::mem::take(&mut is_reported) {
                    wait_until(deadline, path)?;
                }
                continue;
            }
            is_reported = is_reported && report.exists();
            let (opened, state) = match Self::open_restored(path) {
                Ok(opened) if !is_reported => (opened, DatabaseState::Whole),
                Err(error) if !error.is_damage() => return Err(error),
                found => {
                    // It is closed before its file gets another name.
                    drop(found);
                    Self::begin_anew(path)?
                }
            };
            if is_reported {
                fs::remove_file(&report).map_err(|error| GalleryError::file(report, error))?;
            }
            let (database, found) = Self::begin(opened, lock);
            return Ok((database, if state == DatabaseState::Whole { found } else { state }));
        }
    }

    /// [`Self::open_as_it_is`], with what the journals have where the tables are new.
    fn open_restored(path: &Path) -> Result<(Self, bool), GalleryError> {
        let (mut database, is_new) = Self::open_as_it_is(path)?;
        database.restore()?;
        Ok((database, is_new))
    }

    /// The open database, which holds the lock while it is used.
    fn begin((mut database, is_new): (Self, bool), mut lock: UseLock) -> (Self, DatabaseState) {
        while !lock.share() {
            // Another process finds just now that there is nothing to put aside any more.
            thread::sleep(BUSY_INTERVAL);
        }
        database.in_use = Some(lock);
        (database, if is_new { DatabaseState::New } else { DatabaseState::Whole })
    }

    /// Looks through the whole file for damage that opening does not see. Blocks, for about a
    /// second where there are 100,000 pictures.
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

    /// A number that is another one after any change of the database, by this connection or by
    /// another one.
    ///
    /// # Errors
    /// The database's.
    pub fn version(&self) -> Result<DatabaseVersion, GalleryError> {
        let by_others = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(DatabaseVersion { by_others, by_this: self.connection.total_changes() })
    }

    /// Notes beside the database that it is damaged, so that the next [`Self::open`] begins it anew
    /// once no connection uses it.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn report_damage(path: &Path) -> Result<(), GalleryError> {
        let report = damage_report(path);
        fs::write(&report, []).map_err(|error| GalleryError::file(report, error))
    }

    /// A database that lasts as long as it is open, for who has no folder of their own. Journals
    /// are not to be written from it.
    ///
    /// # Errors
    /// If memory is short.
    pub fn in_memory() -> Result<Self, GalleryError> {
        let connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        for step in STEPS {
            connection.execute_batch(step)?;
        }
        Ok(Self { connection, journals: None, in_use: None, recipes: DecodedRecipes::default() })
    }

    /// The open database, and true where it had no tables.
    ///
    /// # Errors
    /// [`GalleryError::Newer`], with nothing changed; the database's.
    fn open_as_it_is(path: &Path) -> Result<(Self, bool), GalleryError> {
        if !path.exists() {
            // SQLite gives the files beside it the same rights.
            let made = owner_only::options().write(true).create(true).truncate(false).open(path);
            made.map_err(|error| GalleryError::file(path, error))?;
        }
        refuse_newer(path)?;
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_WAIT)?;
        // The last connection to close writes the log into the database; that of a newer version is
        // none of ours.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        if version_of(&connection)? > STEPS.len() {
            return Err(GalleryError::Newer(path.to_owned()));
        }
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        for file in std::iter::once(path.to_owned()).chain(BESIDE.map(|it| with_suffix(path, it))) {
            if let Err(error) = owner_only::restrict(&file) {
                tracing::warn!("other users may read {}: {error}", file.display());
            }
        }
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, SYNCHRONOUS, FLUSHED)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let is_new = migrate(&mut connection, path)?;
        let journals = path.parent().unwrap_or(Path::new(".")).join("gallery-journals");
        Ok((Self { connection, journals: Some(journals), in_use: None, recipes: DecodedRecipes::default() }, is_new))
    }

    /// Puts the file aside and makes a new one. Only for who has it alone.
    fn begin_anew(path: &Path) -> Result<((Self, bool), DatabaseState), GalleryError> {
        let aside = aside_name(path);
        // The log first: beside a new database it would be taken for that one's.
        for suffix in BESIDE {
            let (from, to) = (with_suffix(path, suffix), with_suffix(&aside, suffix));
            if from.exists() {
                fs::rename(&from, &to).map_err(|error| GalleryError::file(from, error))?;
            }
        }
        fs::rename(path, &aside).map_err(|error| GalleryError::file(path, error))?;
        Ok((Self::open_restored(path)?, DatabaseState::PutAside(aside)))
    }

    /// Folder of the journals of folders that are not Atelier's own; `None` where nothing is
    /// written beside the database.
    pub(crate) fn journals(&self) -> Option<&Path> {
        self.journals.as_deref()
    }

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

    /// For changes that a power cut may take back, until the next one that is flushed: what is only
    /// told, or is worked out again. An end of the process takes nothing back.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn unflushed(&mut self) -> Result<Unflushed<'_>, GalleryError> {
        self.connection.pragma_update(None, SYNCHRONOUS, "normal")?;
        Ok(Unflushed(self))
    }
}

/// A database of which no transaction is flushed while this is there.
pub(crate) struct Unflushed<'a>(&'a mut Database);

impl Deref for Unflushed<'_> {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.0
    }
}

impl DerefMut for Unflushed<'_> {
    fn deref_mut(&mut self) -> &mut Database {
        self.0
    }
}

impl Drop for Unflushed<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.connection.pragma_update(None, SYNCHRONOUS, FLUSHED) {
            tracing::warn!("a power cut may take back the last changes of the index: {error}");
        }
    }
}

/// # Errors
/// [`GalleryError::Newer`] where the file's head says so: SQLite, which also reads the log, would
/// make files beside it.
fn refuse_newer(path: &Path) -> Result<(), GalleryError> {
    let mut head = [0; HEAD];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    let version = head[HEAD - 4..].iter().fold(0_u32, |version, byte| (version << 8) | u32::from(*byte));
    // A negative one is none of ours.
    if is_read && head.starts_with(MAGIC) && (version as i32 > STEPS.len() as i32) {
        return Err(GalleryError::Newer(path.to_owned()));
    }
    Ok(())
}

/// Version of the tables.
fn version_of(connection: &Connection) -> Result<usize, GalleryError> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(version.try_into().unwrap_or(usize::MAX))
}

/// Brings the tables to today's version; true where there were none. Writes nothing where they are
/// of it: the disk may be full.
fn migrate(connection: &mut Connection, path: &Path) -> Result<bool, GalleryError> {
    if version_of(connection)? == STEPS.len() {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = version_of(&transaction)?;
    let missing = STEPS.get(version..).ok_or_else(|| GalleryError::Newer(path.to_owned()))?;
    for step in missing {
        transaction.execute_batch(step)?;
    }
    if version > 0 {
        // Nothing was lost.
        transaction.execute("UPDATE restoration SET is_due = 0", [])?;
    }
    transaction.pragma_update(None, "user_version", STEPS.len() as i64)?;
    transaction.commit()?;
    Ok(version == 0)
}

/// Sleeps for a moment.
///
/// # Errors
/// At the end of the patience.
fn wait_until(deadline: Instant, path: &Path) -> Result<(), GalleryError> {
    if Instant::now() >= deadline {
        return Err(GalleryError::DamagedInUse(path.to_owned()));
    }
    thread::sleep(BUSY_INTERVAL);
    Ok(())
}

/// File whose presence says that the database is damaged inside.
fn damage_report(path: &Path) -> PathBuf {
    with_suffix(path, ".damaged")
}

/// File that says who has the database open.
fn lock_file(path: &Path) -> PathBuf {
    with_suffix(path, ".lock")
}

/// True where no other connection, also of another process, has the database open: one that locks
/// it for itself alone shares it with nobody.
fn is_unused(path: &Path) -> bool {
    let lock = || {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        connection.execute_batch("BEGIN EXCLUSIVE; ROLLBACK")
    };
    // Whatever else stops the lock is part of the damage.
    !lock().map_err(GalleryError::from).is_err_and(|error| error.is_busy())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests;
