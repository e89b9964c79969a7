//! LoRAs and embeddings that stand in a prompt's text, as its field marks them. Pure.

use std::ops::Range;

use atelier_core::recipe::{LoraStrengths, embedding_places};
use atelier_core::words::{Prompt, SpanKind, StepChange, take_loras};

/// Whether what a chip names acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its file is known.
    Found,
    /// Another studio makes the picture, and looks for it.
    OtherStudio,
    /// No file has its name.
    NotFound,
    /// A LoRA in the negative prompt, where none acts.
    Negative,
}

impl Standing {
    /// True where it has no effect.
    #[must_use]
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, Self::NotFound | Self::Negative)
    }
}

/// A name of a file in a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chip {
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// The same in letters, as egui counts them.
    pub(crate) letters: Range<usize>,
    pub(crate) name: String,
    /// Those of a LoRA; an embedding has none.
    pub(crate) strengths: Option<LoraStrengths>,
    /// It acts in the steps after the first number of them, up to the second.
    pub(crate) steps: Range<u32>,
    pub(crate) standing: Standing,
}

/// The chips of a prompt of so many steps, in the order of its text. `embeddings`: words of those at
/// hand; `lora`: what is known of a LoRA of this name.
#[must_use]
pub(crate) fn chips(text: &str, steps: u32, embeddings: &[String], lora: impl Fn(&str) -> Standing) -> Vec<Chip> {
    const PREFIX: &str = "embedding:";
    // It is asked with each key, and few prompts name a file.
    if embeddings.is_empty() && !text.contains('<') && !text.contains(PREFIX) {
        return Vec::new();
    }
    let prompt = Prompt::parse(text);
    let changes = prompt.step_changes();
    let chip = |range: Range<usize>, name: String, strengths, standing| Chip {
        letters: 0..0,
        steps: acting_steps(&changes, &range, steps),
        range,
        name,
        strengths,
        standing,
    };
    let mut chips: Vec<Chip> = Vec::new();
    for span in &prompt.spans {
        let written = prompt.text_of(span);
        match span.kind {
            SpanKind::Lora => {
                let Some(tag) = take_loras(written).1.pop() else { continue };
                let standing = lora(&tag.name);
                chips.push(chip(span.range.clone(), tag.name, Some(tag.strengths), standing));
            }
            SpanKind::Embedding => {
                let name = written.strip_prefix(PREFIX).unwrap_or(written);
                let is_known = embeddings.iter().any(|word| word.eq_ignore_ascii_case(name));
                let standing = if is_known { Standing::Found } else { Standing::NotFound };
                chips.push(chip(span.range.clone(), name.to_owned(), None, standing));
            }
            _ => {}
        }
    }
    let words: Vec<&str> = embeddings.iter().map(String::as_str).collect();
    for (range, index) in embedding_places(text, &words) {
        let is_in_comment = |at| prompt.spans.iter().any(|span| span.kind == SpanKind::Comment && span.range.contains(&at));
        let meets = |other: &Chip| other.range.start < range.end && range.start < other.range.end;
        if is_in_comment(range.start) || chips.iter().any(meets) {
            continue;
        }
        let name = embeddings.get(index).cloned().unwrap_or_default();
        chips.push(chip(range, name, None, Standing::Found));
    }
    chips.sort_by_key(|chip| chip.range.start);
    count_letters(text, &mut chips);
    chips
}

/// Gives sorted chips their places in letters.
fn count_letters(text: &str, chips: &mut [Chip]) {
    let (mut at, mut letters) = (0, 0);
    for chip in chips {
        let count = |range: Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
        let start = letters + count(at..chip.range.start);
        chip.letters = start..start + count(chip.range.clone());
        (at, letters) = (chip.range.end, chip.letters.end);
    }
}

/// The steps in which words at a place are read, where no words take turns.
fn acting_steps(changes: &[StepChange], place: &Range<usize>, steps: u32) -> Range<u32> {
    let holds = |words: &Range<usize>| words.start <= place.start && place.end <= words.end;
    let mut acts = 0..steps;
    for change in changes {
        let at = change.when.steps_before(steps);
        if holds(&change.before) {
            acts.end = acts.end.min(at);
        } else if holds(&change.after) {
            acts.start = acts.start.max(at);
        }
    }
    acts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each chip: its text, its letters, its steps of ten, and how it stands.
    fn found<'a>(text: &'a str, embeddings: &[&str]) -> Vec<(&'a str, Range<usize>, Range<u32>, Standing)> {
        let embeddings: Vec<String> = embeddings.iter().map(|word| (*word).to_owned()).collect();
        let lora = |name: &str| if name == "ink" { Standing::Found } else { Standing::NotFound };
        chips(text, 10, &embeddings, lora).into_iter().map(|it| (&text[it.range], it.letters, it.steps, it.standing)).collect()
    }

    #[test]
    fn loras_stand_with_their_steps_and_whether_they_are_found() {
        use Standing::{Found, NotFound};
        assert_eq!(
            found("é <lora:ink:0.8>, {<lora:pen:1:0.5>|fog}", &[]),
            [("<lora:ink:0.8>", 2..16, 0..10, Found), ("<lora:pen:1:0.5>", 19..35, 0..10, NotFound),]
        );
        assert_eq!(
            found("[<lora:ink:1>::4] [<lora:ink:2>:0.7]", &[]),
            [("<lora:ink:1>", 1..13, 0..4, Found), ("<lora:ink:2>", 19..31, 7..10, Found),]
        );
        assert_eq!(found("[[a <lora:ink:1>:b:0.8]:c:3], /* <lora:ink:1> */", &[]), [("<lora:ink:1>", 4..16, 0..3, Found)]);
        let strengths = chips("<lora:ink:0.5:0.9>", 10, &[], |_| Found)[0].strengths;
        assert_eq!(strengths.map(|it| it.to_string()).as_deref(), Some("0.5:0.9"));
    }

    #[test]
    fn embeddings_stand_by_their_bare_words_too() {
        use Standing::{Found, NotFound};
        assert_eq!(
            found("a fog, embedding:Fog, embedding:rain <lora:fog:1> foggy", &["fog"]),
            [
                ("fog", 2..5, 0..10, Found),
                ("embedding:Fog", 7..20, 0..10, Found),
                ("embedding:rain", 22..36, 0..10, NotFound),
                ("<lora:fog:1>", 37..49, 0..10, NotFound),
            ]
        );
        assert!(found("/* fog */ a lake", &["fog"]).is_empty());
        assert_eq!(found("[fog:mist:0.5]", &["mist"]), [("mist", 5..9, 5..10, Found)]);
    }
}
