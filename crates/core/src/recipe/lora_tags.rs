//! `<lora:name:strength>` in a prompt: how A1111, sd-cli and others name low-rank adapters;
//! `<lyco:...>` of older extensions means the same.

const TAGS: [&str; 2] = ["<lora:", "<lyco:"];

/// Takes every `<lora:name:strength>` out of a prompt, with one space before it: the rest of it,
/// and names and strengths in their order.
#[must_use]
pub fn take_loras(prompt: &str) -> (String, Vec<(String, f32)>) {
    let mut loras = Vec::new();
    let prompt_left = take_loras_if(prompt, |name, strength| {
        loras.push((name.to_owned(), strength));
        true
    });
    (prompt_left, loras)
}

/// Takes those tags out of a prompt, with one space before them, for which `take` returns true,
/// given name and strength; returns the rest.
#[must_use]
pub fn take_loras_if(prompt: &str, mut take: impl FnMut(&str, f32) -> bool) -> String {
    let mut prompt_left = String::new();
    let mut rest = prompt;
    while let Some(at) = next_tag(rest) {
        let (before, tag) = rest.split_at(at);
        let (start, after) = tag.split_at(1);
        let closed = after.find(['<', '>']).and_then(|end| after.get(..end).zip(after.get(end..)?.strip_prefix('>')));
        let inside = closed.and_then(|(inside, after)| {
            let mut parts = inside.split(':').skip(1);
            let name = parts.next().filter(|name| !name.is_empty())?;
            Some((name, strength(parts)?, after))
        });
        match inside {
            Some((name, strength, after)) if take(name, strength) => {
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

/// The strength after a name: `0.5`, of text encoder and model `0.5:0.9`, or by name
/// `te=0.5:unet=0.9`. The model's counts; `None` where it is no number.
fn strength<'a>(parts: impl Iterator<Item = &'a str>) -> Option<f32> {
    let number = |text: &str| text.parse::<f32>().ok().filter(|it| it.is_finite());
    let (mut by_place, mut by_name) = (Vec::new(), None);
    for part in parts {
        match part.split_once('=') {
            Some(("unet", value)) => by_name = Some(number(value)?),
            Some(("te", value)) => by_name = by_name.or(Some(number(value)?)),
            // Weights of single blocks.
            Some(_) => {}
            None => by_place.push(part),
        }
    }
    let model = by_place.get(1).and_then(|text| number(text));
    match (by_name.or(model), by_place.first()) {
        (Some(strength), _) => Some(strength),
        (None, Some(text)) => number(text),
        (None, None) => Some(1.0),
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
    fn tags_that_are_not_wanted_stay() {
        let left = take_loras_if("a <lora:ink:0.5> lake <lora:oil>", |name, _| name == "oil");
        assert_eq!(left, "a <lora:ink:0.5> lake");
    }

    #[test]
    fn a_tag_that_is_no_lora_stays_in_the_prompt() {
        for prompt in ["<lora:>", "<lora:x:high>", "<lora:x", "a < b"] {
            assert_eq!(take_loras(prompt), (prompt.to_owned(), Vec::new()));
        }
    }
}
