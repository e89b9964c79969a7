//! Where words change at a step that the prompt names, and the same text with another step there.

use std::ops::Range;

use super::lexeme::when;
use super::span::{GroupKind, Prompt, When};

/// Digits behind the point of a share: the fewest, and the most that a number of steps may need.
const DIGITS: std::ops::RangeInclusive<u32> = 2..=7;

/// A place where words change: `[from:to:when]`. All places are bytes of the prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct StepChange {
    /// Number of its group.
    pub group: usize,
    /// The words before the change; empty where there are none.
    pub before: Range<usize>,
    /// The words after it; empty where there are none.
    pub after: Range<usize>,
    /// The number that says when.
    pub number: Range<usize>,
    /// When it is.
    pub when: When,
}

impl Prompt<'_> {
    /// Where words change at a step that the prompt names, in the order of the text.
    #[must_use]
    pub fn step_changes(&self) -> Vec<StepChange> {
        (0..self.groups.len()).filter_map(|group| self.step_change(group)).collect()
    }

    /// The text with the change of this group after so many of a picture's steps: its number is
    /// another, in the form that it has, and every other byte is the same. `None` where the group is
    /// no such change.
    #[must_use]
    pub fn with_change_after(&self, group: usize, done: u32, steps: u32) -> Option<String> {
        let change = self.step_change(group)?;
        let number = match change.when {
            When::Share(_) => written_share(done, steps),
            When::Step(_) => done.to_string(),
        };
        Some(format!("{}{number}{}", self.text.get(..change.number.start)?, self.text.get(change.number.end..)?))
    }

    fn step_change(&self, number: usize) -> Option<StepChange> {
        let group = self.groups.get(number)?;
        let GroupKind::Schedule(when) = group.kind else { return None };
        let close = &self.spans.get(group.close)?.range;
        // `:0.4]`, with blanks round the number.
        let written = self.trimmed(close.start + 1..close.end.checked_sub(1)?)?;
        let parts: Vec<Range<usize>> = self.parts(number).into_iter().map(|part| self.bytes_of(&part)).collect();
        let after = parts.last()?.clone();
        // With one text alone, there is nothing before it.
        let before = parts.first().filter(|_| parts.len() > 1).cloned().unwrap_or(after.start..after.start);
        Some(StepChange { group: number, before, after, number: written, when })
    }

    /// The bytes of spans that follow each other.
    fn bytes_of(&self, spans: &Range<usize>) -> Range<usize> {
        let start = self.spans.get(spans.start).map_or(self.text.len(), |span| span.range.start);
        let end = spans.end.checked_sub(1).filter(|last| *last >= spans.start).and_then(|last| self.spans.get(last));
        start..end.map_or(start, |span| span.range.end)
    }
}

/// A share of the steps after which so many of them are done, else their number.
pub(super) fn written_share(done: u32, steps: u32) -> String {
    share(done, steps).unwrap_or_else(|| done.to_string())
}

/// A share of the steps after which so many of them are done, with as few digits as say it.
fn share(done: u32, steps: u32) -> Option<String> {
    let written = |digits: u32, more: u64| {
        let scale = 10_u64.pow(digits);
        let scaled = (u64::from(done) * scale).div_ceil(u64::from(steps.max(1))) + more;
        let text = format!("{}.{:0width$}", scaled / scale, scaled % scale, width = digits as usize);
        let text = text.trim_end_matches('0');
        if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
    };
    let says_it = |text: &String| when(text).is_some_and(|it| matches!(it, When::Share(_)) && it.steps_before(steps) == done);
    // The product may be rounded to just below a whole number.
    DIGITS.flat_map(|digits| [written(digits, 0), written(digits, 1)]).find(says_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each change: its words before and after, and the number of steps before it, of 20.
    fn changes(text: &str) -> Vec<(&str, &str, u32)> {
        let prompt = Prompt::parse(text);
        prompt.step_changes().into_iter().map(|it| (&text[it.before], &text[it.after], it.when.steps_before(20))).collect()
    }

    fn moved(text: &str, change: usize, done: u32) -> String {
        let prompt = Prompt::parse(text);
        prompt.with_change_after(prompt.step_changes()[change].group, done, 20).unwrap()
    }

    #[test]
    fn changes_are_found_with_their_words() {
        assert_eq!(changes("a [lake:red fox:0.4], (b:1.2)"), [("lake", "red fox", 8)]);
        assert_eq!(changes("[stars:5][fog::12]"), [("", "stars", 5), ("fog", "", 12)]);
        assert_eq!(changes("[a [b:c:0.5]:d:15]"), [("a [b:c:0.5]", "d", 15), ("b", "c", 10)]);
        assert!(changes(r"[a|b] (c:1.2) [d] \[e:f:3\] {g|h}").is_empty());
    }

    #[test]
    fn a_number_alone_becomes_another_in_its_own_form() {
        assert_eq!(moved("a [lake:red fox:0.4], é", 0, 7), "a [lake:red fox:0.35], é");
        assert_eq!(moved("a [lake:red fox:0.4]", 0, 10), "a [lake:red fox:0.5]");
        assert_eq!(moved("[stars: 5 ]", 0, 12), "[stars: 12 ]");
        assert_eq!(moved("[a [b:c:0.5]:d:15]", 1, 0), "[a [b:c:0.0]:d:15]");
        assert_eq!(moved("[a [b:c:0.5]:d:15]", 0, 1), "[a [b:c:0.5]:d:1]");
        assert_eq!(moved("[a:b:0.4]", 0, 20), "[a:b:1.0]");
        assert_eq!(Prompt::parse("(a:1.2)").with_change_after(0, 1, 20), None);
    }

    #[test]
    fn every_step_of_every_number_of_them_has_a_share() {
        for steps in (1..=120).chain([999, 1000]) {
            for done in 0..=steps {
                let text = share(done, steps).unwrap();
                assert_eq!(when(&text).unwrap().steps_before(steps), done, "{text} of {steps}");
            }
        }
    }
}
