//! Grouping of pictures, as stacks or under headings.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::stored_path::id_list;
use crate::{Database, GalleryError, PictureId};

/// What the pictures of a group share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// The prompt.
    Prompt,
    /// The local day on which they were made.
    Day,
    /// The model.
    Model,
    /// The job. A picture of no batch is a group of its own.
    Batch,
}

/// Pictures that share something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureGroup {
    /// What they share: the beginning of the prompt, the day as `2026-11-20`, the model's name, the
    /// beginning of the batch's prompt. Empty where they share that nothing is known.
    pub label: String,
    /// The pictures, in the order in which they were given.
    pub pictures: Vec<PictureId>,
}

impl Database {
    /// Groups these pictures, in the order of their first ones. Pictures that are no longer in the
    /// index are left out. Blocks.
    ///
    /// # Errors
    /// The database's.
    pub fn groups(&self, ids: &[PictureId], grouping: Grouping) -> Result<Vec<PictureGroup>, GalleryError> {
        let connection = self.connection();
        let column = match grouping {
            Grouping::Prompt => "p.prompt_hash",
            Grouping::Day => "p.created_ms",
            Grouping::Model => "p.model_id",
            Grouping::Batch => "ifnull(p.batch_id, -p.id)",
        };
        let sql = format!("SELECT p.id, {column} FROM json_each(?1) wanted JOIN picture p ON p.id = wanted.value ORDER BY wanted.id");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([id_list(ids.iter().map(|id| id.0))])?;
        let mut groups: Vec<PictureGroup> = Vec::new();
        let mut known: HashMap<Option<i64>, usize> = HashMap::new();
        let mut day = None;
        while let Some(row) = rows.next()? {
            let id = PictureId(row.get(0)?);
            // Damage may leave something else there.
            let mut key = row.get_ref(1)?.as_i64().ok();
            if let (Grouping::Day, Some(created_ms)) = (grouping, key) {
                let of_picture = Day::of(connection, created_ms, day)?;
                key = Some(of_picture.begin_ms);
                day = Some(of_picture);
            }
            let index = if let Some(index) = known.get(&key) {
                *index
            } else {
                groups.push(PictureGroup { label: label(connection, grouping, key, id)?, pictures: Vec::new() });
                known.insert(key, groups.len() - 1);
                groups.len() - 1
            };
            groups[index].pictures.push(id);
        }
        Ok(groups)
    }
}

/// A local day, in milliseconds since 1970.
#[derive(Clone, Copy)]
struct Day {
    begin_ms: i64,
    end_ms: i64,
}

impl Day {
    /// The day of a time: `guess`, where it lies in that. `SQLite` asks the system for the time
    /// zone, which Rust's libraries refuse in a process with threads.
    fn of(connection: &Connection, created_ms: i64, guess: Option<Self>) -> Result<Self, GalleryError> {
        if let Some(day) = guess.filter(|day| (day.begin_ms..day.end_ms).contains(&created_ms)) {
            return Ok(day);
        }
        let sql = "SELECT strftime('%s', ?1, 'unixepoch', 'localtime', 'start of day', 'utc') * 1000, \
            strftime('%s', ?1, 'unixepoch', 'localtime', 'start of day', '+1 day', 'utc') * 1000";
        let day = connection.prepare_cached(sql)?.query_row([created_ms.div_euclid(1000)], |row| {
            // Of a time that is none, as damage may leave it, there is no day.
            let bounds = row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?);
            let (begin_ms, end_ms) = bounds.unwrap_or((created_ms, created_ms));
            Ok(Self { begin_ms, end_ms })
        })?;
        Ok(day)
    }
}

fn label(connection: &Connection, grouping: Grouping, key: Option<i64>, first: PictureId) -> Result<String, GalleryError> {
    let (sql, value) = match grouping {
        Grouping::Prompt | Grouping::Batch => ("SELECT substr(prompt, 1, 200) FROM picture_text WHERE picture_id = ?1", Some(first.0)),
        Grouping::Day => ("SELECT strftime('%Y-%m-%d', ?1 / 1000, 'unixepoch', 'localtime')", key),
        Grouping::Model => ("SELECT CASE WHEN name <> '' THEN name WHEN file <> '' THEN file ELSE hash END FROM model WHERE id = ?1", key),
    };
    Ok(connection
        .prepare_cached(sql)?
        .query_row(params![value], |row| row.get::<_, Option<String>>(0))
        .optional()?
        .flatten()
        .unwrap_or_default())
}
