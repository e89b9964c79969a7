//! Between the tables and the journals: marks are written to them, and read back into an index that
//! lost them.

use std::collections::BTreeMap;
use std::path::Path;

use atelier_core::stored_file::is_disk_trouble;
use rusqlite::{Connection, params};

use crate::checked_name::checked_name;
use crate::file_identity::FileHash;
use crate::folders::{Folder, FolderKind, all_folders, register_folder};
use crate::journal::{CollectedFolder, Collections, Journal, JournalEntry, append_lines, journal_name};
use crate::picture::{PictureFlag, PictureKind};
use crate::queue::Owner;
use crate::record::index_text;
use crate::stored_path::StoredPath;
use crate::{Database, GalleryError, queue};

/// Most tags, and most boards, of a picture that are read from a journal.
const MAX_NAMES: usize = 1000;

impl Database {
    /// Writes to the journals what is not in them yet. What cannot be written, as on a disk that is
    /// not there, waits for the next call; the marks themselves are in the database. Blocks.
    ///
    /// # Errors
    /// The database's; a disk that takes nothing now, and may later.
    pub fn write_journals(&mut self) -> Result<(), GalleryError> {
        let Some(journals) = self.journals().map(Path::to_owned) else { return Ok(()) };
        let mut trouble = None;
        let mut note = |path: &Path, error: std::io::Error| {
            if is_disk_trouble(&error) {
                trouble = Some(GalleryError::file(path, error));
            }
        };
        // The transaction also keeps other processes from writing to the same journals. One that a power
        // cut takes back has its lines written once more.
        self.unflushed()?.write(|transaction| {
            // What is still to be read from there is not overwritten.
            if !is_restoration_due(transaction)?
                && let Err(error) = collections(transaction)?.write(&Collections::path(&journals))
            {
                tracing::warn!("boards and searches could not be written beside the index: {error}");
                note(&journals, error);
            }
            if let Err(error) = queue::journal::write_due(transaction, &journals)? {
                tracing::warn!("jobs could not be written beside the index: {error}");
                note(&journals, error);
            }
            let mut due: BTreeMap<i64, Vec<(i64, JournalEntry)>> = BTreeMap::new();
            for (folder, id) in due_pictures(transaction)? {
                due.entry(folder).or_default().push((id, entry_of(transaction, id)?));
            }
            for folder in all_folders(transaction)? {
                let Some(entries) = due.remove(&folder.id.0) else { continue };
                let path = Journal::path(&folder, &journals);
                let (ids, entries): (Vec<i64>, Vec<JournalEntry>) = entries.into_iter().unzip();
                if folder.kind == FolderKind::Own && !folder.path.is_dir() {
                    continue;
                }
                if let Err(error) = append_lines(&path, &entries, folder.kind != FolderKind::Own) {
                    tracing::warn!("marks of {} pictures wait until {} can be written to: {error}", ids.len(), path.display());
                    note(&path, error);
                    continue;
                }
                for id in ids {
                    transaction.prepare_cached("DELETE FROM journal_due WHERE picture_id = ?1")?.execute([id])?;
                }
            }
            Ok(())
        })?;
        trouble.map_or(Ok(()), Err)
    }

    /// Boards, searches, folders and jobs of an index that was lost, once. Where they cannot be
    /// read now, the next opening tries again.
    pub(crate) fn restore(&mut self) -> Result<(), GalleryError> {
        let Some(journals) = self.journals() else { return Ok(()) };
        if !is_restoration_due(self.connection())? {
            return Ok(());
        }
        let read = Collections::read(&Collections::path(journals)).and_then(|it| Ok((it, queue::journal::read(journals)?)));
        let (collections, jobs) = match read {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!("boards, searches and jobs cannot be read from {} now: {error}", journals.display());
                return Ok(());
            }
        };
        self.write(|transaction| {
            if !is_restoration_due(transaction)? {
                return Ok(());
            }
            for folder in &collections.folders {
                if let Some(kind) = FolderKind::from_key(&folder.kind).filter(|_| Path::new(&folder.path).is_absolute()) {
                    register_folder(transaction, folder.path.as_ref(), kind)?;
                }
            }
            for name in &collections.boards {
                transaction.execute("INSERT OR IGNORE INTO board (name) VALUES (?1)", [name])?;
            }
            for (name, query) in &collections.saved_searches {
                transaction.execute("INSERT OR IGNORE INTO saved_search (name, query) VALUES (?1, ?2)", [name, query])?;
            }
            jobs.restore(transaction)?;
            transaction.execute("UPDATE restoration SET is_due = 0", [])?;
            Ok(())
        })
    }

    /// True where all that the journals had of a lost database is in this one.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn is_restored(&self) -> Result<bool, GalleryError> {
        Ok(!is_restoration_due(self.connection())?)
    }

    /// The journal of a folder, written anew first where most of its lines are out of date.
    pub(crate) fn read_journal(&mut self, folder: &Folder) -> Result<Journal, GalleryError> {
        let Some(journals) = self.journals() else { return Ok(Journal::default()) };
        let path = Journal::path(folder, journals);
        self.write(|_| {
            let journal = Journal::read(&path).map_err(|error| GalleryError::file(&path, error))?;
            if let Err(error) = journal.compact(&path) {
                tracing::warn!("{} could not be shortened: {error}", path.display());
            }
            Ok(journal)
        })
    }
}

