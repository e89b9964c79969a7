//! Marks of a person: rating, flag, tags, note, boards; and saved searches.

use atelier_language::tr;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::checked_name::checked_name;
use crate::record::index_text;
use crate::stored_path::id_list;
use crate::{Database, GalleryError, PictureFlag, PictureId};

/// Longest note, in bytes.
const MAX_NOTE: usize = 64 << 10;
const BEST_RATING: u8 = 5;

/// A board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// Its name; unique without regard to capitals of ASCII.
    pub name: String,
    /// Pictures on it, those in the trash left out.
    pub pictures: u64,
}

/// A search that a person keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSearch {
    /// Its name; unique without regard to capitals of ASCII.
    pub name: String,
    /// Its text, as [`crate::Query::parse`] takes it.
    pub query: String,
}

impl Database {
    /// Rates pictures, 0 (none) to 5.
    ///
    /// # Errors
    /// If the rating is above 5; the database's.
    pub fn set_rating(&mut self, ids: &[PictureId], rating: u8) -> Result<(), GalleryError> {
        if rating > BEST_RATING {
            return Err(GalleryError::Refused(tr!("index-is-not-a-rating", rating, best_rating = BEST_RATING)));
        }
        self.change_marks(ids, |transaction, list| {
            let sql = "UPDATE picture SET rating = ?2 WHERE id IN (SELECT value FROM json_each(?1))";
            transaction.execute(sql, params![list, rating])?;
            Ok(false)
        })
    }

    /// Picks or rejects pictures, or takes the flag away.
    ///
    /// # Errors
    /// The database's.
    pub fn set_flag(&mut self, ids: &[PictureId], flag: Option<PictureFlag>) -> Result<(), GalleryError> {
        self.change_marks(ids, |transaction, list| {
            let sql = "UPDATE picture SET flag = ?2 WHERE id IN (SELECT value FROM json_each(?1))";
            transaction.execute(sql, params![list, flag.map(PictureFlag::key)])?;
            Ok(false)
        })
    }

    /// Writes a note, in place of the one there; empty for none.
    ///
    /// # Errors
    /// If it is longer than 64 KiB; the database's.
    pub fn set_note(&mut self, ids: &[PictureId], note: &str) -> Result<(), GalleryError> {
        if note.len() > MAX_NOTE {
            return Err(GalleryError::Refused(tr!("index-this-note-is-too", max_note = MAX_NOTE)));
        }
        let note = note.trim().replace('\0', "");
        self.change_marks(ids, |transaction, list| {
            let sql = "UPDATE picture_text SET note = ?2 WHERE picture_id IN (SELECT value FROM json_each(?1))";
            transaction.execute(sql, params![list, note])?;
            Ok(true)
        })
    }

    /// Gives pictures a tag.
    ///
    /// # Errors
    /// If it is no name; the database's.
    pub fn add_tag(&mut self, ids: &[PictureId], tag: &str) -> Result<(), GalleryError> {
        let tag = checked_name(tag, "tag")?;
        self.change_marks(ids, |transaction, list| {
            transaction.execute("INSERT OR IGNORE INTO tag (name) VALUES (?1)", [&tag])?;
            let sql = "INSERT OR IGNORE INTO picture_tag (picture_id, tag_id) SELECT p.id, tag.id FROM json_each(?1) wanted \
                JOIN picture p ON p.id = wanted.value JOIN tag ON tag.name = ?2";
            transaction.execute(sql, params![list, tag])?;
            Ok(true)
        })
    }

