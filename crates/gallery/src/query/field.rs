//! Fields of a search and their values.

use std::ops::Bound;

use atelier_language::{text, tr};
use atelier_media::Tool;
use time::{Date, Month};

use super::condition::{Condition, FlagFilter, IntegerColumn, Matching, Moment, Part, Period, Shape, TextColumns, TimeUnit};
use crate::picture::{PictureFlag, PictureKind, PictureState};
use crate::search_key::search_key;

/// A field of a search, as a person may look it up.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// An example.
    pub example: &'static str,
    /// Id of its description.
    about: &'static str,
    parse: fn(Operator, &str) -> Result<Condition, String>,
}

impl Field {
    /// Pictures that it finds, in the language in use.
    #[must_use]
    pub fn description(&self) -> &'static str {
        text(self.about)
    }
}

/// Character or characters between a field and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// `:` or `=`.
    Is,
    Above,
    AtLeast,
    Below,
    AtMost,
}

const OPERATORS: [(&str, Operator); 6] = [
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (">", Operator::Above),
    ("<", Operator::Below),
    (":", Operator::Is),
    ("=", Operator::Is),
];

macro_rules! field {
    ($name:literal, $example:literal, $about:literal, $parse:expr) => {
        Field { name: $name, example: $example, about: $about, parse: $parse }
    };
}

/// Every field, in the order in which help lists them.
pub const FIELDS: &[Field] = &[
    field!("model", "model:z-image", "index-field-model", |op, value| named(op, value).map(Condition::Model)),
    field!("lora", "lora:ink", "index-field-lora", |op, value| named(op, value).map(Condition::Lora)),
    field!("seed", "seed:1..9", "index-field-seed", |op, value| integer(op, value, IntegerColumn::Seed)),
    field!("rating", "rating>=3", "index-field-rating", |op, value| integer(op, value, IntegerColumn::Rating)),
    field!("flag", "flag:pick", "index-field-flag", |op, value| {
        one_of(
            op,
            value,
            &[("pick", FlagFilter::Is(PictureFlag::Pick)), ("reject", FlagFilter::Is(PictureFlag::Reject)), ("none", FlagFilter::None)],
        )
        .map(Condition::Flag)
    }),
    field!("tag", "tag:portrait", "index-field-tag", |op, value| {
        plain(op, value, |name| match name.strip_suffix('*').filter(|name| !name.is_empty()) {
            Some(start) => Condition::Tag { name: start.to_owned(), is_prefix: true },
            None => Condition::Tag { name, is_prefix: false },
        })
    }),
    field!("board", "board:\"summer show\"", "index-field-board", |op, value| plain(op, value, Condition::Board)),
    field!("owner", "owner:anna", "index-field-owner", |op, value| named(op, value).map(Condition::Owner)),
    field!("since", "since:7d", "index-field-since", |op, value| {
        exactly(op, value)?;
        moment(value).map(|(moment, _)| Condition::Time(Period::Since(moment)))
    }),
    field!("before", "before:2026-11-01", "index-field-before", |op, value| {
        exactly(op, value)?;
        moment(value).map(|(moment, _)| Condition::Time(Period::Before(moment)))
    }),
    field!("on", "on:2026-11", "index-field-on", |op, value| {
        exactly(op, value)?;
        match moment(value)? {
            (moment, Some(unit)) => Ok(Condition::Time(Period::During(moment, unit))),
            (_, None) => Err(tr!("index-is-not-a-date", value)),
        }
    }),
    field!("prompt", "prompt:lake", "index-field-prompt", |op, value| words(op, value, TextColumns::Prompt)),
    field!("negative", "negative:fog", "index-field-negative", |op, value| words(op, value, TextColumns::NegativePrompt)),
    field!("note", "note:poster", "index-field-note", |op, value| words(op, value, TextColumns::Note)),
    field!("name", "name:sunset", "index-field-name", |op, value| words(op, value, TextColumns::FileName)),
    field!("folder", "folder:outputs", "index-field-folder", |op, value| plain(op, value, Condition::Folder)),
    field!("tool", "tool:comfyui", "index-field-tool", |op, value| {
        exactly(op, value)?;
        let key = search_key(value);
        let tool = Tool::ALL.into_iter().find(|tool| search_key(tool.key()) == key);
        tool.map(Condition::Tool).ok_or_else(|| choices(value, Tool::ALL.into_iter().map(Tool::key)))
    }),
    field!("sampler", "sampler:euler", "index-field-sampler", |op, value| plain(op, value, Condition::Sampler)),
    field!("scheduler", "scheduler:karras", "index-field-scheduler", |op, value| plain(op, value, Condition::Scheduler)),
    field!("steps", "steps>20", "index-field-steps", |op, value| integer(op, value, IntegerColumn::Steps)),
    field!("guidance", "guidance:1..4", "index-field-guidance", guidance),
    field!("width", "width>=1024", "index-field-width", |op, value| integer(op, value, IntegerColumn::Width)),
    field!("height", "height>=1024", "index-field-height", |op, value| integer(op, value, IntegerColumn::Height)),
    field!("size", "size:1024x1536", "index-field-size", |op, value| {
        exactly(op, value)?;
        let sides = value.split_once(['x', 'X', '×']).and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        sides.map(|(width, height)| Condition::Size(width, height)).ok_or_else(|| tr!("index-is-not-a-size", value))
    }),
    field!("shape", "shape:portrait", "index-field-shape", |op, value| {
        one_of(op, value, &[("portrait", Shape::Portrait), ("landscape", Shape::Landscape), ("square", Shape::Square)])
            .map(Condition::Shape)
    }),
    field!("is", "is:missing", "index-field-is", |op, value| {
        let states = PictureState::ALL.map(|it| (it.key(), Condition::State(it)));
        let kinds = PictureKind::ALL.map(|it| (it.key(), Condition::Kind(it)));
        one_of(op, value, &[&states[..], &kinds[..]].concat())
    }),
    field!("has", "has:note", "index-field-has", |op, value| {
        one_of(
            op,
            value,
            &[
                ("note", Part::Note),
                ("tag", Part::Tag),
                ("board", Part::Board),
                ("lora", Part::Lora),
                ("recipe", Part::Recipe),
                ("parent", Part::Parent),
                ("owner", Part::Owner),
            ],
        )
        .map(Condition::Has)
    }),
    field!("batch", "batch:17", "index-field-batch", |op, value| integer(op, value, IntegerColumn::Batch)),
];

