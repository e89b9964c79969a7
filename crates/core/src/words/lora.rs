//! `<lora:name:strength>` in a prompt: how A1111, sd-cli and others name low-rank adapters;
//! `<lyco:...>` of older extensions means the same.

use std::fmt::Display;
use std::ops::Range;
use std::path::PathBuf;

use super::lora_text::lora_at;
use super::span::{GroupKind, Prompt, Span, SpanKind, When};
use super::step_change::written_share;
use crate::recipe::{Lora, LoraStrengths, steps_before};

/// A LoRA that a prompt names.
#[derive(Clone, Debug, PartialEq)]
pub struct LoraTag {
    /// Its name.
    pub name: String,
    /// Its strengths.
    pub strengths: LoraStrengths,
    /// When it acts.
    pub steps: TagSteps,
}

impl LoraTag {
    /// The LoRA of this file in a picture of so many steps.
    #[must_use]
    pub fn lora(&self, path: PathBuf, steps: u32) -> Lora {
        let (start, end) = self.steps.part_of(steps);
        Lora { start, end, ..Lora::with_strengths(path, self.strengths) }
    }
}

/// The steps in which the brackets around a tag let it act: `[<lora:x:1>:5]` those after 5,
/// `[<lora:x:1>::0.4]` the first 0.4 of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagSteps {
    /// A part of the steps and a number of them after which it acts: the later one counts.
    after: (f32, u32),
    /// The same until which it acts: the earlier one counts.
    until: (f32, u32),
}

impl TagSteps {
    const ALL: Self = Self { after: (0.0, 0), until: (1.0, u32::MAX) };

    fn after(mut self, when: When) -> Self {
        match when {
            When::Share(share) => self.after.0 = self.after.0.max(share),
            When::Step(step) => self.after.1 = self.after.1.max(step),
        }
        self
    }

    fn until(mut self, when: When) -> Self {
        match when {
            When::Share(share) => self.until.0 = self.until.0.min(share),
            When::Step(step) => self.until.1 = self.until.1.min(step),
        }
        self
    }

    /// The parts of the steps, 0 to 1, after which it begins and ends, so that it acts in the steps
    /// in which words in its place are read.
    fn part_of(self, steps: u32) -> (f32, f32) {
        let done = |(share, step): (f32, u32)| [When::Share(share), When::Step(step)].map(|when| when.steps_before(steps));
        let [first, second] = done(self.after);
        let start = part(self.after.0, first.max(second), steps);
        let [first, second] = done(self.until);
        (start, part(self.until.0, first.min(second), steps))
    }
}

/// A part of the steps, 0 to 1, after which so many of them are done: the written one where it says
/// so, since it holds for other numbers of steps too.
fn part(written: f32, done: u32, steps: u32) -> f32 {
    if steps_before(written, steps) == done { written } else { done as f32 / steps.max(1) as f32 }
}

impl Lora {
    /// Its tag in a prompt, within brackets that say when it acts in a picture of so many steps.
    #[must_use]
    pub fn tag(&self, name: impl Display, steps: u32) -> String {
        let acts = self.steps(steps);
        let mut tag = format!("<lora:{name}:{}>", self.strengths());
        if acts.end < steps {
            tag = format!("[{tag}::{}]", written_share(acts.end, steps));
        }
        if acts.start > 0 {
            tag = format!("[{tag}:{}]", written_share(acts.start, steps));
        }
        tag
    }
}

/// Takes every `<lora:name:strength>` out of a prompt, with one space before it: the rest of it, and
/// the tags in their order. Brackets that said when one acts, and hold nothing else, go with it;
/// tags within choices and those that take turns stay.
#[must_use]
pub fn take_loras(prompt: &str) -> (String, Vec<LoraTag>) {
    collect_loras(prompt, Comments::Skipped)
}

