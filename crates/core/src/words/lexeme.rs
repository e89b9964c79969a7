//! The small forms: where one begins at a place of the text, its end. Each looks no further than its
//! own letters, or a bounded way, so that the whole takes time in proportion to the text.

use super::lora_text::lora_at;
use super::span::{SpanKind, When};

/// The most bytes of a wildcard's name, and of the text between options.
const MAX_NAME: usize = 200;

/// Bytes of the blanks at a place.
pub(super) fn blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Bytes of digits and points at a place, with a sign before them.
fn digits(text: &str) -> usize {
    let sign = usize::from(text.starts_with(['+', '-']));
    let rest = text.get(sign..).unwrap_or_default();
    let count = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    if count == 0 { 0 } else { sign + count }
}

/// A number at a place, and its bytes; as `prompt_words.cpp` of the shim reads it.
fn number(text: &str) -> Option<(f32, usize)> {
    let end = digits(text);
    let value = text.get(..end)?.parse::<f32>().ok().filter(|it| it.is_finite())?;
    Some((value, end))
}

/// `:1.2)` at a place: the weight and its bytes.
pub(super) fn weight(text: &str) -> Option<(f32, usize)> {
    let start = 1 + blanks(text.strip_prefix(':')?);
    let (value, length) = number(text.get(start..)?)?;
    let end = start + length + blanks(text.get(start + length..)?);
    text.get(end..)?.starts_with(')').then_some((value, end + 1))
}

/// Bytes of `1.2.3` in `:1.2.3)`: what seems to be a weight and is none.
pub(super) fn no_number(text: &str) -> Option<usize> {
    let length = digits(text.strip_prefix(':')?);
    (length > 0 && text.get(1 + length..)?.starts_with(')')).then_some(1 + length)
}

/// The whole of a text as the time of a schedule.
pub(super) fn when(text: &str) -> Option<When> {
    let text = text.trim();
    let (value, length) = number(text).filter(|(value, _)| *value >= 0.0)?;
    if length != text.len() {
        return None;
    }
    // As A1111: what has a point and is at most 1, or lies below 1, is a share.
    if value < 1.0 || (value <= 1.0 && text.contains('.')) {
        return Some(When::Share(value));
    }
    text.split('.').next()?.parse().ok().map(When::Step)
}

/// `2$$, $$` after the bracket of a choice.
pub(super) struct Header {
    pub(super) least: u32,
    pub(super) most: u32,
    /// The bytes between options, from the header's start.
    pub(super) between: Option<std::ops::Range<usize>>,
    pub(super) bytes: usize,
}

pub(super) fn header(text: &str) -> Option<Header> {
    let count = |text: &str| text.bytes().take(9).take_while(u8::is_ascii_digit).count();
    let first = count(text);
    let is_range = text.get(first..)?.starts_with('-');
    let second_at = first + usize::from(is_range);
    let second = if is_range { count(text.get(second_at..)?) } else { 0 };
    let end = second_at + second;
    if first + second == 0 || !text.get(end..)?.starts_with("$$") {
        return None;
    }
    let parse = |range: std::ops::Range<usize>, usual: u32| text.get(range).and_then(|it| it.parse().ok()).unwrap_or(usual);
    let least = parse(0..first, 1);
    let most = if is_range { parse(second_at..end, u32::MAX) } else { least };
    let start = end + 2;
    let rest = text.get(start..)?;
    let length = rest.char_indices().find(|(at, c)| *at > MAX_NAME || matches!(c, '$' | '{' | '}')).map_or(rest.len(), |(at, _)| at);
    let has_between = length > 0 && rest.get(length..)?.starts_with("$$");
    let between = has_between.then_some(start..start + length);
    let bytes = if has_between { start + length + 2 } else { start };
    Some(Header { least: least.min(most), most: most.max(least), between, bytes })
}

/// `2::` at the start of an option, with blanks before it: the share and its bytes.
pub(super) fn share(text: &str) -> Option<(f64, usize)> {
    let start = blanks(text);
    let (value, length) = number(text.get(start..)?).filter(|(value, _)| *value >= 0.0)?;
    let end = start + length;
    text.get(end..)?.starts_with("::").then_some((f64::from(value), end + 2))
}

