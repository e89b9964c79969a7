//! Changes to a prompt that one key makes: a weight raised or lowered, a part switched off and on.

use std::ops::Range;

use super::span::{GroupKind, Prompt, SpanKind};

/// What one key changes of a weight, and of a LoRA's strength.
const WEIGHT_STEP: f32 = 0.1;
const STRENGTH_STEP: f32 = 0.05;
/// Weights that keys lead to: language models know no larger one.
const WEIGHTS: std::ops::RangeInclusive<f32> = 0.0..=2.5;
const STRENGTHS: std::ops::RangeInclusive<f32> = -2.0..=2.0;
/// What single brackets weigh, as far as two digits say it.
const MORE: f32 = 1.1;
const LESS: f32 = 0.91;

/// A prompt after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedPrompt {
    /// The whole text.
    pub text: String,
    /// The bytes that a person has selected now.
    pub selection: Range<usize>,
}

/// What a key is about.
enum Target {
    /// Bytes of a group, of the text within its brackets, and its weight.
    Group(Range<usize>, Range<usize>, f32),
    /// Bytes of a LoRA's tag.
    Lora(Range<usize>),
    /// Words without a weight.
    Words(Range<usize>),
}

impl Prompt<'_> {
    /// The text with another weight of the selected words, or of the word, bracket or LoRA at the
    /// caret. `None` where there is nothing that can have one. `selection`: bytes, none of them at a
    /// caret.
    #[must_use]
    pub fn with_weight(&self, selection: Range<usize>, raises: bool) -> Option<EditedPrompt> {
        let sign = if raises { 1.0 } else { -1.0 };
        match self.target(selection)? {
            Target::Lora(range) => {
                let tag = with_strengths(self.text.get(range.clone())?, sign * STRENGTH_STEP);
                self.replaced(range, &tag)
            }
            Target::Group(range, words, weight) => {
                let (words, weight) = (self.text.get(words)?, moved(weight, sign * WEIGHT_STEP, WEIGHTS));
                if weight == 1.0 {
                    return self.replaced(range, words);
                }
                let edited = self.replaced(range, &format!("({words}:{weight})"))?;
                let start = edited.selection.start + 1;
                Some(EditedPrompt { selection: start..start + words.len(), ..edited })
            }
            Target::Words(range) => {
                let words = self.text.get(range.clone())?;
                let weight = moved(1.0, sign * WEIGHT_STEP, WEIGHTS);
                let edited = self.replaced(range.clone(), &format!("({words}:{weight})"))?;
                // Half of a bracket, a comment or a name cannot have a weight.
                let parsed = Prompt::parse(&edited.text);
                let content = range.start + 1..range.end + 1;
                let is_weighed = (0..parsed.groups.len()).any(|number| parsed.content(number).is_some_and(|it| it == content));
                let keeps_the_rest = parsed.groups.len() == self.groups.len() + 1;
                (is_weighed && keeps_the_rest).then_some(EditedPrompt { selection: content, ..edited })
            }
        }
    }

    /// The text with the selected words, or the part between commas at the caret, as a comment; or
    /// with the comment at the caret as words again. `None` where there is nothing.
    #[must_use]
    pub fn with_switched(&self, selection: Range<usize>) -> Option<EditedPrompt> {
        let is_block = |it: &&super::Span| it.kind == SpanKind::Comment && self.text_of(it).starts_with("/*");
        let touches = |it: &&super::Span| it.range.start <= selection.start && selection.end <= it.range.end;
        if let Some(comment) = self.spans.iter().filter(is_block).find(touches) {
            let inner = self.text_of(comment).strip_prefix("/*")?.strip_suffix("*/")?;
            let inner = inner.strip_prefix(' ').unwrap_or(inner);
            return self.replaced(comment.range.clone(), inner.strip_suffix(' ').unwrap_or(inner));
        }
        let part = if selection.is_empty() { self.part_at(selection.start)? } else { self.trimmed(selection)? };
        let words = self.text.get(part.clone())?;
        let edited = self.replaced(part.clone(), &format!("/* {words} */"))?;
        let parsed = Prompt::parse(&edited.text);
        let is_comment = parsed.spans.iter().any(|it| it.kind == SpanKind::Comment && it.range == edited.selection);
        // Half of a bracket stays as it is.
        let within = Prompt::parse(words);
        (is_comment && parsed.groups.len() + within.groups.len() == self.groups.len()).then_some(edited)
    }

    /// The text with other words in a place, which are selected.
    fn replaced(&self, range: Range<usize>, words: &str) -> Option<EditedPrompt> {
        let text = format!("{}{words}{}", self.text.get(..range.start)?, self.text.get(range.end..)?);
        Some(EditedPrompt { text, selection: range.start..range.start + words.len() })
    }

    /// Bytes within the brackets of a group.
    fn content(&self, number: usize) -> Option<Range<usize>> {
        let group = self.groups.get(number)?;
        Some(self.spans.get(group.open)?.range.end..self.spans.get(group.close)?.range.start)
    }

    fn target(&self, selection: Range<usize>) -> Option<Target> {
        let selection = if selection.is_empty() { selection } else { self.trimmed(selection)? };
        let holds = |range: &Range<usize>| range.start <= selection.start && selection.end <= range.end;
        let tag = self.spans.iter().find(|it| it.kind == SpanKind::Lora && holds(&it.range));
        if let Some(tag) = tag {
            return Some(Target::Lora(tag.range.clone()));
        }
        // Of brackets within each other, the innermost.
        let group = (0..self.groups.len()).rev().find_map(|number| {
            let group = self.groups.get(number)?;
            let weight = match group.kind {
                GroupKind::Weight(weight) => weight,
                GroupKind::More => MORE,
                GroupKind::Less => LESS,
                GroupKind::Choice { .. } | GroupKind::Schedule(_) | GroupKind::Alternation => return None,
            };
            let range = self.spans.get(group.open)?.range.start..self.spans.get(group.close)?.range.end;
            let content = self.content(number)?;
            // Selected words are meant alone, unless they are all that the brackets hold.
            let is_meant = if selection.is_empty() { holds(&range) } else { selection == range || selection == content };
            is_meant.then_some(Target::Group(range, content, weight))
        });
        group.or_else(|| Some(Target::Words(if selection.is_empty() { self.word_at(selection.start)? } else { selection })))
    }

    /// A range without the blanks at its ends, if anything is left.
    pub(super) fn trimmed(&self, range: Range<usize>) -> Option<Range<usize>> {
        let words = self.text.get(range.clone())?;
        let start = range.start + words.len() - words.trim_start().len();
        let end = start + words.trim().len();
        (start < end).then_some(start..end)
    }

    fn word_at(&self, at: usize) -> Option<Range<usize>> {
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | ';' | ':' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>');
        self.between(at, ends)
    }

    /// The part between two commas, bars or line breaks, with the comma behind it, or before the last.
    fn part_at(&self, at: usize) -> Option<Range<usize>> {
        let part = self.between(at, |c| matches!(c, ',' | '\n' | '|'))?;
        let part = self.trimmed(part)?;
        let is_comma = |at: usize| self.text.as_bytes().get(at) == Some(&b',');
        let before = self.text.get(..part.start)?.trim_end().len();
        if is_comma(part.end) {
            Some(part.start..part.end + 1)
        } else if before > 0 && is_comma(before - 1) {
            Some(before - 1..part.end)
        } else {
            Some(part)
        }
    }

    /// What lies around a place between two letters that end it; none where it is empty.
    fn between(&self, at: usize, ends: impl Fn(char) -> bool) -> Option<Range<usize>> {
        let (before, after) = (self.text.get(..at)?, self.text.get(at..)?);
        let start = before.char_indices().rev().find(|(_, c)| ends(*c)).map_or(0, |(index, c)| index + c.len_utf8());
        let end = at + after.find(&ends).unwrap_or(after.len());
        (start < end).then_some(start..end)
    }
}

