//! `<lora:name:strength>` in a prompt: how A1111, sd-cli and others name low-rank adapters;
//! `<lyco:...>` of older extensions means the same.

const TAGS: [&str; 2] = ["<lora:", "<lyco:"];

/// A LoRA that a prompt names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoraTag<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its strength; the model's, where the tag has two.
    pub strength: f32,
    /// Its strength in the text encoder, where that is another one.
    encoder_strength: Option<f32>,
}

impl LoraTag<'_> {
    /// What is not done as the tag says, as a sentence: a LoRA has one strength here.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let Self { name, strength, encoder_strength } = self;
        encoder_strength.map(|other| format!("LoRA {name}: strength {strength} also in the text encoder, instead of {other}."))
    }
}

/// Sentences on what is not done as the tags of a prompt say.
#[must_use]
pub fn lora_tag_notes(prompt: &str) -> Vec<String> {
    let mut notes = Vec::new();
    // Nothing is taken.
    let _ = take_loras_if(prompt, |tag| {
        notes.extend(tag.note());
        false
    });
    notes
}

/// Takes every `<lora:name:strength>` out of a prompt, with one space before it: the rest of it,
/// and names and strengths in their order.
#[must_use]
pub fn take_loras(prompt: &str) -> (String, Vec<(String, f32)>) {
    let mut loras = Vec::new();
    let prompt_left = take_loras_if(prompt, |tag| {
        loras.push((tag.name.to_owned(), tag.strength));
        true
    });
    (prompt_left, loras)
}

/// Takes those tags out of a prompt, with one space before them, for which `take` returns true,
/// returns the rest.
#[must_use]
pub fn take_loras_if(prompt: &str, mut take: impl FnMut(LoraTag<'_>) -> bool) -> String {
    let mut prompt_left = String::new();
    let mut rest = prompt;
    while let Some(at) = next_tag(rest) {
        let (before, tag) = rest.split_at(at);
        let (start, after) = tag.split_at(1);
        let closed = after.find(['<', '>']).and_then(|end| after.get(..end).zip(after.get(end..)?.strip_prefix('>')));
        let inside = closed.and_then(|(inside, after)| {
            let mut parts = inside.split(':').skip(1);
            let name = parts.next().filter(|name| !name.is_empty())?;
            let (strength, encoder) = strengths(parts)?;
            Some((LoraTag { name, strength, encoder_strength: encoder.filter(|it| *it != strength) }, after))
        });
        match inside {
            Some((tag, after)) if take(tag) => {
                prompt_left.push_str(before.strip_suffix(' ').unwrap_or(before));
                rest = after;
            }
            _ => {
                prompt_left.push_str(before);
                prompt_left.push_str(start);
                rest = after;
            }
        }
    }
    prompt_left.push_str(rest);
    prompt_left
}

/// Where the next tag begins. Every tag begins with one sign that is rare in words.
fn next_tag(text: &str) -> Option<usize> {
    text.match_indices('<').map(|(at, _)| at).find(|at| text.get(*at..).is_some_and(|tag| TAGS.iter().any(|it| tag.starts_with(it))))
}

/// The strengths after a name, of the model and of the text encoder: `0.5` is that of both,
/// `0.5:0.9` and `te=0.5:unet=0.9` have the text encoder's first. `None` where one is no number.
fn strengths<'a>(parts: impl Iterator<Item = &'a str>) -> Option<(f32, Option<f32>)> {
    let number = |text: &str| text.parse::<f32>().ok().filter(|it| it.is_finite());
    let (mut by_place, mut by_name, mut encoder) = (Vec::new(), None, None);
    for part in parts {
        match part.split_once('=') {
            Some(("unet", value)) => by_name = Some(number(value)?),
            Some(("te", value)) => encoder = Some(number(value)?),
            // Weights of single blocks.
            Some(_) => {}
            None => by_place.push(part),
        }
    }
    let model = by_place.get(1).and_then(|text| number(text));
    let first = by_place.first().map(|text| number(text).ok_or(())).transpose();
    let encoder = encoder.or(first.ok().flatten());
    match (by_name.or(model).or(encoder), first) {
        (Some(strength), _) => Some((strength, encoder)),
        (None, Err(())) => None,
        (None, Ok(_)) => Some((1.0, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_taken_out_with_the_space_before_them() {
        let (prompt, loras) = take_loras("a lake <lora:ink:0.5>, still <lora:|x|y><lora:z:-1>");
        assert_eq!(prompt, "a lake, still");
        assert_eq!(loras, [("ink".to_owned(), 0.5), ("|x|y".to_owned(), 1.0), ("z".to_owned(), -1.0)]);
    }

    #[test]
    fn the_strength_of_the_model_counts_and_older_tags_are_the_same() {
        let (prompt, loras) =
            take_loras("a <lora:a:0.5:0.9> <lora:b:te=0.4:unet=0.8> <lyco:c:0.3> <lora:d:0.6:lbw=OUTALL> <lora:e:0.7:OUTD>");
        assert_eq!(prompt, "a");
        let expected = [("a", 0.9), ("b", 0.8), ("c", 0.3), ("d", 0.6), ("e", 0.7)];
        assert_eq!(loras, expected.map(|(name, strength)| (name.to_owned(), strength)));
    }

    #[test]
    fn a_strength_of_its_own_in_the_text_encoder_is_told() {
        let notes =
            lora_tag_notes("a <lora:a:0.5:0.9> <lora:b:unet=0.8:te=0> <lora:c:0.3> <lora:d:0.6:0.6> <lora:e:te=0.7> <lora:f:0.4:OUTD>");
        let expected = [
            "LoRA a: strength 0.9 also in the text encoder, instead of 0.5.",
            "LoRA b: strength 0.8 also in the text encoder, instead of 0.",
        ];
        assert_eq!(notes, expected);
    }

    #[test]
    fn tags_that_are_not_wanted_stay() {
        let left = take_loras_if("a <lora:ink:0.5> lake <lora:oil>", |tag| tag.name == "oil");
        assert_eq!(left, "a <lora:ink:0.5> lake");
    }

    #[test]
    fn a_tag_that_is_no_lora_stays_in_the_prompt() {
        for prompt in ["<lora:>", "<lora:x:high>", "<lora:x", "a < b"] {
            assert_eq!(take_loras(prompt), (prompt.to_owned(), Vec::new()));
        }
    }
}