/// As [`take_loras`], also out of what would be comments of a template ([`Prompt::parse_chosen`]): for
/// words in which all is chosen, and those of programs that know no comments.
#[must_use]
pub fn take_loras_with_comments(prompt: &str) -> (String, Vec<LoraTag>) {
    collect_loras(prompt, Comments::Read)
}

fn collect_loras(prompt: &str, comments: Comments) -> (String, Vec<LoraTag>) {
    let mut loras = Vec::new();
    let take = |tag| {
        loras.push(tag);
        true
    };
    (take_out(prompt, comments, take), loras)
}

/// Takes those tags out of a prompt, as [`take_loras`] does, for which `take` returns true, returns
/// the rest.
#[must_use]
pub fn take_loras_if(prompt: &str, take: impl FnMut(LoraTag) -> bool) -> String {
    take_out(prompt, Comments::Skipped, take)
}

/// As [`take_loras_if`], also out of what would be comments of a template.
#[must_use]
pub fn take_loras_with_comments_if(prompt: &str, take: impl FnMut(LoraTag) -> bool) -> String {
    take_out(prompt, Comments::Read, take)
}

fn take_out(prompt: &str, comments: Comments, take: impl FnMut(LoraTag) -> bool) -> String {
    let parsed = match comments {
        Comments::Skipped => Prompt::parse(prompt),
        Comments::Read => Prompt::parse_chosen(prompt),
    };
    let mut taker = Taker { prompt: &parsed, take, left: String::new() };
    taker.walk(0..parsed.spans.len(), TagSteps::ALL);
    taker.left
}

/// What becomes of tags in comments.
#[derive(Clone, Copy)]
enum Comments {
    Skipped,
    Read,
}

/// Goes through a prompt and takes tags out.
struct Taker<'a, F> {
    prompt: &'a Prompt<'a>,
    take: F,
    /// What is left so far.
    left: String,
}

impl<F: FnMut(LoraTag) -> bool> Taker<'_, F> {
    /// Goes through spans that act in these steps; true where a tag was taken.
    fn walk(&mut self, spans: Range<usize>, steps: TagSteps) -> bool {
        let prompt = self.prompt;
        let mut has_taken = false;
        let mut index = spans.start;
        while let Some(span) = prompt.spans.get(index).filter(|_| index < spans.end) {
            let group = match span.kind {
                SpanKind::Open(number) => prompt.groups.get(number).map(|group| (number, &group.kind, group.close)),
                _ => None,
            };
            index = match group {
                Some((number, GroupKind::Schedule(when), close)) => {
                    has_taken |= self.schedule(number, *when, steps);
                    close + 1
                }
                // Of an option it is not known yet whether it is chosen, and taking turns is no range.
                Some((_, GroupKind::Choice { .. } | GroupKind::Alternation, close)) => {
                    self.copy(index..close + 1);
                    close + 1
                }
                _ if span.kind == SpanKind::Lora && self.takes(span, steps) => {
                    has_taken = true;
                    self.drop_blank(span.range.end);
                    index + 1
                }
                _ => {
                    self.copy(index..index + 1);
                    index + 1
                }
            };
        }
        has_taken
    }

    /// Goes through a schedule; true where a tag was taken.
    fn schedule(&mut self, number: usize, when: When, steps: TagSteps) -> bool {
        let prompt = self.prompt;
        let Some(group) = prompt.groups.get(number) else { return false };
        let start = self.left.len();
        let (mut has_taken, mut has_words) = (false, false);
        let mut copied = group.open;
        let parts = prompt.parts(number);
        for (place, part) in parts.iter().enumerate() {
            self.copy(copied..part.start);
            let before = self.left.len();
            // One part alone comes.
            let within = if place + 1 == parts.len() { steps.after(when) } else { steps.until(when) };
            has_taken |= self.walk(part.clone(), within);
            has_words |= self.left.get(before..).is_some_and(|words| !words.trim().is_empty());
            copied = part.end;
        }
        self.copy(copied..group.close + 1);
        if has_taken && !has_words {
            self.left.truncate(start);
            self.drop_blank(prompt.spans.get(group.close).map_or(0, |close| close.range.end));
        }
        has_taken
    }

    /// True where the tag of this span is taken.
    fn takes(&mut self, span: &Span, steps: TagSteps) -> bool {
        let Some((name, strengths, _)) = lora_at(self.prompt.text_of(span)) else { return false };
        (self.take)(LoraTag { name: name.to_owned(), strengths, steps })
    }

    fn copy(&mut self, spans: Range<usize>) {
        for span in self.prompt.spans.get(spans).unwrap_or_default() {
            self.left.push_str(self.prompt.text_of(span));
        }
    }

    /// Removes one space at the end of what is left, where what follows at this place needs none.
    fn drop_blank(&mut self, end: usize) {
        if !needs_space(self.prompt.text.get(end..).unwrap_or_default()) {
            self.left.truncate(self.left.strip_suffix(' ').unwrap_or(&self.left).len());
        }
    }
}

