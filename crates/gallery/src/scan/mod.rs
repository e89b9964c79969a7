//! Looking through a folder for pictures that are new, changed, moved or gone.
//!
//! Invariants: nothing in the folder is written; a row is never deleted because its file is gone.

mod walk;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use atelier_core::reading::ReadingMarks;
use atelier_language::tr;
use rusqlite::{Connection, params};

use self::walk::{FoundFile, Walk, walk};
use crate::folders::{Folder, FolderId, FolderKind, all_folders};
use crate::journal::Journal;
use crate::journaling::apply_entry;
use crate::picture::{NewPicture, PictureKind, PictureState};
use crate::record::{index_text, insert_picture, link_parents, write_settings};
use crate::stored_path::StoredPath;
use crate::{Database, FileHash, GalleryError};

/// The time of a row whose file is left out: no file has it, so the next scan looks at the file
/// again.
const LEFT_OUT_NS: i64 = -1;

/// Pictures whose rows are written in one transaction: few, so that others who write wait for
/// milliseconds.
const BATCH: usize = 64;

/// Course and result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Picture files in the folder.
    pub files: u64,
    /// Of these, looked at so far.
    pub looked_at: u64,
    /// Pictures that were not in the index.
    pub added: u64,
    /// Pictures whose file changed.
    pub changed: u64,
    /// Pictures that were known elsewhere.
    pub moved: u64,
    /// Pictures that were missing or in the trash and are there again.
    pub returned: u64,
    /// Pictures whose file is no longer there.
    pub missing: u64,
    /// New or changed files from which no picture can be read.
    pub damaged: u64,
    /// Files that could not be read.
    pub unreadable: u64,
    /// Files that are left out, because the program ended while it read them; their rows are marked
    /// as damaged.
    pub left_out: Vec<PathBuf>,
    /// Of these, how many were not left out before.
    pub newly_left_out: u64,
    /// True where the folder itself is not there.
    pub is_folder_missing: bool,
    /// True where it was stopped before its end.
    pub is_stopped: bool,
    /// True where the folder has more files, or deeper folders, than are looked at.
    pub is_truncated: bool,
    /// Linked folders in the folder: their pictures are not in the gallery.
    pub linked_folders: Vec<PathBuf>,
    /// Pictures in formats that are not read.
    pub other_formats: u64,
}

/// A row of the folder before the scan.
struct KnownPicture {
    id: i64,
    bytes: u64,
    modified_ns: i64,
    state: PictureState,
    is_seen: bool,
}

/// A scan that runs.
struct Scan<'a> {
    folder: Folder,
    journal: Journal,
    report: ScanReport,
    marks: &'a ReadingMarks,
    progress: &'a mut dyn FnMut(&ScanReport),
    stop: &'a dyn Fn() -> bool,
}

impl Database {
    /// Looks through a folder: sizes and times first, headers of what is new or changed, newest
    /// first. Files that ended the program before are left out, by `marks`. `progress` is called
    /// often; `stop` is asked before each file, and what was found until then stays. Blocks.
    ///
    /// # Errors
    /// If the folder is not of the index; the database's.
    pub fn scan(
        &mut self,
        folder: FolderId,
        marks: &ReadingMarks,
        progress: &mut dyn FnMut(&ScanReport),
        stop: &dyn Fn() -> bool,
    ) -> Result<ScanReport, GalleryError> {
        let folders = all_folders(self.connection())?;
        let folder = folders.iter().find(|it| it.id == folder).cloned();
        let folder = folder.ok_or_else(|| GalleryError::Refused(tr!("index-this-folder-is-not").to_owned()))?;
        let mut report = ScanReport::default();
        if !folder.path.is_dir() {
            report.is_folder_missing = true;
            report.missing = self.write(|transaction| {
                let sql = "UPDATE picture SET state = 'missing' WHERE folder_id = ?1 AND state IN ('here', 'damaged')";
                Ok(transaction.execute(sql, [folder.id.0])? as u64)
            })?;
            return Ok(report);
        }
        let mut known = known_pictures(self.connection(), &folder)?;
        let journal = self.read_journal(&folder)?;
        let found = if folder.kind == FolderKind::Loose {
            Some(known_files(&folder, &known, &journal))
        } else {
            let inner = folders.into_iter().filter(|it| it.id != folder.id && it.kind != FolderKind::Loose).map(|it| it.path);
            walk(&folder.path, &inner.collect::<Vec<_>>(), stop)
        };
        let Some(found) = found else {
            report.is_stopped = true;
            return Ok(report);
        };
        (report.files, report.is_truncated) = (found.files.len() as u64, found.is_truncated);
        report.other_formats = found.other_formats;
        report.linked_folders = found.linked_folders.iter().map(|linked| folder.path.join(linked)).collect();
        let mut scan = Scan { folder, journal, report, marks, progress, stop };
        self.look_at(&mut scan, &found.files, &mut known)?;
        let Scan { folder, mut report, .. } = scan;
        if !report.is_stopped {
            report.missing = self.mark_missing(&folder, &known)?;
            self.write(|transaction| Ok(transaction.execute("UPDATE folder SET is_scanned = 1 WHERE id = ?1", [folder.id.0])?))?;
        }
        self.write_journals()?;
        Ok(report)
    }