/// A LoRA's tag with each of its strengths moved; those of single blocks stay.
fn with_strengths(tag: &str, step: f32) -> String {
    let mut parts: Vec<String> = tag.trim_end_matches('>').split(':').map(str::to_owned).collect();
    let mut has_some = false;
    // Behind `<lora` and the name.
    for part in parts.iter_mut().skip(2) {
        let (key, number) = part.split_once('=').map_or(("", part.as_str()), |(key, number)| (key, number));
        let Some(number) = number.parse::<f32>().ok().filter(|it| it.is_finite() && matches!(key, "" | "te" | "unet")) else { continue };
        let number = moved(number, step, STRENGTHS);
        *part = if key.is_empty() { number.to_string() } else { format!("{key}={number}") };
        has_some = true;
    }
    if !has_some {
        parts.push(moved(1.0, step, STRENGTHS).to_string());
    }
    format!("{}>", parts.join(":"))
}

/// A number moved by a step, in hundredths. One beyond its range moves back alone.
fn moved(number: f32, step: f32, range: std::ops::RangeInclusive<f32>) -> f32 {
    let limited = (number + step).clamp(range.start().min(number), range.end().max(number));
    (limited * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Seed;

    /// The text with the caret as `^`, or a selection between two.
    fn place(marked: &str) -> (String, Range<usize>) {
        let parts: Vec<&str> = marked.split('^').collect();
        let start = parts[0].len();
        let end = if parts.len() > 2 { start + parts[1].len() } else { start };
        (parts.concat(), start..end)
    }

    fn with_marks(edited: Option<EditedPrompt>) -> Option<String> {
        let EditedPrompt { text, selection } = edited?;
        Some(format!("{}^{}^{}", &text[..selection.start], &text[selection.clone()], &text[selection.end..]))
    }

    fn weigh(marked: &str, raises: bool) -> Option<String> {
        let (text, selection) = place(marked);
        with_marks(Prompt::parse(&text).with_weight(selection, raises))
    }

    fn switch(marked: &str) -> Option<String> {
        let (text, selection) = place(marked);
        with_marks(Prompt::parse(&text).with_switched(selection))
    }

    #[test]
    fn weights_go_up_and_down_by_a_key() {
        let cases = [
            ("a re^d lake", true, Some("a (^red^:1.1) lake")),
            ("a ^red lake^", false, Some("a (^red lake^:0.9)")),
            ("a (^red^:1.1) lake", true, Some("a (^red^:1.2) lake")),
            ("a (red:1.^1) lake", false, Some("a ^red^ lake")),
            ("a ^ red ^lake", true, Some("a  (^red^:1.1) lake")),
            ("((re^d))", true, Some("((^red^:1.2))")),
            ("[re^d]", true, Some("(^red^:1.01)")),
            ("(red:2.5)^", true, Some("(^red^:2.5)")),
            ("(red:9^)", true, Some("(^red^:9)")),
            ("(red:9^)", false, Some("(^red^:8.9)")),
            ("(a ^red^ lake:1.2)", true, Some("(a (^red^:1.1) lake:1.2)")),
            ("{re^d|blue}", true, Some("{(^red^:1.1)|blue}")),
            ("<lora:ink:0.^8>", true, Some("^<lora:ink:0.85>^")),
            ("<lora:ink:0.8:0.5^>", false, Some("^<lora:ink:0.75:0.45>^")),
            ("<lora:ink^>", true, Some("^<lora:ink:1.05>^")),
            ("<lyco:ink:te=0.5:unet=1:lbw=ALL^>", true, Some("^<lyco:ink:te=0.55:unet=1.05:lbw=ALL>^")),
            ("the wörd^ ü", true, Some("the (^wörd^:1.1) ü")),
            // Nothing there, and halves of something.
            ("a ,^, b", true, None),
            ("", true, None),
            ("a ^(red^:1.2) b", true, None),
            ("/* re^d */", true, None),
        ];
        for (text, raises, expected) in cases {
            assert_eq!(weigh(text, raises).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_part_is_switched_off_and_on_again() {
        let cases = [
            ("a, re^d fox, b", "a, ^/* red fox, */^ b"),
            ("a, re^d fox", "a^/* , red fox */^"),
            ("re^d fox", "^/* red fox */^"),
            ("a, ^red^ fox, b", "a, ^/* red */^ fox, b"),
            ("a, (re^d:1.2), b", "a, ^/* (red:1.2), */^ b"),
        ];
        for (text, off) in cases {
            assert_eq!(switch(text).as_deref(), Some(off), "{text}");
            let (before, _) = place(text);
            let (after, _) = place(&switch(off).unwrap());
            assert_eq!(after, before, "{off}");
        }
        assert_eq!(switch("(a, re^d, b:1.2)").as_deref(), Some("(a, ^/* red, */^ b:1.2)"));
        for none in ["", " ^ ", "a ,^, b", "(a, re^d:1.2)", "x /* y */ ^x /* y */ z^"] {
            assert_eq!(switch(none), None, "{none}");
        }
    }

    #[test]
    fn a_part_that_is_off_is_not_read() {
        let (text, _) = place(&switch("a, re^d fox, b").unwrap());
        let made = Prompt::parse(&text).expand(&mut super::super::Draw::of_picture(Seed(1)), &super::super::NoWildcards);
        assert_eq!(made.prompt, "a, b");
    }

    proptest::proptest! {
        #[test]
        fn keys_change_no_other_words(text in r"[a-c ,:.(){}\[\]|/*<\\0-9é]{0,40}", at in 0usize..41, length in 0usize..12, raises: bool) {
            let boundary = |at: usize| (0..=at.min(text.len())).rev().find(|it| text.is_char_boundary(*it)).unwrap();
            let selection = boundary(at)..boundary(at + length);
            let prompt = Prompt::parse(&text);
            for edited in [prompt.with_weight(selection.clone(), raises), prompt.with_switched(selection.clone())].into_iter().flatten() {
                proptest::prop_assert!(edited.text.get(edited.selection.clone()).is_some());
                let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
                proptest::prop_assert_eq!(letters(&edited.text), letters(&text));
            }
        }
    }
}