/// True of a text that would grow together with words before it: with a tag between them, the space
/// before the tag stays.
#[must_use]
pub fn needs_space(text: &str) -> bool {
    text.chars().next().is_some_and(|first| !(first.is_whitespace() || ",.;:!?)]}|".contains(first)))
}

#[cfg(test)]
mod tests {
    use proptest::strategy::Strategy;

    use super::*;

    #[test]
    fn tags_are_taken_out_with_the_space_before_them() {
        let (prompt, loras) = take_loras("a lake <lora:ink:0.5>, still <lora:|x|y><lora:z:-1>");
        assert_eq!(prompt, "a lake, still");
        let found: Vec<(&str, LoraStrengths)> = loras.iter().map(|tag| (tag.name.as_str(), tag.strengths)).collect();
        assert_eq!(found, [("ink", 0.5), ("|x|y", 1.0), ("z", -1.0)].map(|(name, strength)| (name, LoraStrengths::same(strength))));
    }

    #[test]
    fn words_do_not_grow_together_where_a_tag_parted_them() {
        for (prompt, left) in [
            ("a red <lora:x:1>barn", "a red barn"),
            ("a red <lora:x:1><lora:y:1>(barn:1.2)", "a red (barn:1.2)"),
            ("a red <lora:x:1>[<lora:y:1>::5]barn <lora:z:1>, fog", "a red barn, fog"),
            ("a dog <lora:x:1>AND a lake", "a dog AND a lake"),
            ("a lake <lora:x:1>\nfog <lora:y:1>[<lora:z:1>:3].", "a lake\nfog."),
        ] {
            assert_eq!(take_loras(prompt).0, left, "{prompt}");
        }
        assert_eq!(take_loras_with_comments("a lake # red <lora:x:1>fog").0, "a lake # red fog");
    }

    #[test]
    fn text_encoders_may_have_a_strength_of_their_own_and_older_tags_are_the_same() {
        let prompt = "a <lora:a:0.5:0.9> <lora:b:unet=0.8:te=0> <lyco:c:0.3> <lora:d:0.6:lbw=OUTALL> <lora:e:te=0.7> <lora:f:0.4:OUTD>";
        let (prompt, loras) = take_loras(&format!("{prompt}<lora:g:0.6:0.6>"));
        assert_eq!(prompt, "a");
        let written = loras.iter().map(|tag| format!("{}:{}", tag.name, tag.strengths)).collect::<Vec<_>>();
        assert_eq!(written, ["a:0.5:0.9", "b:0:0.8", "c:0.3", "d:0.6", "e:0.7", "f:0.4", "g:0.6"]);
        assert_eq!(loras[1].strengths, LoraStrengths { strength: 0.8, encoder: Some(0.0) });
    }

