//! `<lora:name:strength>` in a prompt: how A1111, sd-cli and others name low-rank adapters;
//! `<lyco:...>` of older extensions means the same.

use super::span::{Prompt, SpanKind};
use crate::recipe::LoraStrengths;

const TAGS: [&str; 2] = ["<lora:", "<lyco:"];

/// A LoRA that a prompt names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoraTag<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its strengths.
    pub strengths: LoraStrengths,
}

/// Takes every `<lora:name:strength>` out of a prompt, with one space before it: the rest of it,
/// and names and strengths in their order.
#[must_use]
pub fn take_loras(prompt: &str) -> (String, Vec<(String, LoraStrengths)>) {
    let mut loras = Vec::new();
    let prompt_left = take_loras_if(prompt, |tag| {
        loras.push((tag.name.to_owned(), tag.strengths));
        true
    });
    (prompt_left, loras)
}

/// Takes those tags out of a prompt, with one space before them, for which `take` returns true,
/// returns the rest.
#[must_use]
pub fn take_loras_if(prompt: &str, mut take: impl FnMut(LoraTag<'_>) -> bool) -> String {
    let parsed = Prompt::parse(prompt);
    let mut prompt_left = String::new();
    let mut depth = 0_u32;
    for span in &parsed.spans {
        let text = parsed.text_of(span);
        match span.kind {
            SpanKind::Open(group) if parsed.is_choice(group) => depth += 1,
            SpanKind::Close(group) if parsed.is_choice(group) => depth = depth.saturating_sub(1),
            // Of an option it is not known yet whether it is chosen.
            SpanKind::Lora if depth == 0 && lora_at(text).is_some_and(|(tag, _)| take(tag)) => {
                prompt_left.truncate(prompt_left.strip_suffix(' ').unwrap_or(&prompt_left).len());
                continue;
            }
            _ => {}
        }
        prompt_left.push_str(text);
    }
    prompt_left
}

/// The tag that a text begins with, and its bytes. A name with brackets is a choice between names.
pub(super) fn lora_at(text: &str) -> Option<(LoraTag<'_>, usize)> {
    let after = TAGS.iter().find_map(|tag| text.strip_prefix(tag))?;
    let end = after.find(['<', '>', '{', '}']).filter(|end| after.get(*end..).is_some_and(|it| it.starts_with('>')))?;
    let mut parts = after.get(..end)?.split(':');
    let name = parts.next().filter(|name| !name.is_empty())?;
    Some((LoraTag { name, strengths: strengths(parts)? }, text.len() - after.len() + end + 1))
}

/// The strengths after a name: `0.5` is that of all modules, `0.5:0.9` and `te=0.5:unet=0.9` have
/// the text encoder's first. `None` where one is no number.
fn strengths<'a>(parts: impl Iterator<Item = &'a str>) -> Option<LoraStrengths> {
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
        (Some(strength), _) => Some(LoraStrengths::new(strength, encoder.unwrap_or(strength))),
        (None, Err(())) => None,
        (None, Ok(_)) => Some(LoraStrengths::same(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_taken_out_with_the_space_before_them() {
        let (prompt, loras) = take_loras("a lake <lora:ink:0.5>, still <lora:|x|y><lora:z:-1>");
        assert_eq!(prompt, "a lake, still");
        assert_eq!(
            loras,
            [("ink", 0.5), ("|x|y", 1.0), ("z", -1.0)].map(|(name, strength)| (name.to_owned(), LoraStrengths::same(strength)))
        );
    }

    #[test]
    fn text_encoders_may_have_a_strength_of_their_own_and_older_tags_are_the_same() {
        let prompt = "a <lora:a:0.5:0.9> <lora:b:unet=0.8:te=0> <lyco:c:0.3> <lora:d:0.6:lbw=OUTALL> <lora:e:te=0.7> <lora:f:0.4:OUTD>";
        let (prompt, loras) = take_loras(&format!("{prompt}<lora:g:0.6:0.6>"));
        assert_eq!(prompt, "a");
        let written = loras.iter().map(|(name, strengths)| format!("{name}:{strengths}")).collect::<Vec<_>>();
        assert_eq!(written, ["a:0.5:0.9", "b:0:0.8", "c:0.3", "d:0.6", "e:0.7", "f:0.4", "g:0.6"]);
        assert_eq!(loras[1].1, LoraStrengths { strength: 0.8, encoder: Some(0.0) });
    }

    #[test]
    fn strengths_add_up_module_by_module() {
        let sum = |(a, b), (c, d)| LoraStrengths::new(a, b) + LoraStrengths::new(c, d);
        assert_eq!(sum((1.0, 0.5), (0.5, 1.0)), LoraStrengths::same(1.5));
        assert_eq!(sum((1.0, 1.0), (0.5, 0.0)), LoraStrengths { strength: 1.5, encoder: Some(1.0) });
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
