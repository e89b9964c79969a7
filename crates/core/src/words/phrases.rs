//! The phrases of a prompt: what a person would take out of it as one thing.

use std::ops::Range;

use super::span::{GroupKind, Prompt, SpanKind};

/// A part of a prompt that can be taken out. Both ranges are bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// Its words, without blanks at the ends.
    pub range: Range<usize>,
    /// What goes with it: its words, and the comma or full stop and the blanks that are there for
    /// them alone.
    pub cut: Range<usize>,
}

impl Phrase {
    /// The shortest of these phrases at a place, in bytes.
    #[must_use]
    pub fn at(phrases: &[Self], at: usize) -> Option<&Self> {
        phrases.iter().filter(|it| it.range.start <= at && at <= it.range.end).min_by_key(|it| it.range.len())
    }

    /// Its words; `None` where the text is another.
    #[must_use]
    pub fn words<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.get(self.range.clone())
    }

    /// The text without it, all else as it was; `None` where the text is another.
    #[must_use]
    pub fn removed_from(&self, text: &str) -> Option<String> {
        Some(format!("{}{}", text.get(..self.cut.start)?, text.get(self.cut.end..)?))
    }
}

/// What stands between two parts of a prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// It parts phrases of a sentence.
    Comma,
    /// It ends a sentence.
    Stop,
    /// `AND`: it goes with the whole of a prompt that it joins.
    Join,
    /// It stays, whatever goes.
    Border,
}

