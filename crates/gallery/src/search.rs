//! Ids of the pictures that match a search, in an order.

use std::ops::Bound;

use atelier_core::recipe::Seed;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use crate::picture::PictureState;
use crate::query::{Condition, FlagFilter, IntegerColumn, Matching, Moment, Part, Period, Shape, TextColumns, TimeUnit};
use crate::search_key::search_key;
use crate::{Database, GalleryError, PictureId, Query};

/// Order of pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Oldest first.
    Oldest,
    /// Best rating first, then newest.
    Rating,
    /// File name, without regard to capitals of ASCII.
    Name,
    /// Most pixels first, then newest.
    Largest,
    /// As a person ordered the board that the search names; newest first where it names none.
    Board,
}

impl Order {
    /// Every order.
    pub const ALL: [Self; 6] = [Self::Newest, Self::Oldest, Self::Rating, Self::Name, Self::Largest, Self::Board];

    /// Name in command lines and stored settings.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Oldest => "oldest",
            Self::Rating => "rating",
            Self::Name => "name",
            Self::Largest => "largest",
            Self::Board => "board",
        }
    }

    /// The order of this name.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }
}

/// Least characters that the index of trigrams can search for.
const TRIGRAM: usize = 3;

impl Database {
    /// Ids of all pictures that match, in order. Pictures in the trash match only searches that
    /// name them (`is:trashed`). Blocks; tens of milliseconds for 100,000 pictures.
    ///
    /// # Errors
    /// [`GalleryError::Query`] where a term of the search has a problem; the database's.
    pub fn search(&self, query: &Query, order: Order) -> Result<Vec<PictureId>, GalleryError> {
        if let Some(problem) = query.problem() {
            return Err(GalleryError::Query(problem.to_owned()));
        }
        let connection = self.connection();
        let mut sql = SqlCondition::default();
        let mut board = None;
        let mut is_trash_named = false;
        for term in query.terms() {
            let Ok(condition) = &term.condition else { continue };
            is_trash_named |= *condition == Condition::State(PictureState::Trashed);
            if let (Condition::Board(name), false) = (condition, term.is_negated) {
                board = Some(name.clone());
            }
            sql.and(if term.is_negated { "NOT " } else { "" });
            sql.push_condition(connection, condition)?;
        }
        if !is_trash_named {
            sql.and("p.state <> 'trashed'");
        }
        let mut text = format!("SELECT p.id FROM picture p WHERE {}", sql.text);
        text.push_str(match (order, board) {
            (Order::Newest, _) | (Order::Board, None) => " ORDER BY p.id DESC",
            (Order::Oldest, _) => " ORDER BY p.id",
            (Order::Rating, _) => " ORDER BY p.rating DESC, p.id DESC",
            (Order::Name, _) => " ORDER BY p.file_name COLLATE NOCASE, p.id DESC",
            (Order::Largest, _) => " ORDER BY p.width * p.height DESC, p.id DESC",
            (Order::Board, Some(name)) => {
                sql.values.push(Value::Text(name));
                " ORDER BY (SELECT position FROM picture_board JOIN board ON board.id = board_id WHERE picture_id = p.id AND name = ?)"
            }
        });
        let mut statement = connection.prepare_cached(&text)?;
        let ids = statement.query_map(rusqlite::params_from_iter(sql.values), |row| row.get(0).map(PictureId))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// Ids of the newest pictures whose files are there, newest first.
    ///
    /// # Errors
    /// The database's.
    pub fn newest(&self, count: usize) -> Result<Vec<PictureId>, GalleryError> {
        let mut statement = self.connection().prepare_cached("SELECT id FROM picture WHERE state = 'here' ORDER BY id DESC LIMIT ?1")?;
        let ids = statement.query_map([i64::try_from(count).unwrap_or(i64::MAX)], |row| row.get(0).map(PictureId))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }
}

/// A condition in SQL about the picture `p`, with its values.
#[derive(Default)]
struct SqlCondition {
    text: String,
    values: Vec<Value>,
}

impl SqlCondition {
    fn and(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str(" AND ");
        }
        self.text.push_str(text);
    }

    fn push(&mut self, text: &str, values: impl IntoIterator<Item = Value>) {
        self.text.push_str(text);
        self.values.extend(values);
    }