/// Other names of fields, as other programs call them.
const ALIASES: [(&str, &str); 5] = [("cfg", "guidance"), ("file", "name"), ("tags", "tag"), ("after", "since"), ("program", "tool")];

/// The condition of a term without its minus sign, or a sentence about why it has none.
pub(super) fn parse_term(term: &str) -> Result<Condition, String> {
    let letters = term.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(term.len());
    let (name, rest) = term.split_at(letters);
    let operator = OPERATORS.into_iter().find(|(text, _)| rest.starts_with(text));
    let Some((text, operator)) = operator.filter(|_| !name.is_empty()) else {
        // Who types a day means it; in quotes it is a word.
        if let Some(day) = ["today", "yesterday"].into_iter().find(|day| term.eq_ignore_ascii_case(day)) {
            return parse_term(&format!("on:{day}"));
        }
        return words(Operator::Is, term, TextColumns::Any);
    };
    let name = name.to_ascii_lowercase();
    let name = ALIASES.into_iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| name);
    let Some(field) = FIELDS.iter().find(|field| field.name == name) else {
        return Err(tr!("index-is-not-a-search", name));
    };
    let (value, operator) = match (&rest[text.len()..], operator) {
        // `rating:>=3` is what some write.
        (value, Operator::Is) => {
            OPERATORS.into_iter().find_map(|(text, operator)| Some((value.strip_prefix(text)?, operator))).unwrap_or((value, Operator::Is))
        }
        other => other,
    };
    if value.trim_matches(['"', ' ']).is_empty() {
        return Err(tr!("index-needs-a-value-as", name = field.name, example = field.example));
    }
    (field.parse)(operator, value)
}

/// The value without quotes.
fn unquoted(value: &str) -> &str {
    let value = value.strip_prefix('"').unwrap_or(value);
    value.strip_suffix('"').unwrap_or(value).trim()
}

fn exactly(operator: Operator, value: &str) -> Result<(), String> {
    if operator == Operator::Is { Ok(()) } else { Err(tr!("index-this-field-cannot-be", value)) }
}

fn plain(operator: Operator, value: &str, condition: impl FnOnce(String) -> Condition) -> Result<Condition, String> {
    exactly(operator, value)?;
    Ok(condition(unquoted(value).to_owned()))
}

/// A name of which letters and digits count.
fn named(operator: Operator, value: &str) -> Result<String, String> {
    exactly(operator, value)?;
    let name = unquoted(value);
    if name.chars().any(char::is_alphanumeric) { Ok(name.to_owned()) } else { Err(tr!("index-has-no-letters-or", name)) }
}

fn one_of<T: Clone>(operator: Operator, value: &str, all: &[(&'static str, T)]) -> Result<T, String> {
    exactly(operator, value)?;
    let value = unquoted(value);
    let found = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(value)).map(|(_, it)| it.clone());
    found.ok_or_else(|| choices(value, all.iter().map(|(name, _)| *name)))
}

fn choices(value: &str, all: impl Iterator<Item = &'static str>) -> String {
    tr!("index-is-not-a-value", value, value_2 = all.collect::<Vec<_>>().join(", "))
}

fn words(operator: Operator, value: &str, columns: TextColumns) -> Result<Condition, String> {
    exactly(operator, value)?;
    let inside = value.strip_prefix('*').filter(|rest| !rest.is_empty());
    let is_phrase = value.len() > 1 && value.starts_with('"');
    let text: String = unquoted(inside.unwrap_or(value)).chars().filter(|c| !c.is_control()).collect();
    let text = if is_phrase { text } else { text.trim_end_matches('*').to_owned() };
    if text.is_empty() {
        return Err(tr!("index-there-is-nothing-between").to_owned());
    }
    let matching = if inside.is_some() || text.chars().any(is_written_without_spaces) || !text.chars().any(char::is_alphanumeric) {
        Matching::Inside
    } else if is_phrase {
        Matching::Phrase
    } else {
        Matching::WordStart
    };
    Ok(Condition::Words { text, columns, matching })
}

/// True for letters of scripts whose words have no spaces between them: Thai, Lao, Myanmar, Khmer,
/// kana and Han; and for Hangul, whose words carry endings.
const fn is_written_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{323af}')
}

