//! A part of the steps, and the text of what acts in it: `3@0.2-0.8`, `ink.safetensors:0.5@0.2-0.8`.

/// What stands before the last `@` of a text, and the start and end behind it; `None` where no two
/// numbers stand there. They may be any numbers: what is typed and what is read from a file have
/// limits of their own.
#[must_use]
pub fn split_part_of_steps(text: &str) -> Option<(&str, (f32, f32))> {
    let (rest, part) = text.rsplit_once('@')?;
    let (start, end) = part.split_once('-')?;
    Some((rest, (start.parse().ok()?, end.parse().ok()?)))
}

/// True where a step, from 1, of so many begins after this part of them, 0 to 1.
pub(super) fn begins_after(step: u32, all: u32, part: f32) -> bool {
    step.saturating_sub(1) as f32 / all as f32 >= part
}

/// Steps of so many that begin before this part of them, 0 to 1: what begins after that part has
/// the steps after these.
#[must_use]
pub fn steps_before(part: f32, all: u32) -> u32 {
    // Halved, since the number of steps may come from a text.
    let (mut low, mut high) = (0, all);
    while low < high {
        let middle = low + (high - low) / 2;
        if begins_after(middle + 1, all, part) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
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

    #[test]
    fn a_part_of_the_steps_ends_between_two_of_them() {
        for all in 1..=60 {
            for before in 0..=all {
                let part = before as f32 / all as f32;
                assert_eq!(steps_before(part, all), before, "{before} of {all}");
                let later: Vec<u32> = (1..=all).filter(|step| begins_after(*step, all, part)).collect();
                assert_eq!(later, (before + 1..=all).collect::<Vec<_>>());
            }
        }
        assert_eq!([steps_before(0.31, 10), steps_before(0.3, 10), steps_before(2.0, 10), steps_before(-1.0, 10)], [4, 3, 10, 0]);
    }
}