    fn push_condition(&mut self, connection: &Connection, condition: &Condition) -> Result<(), GalleryError> {
        match condition {
            Condition::Words { text, columns, matching } => self.push_words(connection, text, *columns, *matching)?,
            Condition::Model(name) => {
                let (key, hash) = (inside(&search_key(name)), start(&name.to_ascii_lowercase()));
                let sql =
                    "p.model_id IN (SELECT id FROM model WHERE search_key LIKE ? ESCAPE '\\' OR (hash <> '' AND hash LIKE ? ESCAPE '\\'))";
                self.push(&negatable(sql, "p.model_id"), [key, hash]);
            }
            Condition::Lora(name) => {
                let (key, hash) = (inside(&search_key(name)), start(&name.to_ascii_lowercase()));
                let sql = "p.id IN (SELECT picture_id FROM picture_lora WHERE lora_id IN \
                    (SELECT id FROM lora WHERE search_key LIKE ? ESCAPE '\\' OR (hash <> '' AND hash LIKE ? ESCAPE '\\')))";
                self.push(sql, [key, hash]);
            }
            Condition::Tag { name, is_prefix } => {
                let value = if *is_prefix { start(name) } else { Value::Text(like_escaped(name)) };
                let sql = "p.id IN (SELECT picture_id FROM picture_tag WHERE tag_id IN (SELECT id FROM tag WHERE name LIKE ? ESCAPE '\\'))";
                self.push(sql, [value]);
            }
            Condition::Board(name) => {
                let sql = "p.id IN (SELECT picture_id FROM picture_board WHERE board_id IN (SELECT id FROM board WHERE name = ?))";
                self.push(sql, [Value::Text(name.clone())]);
            }
            Condition::Owner(name) => {
                let sql = "p.owner IN (SELECT value FROM json_each(?))";
                self.push(&negatable(sql, "p.owner"), [owners_called(connection, name)?]);
            }
            Condition::Folder(part) => {
                // What stands before the last separator: the file's own name is no folder.
                let sql = "replace((SELECT f.path || '/' || p.relative_path FROM folder f WHERE f.id = p.folder_id), '\\', '/') LIKE ? ESCAPE '\\'";
                self.push(sql, [Value::Text(format!("%{}%/%", like_escaped(&part.replace('\\', "/"))))]);
            }
            Condition::Sampler(name) => self.push_name("p.sampler", name),
            Condition::Scheduler(name) => self.push_name("p.scheduler", name),
            Condition::Tool(tool) => self.push(&negatable("p.tool = ?", "p.tool"), [Value::Text(tool.key().to_owned())]),
            Condition::Kind(kind) => self.push("p.kind = ?", [Value::Text(kind.key().to_owned())]),
            Condition::State(state) => self.push("p.state = ?", [Value::Text(state.key().to_owned())]),
            Condition::Flag(FlagFilter::Is(flag)) => {
                self.push(&negatable("p.flag = ?", "p.flag"), [Value::Text(flag.key().to_owned())]);
            }
            Condition::Flag(FlagFilter::None) => self.push("p.flag IS NULL", []),
            Condition::Integer { column, least, most } => {
                let column = match column {
                    IntegerColumn::Seed => {
                        let sql = negatable("(p.seed BETWEEN ? AND ? OR p.seed BETWEEN ? AND ?)", "p.seed");
                        self.push(&sql, seed_ranges(*least, *most).map(Value::Integer));
                        return Ok(());
                    }
                    IntegerColumn::Steps => "p.steps",
                    IntegerColumn::Width => "p.width",
                    IntegerColumn::Height => "p.height",
                    IntegerColumn::Rating => "p.rating",
                    IntegerColumn::Batch => "p.batch_id",
                };
                let sql = format!("{column} BETWEEN ? AND ?");
                let ends = ends_within((*least, *most), (i64::MIN.into(), i64::MAX.into()), |number| i64::try_from(number).ok());
                self.push(&negatable(&sql, column), ends.map(Value::Integer));
            }
            Condition::Guidance(least, most) => self.push_guidance(*least, *most),
            Condition::Time(period) => self.push(&period_sql(*period), []),
            Condition::Size(width, height) => {
                self.push("(p.width = ? AND p.height = ?)", [Value::Integer(i64::from(*width)), Value::Integer(i64::from(*height))]);
            }
            Condition::Shape(Shape::Portrait) => self.push("p.height > p.width", []),
            Condition::Shape(Shape::Landscape) => self.push("p.width > p.height", []),
            Condition::Shape(Shape::Square) => self.push("p.width = p.height", []),
            Condition::Has(part) => self.push(
                match part {
                    Part::Note => "p.id IN (SELECT picture_id FROM picture_text WHERE note <> '')",
                    Part::Tag => "p.id IN (SELECT picture_id FROM picture_tag)",
                    Part::Board => "p.id IN (SELECT picture_id FROM picture_board)",
                    Part::Lora => "p.id IN (SELECT picture_id FROM picture_lora)",
                    Part::Recipe => "p.id IN (SELECT picture_id FROM picture_recipe)",
                    Part::Parent => "p.parent_id IS NOT NULL",
                    Part::Owner => "p.owner IS NOT NULL",
                },
                [],
            ),
        }
        Ok(())
    }

