//! `<lora:name:strength>` in a prompt: how A1111, sd-cli and others name low-rank adapters.

/// Takes every `<lora:name:strength>` out of a prompt, with one space before it: the rest of it, and names and strengths in their order.
#[must_use]
pub fn take_loras(prompt: &str) -> (String, Vec<(String, f32)>) {
    let mut loras = Vec::new();
    let prompt_left = take_loras_if(prompt, |name, strength| {
        loras.push((name.to_owned(), strength));
        true
    });
    (prompt_left, loras)
}

/// Takes those tags out of a prompt, with one space before them, for which `take` returns true, given name and strength; returns the rest.
#[must_use]
pub fn take_loras_if(prompt: &str, mut take: impl FnMut(&str, f32) -> bool) -> String {
    let mut prompt_left = String::new();
    let mut rest = prompt;
    while let Some(at) = rest.find("<lora:") {
        let (before, tag) = rest.split_at(at);
        let (start, after) = tag.split_at(1);
        let closed = after.find(['<', '>']).and_then(|end| after.get(..end).zip(after.get(end..)?.strip_prefix('>')));
        let inside = closed.and_then(|(inside, after)| {
            let mut parts = inside.split(':').skip(1);
            let name = parts.next().filter(|name| !name.is_empty())?;
            let strength = parts.next().map_or(Some(1.0), |text| text.parse::<f32>().ok().filter(|it| it.is_finite()))?;
            Some((name, strength, after))
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
