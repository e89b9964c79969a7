//! Searches as a person types them: `lake model:z-image seed:1..9 lora:ink rating>=3 since:7d
//! -night`.
//!
//! Invariants: every character of the text but the spaces between terms belongs to exactly one
//! chip; a term that cannot be understood is a chip with a sentence, never left out silently. Pure:
//! no database, no clock.

mod condition;
mod field;

use std::ops::Range;

use atelier_language::tr;

pub(crate) use condition::{Condition, FlagFilter, IntegerColumn, Matching, Moment, Part, Period, Shape, TextColumns, TimeUnit};
pub use field::{FIELDS, Field};

/// Longest text of a search that is read, in bytes; the rest is one chip that says so.
const MAX_BYTES: usize = 4096;
/// Most terms of a search.
const MAX_TERMS: usize = 64;

/// A parsed search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    text: String,
    terms: Vec<Term>,
}

/// A term of a search: a word, a phrase, or a field with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Where it stands in the text, in bytes.
    range: Range<usize>,
    /// True where pictures that match are left out.
    pub(crate) is_negated: bool,
    /// Its condition, or a sentence about why it has none.
    pub(crate) condition: Result<Condition, String>,
}

/// A term of a search, for the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip<'a> {
    /// Where it stands in the text, in bytes.
    pub range: Range<usize>,
    /// The term as it was typed.
    pub label: &'a str,
    /// True where pictures that match are left out.
    pub is_negated: bool,
    /// True for a field with a value; false for words.
    pub is_field: bool,
    /// Why it cannot be searched for, and what to do, in a sentence.
    pub problem: Option<&'a str>,
}

impl Query {
    /// Parses a search. Never fails: what is not understood becomes a chip with a problem.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut terms = Vec::new();
        let mut from = 0;
        while let Some(range) = next_term(text, from) {
            from = range.end;
            if terms.len() == MAX_TERMS || range.end > MAX_BYTES {
                let end = text.trim_end().len();
                let problem = tr!("index-a-search-has-at", max_terms = MAX_TERMS, max_bytes = MAX_BYTES);
                terms.push(Term { range: range.start..end, is_negated: false, condition: Err(problem) });
                break;
            }
            let term = &text[range.clone()];
            let positive = term.strip_prefix('-').filter(|rest| !rest.is_empty());
            let condition = field::parse_term(positive.unwrap_or(term));
            terms.push(Term { range, is_negated: positive.is_some(), condition });
        }
        Self { text: text.to_owned(), terms }
    }

    /// The text that was parsed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True where every picture matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms, in order.
    #[must_use]
    pub fn chips(&self) -> impl ExactSizeIterator<Item = Chip<'_>> {
        self.terms.iter().map(|term| Chip {
            range: term.range.clone(),
            label: &self.text[term.range.clone()],
            is_negated: term.is_negated,
            is_field: !matches!(term.condition, Ok(Condition::Words { columns: TextColumns::Any, .. })),
            problem: term.condition.as_ref().err().map(String::as_str),
        })
    }

    /// The sentence of the first term that cannot be searched for.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.terms.iter().find_map(|term| term.condition.as_ref().err().map(String::as_str))
    }

    /// The text without one of its chips; unchanged where there is no such chip.
    #[must_use]
    pub fn without(&self, chip: usize) -> String {
        let Some(term) = self.terms.get(chip) else { return self.text.clone() };
        let (before, after) = (self.text[..term.range.start].trim(), self.text[term.range.end..].trim());
        if before.is_empty() || after.is_empty() { format!("{before}{after}") } else { format!("{before} {after}") }
    }

    /// The text with one more term at its end.
    #[must_use]
    pub fn with(&self, term: &str) -> String {
        let text = self.text.trim_end();
        if text.is_empty() { term.to_owned() } else { format!("{text} {term}") }
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }
}

/// A term for a field with this value, with quotes where it needs them.
#[must_use]
pub fn field_term(field: &str, value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '\\');
    let value: String = value.chars().filter(|c| *c != '"').collect();
    if !value.is_empty() && value.chars().all(plain) { format!("{field}:{value}") } else { format!("{field}:\"{value}\"") }
}

/// Where the next term stands: up to a space that is in no quotes.
fn next_term(text: &str, from: usize) -> Option<Range<usize>> {
    let start = from + text[from..].find(|c: char| !c.is_whitespace())?;
    let mut is_quoted = false;
    let end = text[start..].find(|c: char| {
        is_quoted ^= c == '"';
        !is_quoted && c.is_whitespace()
    });
    Some(start..end.map_or(text.trim_end().len().max(start + 1), |end| start + end))
}

#[cfg(test)]
mod tests;