    fn push_words(&mut self, connection: &Connection, text: &str, columns: TextColumns, matching: Matching) -> Result<(), GalleryError> {
        let expression = |is_prefix: bool| Value::Text(full_text_expression(text, columns, is_prefix));
        let is_long = text.chars().count() >= TRIGRAM;
        let is_inside = match matching {
            Matching::Inside => true,
            Matching::Phrase => false,
            Matching::WordStart => {
                let mut statement = connection.prepare_cached("SELECT 1 FROM picture_words WHERE picture_words MATCH ? LIMIT 1")?;
                is_long && statement.query_row([expression(true)], |_| Ok(())).optional()?.is_none()
            }
        };
        match (is_inside, is_long) {
            (false, _) => self.push(
                "p.id IN (SELECT rowid FROM picture_words WHERE picture_words MATCH ?)",
                [expression(matching == Matching::WordStart)],
            ),
            (true, true) => {
                self.push("p.id IN (SELECT rowid FROM picture_trigrams WHERE picture_trigrams MATCH ?)", [expression(false)]);
            }
            (true, false) => self.push_short(text, columns),
        }
        Ok(())
    }

    /// Text of one or two characters anywhere, by looking at every row.
    fn push_short(&mut self, text: &str, columns: TextColumns) {
        let in_text = |column: &str| format!("p.id IN (SELECT picture_id FROM picture_text WHERE {column} LIKE ? ESCAPE '\\')");
        let file_name = "p.file_name LIKE ? ESCAPE '\\'".to_owned();
        let alternatives = match columns {
            TextColumns::Prompt => vec![in_text("prompt")],
            TextColumns::NegativePrompt => vec![in_text("negative_prompt")],
            TextColumns::Note => vec![in_text("note")],
            TextColumns::FileName => vec![file_name],
            TextColumns::Any => vec![
                // Both in one look at the table.
                in_text("prompt || char(10) || note"),
                file_name,
                "p.id IN (SELECT picture_id FROM picture_tag JOIN tag ON tag.id = tag_id WHERE name LIKE ? ESCAPE '\\')".to_owned(),
                "ifnull(p.model_id IN (SELECT id FROM model WHERE name LIKE ? ESCAPE '\\'), 0)".to_owned(),
                "p.id IN (SELECT picture_id FROM picture_lora JOIN lora ON lora.id = lora_id WHERE name LIKE ? ESCAPE '\\')".to_owned(),
            ],
        };
        let values = vec![inside(text); alternatives.len()];
        self.push(&format!("({})", alternatives.join(" OR ")), values);
    }

    /// A name in which spaces, hyphens, underscores and capitals do not count.
    fn push_name(&mut self, column: &str, name: &str) {
        let sql = format!("replace(replace(replace(lower({column}), ' ', ''), '_', ''), '-', '') LIKE ? ESCAPE '\\'");
        let name: String = name.to_lowercase().chars().filter(|c| !matches!(c, ' ' | '_' | '-')).collect();
        self.push(&negatable(&sql, column), [inside(&name)]);
    }

    fn push_guidance(&mut self, least: Bound<f64>, most: Bound<f64>) {
        let mut sql = String::from("(p.guidance IS NOT NULL");
        for (bound, included, excluded) in [(least, ">=", ">"), (most, "<=", "<")] {
            let (operator, value) = match bound {
                Bound::Included(value) => (included, value),
                Bound::Excluded(value) => (excluded, value),
                Bound::Unbounded => continue,
            };
            sql.extend([" AND p.guidance ", operator, " ?"]);
            self.values.push(Value::Real(value));
        }
        self.push(&format!("{sql})"), []);
    }
}

