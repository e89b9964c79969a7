//! Prompts that `AND` joins, on models whose words CLIP reads; and prompts of programs to which this
//! and other signs are letters.

use std::ops::Range;

use super::span::{GroupKind, Prompt, Span, SpanKind};

impl Prompt<'_> {
    /// Prompts that `AND` joins to the first.
    #[must_use]
    pub fn joined(&self) -> usize {
        self.joins().count()
    }

    /// The weights of joined prompts, in bytes: a colon and a number at the end of each, `:0.5`.
    #[must_use]
    pub fn join_weights(&self) -> Vec<Range<usize>> {
        if self.joined() == 0 {
            return Vec::new();
        }
        let starts = std::iter::once(0).chain(self.joins().map(|and| and.end));
        let ends = self.joins().map(|and| and.start).chain([self.text.len()]);
        starts
            .zip(ends)
            .filter_map(|(start, end)| weight_at_end(self.text.get(start..end)?).map(|it| start + it.start..start + it.end))
            .collect()
    }

    /// The text with `AND` as a word, for a prompt of a program that joins none: CLIP reads letters
    /// in one case, so that it is the same word in small ones.
    #[must_use]
    pub fn with_joins_as_words(&self) -> String {
        self.in_small_letters(SpanKind::And)
    }

    /// The text with `BREAK` as a word, for a prompt of a program that parts none by it.
    #[must_use]
    pub fn with_breaks_as_words(&self) -> String {
        self.in_small_letters(SpanKind::Break)
    }

    fn in_small_letters(&self, kind: SpanKind) -> String {
        let text_of = |span: &Span| match self.text_of(span) {
            word if span.kind == kind => word.to_ascii_lowercase(),
            other => other.to_owned(),
        };
        self.spans.iter().map(text_of).collect()
    }

    /// The text for a prompt of a program that reads round brackets alone, and only those that are
    /// closed: all other brackets are escaped.
    #[must_use]
    pub fn with_round_brackets_alone(&self) -> String {
        let is_square = |group: usize| {
            let kind = self.groups.get(group).map(|it| &it.kind);
            matches!(kind, Some(GroupKind::Less | GroupKind::Schedule(_) | GroupKind::Alternation))
        };
        let mut text = String::with_capacity(self.text.len());
        for span in &self.spans {
            let is_letters = match span.kind {
                SpanKind::Words => true,
                SpanKind::Open(group) | SpanKind::Close(group) => is_square(group),
                _ => false,
            };
            for c in self.text_of(span).chars() {
                text.extend((is_letters && matches!(c, '[' | ']' | '(')).then_some('\\'));
                text.push(c);
            }
        }
        text
    }

    fn joins(&self) -> impl Iterator<Item = Range<usize>> {
        self.spans.iter().filter(|span| span.kind == SpanKind::And).map(|span| span.range.clone())
    }
}

/// The weight with which a joined prompt ends; as `prompt_words.cpp` of the shim reads it.
fn weight_at_end(text: &str) -> Option<Range<usize>> {
    let is_blank = |c: char| matches!(c, ' ' | '\t'..='\r');
    let text = text.trim_end_matches(is_blank);
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let signed = text.get(..digits)?;
    let start = signed.strip_suffix(['+', '-']).unwrap_or(signed).len();
    text.get(start..)?.parse::<f32>().ok().filter(|weight| weight.is_finite())?;
    let before = text.get(..start)?.trim_end_matches(is_blank);
    before.ends_with(':').then(|| before.len() - 1..text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(text: &str) -> Vec<&str> {
        Prompt::parse(text).join_weights().into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_joined_prompt_ends_with_its_weight() {
        assert_eq!(weights("a dog AND a lake :0.5"), [":0.5"]);
        assert_eq!(weights("é : -1 \nAND (a lake:1.2) fog:.3AND_ AND dusk: +2. "), [": -1", ": +2."]);
        assert_eq!(weights("a dog :2 AND a lake"), [":2"]);
        for none in ["a lake :0.5", "a BAND b :2", "a AND b 0.5", "a AND b:1.2.3", "a AND b:.", "a AND (b:2)", "a and b :3"] {
            assert_eq!(weights(none), [""; 0], "{none}");
        }
        assert_eq!(weights(&format!("a AND b:{}", "9".repeat(60))), [""; 0], "larger than any number");
    }

    #[test]
    fn words_of_programs_that_join_none_stay_words() {
        let as_words = |text: &str| Prompt::parse(text).with_joins_as_words();
        assert_eq!(as_words("salt AND pepper, (AND:1.2), SAND, {a AND b|c} :2"), "salt and pepper, (and:1.2), SAND, {a and b|c} :2");
        assert_eq!(Prompt::parse(&as_words("AND a AND b")).joined(), 0);
        assert_eq!(as_words("# this AND that\n\"AND\""), "# this AND that\n\"and\"", "nobody reads a comment");
        let prompt = Prompt::parse("salt BREAK pepper, BREAKS AND");
        assert_eq!(prompt.with_breaks_as_words(), "salt break pepper, BREAKS AND");
    }

    #[test]
    fn of_brackets_those_that_another_program_reads_are_left() {
        let alone = |text: &str| Prompt::parse(text).with_round_brackets_alone();
        for (text, expected) in [
            ("a [fog], (boat:1.2)", r"a \[fog\], (boat:1.2)"),
            ("[dawn:dusk:0.4] [é|ö] [[x]]", r"\[dawn:dusk:0.4\] \[é|ö\] \[\[x\]\]"),
            ("(a [b:1.3) :( ]", r"(a \[b:1.3) :\( \]"),
            (r"\[a\] \(b\) ((c))", r"\[a\] \(b\) ((c))"),
            ("{\"a\": [1, 2]}", "{\"a\": [1, 2]}"),
        ] {
            assert_eq!(alone(text), expected);
            let again = alone(expected);
            assert_eq!(again, expected, "what is escaped stays so");
            assert!(!Prompt::parse(expected).changes_over_steps());
        }
    }
}