    #[test]
    fn strengths_add_up_module_by_module() {
        let sum = |(a, b), (c, d)| LoraStrengths::new(a, b) + LoraStrengths::new(c, d);
        assert_eq!(sum((1.0, 0.5), (0.5, 1.0)), LoraStrengths::same(1.5));
        assert_eq!(sum((1.0, 1.0), (0.5, 0.0)), LoraStrengths { strength: 1.5, encoder: Some(1.0) });
    }

    #[test]
    fn comments_keep_their_tags_unless_they_are_words() {
        let prompt = "a lake # ink <lora:ink:0.5> é\n// <lora:oil:1>, /* <lora:\n:1> */ still <lora:z:1>";
        assert_eq!(take_loras(prompt).0, prompt.strip_suffix(" <lora:z:1>").unwrap());
        let (left, tags) = take_loras_with_comments(prompt);
        assert_eq!(left, "a lake # ink é\n//, /* */ still");
        assert_eq!(tags.iter().map(|tag| tag.name.as_str()).collect::<Vec<_>>(), ["ink", "oil", "\n", "z"], "no line ends within a tag");
        let (left, tags) = take_loras_with_comments("// [<lora:ink:1>::5] lake /* [a <lora:oil:1>:b:0.5] */");
        assert_eq!(left, "// lake /* [a:b:0.5] */");
        let acts = tags.iter().map(|tag| tag.lora("x".into(), 20).steps(20));
        assert_eq!(acts.collect::<Vec<_>>(), [0..5, 0..10], "brackets are read as they are elsewhere");
    }

    #[test]
    fn tags_that_are_not_wanted_stay() {
        let left = take_loras_if("a <lora:ink:0.5> lake <lora:oil>", |tag| tag.name == "oil");
        assert_eq!(left, "a <lora:ink:0.5> lake");
    }

    /// What is left of a prompt, and the names of its LoRAs with the parts of 20 steps in which they
    /// act.
    fn ranges(prompt: &str) -> (String, Vec<(String, u32, u32)>) {
        let (left, tags) = take_loras(prompt);
        let ranges = tags.iter().map(|tag| {
            let acts = tag.lora("x".into(), 20).steps(20);
            (tag.name.clone(), acts.start, acts.end)
        });
        (left, ranges.collect())
    }