fn integer(operator: Operator, value: &str, column: IntegerColumn) -> Result<Condition, String> {
    let value = unquoted(value);
    let refused = || tr!("index-is-not-a-whole", value);
    let number = |text: &str| text.parse::<i128>().map_err(|_| refused());
    let (least, most) = match operator {
        Operator::Is => match range(value) {
            Some((least, most)) => (least.map(number).transpose()?, most.map(number).transpose()?),
            None => number(value).map(|it| (Some(it), Some(it)))?,
        },
        Operator::AtLeast => (Some(number(value)?), None),
        Operator::AtMost => (None, Some(number(value)?)),
        Operator::Above => (Some(number(value)?.checked_add(1).ok_or_else(refused)?), None),
        Operator::Below => (None, Some(number(value)?.checked_sub(1).ok_or_else(refused)?)),
    };
    Ok(Condition::Integer { column, least, most })
}

fn guidance(operator: Operator, value: &str) -> Result<Condition, String> {
    let value = unquoted(value);
    let refused = || tr!("index-is-not-a-number", value);
    let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite()).ok_or_else(refused);
    let included = |text: Option<&str>| text.map_or(Ok(Bound::Unbounded), |text| number(text).map(Bound::Included));
    Ok(match operator {
        Operator::Is => match range(value) {
            Some((least, most)) => Condition::Guidance(included(least)?, included(most)?),
            None => number(value).map(|it| Condition::Guidance(Bound::Included(it), Bound::Included(it)))?,
        },
        Operator::AtLeast => Condition::Guidance(Bound::Included(number(value)?), Bound::Unbounded),
        Operator::AtMost => Condition::Guidance(Bound::Unbounded, Bound::Included(number(value)?)),
        Operator::Above => Condition::Guidance(Bound::Excluded(number(value)?), Bound::Unbounded),
        Operator::Below => Condition::Guidance(Bound::Unbounded, Bound::Excluded(number(value)?)),
    })
}

/// The ends of `1..9`, `1..` or `..9`; `None` for what is no such range.
fn range(value: &str) -> Option<(Option<&str>, Option<&str>)> {
    let (least, most) = value.split_once("..")?;
    let end = |text| Some(text).filter(|text: &&str| !text.is_empty());
    (!least.is_empty() || !most.is_empty()).then_some((end(least), end(most)))
}

/// A point in time, and the length of the period that its text names, if it names one.
fn moment(value: &str) -> Result<(Moment, Option<TimeUnit>), String> {
    let value = unquoted(value).to_ascii_lowercase();
    let refused = || tr!("index-is-not-a-time", value);
    match value.as_str() {
        "today" => return Ok((Moment::DaysBeforeToday(0), Some(TimeUnit::Day))),
        "yesterday" => return Ok((Moment::DaysBeforeToday(1), Some(TimeUnit::Day))),
        _ => {}
    }
    let units = [('h', TimeUnit::Hour), ('d', TimeUnit::Day), ('w', TimeUnit::Week), ('m', TimeUnit::Month), ('y', TimeUnit::Year)];
    if let Some((count, unit)) = units.into_iter().find_map(|(letter, unit)| Some((value.strip_suffix(letter)?, unit))) {
        let count = count.parse().ok().filter(|count| *count <= 10_000).ok_or_else(refused)?;
        return Ok((Moment::Ago(count, unit), None));
    }
    let mut parts = value.splitn(3, '-');
    let year: u16 = parts.next().filter(|it| it.len() == 4).and_then(|it| it.parse().ok()).ok_or_else(refused)?;
    let part = |text: Option<&str>| text.map(|text| text.parse::<u8>().map_err(|_| refused())).transpose();
    let (month, day) = (part(parts.next())?, part(parts.next())?);
    let date = Month::try_from(month.unwrap_or(1)).ok().and_then(|it| Date::from_calendar_date(i32::from(year), it, day.unwrap_or(1)).ok());
    if year == 0 || date.is_none() {
        return Err(refused());
    }
    let unit = match (month, day) {
        (_, Some(_)) => TimeUnit::Day,
        (Some(_), None) => TimeUnit::Month,
        (None, None) => TimeUnit::Year,
    };
    Ok((Moment::Date { year, month: month.unwrap_or(1), day: day.unwrap_or(1) }, Some(unit)))
}