    /// Looks at the files of a folder, and marks the rows that they have as seen.
    fn look_at(
        &mut self,
        scan: &mut Scan<'_>,
        files: &[FoundFile],
        known: &mut HashMap<PathBuf, KnownPicture>,
    ) -> Result<(), GalleryError> {
        let kind = if scan.folder.kind == FolderKind::Added { PictureKind::Import } else { PictureKind::Kept };
        let mut files = files.iter();
        loop {
            // Files are read outside of the transaction, during which nobody else can write.
            let mut batch = Vec::new();
            while batch.len() < BATCH {
                scan.report.is_stopped = (scan.stop)();
                let Some(file) = files.next().filter(|_| !scan.report.is_stopped) else { break };
                scan.report.looked_at += 1;
                let row = known.get_mut(&file.relative).map(|row| {
                    row.is_seen = true;
                    &*row
                });
                let is_same = |row: &KnownPicture| (row.bytes, row.modified_ns) == (file.bytes, file.modified_ns);
                let path = scan.folder.path.join(&file.relative);
                match row {
                    Some(row) if is_same(row) && matches!(row.state, PictureState::Here | PictureState::Damaged) => {
                        // It may have ended the program where its small look was made.
                        if scan.marks.is_left_out(&path) {
                            batch.extend(left_out(scan, Some(row), &path, kind));
                        }
                    }
                    row => match scan.marks.read(&path, || NewPicture::read(&path, kind)) {
                        Ok(Ok(picture)) => batch.push(Looked { row: row.map(|it| (it.id, it.state)), picture, is_left_out: false }),
                        Ok(Err(_)) => scan.report.unreadable += 1,
                        Err(_) => batch.extend(left_out(scan, row, &path, kind)),
                    },
                }
                if scan.report.looked_at.is_multiple_of(BATCH as u64) {
                    (scan.progress)(&scan.report);
                }
            }
            if !batch.is_empty() {
                self.write(|transaction| {
                    for looked in &batch {
                        write_looked(transaction, scan, looked)?;
                    }
                    Ok(())
                })?;
            }
            (scan.progress)(&scan.report);
            if scan.report.is_stopped || files.as_slice().is_empty() {
                break;
            }
        }
        if scan.report.added > 0 {
            // Newest first means that parents come after their children.
            self.write(|transaction| link_parents(transaction))?;
        }
        Ok(())
    }

    /// Marks rows as missing whose files were not seen and are not there.
    fn mark_missing(&mut self, folder: &Folder, known: &HashMap<PathBuf, KnownPicture>) -> Result<u64, GalleryError> {
        let unseen = known.iter().filter(|(_, row)| !row.is_seen && matches!(row.state, PictureState::Here | PictureState::Damaged));
        let gone: Vec<i64> = unseen.filter(|(relative, _)| is_gone(&folder.path.join(relative))).map(|(_, row)| row.id).collect();
        self.write(|transaction| {
            let mut count = 0;
            // A row that was found elsewhere meanwhile is in another place.
            let sql = "UPDATE picture SET state = 'missing' WHERE id = ?1 AND folder_id = ?2 AND relative_path = ?3";
            let by_id: HashMap<i64, &PathBuf> = known.iter().map(|(path, row)| (row.id, path)).collect();
            for id in gone {
                count += transaction.prepare_cached(sql)?.execute(params![id, folder.id.0, StoredPath::of(by_id[&id])])?;
            }
            Ok(count as u64)
        })
    }
}

/// A file that was looked at, with the row that it has.
struct Looked {
    row: Option<(i64, PictureState)>,
    picture: NewPicture,
    is_left_out: bool,
}

/// Counts a file that is left out; returns what is to be written of it, where that is not written
/// yet.
fn left_out(scan: &mut Scan<'_>, row: Option<&KnownPicture>, path: &Path, kind: PictureKind) -> Option<Looked> {
    scan.report.left_out.push(path.to_owned());
    if row.is_some_and(|row| row.modified_ns == LEFT_OUT_NS) {
        return None;
    }
    scan.report.newly_left_out += 1;
    let picture = NewPicture::without_settings(path, kind).ok()?;
    Some(Looked { row: row.map(|it| (it.id, it.state)), picture, is_left_out: true })
}