    #[test]
    fn brackets_of_steps_say_when_a_lora_acts() {
        /// A tag's name, its first step, and the one behind its last.
        type Range = (&'static str, u32, u32);
        let cases: [(&str, &str, &[Range]); 11] = [
            ("a lake [<lora:x:1>::5], still", "a lake, still", &[("x", 0, 5)]),
            ("a lake [<lora:x:1>:5]", "a lake", &[("x", 5, 20)]),
            ("a lake [<lora:x:1>:0.4]", "a lake", &[("x", 8, 20)]),
            ("[<lora:x:1>:<lora:y:0.5>: 5 ]", "", &[("x", 0, 5), ("y", 5, 20)]),
            ("a [[<lora:x:1>::0.75]:5]", "a", &[("x", 5, 15)]),
            ("a [[<lora:x:1>::5]:0.75]", "a", &[("x", 15, 5)]),
            ("a [[<lora:x:1>:3]:0.75]", "a", &[("x", 15, 20)]),
            ("[a lake <lora:x:1>:a sea:5]", "[a lake:a sea:5]", &[("x", 0, 5)]),
            ("[<lora:x:1>:0.36]", "", &[("x", 7, 20)]),
            ("[<lora:x:1>::100]", "", &[("x", 0, 20)]),
            ("a [lake <lora:x:1>] [b::5]", "a [lake] [b::5]", &[("x", 0, 20)]),
        ];
        for (prompt, left, expected) in cases {
            let expected: Vec<(String, u32, u32)> = expected.iter().map(|(name, start, end)| ((*name).to_owned(), *start, *end)).collect();
            assert_eq!(ranges(prompt), (left.to_owned(), expected), "{prompt}");
        }
    }

    #[test]
    fn a_share_of_the_steps_stays_the_same_share() {
        let lora = |prompt: &str| take_loras(prompt).1[0].lora("x".into(), 20);
        assert_eq!((lora("[<lora:x:1>:0.4]").start, lora("[<lora:x:1>::0.4]").end), (0.4, 0.4));
        assert_eq!((lora("[<lora:x:1>:5]").start, lora("[<lora:x:1>:5]").end), (0.25, 1.0));
        assert!(!lora("<lora:x:1>").has_range());
    }

    #[test]
    fn tags_that_take_turns_or_may_be_chosen_stay() {
        for prompt in ["a [<lora:a:1>|<lora:b:1>]", "{<lora:a:1>|[<lora:b:1>::5]}", "[[<lora:a:1>|b]::5]"] {
            assert_eq!(take_loras(prompt), (prompt.to_owned(), Vec::new()));
        }
        let left = take_loras_if("[<lora:a:1>:<lora:b:1>:5]", |tag| tag.name == "a");
        assert_eq!(left, "[:<lora:b:1>:5]");
    }

    proptest::proptest! {
        #[test]
        fn a_tag_says_when_its_lora_acts(steps in 1_u32..80, start in 0_u32..80, end in 0_u32..80, strength in -2.0_f32..2.0) {
            let part = |done: u32| done.min(steps) as f32 / steps as f32;
            let lora = Lora { start: part(start), end: part(end), ..Lora::new("x".into(), strength) };
            let tag = lora.tag("x", steps);
            let (left, tags) = take_loras(&tag);
            proptest::prop_assert!(left.is_empty() && tags.len() == 1, "{}", tag);
            let again = tags[0].lora("x".into(), steps);
            proptest::prop_assert_eq!(again.steps(steps), lora.steps(steps), "{}", &tag);
            proptest::prop_assert_eq!((again.strengths(), again.tag("x", steps)), (lora.strengths(), tag));
        }

        #[test]
        fn a_lora_acts_in_the_steps_in_which_its_tag_is_read(text in schedules(), steps in 1_u32..30) {
            let (left, tags) = take_loras(&text);
            let prompt = Prompt::parse(&text);
            for step in 1..=steps {
                let acts = tags.iter().filter(|tag| tag.lora("x".into(), steps).steps(steps).contains(&(step - 1)));
                let read = take_loras(&prompt.at_step(step, steps)).1;
                let names = |tag: &LoraTag| tag.name.clone();
                proptest::prop_assert_eq!(acts.map(names).collect::<Vec<_>>(), read.iter().map(names).collect::<Vec<_>>(), "step {}", step);
                let words = |text: &str| text.replace(' ', "");
                let read = take_loras(&prompt.at_step(step, steps)).0;
                proptest::prop_assert_eq!(words(&Prompt::parse(&left).at_step(step, steps)), words(&read));
            }
        }
    }

    /// Schedules within schedules, of words and tags.
    fn schedules() -> impl Strategy<Value = String> {
        let leaf = proptest::sample::select(vec!["a", " b ", "", "<lora:x:1>", " <lora:y:0.5>"]).prop_map(str::to_owned);
        leaf.prop_recursive(4, 24, 3, |inner| {
            let when = proptest::sample::select(vec!["0", "1", "5", "12", "0.0", "0.25", "0.5", ".9", "1.0"]);
            (proptest::collection::vec(inner, 3), when, 0_usize..4).prop_map(|(parts, when, form)| match form {
                0 => format!("[{}:{when}]", parts[0]),
                1 => format!("[{}::{when}]", parts[0]),
                2 => format!("[{}:{}:{when}]", parts[0], parts[1]),
                _ => format!("{} {}, {}", parts[0], parts[1], parts[2]),
            })
        })
    }

    #[test]
    fn a_tag_that_is_no_lora_stays_in_the_prompt() {
        for prompt in ["<lora:>", "<lora:x:high>", "<lora:x", "a < b"] {
            assert_eq!(take_loras(prompt), (prompt.to_owned(), Vec::new()));
        }
    }
}