    /// Takes a tag away from pictures.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_tag(&mut self, ids: &[PictureId], tag: &str) -> Result<(), GalleryError> {
        self.change_marks(ids, |transaction, list| {
            let sql = "DELETE FROM picture_tag WHERE picture_id IN (SELECT value FROM json_each(?1)) \
                AND tag_id IN (SELECT id FROM tag WHERE name = ?2)";
            transaction.execute(sql, params![list, tag.trim()])?;
            Ok(true)
        })
    }

    /// Tags that pictures have, with the number of pictures, by name.
    ///
    /// # Errors
    /// The database's.
    pub fn tags(&self) -> Result<Vec<(String, u64)>, GalleryError> {
        self.names_with_counts(
            "SELECT name, count(*) FROM tag JOIN picture_tag ON tag_id = tag.id GROUP BY tag.id ORDER BY name COLLATE NOCASE",
        )
    }

    /// Models of pictures, with the number of pictures, most first.
    ///
    /// # Errors
    /// The database's.
    pub fn models(&self) -> Result<Vec<(String, u64)>, GalleryError> {
        self.names_with_counts(
            "SELECT CASE WHEN m.name <> '' THEN m.name WHEN m.file <> '' THEN m.file ELSE m.hash END AS shown, count(*) FROM model m \
            JOIN picture p ON p.model_id = m.id GROUP BY shown ORDER BY 2 DESC, 1",
        )
    }

    /// Begins a board.
    ///
    /// # Errors
    /// If it is no name, or there is a board of this name; the database's.
    pub fn create_board(&mut self, name: &str) -> Result<(), GalleryError> {
        let name = checked_name(name, "board")?;
        self.change_collections(|transaction| {
            if transaction.execute("INSERT OR IGNORE INTO board (name) VALUES (?1)", [&name])? == 0 {
                return Err(taken("board", &name));
            }
            Ok(())
        })
    }

    /// Gives a board another name.
    ///
    /// # Errors
    /// If it is no name, or another board has it; the database's.
    pub fn rename_board(&mut self, old: &str, new: &str) -> Result<(), GalleryError> {
        let new = checked_name(new, "board")?;
        self.change_collections(|transaction| {
            let id = board_id(transaction, old)?;
            if transaction.execute("UPDATE OR IGNORE board SET name = ?2 WHERE id = ?1", params![id, new])? == 0 {
                return Err(taken("board", &new));
            }
            // Journals name boards.
            transaction.execute("INSERT OR IGNORE INTO journal_due SELECT picture_id FROM picture_board WHERE board_id = ?1", [id])?;
            Ok(())
        })
    }

    /// Removes a board; its pictures stay.
    ///
    /// # Errors
    /// If there is no such board; the database's.
    pub fn remove_board(&mut self, name: &str) -> Result<(), GalleryError> {
        self.change_collections(|transaction| {
            let id = board_id(transaction, name)?;
            transaction.execute("INSERT OR IGNORE INTO journal_due SELECT picture_id FROM picture_board WHERE board_id = ?1", [id])?;
            transaction.execute("DELETE FROM board WHERE id = ?1", [id])?;
            Ok(())
        })
    }

    /// Boards, by name.
    ///
    /// # Errors
    /// The database's.
    pub fn boards(&self) -> Result<Vec<Board>, GalleryError> {
        let rows = self.names_with_counts(
            "SELECT name, (SELECT count(*) FROM picture_board JOIN picture p ON p.id = picture_id \
            WHERE board_id = board.id AND p.state <> 'trashed') FROM board ORDER BY name COLLATE NOCASE",
        )?;
        Ok(rows.into_iter().map(|(name, pictures)| Board { name, pictures }).collect())
    }

    /// Puts pictures at the end of a board, in this order; those on it stay where they are.
    ///
    /// # Errors
    /// If there is no such board; the database's.
    pub fn add_to_board(&mut self, ids: &[PictureId], board: &str) -> Result<(), GalleryError> {
        self.change_marks(ids, |transaction, list| {
            let id = board_id(transaction, board)?;
            let sql = "INSERT OR IGNORE INTO picture_board (board_id, picture_id, position) \
                SELECT ?2, p.id, wanted.key + 1 + (SELECT ifnull(max(position), 0) FROM picture_board WHERE board_id = ?2) \
                FROM json_each(?1) wanted JOIN picture p ON p.id = wanted.value";
            transaction.execute(sql, params![list, id])?;
            Ok(false)
        })
    }

    /// Takes pictures off a board.
    ///
    /// # Errors
    /// If there is no such board; the database's.
    pub fn remove_from_board(&mut self, ids: &[PictureId], board: &str) -> Result<(), GalleryError> {
        self.change_marks(ids, |transaction, list| {
            let id = board_id(transaction, board)?;
            let sql = "DELETE FROM picture_board WHERE board_id = ?2 AND picture_id IN (SELECT value FROM json_each(?1))";
            transaction.execute(sql, params![list, id])?;
            Ok(false)
        })
    }

    /// Orders the pictures of a board as these are; others that are on it follow, as they were.
    ///
    /// # Errors
    /// If there is no such board; the database's.
    pub fn order_board(&mut self, board: &str, ids: &[PictureId]) -> Result<(), GalleryError> {
        self.change_marks(ids, |transaction, list| {
            let id = board_id(transaction, board)?;
            // Positions are above 0, so those that are not named keep their order behind these.
            let sql = "UPDATE picture_board SET position = CASE WHEN at.key IS NULL THEN position + ?3 ELSE at.key + 1 END \
                FROM (SELECT b.picture_id AS picture, wanted.key AS key FROM picture_board b LEFT JOIN json_each(?1) wanted \
                    ON wanted.value = b.picture_id WHERE b.board_id = ?2) at WHERE board_id = ?2 AND picture_id = at.picture";
            transaction.execute(sql, params![list, id, ids.len() as i64])?;
            transaction.execute("INSERT OR IGNORE INTO journal_due SELECT picture_id FROM picture_board WHERE board_id = ?1", [id])?;
            Ok(false)
        })
    }

    /// Keeps a search under a name, in place of one that has it.
    ///
    /// # Errors
    /// If it is no name; the database's.
    pub fn save_search(&mut self, name: &str, query: &str) -> Result<(), GalleryError> {
        let name = checked_name(name, "saved search")?;
        self.change_collections(|transaction| {
            let sql = "INSERT INTO saved_search (name, query) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET query = excluded.query";
            transaction.execute(sql, [name.as_str(), query])?;
            Ok(())
        })
    }

    /// Forgets a search.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_search(&mut self, name: &str) -> Result<(), GalleryError> {
        self.change_collections(|transaction| {
            transaction.execute("DELETE FROM saved_search WHERE name = ?1", [name.trim()])?;
            Ok(())
        })
    }

    /// Searches that are kept, by name.
    ///
    /// # Errors
    /// The database's.
    pub fn saved_searches(&self) -> Result<Vec<SavedSearch>, GalleryError> {
        let mut statement = self.connection().prepare_cached("SELECT name, query FROM saved_search ORDER BY name COLLATE NOCASE")?;
        let rows = statement.query_map([], |row| Ok(SavedSearch { name: row.get(0)?, query: row.get(1)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn names_with_counts(&self, sql: &str) -> Result<Vec<(String, u64)>, GalleryError> {
        let mut statement = self.connection().prepare_cached(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.try_into().unwrap_or_default())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Changes marks of these pictures in one transaction, with their words (where `change` returns
    /// true) and their lines in the journals.
    fn change_marks(
        &mut self,
        ids: &[PictureId],
        change: impl FnOnce(&Transaction<'_>, &rusqlite::types::Value) -> Result<bool, GalleryError>,
    ) -> Result<(), GalleryError> {
        let list = id_list(ids.iter().map(|id| id.0));
        self.write(|transaction| {
            let sql = "INSERT OR IGNORE INTO journal_due SELECT id FROM picture WHERE id IN (SELECT value FROM json_each(?1))";
            transaction.execute(sql, [&list])?;
            if change(transaction, &list)? {
                for id in ids {
                    index_text(transaction, id.0)?;
                }
            }
            Ok(())
        })?;
        self.write_journals()
    }

    /// Changes boards or saved searches in one transaction, with the file that keeps them.
    fn change_collections(&mut self, change: impl FnOnce(&Transaction<'_>) -> Result<(), GalleryError>) -> Result<(), GalleryError> {
        self.write(change)?;
        self.write_journals()
    }
}

fn board_id(connection: &Connection, name: &str) -> Result<i64, GalleryError> {
    let id = connection.query_row("SELECT id FROM board WHERE name = ?1", [name.trim()], |row| row.get(0)).optional()?;
    id.ok_or_else(|| GalleryError::Refused(tr!("index-there-is-no-board", name = name.trim())))
}

fn taken(kind: &str, name: &str) -> GalleryError {
    GalleryError::Refused(tr!("index-a-named-already-exists", kind, name))
}

#[cfg(test)]
mod tests;
