//! The text of what acts in a part of the steps: `3@0.2-0.8`, `ink.safetensors:0.5@0.2-0.8`.

/// What stands before the last `@` of a text, and the start and end behind it; `None` where no two
/// numbers stand there. They may be any numbers: what is typed and what is read from a file have
/// limits of their own.
#[must_use]
pub fn split_part_of_steps(text: &str) -> Option<(&str, (f32, f32))> {
    let (rest, part) = text.rsplit_once('@')?;
    let (start, end) = part.split_once('-')?;
    Some((rest, (start.parse().ok()?, end.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_steps_stands_behind_the_last_at_sign() {
        assert_eq!(split_part_of_steps("3.5@0.2-0.8"), Some(("3.5", (0.2, 0.8))));
        assert_eq!(split_part_of_steps("a@b/ink:0.5@0-1"), Some(("a@b/ink:0.5", (0.0, 1.0))));
        assert_eq!(split_part_of_steps("@0.8-0.2"), Some(("", (0.8, 0.2))));
        for none in ["", "ink", "ink@", "ink@0.5", "ink@x-y", "ink@1-", "ink@-1-1", "ink@0.2-0.8.safetensors", "ink@0.2 - 0.8"] {
            assert_eq!(split_part_of_steps(none), None, "{none}");
        }
    }
}