/// True where the journals are still to be read into new tables.
fn is_restoration_due(connection: &Connection) -> Result<bool, GalleryError> {
    Ok(connection.query_row("SELECT is_due FROM restoration", [], |row| row.get(0))?)
}

/// Folders and ids of pictures whose marks are in no journal yet.
fn due_pictures(connection: &Connection) -> Result<Vec<(i64, i64)>, GalleryError> {
    let sql = "SELECT p.folder_id, p.id FROM journal_due JOIN picture p ON p.id = picture_id ORDER BY p.id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The line about a picture.
fn entry_of(connection: &Connection, id: i64) -> Result<JournalEntry, GalleryError> {
    let sql = "SELECT p.relative_path, p.file_hash, p.rating, p.flag, t.note, p.kind, p.batch_id, p.owner, parent.file_hash FROM picture p \
        JOIN picture_text t ON t.picture_id = p.id LEFT JOIN picture parent ON parent.id = p.parent_id WHERE p.id = ?1";
    let mut entry = connection.prepare_cached(sql)?.query_row([id], |row| {
        Ok(JournalEntry {
            file: journal_name(&row.get::<_, StoredPath>(0)?.0),
            hash: row.get::<_, [u8; 16]>(1).map(|it| FileHash(it).to_string()).unwrap_or_default(),
            rating: row.get(2).unwrap_or_default(),
            flag: row.get(3).unwrap_or_default(),
            note: row.get(4)?,
            kind: row.get::<_, String>(5).ok().filter(|kind| kind == PictureKind::Candidate.key()),
            batch: row.get(6).unwrap_or_default(),
            owner: row.get(7).unwrap_or_default(),
            parent: row.get::<_, Option<[u8; 16]>>(8).unwrap_or_default().map(|it| FileHash(it).to_string()),
            ..JournalEntry::default()
        })
    })?;
    let sql = "SELECT name FROM picture_tag JOIN tag ON tag.id = tag_id WHERE picture_id = ?1 ORDER BY name";
    entry.tags = connection.prepare_cached(sql)?.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let sql = "SELECT name, position FROM picture_board JOIN board ON board.id = board_id WHERE picture_id = ?1 ORDER BY name";
    entry.boards = connection.prepare_cached(sql)?.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(entry)
}

/// Gives a picture that is new to the index what a journal has of it. Values that no Atelier writes
/// are passed over.
pub(crate) fn apply_entry(connection: &Connection, id: i64, entry: &JournalEntry) -> Result<(), GalleryError> {
    let kind = entry.kind.as_deref().and_then(PictureKind::from_key);
    connection
        .prepare_cached(
            "UPDATE picture SET rating = ?2, flag = ?3, batch_id = ifnull(?4, batch_id), kind = ifnull(?5, kind), \
            owner = ifnull(?6, owner) WHERE id = ?1",
        )?
        .execute(params![
            id,
            entry.rating.min(5),
            entry.flag.as_deref().and_then(PictureFlag::from_key).map(PictureFlag::key),
            entry.batch,
            kind.map(PictureKind::key),
            entry.owner.as_deref().and_then(Owner::of_picture).as_ref().and_then(Owner::stored)
        ])?;
    connection.prepare_cached("UPDATE picture_text SET note = ?2 WHERE picture_id = ?1")?.execute(params![id, entry.note])?;
    for tag in entry.tags.iter().take(MAX_NAMES).filter_map(|it| checked_name(it, "tag").ok()) {
        connection.prepare_cached("INSERT OR IGNORE INTO tag (name) VALUES (?1)")?.execute([&tag])?;
        connection
            .prepare_cached("INSERT OR IGNORE INTO picture_tag (picture_id, tag_id) SELECT ?1, id FROM tag WHERE name = ?2")?
            .execute(params![id, tag])?;
    }
    for (board, position) in entry.boards.iter().take(MAX_NAMES).filter(|it| it.1.is_finite()) {
        let Ok(board) = checked_name(board, "board") else { continue };
        connection.prepare_cached("INSERT OR IGNORE INTO board (name) VALUES (?1)")?.execute([&board])?;
        connection
            .prepare_cached(
                "INSERT OR IGNORE INTO picture_board (board_id, picture_id, position) SELECT id, ?1, ?3 FROM board WHERE name = ?2",
            )?
            .execute(params![id, board, position])?;
    }
    if !entry.tags.is_empty() || !entry.note.is_empty() {
        index_text(connection, id)?;
    }
    if let Some(parent) = entry.parent.as_deref().and_then(FileHash::parse) {
        let sql = "INSERT OR REPLACE INTO parent_due (picture_id, file_hash) VALUES (?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![id, parent.0])?;
    }
    Ok(())
}

fn collections(connection: &Connection) -> Result<Collections, GalleryError> {
    let folders = all_folders(connection)?.into_iter();
    let folders = folders.filter_map(|it| Some(CollectedFolder { path: it.path.to_str()?.to_owned(), kind: it.kind.key().to_owned() }));
    let mut boards = connection.prepare_cached("SELECT name FROM board ORDER BY name")?;
    let mut searches = connection.prepare_cached("SELECT name, query FROM saved_search ORDER BY name")?;
    Ok(Collections {
        folders: folders.collect(),
        boards: boards.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?,
        saved_searches: searches.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?,
    })
}