/// Owners of pictures whose names have this in them, as a JSON array. Compared here, since SQLite
/// knows small letters of ASCII alone.
fn owners_called(connection: &Connection, name: &str) -> Result<Value, GalleryError> {
    let key = search_key(name);
    let mut statement = connection.prepare_cached("SELECT DISTINCT owner FROM picture WHERE owner IS NOT NULL")?;
    let mut owners = Vec::new();
    for owner in statement.query_map([], |row| row.get::<_, String>(0))? {
        let owner = owner?;
        if search_key(&owner).contains(&key) {
            owners.push(serde_json::Value::String(owner));
        }
    }
    Ok(Value::Text(serde_json::Value::Array(owners).to_string()))
}

/// The ends of two ranges of the column of seeds, which holds their bits: of those below 2^63, and
/// of the others, which are negative there.
fn seed_ranges(least: Option<i128>, most: Option<i128>) -> [i64; 4] {
    let bits = |number: i128| Seed::try_from(number).ok().map(Seed::bits);
    let within = |first: u64, last: u64| ends_within((least, most), (first.into(), last.into()), bits);
    let ([low_least, low_most], [high_least, high_most]) = (within(0, (1 << 63) - 1), within(1 << 63, u64::MAX));
    [low_least, low_most, high_least, high_most]
}

/// The ends in a column of that part of a range which lies within another one.
fn ends_within(
    (least, most): (Option<i128>, Option<i128>),
    (first, last): (i128, i128),
    in_column: impl Fn(i128) -> Option<i64>,
) -> [i64; 2] {
    /// Nothing lies between these.
    const NOTHING: [i64; 2] = [1, 0];
    let (least, most) = (least.map_or(first, |it| it.max(first)), most.map_or(last, |it| it.min(last)));
    let ends = in_column(least).zip(in_column(most)).filter(|_| least <= most);
    ends.map_or(NOTHING, |(least, most)| [least, most])
}

/// A condition that is false, not unknown, where the column is empty, so that its negation holds
/// there.
fn negatable(sql: &str, column: &str) -> String {
    format!("({column} IS NOT NULL AND {sql})")
}

fn inside(text: &str) -> Value {
    Value::Text(format!("%{}%", like_escaped(text)))
}

fn start(text: &str) -> Value {
    Value::Text(format!("{}%", like_escaped(text)))
}

/// The text for `LIKE ... ESCAPE '\'`, without the meaning of its signs.
fn like_escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// The text as a phrase of FTS5 in these columns.
fn full_text_expression(text: &str, columns: TextColumns, is_prefix: bool) -> String {
    let columns = match columns {
        TextColumns::Any => "{prompt note file_name tags model}",
        TextColumns::Prompt => "prompt",
        TextColumns::NegativePrompt => "negative_prompt",
        TextColumns::Note => "note",
        TextColumns::FileName => "file_name",
    };
    format!("{columns} : \"{}\"{}", text.replace('"', "\"\""), if is_prefix { " *" } else { "" })
}

fn period_sql(period: Period) -> String {
    match period {
        Period::Since(moment) => format!("p.created_ms >= {}", moment_sql(moment, "")),
        Period::Before(moment) => format!("p.created_ms < {}", moment_sql(moment, "")),
        Period::During(moment, unit) => {
            let (from, to) = (moment_sql(moment, ""), moment_sql(moment, &modifier(1, unit)));
            format!("(p.created_ms >= {from} AND p.created_ms < {to})")
        }
    }
}

/// An SQL modifier of dates for so many units.
fn modifier(count: i64, unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Hour => format!(", '{count:+} hours'"),
        TimeUnit::Day => format!(", '{count:+} days'"),
        TimeUnit::Week => format!(", '{:+} days'", count * 7),
        TimeUnit::Month => format!(", '{count:+} months'"),
        TimeUnit::Year => format!(", '{count:+} years'"),
    }
}

/// Milliseconds since 1970 in SQL; days begin as the system's time zone has them. `later` is a
/// modifier of dates that is applied to it.
fn moment_sql(moment: Moment, later: &str) -> String {
    let seconds = match moment {
        Moment::Ago(count, unit) => format!("strftime('%s', 'now'{}{later})", modifier(-i64::from(count), unit)),
        Moment::DaysBeforeToday(days) => format!("strftime('%s', 'now', 'localtime', 'start of day', '-{days} days'{later}, 'utc')"),
        Moment::Date { year, month, day } => format!("strftime('%s', '{year:04}-{month:02}-{day:02}'{later}, 'utc')"),
    };
    format!("(CAST({seconds} AS INTEGER) * 1000)")
}

#[cfg(test)]
mod tests;
