//! The text of a tag that names a LoRA.

use crate::recipe::LoraStrengths;

const TAGS: [&str; 2] = ["<lora:", "<lyco:"];

/// The name and the strengths of the tag that a text begins with, and its bytes. A name with
/// brackets is a choice between names.
pub(super) fn lora_at(text: &str) -> Option<(&str, LoraStrengths, usize)> {
    let after = TAGS.iter().find_map(|tag| text.strip_prefix(tag))?;
    let end = after.find(['<', '>', '{', '}']).filter(|end| after.get(*end..).is_some_and(|it| it.starts_with('>')))?;
    let mut parts = after.get(..end)?.split(':');
    let name = parts.next().filter(|name| !name.is_empty())?;
    Some((name, strengths(parts)?, text.len() - after.len() + end + 1))
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