/// `__name__`: its bytes.
fn wildcard(text: &str) -> Option<usize> {
    let name = text.strip_prefix("__")?;
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | '*' | ' ');
    let limit = name.char_indices().find(|(at, c)| *at > MAX_NAME || !is_of_name(*c)).map_or(name.len(), |(at, _)| at);
    let end = name.get(..limit)?.find("__").filter(|end| *end > 0)?;
    let says = name.get(..end)?.trim();
    (!says.is_empty() && says.len() == end).then_some(2 + end + 2)
}

/// The name in `__name__`.
pub(super) fn wildcard_name(text: &str) -> &str {
    text.strip_prefix("__").and_then(|it| it.strip_suffix("__")).unwrap_or(text)
}

/// The mark of a comment at a place, which begins a line or follows a blank: its bytes.
pub(super) fn comment_mark(text: &str) -> Option<usize> {
    let is_mark = |mark: &str| text.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']));
    ["#", "//"].into_iter().find(|mark| is_mark(mark)).map(str::len)
}

/// A comment at such a place: its bytes without the line's end.
fn comment(text: &str) -> Option<usize> {
    comment_mark(text)?;
    Some(text.find('\n').unwrap_or(text.len()))
}

/// What begins a comment that may have several lines.
pub(super) const BLOCK_COMMENT: &str = "/*";
/// What ends it.
pub(super) const BLOCK_COMMENT_END: &str = "*/";

/// `/* ... */` at a place: its bytes, `Err` where it has no end.
pub(super) fn block_comment(text: &str) -> Option<Result<usize, ()>> {
    let rest = text.strip_prefix(BLOCK_COMMENT)?;
    Some(rest.find(BLOCK_COMMENT_END).map(|end| BLOCK_COMMENT.len() + end + BLOCK_COMMENT_END.len()).ok_or(()))
}

/// `embedding:name`: its bytes.
fn embedding(text: &str) -> Option<usize> {
    let name = text.strip_prefix("embedding:")?;
    let length = name.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(name.len());
    // A full stop ends a sentence.
    let length = name.get(..length)?.trim_end_matches('.').len();
    (length > 0).then_some("embedding:".len() + length)
}

/// An object in JSON at a place: its bytes, `Err` where it has no end.
pub(super) fn json(text: &str) -> Option<Result<usize, ()>> {
    let start = 1 + blanks(text.strip_prefix('{')?);
    let name = text.get(start..)?.strip_prefix('"')?;
    let name_end = name.char_indices().find(|(at, c)| *at > MAX_NAME || matches!(c, '"' | '\n')).filter(|(_, c)| *c == '"')?.0;
    if !name.get(name_end + 1..)?.trim_start().starts_with(':') {
        return None;
    }
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'{' if !is_text => depth += 1,
            b'}' if !is_text => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(Ok(at + 1));
                }
            }
            _ => {}
        }
    }
    Some(Err(()))
}

/// A form of one piece at a place: what it is, and its bytes. `before` is the sign before it.
pub(super) fn piece(text: &str, before: Option<char>) -> Option<(SpanKind, usize)> {
    let follows_blank = before.is_none_or(char::is_whitespace);
    let begins_word = before.is_none_or(|c| !(c.is_ascii_alphanumeric() || c == '_'));
    let word = |word: &str, kind| {
        let rest = text.strip_prefix(word).filter(|_| begins_word)?;
        let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        ends.then_some((kind, word.len()))
    };
    match text.as_bytes().first()? {
        b'\\' => {
            let escaped = text.get(1..)?;
            let letter = || escaped.chars().next().filter(|c| r"\()[]{}|".contains(*c)).map(char::len_utf8);
            // In a path or behind a letter there is no comment to escape from.
            let line = || comment_mark(escaped).filter(|_| follows_blank);
            let block = || escaped.starts_with(BLOCK_COMMENT).then_some(BLOCK_COMMENT.len());
            Some((SpanKind::Literal, 1 + wildcard(escaped).or_else(letter).or_else(line).or_else(block)?))
        }
        b'#' | b'/' if follows_blank => comment(text).map(|bytes| (SpanKind::Comment, bytes)),
        b'<' => lora_at(text).map(|(_, _, bytes)| (SpanKind::Lora, bytes)),
        b'_' => wildcard(text).map(|bytes| (SpanKind::Wildcard, bytes)),
        b'e' if begins_word => embedding(text).map(|bytes| (SpanKind::Embedding, bytes)),
        b'B' => word("BREAK", SpanKind::Break),
        b'A' => word("AND", SpanKind::And),
        _ => None,
    }
}
