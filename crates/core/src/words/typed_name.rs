//! The name that somebody is typing in a prompt, so that it can be completed.

use std::ops::Range;

/// Bytes before the caret that are looked at.
const MAX_LOOKED_AT: usize = 200;
/// Letters with which a word begins before it is completed.
const MIN_LETTERS: usize = 2;

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// `<lora:` before the caret.
    Lora,
    /// `embedding:` before it.
    Embedding,
    /// `__` before it.
    Wildcard,
    /// Words between commas.
    Tag,
}

/// A name of which the first letters are typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedName<'a> {
    /// What it is of.
    pub kind: NameKind,
    /// Bytes that the whole name takes the place of, with what stands before it.
    pub range: Range<usize>,
    /// The letters of the name.
    pub letters: &'a str,
}

impl<'a> TypedName<'a> {
    /// The name that ends at the caret, a byte of the text.
    #[must_use]
    pub fn at(text: &'a str, caret: usize) -> Option<Self> {
        let (before, after) = (text.get(..caret)?, text.get(caret..)?);
        // In the middle of a word nothing is completed.
        if after.chars().next().is_some_and(char::is_alphanumeric) {
            return None;
        }
        let first = (before.len().saturating_sub(MAX_LOOKED_AT)..=before.len()).find(|at| before.is_char_boundary(*at))?;
        let line = first + before.get(first..)?.rfind('\n').map_or(0, |at| at + 1);
        let looked_at = before.get(line..)?;
        let found = lora(looked_at).or_else(|| wildcard(looked_at)).or_else(|| embedding(looked_at)).or_else(|| tag(looked_at));
        let (kind, start, letters) = found?;
        Some(Self { kind, range: line + start..caret, letters })
    }
}

type Found<'a> = Option<(NameKind, usize, &'a str)>;

fn lora(text: &str) -> Found<'_> {
    let start = text.rfind('<')?;
    let typed = text.get(start + 1..)?;
    if typed.contains('>') {
        return None;
    }
    match typed.strip_prefix("lora:") {
        // A strength follows.
        Some(letters) if letters.contains(':') => None,
        Some(letters) => Some((NameKind::Lora, start, letters)),
        None => "lora:".starts_with(typed).then_some((NameKind::Lora, start, "")),
    }
}

fn wildcard(text: &str) -> Found<'_> {
    // An even number of marks: the last one ends a name.
    if text.matches("__").count().is_multiple_of(2) {
        return None;
    }
    let start = text.rfind("__")?;
    let letters = text.get(start + 2..)?;
    let is_name = letters.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.'));
    is_name.then_some((NameKind::Wildcard, start, letters))
}

fn embedding(text: &str) -> Found<'_> {
    const MARK: &str = "embedding:";
    let start = text.rfind(MARK)?;
    let letters = text.get(start + MARK.len()..)?;
    let is_name = !letters.contains(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ')' | ']'));
    is_name.then_some((NameKind::Embedding, start, letters))
}

fn tag(text: &str) -> Found<'_> {
    let start = text.rfind([',', '(', '[', '{', '|', ':', '.', ';', '}', ']', ')', '>']).map_or(0, |at| at + 1);
    let typed = text.get(start..)?;
    let letters = typed.trim_start();
    let is_word = letters.chars().filter(|c| c.is_alphabetic()).count() >= MIN_LETTERS && !letters.ends_with(' ');
    is_word.then_some((NameKind::Tag, start + typed.len() - letters.len(), letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(marked: &str) -> Option<(NameKind, String, String)> {
        let caret = marked.find('^').unwrap();
        let text = marked.replace('^', "");
        TypedName::at(&text, caret).map(|it| (it.kind, text[it.range].to_owned(), it.letters.to_owned()))
    }

    #[test]
    fn what_is_typed_is_known_by_what_stands_before_it() {
        let cases = [
            ("a lake, <lo^", Some((NameKind::Lora, "<lo", ""))),
            ("a <lora:in^, b", Some((NameKind::Lora, "<lora:in", "in"))),
            ("<lora:ink:0.^", None),
            ("<lora:ink:1> re^", Some((NameKind::Tag, "re", "re"))),
            ("a __land/tr^", Some((NameKind::Wildcard, "__land/tr", "land/tr"))),
            ("a __^", Some((NameKind::Wildcard, "__", ""))),
            ("a __tree__ bl^", Some((NameKind::Tag, "a __tree__ bl", "a __tree__ bl"))),
            ("embedding:ea^", Some((NameKind::Embedding, "embedding:ea", "ea"))),
            ("lake, blue ey^, x", Some((NameKind::Tag, "blue ey", "blue ey"))),
            ("lake\n(wör^", Some((NameKind::Tag, "wör", "wör"))),
            ("lake, b^", None),
            ("lake, 10^", None),
            ("la^ke", None),
            ("lake ^", None),
            ("^", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(kind, range, letters)| (kind, range.to_owned(), letters.to_owned()));
            assert_eq!(at(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_and_place_is_taken(text in ".{0,60}", caret in 0usize..70) {
            if let Some(found) = TypedName::at(&text, caret) {
                proptest::prop_assert!(text.get(found.range).is_some_and(|it| it.ends_with(found.letters)));
            }
        }
    }
}