impl Prompt<'_> {
    /// What can be taken out, in the order of the text: parts between commas, ends of sentences and
    /// line breaks, each followed by the weighed brackets in it. Not what the whole prompt consists
    /// of, and nothing without a letter or digit.
    #[must_use]
    pub fn phrases(&self) -> Vec<Phrase> {
        let marks = self.marks();
        let mut weighed = self.weighed().into_iter().peekable();
        let mut phrases = Vec::new();
        let (mut start, mut before) = (0, None);
        for at in 0..=marks.len() {
            let after = marks.get(at);
            let end = after.map_or(self.text.len(), |(range, _)| range.start);
            if let Some(part) = self.trimmed(start..end) {
                phrases.push(Phrase { cut: self.cut_of_part(&part, before, after), range: part.clone() });
                while let Some(range) = weighed.next_if(|it| it.start < part.end) {
                    if range != part {
                        phrases.push(Phrase { cut: self.cut_of_bracket(&range, &part), range });
                    }
                }
            }
            start = after.map_or(end, |(range, _)| range.end);
            before = after;
        }
        let letters = |text: &str| text.chars().filter(|it| it.is_alphanumeric()).count();
        let all = letters(self.text);
        phrases.retain(|phrase| (1..all).contains(&self.text.get(phrase.cut.clone()).map_or(0, letters)));
        phrases
    }

    /// What parts phrases, outside of all brackets.
    fn marks(&self) -> Vec<(Range<usize>, Mark)> {
        let (mut marks, mut depth) = (Vec::new(), 0_usize);
        for span in &self.spans {
            match span.kind {
                SpanKind::Open(_) => depth += 1,
                SpanKind::Close(_) => depth = depth.saturating_sub(1),
                SpanKind::Words if depth == 0 => self.marks_of_words(span.range.clone(), &mut marks),
                SpanKind::And if depth == 0 => {
                    let join = self.join_of(span.range.clone());
                    while marks.pop_if(|(range, _)| range.start >= join.start).is_some() {}
                    let start = marks.last().map_or(0, |(range, _)| range.end).max(join.start);
                    marks.push((start..join.end, Mark::Join));
                }
                SpanKind::Break | SpanKind::Json | SpanKind::Lora if depth == 0 => marks.push((span.range.clone(), Mark::Border)),
                _ => {}
            }
        }
        marks
    }

    /// `AND` with the blanks, line breaks and commas that are there for it alone.
    fn join_of(&self, and: Range<usize>) -> Range<usize> {
        let before = self.text.get(..and.start).unwrap_or_default();
        let after = self.text.get(and.end..).unwrap_or_default();
        let start = before.trim_end_matches(|letter: char| letter.is_whitespace() || letter == ',').len();
        start..and.end + after.len() - after.trim_start().len()
    }

    fn marks_of_words(&self, words: Range<usize>, marks: &mut Vec<(Range<usize>, Mark)>) {
        let start = words.start;
        let joined_until = marks.last().map_or(0, |(range, _)| range.end);
        for (at, letter) in self.text.get(words).unwrap_or_default().char_indices() {
            let range = start + at..start + at + letter.len_utf8();
            if range.start < joined_until {
                continue;
            }
            // A point within a number or a name ends nothing.
            let is_end = || self.text.get(range.end..).unwrap_or_default().chars().next().is_none_or(char::is_whitespace);
            let mark = match letter {
                ',' | ';' | '，' | '、' | '；' => Mark::Comma,
                '。' | '！' | '？' => Mark::Stop,
                '.' | '!' | '?' if is_end() => Mark::Stop,
                '\n' => Mark::Border,
                _ => continue,
            };
            marks.push((range, mark));
        }
    }

    /// Weighed brackets that are in no others.
    fn weighed(&self) -> Vec<Range<usize>> {
        let (mut weighed, mut until) = (Vec::new(), 0);
        for group in &self.groups {
            let (Some(open), Some(close)) = (self.spans.get(group.open), self.spans.get(group.close)) else { continue };
            if open.range.start < until {
                continue;
            }
            until = close.range.end;
            if matches!(group.kind, GroupKind::More | GroupKind::Less | GroupKind::Weight(_)) {
                weighed.push(open.range.start..until);
            }
        }
        weighed
    }

    /// A part with the comma behind it, else with the one before it; a whole sentence with its end,
    /// and the whole of a joined prompt with what joins it.
    fn cut_of_part(
        &self,
        part: &Range<usize>,
        before: Option<&(Range<usize>, Mark)>,
        after: Option<&(Range<usize>, Mark)>,
    ) -> Range<usize> {
        let is_joined_prompt = [before, after].into_iter().all(|it| it.is_none_or(|(_, mark)| *mark == Mark::Join));
        let parting = if is_joined_prompt { Mark::Join } else { Mark::Comma };
        let is_parted_behind = after.is_some_and(|(_, mark)| *mark == parting);
        let parted_before = before.filter(|(_, mark)| *mark == parting && !is_parted_behind);
        let cut = parted_before.map_or_else(
            || {
                let end = after.filter(|(_, mark)| [parting, Mark::Stop].contains(mark)).map_or(part.end, |(range, _)| range.end);
                part.start..self.blanks_after(end)
            },
            |(mark, _)| mark.start..part.end,
        );
        // Nothing ends in a blank.
        if cut.end == self.text.len() { self.blanks_before(cut.start)..cut.end } else { cut }
    }

    /// A bracket within a part, with the blanks on one side of it.
    fn cut_of_bracket(&self, bracket: &Range<usize>, part: &Range<usize>) -> Range<usize> {
        let (before, after) = (self.blanks_before(bracket.start), self.blanks_after(bracket.end));
        let is_parted = bracket.start == part.start || before < bracket.start;
        if is_parted && after > bracket.end && bracket.end < part.end { bracket.start..after } else { before.max(part.start)..bracket.end }
    }

    /// The end of the blanks from a place on, in its line.
    fn blanks_after(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.len() - rest.trim_start_matches(is_blank).len()
    }

    /// The start of the blanks before a place, in its line.
    fn blanks_before(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or_default().trim_end_matches(is_blank).len()
    }
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() && letter != '\n'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The words of each phrase, and the text without it.
    fn phrases(text: &str) -> Vec<(&str, String)> {
        let all = Prompt::parse(text).phrases();
        all.iter().map(|it| (it.words(text).unwrap(), it.removed_from(text).unwrap())).collect()
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = phrases(text);
        let found: Vec<(&str, &str)> = found.iter().map(|(words, rest)| (*words, rest.as_str())).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_phrase_goes_with_its_comma() {
        check("a lake, stars, night", &[("a lake", "stars, night"), ("stars", "a lake, night"), ("night", "a lake, stars")]);
        check("a lake ,stars", &[("a lake", "stars"), ("stars", "a lake")]);
        let words = |text: &str| phrases(text).into_iter().map(|(words, _)| words.to_owned()).collect::<Vec<_>>();
        assert_eq!(words("a lake, stars <lora:ink:1>"), ["a lake", "stars"], "a tag belongs to no phrase");
        check("湖、星", &[("湖", "星"), ("星", "湖")]);
        check("a lake\nstars", &[("a lake", "\nstars"), ("stars", "a lake\n")]);
    }

    #[test]
    fn a_sentence_goes_with_its_end_and_a_part_of_one_leaves_it() {
        check("A lake at 1.5 m. Stars above.", &[("A lake at 1.5 m", "Stars above."), ("Stars above", "A lake at 1.5 m.")]);
        check(
            "Blue sky, stars. A lake.",
            &[("Blue sky", "stars. A lake."), ("stars", "Blue sky. A lake."), ("A lake", "Blue sky, stars.")],
        );
    }

    #[test]
    fn a_weighed_bracket_is_a_phrase_of_its_own() {
        check("a (red:1.3) lake, stars", &[("a (red:1.3) lake", "stars"), ("(red:1.3)", "a lake, stars"), ("stars", "a (red:1.3) lake")]);
        check("(red, blue:1.3), x", &[("(red, blue:1.3)", "x"), ("x", "(red, blue:1.3)")]);
        check("a lake (at dawn), x", &[("a lake (at dawn)", "x"), ("(at dawn)", "a lake, x"), ("x", "a lake (at dawn)")]);
        check("(old) lake", &[("(old)", "lake")]);
    }

    #[test]
    fn what_is_all_of_it_and_what_has_no_words_is_no_phrase() {
        check("a lake", &[]);
        check("a lake,", &[]);
        check("a lake, ...", &[]);
        check("", &[]);
        check("x {a, b|c} y, z", &[("x {a, b|c} y", "z"), ("z", "x {a, b|c} y")]);
        check("one BREAK two, three", &[("one", "BREAK two, three"), ("two", "one BREAK three"), ("three", "one BREAK two")]);
    }

    #[test]
    fn a_joined_prompt_goes_with_what_joins_it_and_a_part_of_one_leaves_that() {
        check("fog AND a lake :0.5", &[("fog", "a lake :0.5"), ("a lake :0.5", "fog")]);
        check("a AND b AND\n\nc", &[("a", "b AND\n\nc"), ("b", "a AND c"), ("c", "a AND b")]);
        check("a cat,\nAND a dog", &[("a cat", "a dog"), ("a dog", "a cat")]);
        check("a, b AND c, d", &[("a", "b AND c, d"), ("b", "a AND c, d"), ("c", "a, b AND d"), ("d", "a, b AND c")]);
        check("a AND AND b", &[("a", "AND b"), ("b", "a AND")]);
        check("a AND", &[]);
    }

    #[test]
    fn the_shortest_phrase_at_a_place_is_meant() {
        let text = "a (red:1.3) lake, stars";
        let all = Prompt::parse(text).phrases();
        let at = |place| Phrase::at(&all, place).and_then(|it| it.words(text));
        assert_eq!((at(0), at(4), at(13)), (Some("a (red:1.3) lake"), Some("(red:1.3)"), Some("a (red:1.3) lake")));
        assert_eq!((at(17), at(18), at(text.len()), at(99)), (None, Some("stars"), Some("stars"), None));
    }

    proptest! {
        #[test]
        fn nothing_else_changes(text in r"[a-c1(){}\[\]<>:;,.!|# \n\\é、。-]{0,48}") {
            for phrase in Prompt::parse(&text).phrases() {
                let Phrase { range, cut } = phrase.clone();
                prop_assert!(cut.start <= range.start && range.end <= cut.end && cut.end <= text.len());
                let words = phrase.words(&text).unwrap();
                prop_assert!(!words.is_empty() && words.trim() == words);
                let beside = format!("{}{}", &text[cut.start..range.start], &text[range.end..cut.end]);
                prop_assert!(beside.chars().all(|it| it.is_whitespace() || ",;、.!。".contains(it)), "{:?}", beside);
                let rest = phrase.removed_from(&text).unwrap();
                prop_assert!(rest.chars().any(char::is_alphanumeric));
                prop_assert_eq!(rest, format!("{}{}", &text[..cut.start], &text[cut.end..]));
            }
        }
    }
}
