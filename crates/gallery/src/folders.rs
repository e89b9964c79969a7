//! Folders whose pictures the index knows.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use crate::stored_path::StoredPath;
use crate::{Database, GalleryError};

/// Number of a folder in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FolderId(pub i64);

/// Relation of a folder to Atelier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderKind {
    /// Atelier keeps its pictures there; it is scanned, and marks are written beside the pictures.
    Own,
    /// A person added it; it is scanned and never written to.
    Added,
    /// A picture was saved there by name; nothing else in it is looked at, and marks are written
    /// elsewhere.
    Loose,
}

impl FolderKind {
    const ALL: [Self; 3] = [Self::Own, Self::Added, Self::Loose];

    /// Name in the database and in journals.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Added => "added",
            Self::Loose => "loose",
        }
    }

    pub(crate) fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }
}

/// A folder of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its number.
    pub id: FolderId,
    /// Its path, absolute.
    pub path: PathBuf,
    /// Its relation to Atelier.
    pub kind: FolderKind,
    /// True once it was looked through to its end.
    pub is_scanned: bool,
}

impl Database {
    /// Folders of the index, by path.
    ///
    /// # Errors
    /// The database's.
    pub fn folders(&self) -> Result<Vec<Folder>, GalleryError> {
        all_folders(self.connection())
    }

    /// Pictures of a folder that the index knows, those in the trash left out.
    ///
    /// # Errors
    /// The database's.
    pub fn folder_pictures(&self, folder: FolderId) -> Result<u64, GalleryError> {
        let sql = "SELECT count(*) FROM picture WHERE folder_id = ?1 AND state <> 'trashed'";
        Ok(self.connection().query_row(sql, [folder.0], |row| row.get::<_, i64>(0))?.try_into().unwrap_or_default())
    }

    /// Adds a folder and returns it, or the one that it lies in, where that is scanned already.
    /// Folders inside it become part of it, but for Atelier's own. Scans nothing.
    ///
    /// # Errors
    /// If the path cannot be made absolute; the database's.
    pub fn add_folder(&mut self, path: &Path, kind: FolderKind) -> Result<Folder, GalleryError> {
        let path = std::path::absolute(path).map_err(|error| GalleryError::file(path, error))?;
        self.write(|transaction| register_folder(transaction, &path, kind))
    }

    /// Takes a folder and its pictures out of the index. No file changes; marks stay in the
    /// folder's journal, and come back with the folder.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_folder(&mut self, folder: FolderId) -> Result<(), GalleryError> {
        self.write_journals()?;
        self.write(|transaction| {
            let sql = "DELETE FROM picture_words WHERE rowid IN (SELECT id FROM picture WHERE folder_id = ?1)";
            transaction.execute(sql, [folder.0])?;
            transaction.execute(&sql.replace("picture_words", "picture_trigrams"), [folder.0])?;
            transaction.execute("DELETE FROM picture WHERE folder_id = ?1", [folder.0])?;
            transaction.execute("DELETE FROM folder WHERE id = ?1", [folder.0])?;
            Ok(())
        })
    }
}

pub(crate) fn all_folders(connection: &Connection) -> Result<Vec<Folder>, GalleryError> {
    let mut statement = connection.prepare_cached("SELECT id, path, kind, is_scanned FROM folder ORDER BY path")?;
    let folders = statement.query_map([], |row| {
        let kind = FolderKind::from_key(&row.get::<_, String>(2)?).unwrap_or(FolderKind::Added);
        Ok(Folder { id: FolderId(row.get(0)?), path: row.get::<_, StoredPath>(1)?.0, kind, is_scanned: row.get(3)? })
    })?;
    Ok(folders.collect::<Result<_, _>>()?)
}

/// The innermost folder of the index that a path lies in.
pub(crate) fn folder_of(connection: &Connection, path: &Path) -> Result<Option<Folder>, GalleryError> {
    let folders = all_folders(connection)?.into_iter().filter(|folder| path.starts_with(&folder.path));
    Ok(folders.max_by_key(|folder| folder.path.components().count()))
}

/// As [`Database::add_folder`], for a path that is absolute.
pub(crate) fn register_folder(connection: &Connection, path: &Path, kind: FolderKind) -> Result<Folder, GalleryError> {
    let folders = all_folders(connection)?;
    let of_kind = |folder: &Folder, kind: FolderKind| Folder { kind, ..folder.clone() };
    if let Some(same) = folders.iter().find(|it| it.path == path) {
        let kind = match (same.kind, kind) {
            (FolderKind::Own, _) | (_, FolderKind::Own) => FolderKind::Own,
            (FolderKind::Loose, FolderKind::Loose) => FolderKind::Loose,
            _ => FolderKind::Added,
        };
        connection.execute("UPDATE folder SET kind = ?2 WHERE id = ?1", params![same.id.0, kind.key()])?;
        return Ok(of_kind(same, kind));
    }
    let outer = folders.iter().filter(|it| path.starts_with(&it.path)).max_by_key(|it| it.path.components().count());
    if let Some(outer) = outer.filter(|it| kind != FolderKind::Own && (it.kind != FolderKind::Loose || kind == FolderKind::Loose)) {
        return Ok(outer.clone());
    }
    connection.execute("INSERT INTO folder (path, kind) VALUES (?1, ?2)", params![StoredPath::of(path), kind.key()])?;
    let new = Folder { id: FolderId(connection.last_insert_rowid()), path: path.to_owned(), kind, is_scanned: false };
    if kind != FolderKind::Loose {
        let inner = folders.iter().filter(|it| it.path.starts_with(path) && it.kind != FolderKind::Own);
        for folder in inner {
            move_pictures(connection, folder, &new)?;
            connection.execute("DELETE FROM folder WHERE id = ?1", [folder.id.0])?;
        }
        if let Some(outer) = outer {
            move_pictures(connection, outer, &new)?;
        }
    }
    Ok(new)
}

/// Gives the pictures of one folder that lie in another to that one.
fn move_pictures(connection: &Connection, from: &Folder, to: &Folder) -> Result<(), GalleryError> {
    let mut statement = connection.prepare("SELECT id, relative_path FROM picture WHERE folder_id = ?1")?;
    let rows = statement.query_map([from.id.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, StoredPath>(1)?.0)))?;
    for row in rows.collect::<Result<Vec<_>, _>>()? {
        let path = from.path.join(row.1);
        let Ok(relative) = path.strip_prefix(&to.path) else { continue };
        let sql = "UPDATE picture SET folder_id = ?2, relative_path = ?3 WHERE id = ?1";
        connection.execute(sql, params![row.0, to.id.0, StoredPath::of(relative)])?;
        // What was said of it is in the other folder's journal.
        connection.execute("INSERT OR IGNORE INTO journal_due VALUES (?1)", [row.0])?;
    }
    Ok(())
}

/// The row of a file.
pub(crate) fn picture_at(connection: &Connection, path: &Path) -> Result<Option<i64>, GalleryError> {
    let Some(folder) = folder_of(connection, path)? else { return Ok(None) };
    let Ok(relative) = path.strip_prefix(&folder.path) else { return Ok(None) };
    let sql = "SELECT id FROM picture WHERE folder_id = ?1 AND relative_path = ?2";
    Ok(connection.query_row(sql, params![folder.id.0, StoredPath::of(relative)], |row| row.get(0)).optional()?)
}
