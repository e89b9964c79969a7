//! Cuts a JSON array into its entries without understanding them, so that one wrong entry does not
//! cost the others.

use atelier_language::tr;

/// A part of a catalogue's text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// The text between two commas of the array, and the line (from 1) on which it begins.
    Entry { text: &'a str, line: usize },
    /// The text is no array here.
    Wrong { line: usize, what: &'static str },
}

/// The entries of an array, or the one entry that the text is. After so many parts it goes no
/// further, and says so.
pub(super) fn split(text: &str, most: usize) -> Vec<Piece<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begin = text.len() - text.trim_start().len();
    let mut lines = Lines { text, at: 0, line: 1 };
    let Some(inner) = text.get(begin..).and_then(|it| it.strip_prefix('[')) else {
        return if text.trim_start().starts_with('{') {
            vec![entry(text, 0, text.len(), &mut lines)]
        } else {
            vec![Piece::Wrong { line: lines.line_at(begin), what: tr!("library-a-list-of-models") }]
        };
    };
    let from = begin + 1;
    let mut pieces = Vec::new();
    let (mut depth, mut start) = (0usize, from);
    let (mut in_text, mut escaped) = (false, false);
    for (at, c) in inner.char_indices().map(|(at, c)| (from + at, c)) {
        if in_text {
            // A text ends with its line at the latest: one that was left open spoils its own entry
            // only.
            in_text = !(c == '\n' || (c == '"' && !escaped));
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => (in_text, escaped) = (true, false),
            '{' | '[' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ']' if depth > 0 => depth -= 1,
            ',' if depth == 0 && pieces.len() == most => {
                pieces.push(Piece::Wrong { line: lines.line_at(at), what: tr!("library-the-list-is-too") });
                return pieces;
            }
            ',' if depth == 0 => {
                pieces.push(entry(text, start, at, &mut lines));
                start = at + 1;
            }
            ']' => {
                if !pieces.is_empty() || !text.get(start..at).unwrap_or_default().trim().is_empty() {
                    pieces.push(entry(text, start, at, &mut lines));
                }
                let rest = text.get(at + 1..).unwrap_or_default();
                if !rest.trim().is_empty() {
                    let at = text.len() - rest.trim_start().len();
                    pieces.push(Piece::Wrong { line: lines.line_at(at), what: tr!("library-something-follows-the-end") });
                }
                return pieces;
            }
            _ => {}
        }
    }
    pieces.push(entry(text, start, text.len(), &mut lines));
    pieces.push(Piece::Wrong { line: lines.line_at(text.len()), what: tr!("library-the-list-has-no") });
    pieces
}

/// Counts lines from one place to the next, so that a text is gone through once.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of a place that is behind those asked for before.
    fn line_at(&mut self, at: usize) -> usize {
        self.line += self.text.get(self.at..at).unwrap_or_default().matches('\n').count();
        self.at = self.at.max(at);
        self.line
    }
}

fn entry<'a>(text: &'a str, start: usize, end: usize, lines: &mut Lines<'_>) -> Piece<'a> {
    let whole = text.get(start..end).unwrap_or_default();
    let begin = start + (whole.len() - whole.trim_start().len());
    if whole.trim().is_empty() {
        return Piece::Wrong { line: lines.line_at(start), what: tr!("library-an-entry-is-missing") };
    }
    Piece::Entry { text: whole.trim(), line: lines.line_at(begin) }
}