fn write_looked(connection: &Connection, scan: &mut Scan<'_>, looked: &Looked) -> Result<(), GalleryError> {
    let Looked { row, picture, is_left_out } = looked;
    // What is known of a file that is left out stays known.
    if row.is_none() || !is_left_out {
        write_row(connection, scan, *row, picture)?;
    }
    if *is_left_out {
        let relative = picture.path.strip_prefix(&scan.folder.path).unwrap_or(&picture.path);
        let sql = "UPDATE picture SET state = 'damaged', modified_ns = ?3 WHERE folder_id = ?1 AND relative_path = ?2";
        connection.prepare_cached(sql)?.execute(params![scan.folder.id.0, StoredPath::of(relative), LEFT_OUT_NS])?;
    }
    Ok(())
}

/// Writes the row of a file that is new, changed, moved or there again.
fn write_row(
    connection: &Connection,
    scan: &mut Scan<'_>,
    row: Option<(i64, PictureState)>,
    picture: &NewPicture,
) -> Result<(), GalleryError> {
    let Scan { folder, journal, report, .. } = scan;
    if picture.settings.is_none() {
        report.damaged += 1;
    }
    if let Some((id, state)) = row {
        if matches!(state, PictureState::Missing | PictureState::Trashed) {
            report.returned += 1;
        } else {
            report.changed += 1;
        }
        connection.execute("DELETE FROM trashed_file WHERE picture_id = ?1", [id])?;
        return write_settings(connection, id, picture);
    }
    let relative = picture.path.strip_prefix(&folder.path).unwrap_or(&picture.path);
    let taken = "SELECT 1 FROM picture WHERE folder_id = ?1 AND relative_path = ?2";
    if connection.prepare_cached(taken)?.exists(params![folder.id.0, StoredPath::of(relative)])? {
        // Another scan, or who made the picture, was faster.
        return Ok(());
    }
    if let Some(id) = moved_picture(connection, picture.identity.hash)? {
        report.moved += 1;
        let name = picture.path.file_name().unwrap_or_default().to_string_lossy();
        connection
            .prepare_cached(
                "UPDATE picture SET folder_id = ?2, relative_path = ?3, file_name = ?4, state = 'here', modified_ns = ?5 WHERE id = ?1",
            )?
            .execute(params![id, folder.id.0, StoredPath::of(relative), name, picture.identity.modified_ns])?;
        connection.execute("DELETE FROM trashed_file WHERE picture_id = ?1", [id])?;
        connection.execute("INSERT OR IGNORE INTO journal_due VALUES (?1)", [id])?;
        return index_text(connection, id);
    }
    report.added += 1;
    let id = insert_picture(connection, folder, picture)?;
    if let Some(entry) = journal.entry(relative, picture.identity.hash) {
        apply_entry(connection, id.0, entry)?;
    }
    Ok(())
}

/// The row of a picture with this hash whose file is not where the row says.
fn moved_picture(connection: &Connection, hash: FileHash) -> Result<Option<i64>, GalleryError> {
    let sql = "SELECT p.id, f.path, p.relative_path FROM picture p JOIN folder f ON f.id = p.folder_id WHERE p.file_hash = ?1 LIMIT 100";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([hash.0], |row| Ok((row.get(0)?, StoredPath::joined(row, 1, 2)?)))?;
    for row in rows {
        let (id, path): (i64, PathBuf) = row?;
        if is_gone(&path) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// True where there certainly is no file; a folder that may not be read proves nothing.
fn is_gone(path: &Path) -> bool {
    matches!(path.symlink_metadata(), Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
}

fn known_pictures(connection: &Connection, folder: &Folder) -> Result<HashMap<PathBuf, KnownPicture>, GalleryError> {
    let mut statement = connection.prepare("SELECT relative_path, id, bytes, modified_ns, state FROM picture WHERE folder_id = ?1")?;
    let rows = statement.query_map([folder.id.0], |row| {
        // Damage may leave something else in a column; the file is looked at again then.
        let state = row.get_ref(4)?.as_str().ok().and_then(PictureState::from_key).unwrap_or(PictureState::Missing);
        let integer = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_i64().unwrap_or(-1));
        let bytes = integer(2)?.try_into().unwrap_or_default();
        let known = KnownPicture { id: row.get(1)?, bytes, modified_ns: integer(3)?, state, is_seen: false };
        Ok((row.get::<_, StoredPath>(0)?.0, known))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Files of a loose folder: those of the index and of its journal.
fn known_files(folder: &Folder, known: &HashMap<PathBuf, KnownPicture>, journal: &Journal) -> Walk {
    let is_inside = |name: &&str| Path::new(name).components().all(|it| matches!(it, std::path::Component::Normal(_)));
    let unknown = journal.files().filter(is_inside).map(PathBuf::from).filter(|it| !known.contains_key(it));
    let files = known.keys().cloned().chain(unknown).filter_map(|relative| FoundFile::of(&folder.path, relative));
    Walk { files: files.collect(), ..Walk::default() }
}

#[cfg(test)]
mod tests;
