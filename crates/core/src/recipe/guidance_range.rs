//! Another guidance in a part of the steps.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Recipe, split_part_of_steps, steps_before};

/// Another classifier-free guidance in a part of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuidanceRange {
    /// The guidance in these steps; 1 switches it off.
    pub guidance: f32,
    /// Part of the steps after which it begins, 0 to 1.
    pub start: f32,
    /// Part of the steps after which it ends, 0 to 1.
    pub end: f32,
}

impl GuidanceRange {
    /// More of them are no recipe.
    pub const MAX: usize = 8;

    /// Steps of so many in which it acts: it begins after the first number of them, and ends after
    /// the second.
    #[must_use]
    pub fn steps(&self, all: u32) -> Range<u32> {
        steps_before(self.start, all)..steps_before(self.end, all)
    }

    /// Reads what [`Display`](fmt::Display) writes; `None` where the text is another, or one of its
    /// numbers is not finite.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (guidance, (start, end)) = split_part_of_steps(text)?;
        let guidance: f32 = guidance.parse().ok()?;
        [guidance, start, end].iter().all(|number| number.is_finite()).then_some(Self { guidance, start, end })
    }
}

impl Default for GuidanceRange {
    fn default() -> Self {
        Self { guidance: 1.0, start: 0.0, end: 1.0 }
    }
}

/// `3@0.2-0.8`, as the command line has it.
impl fmt::Display for GuidanceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}-{}", self.guidance, self.start, self.end)
    }
}

impl Recipe {
    /// The guidance over so many steps: the last step, from 1, of each range of them, and its
    /// guidance. Where ranges overlap, the later in the list counts; neighbours differ.
    #[must_use]
    pub fn guidance_over_steps(&self, steps: u32) -> Vec<(u32, f32)> {
        let ranges: Vec<(Range<u32>, f32)> = self.guidance_ranges.iter().map(|it| (it.steps(steps), it.guidance)).collect();
        let mut ends: Vec<u32> =
            ranges.iter().flat_map(|(range, _)| [range.start, range.end]).filter(|end| (1..steps).contains(end)).collect();
        ends.push(steps);
        ends.sort_unstable();
        ends.dedup();
        let mut over: Vec<(u32, f32)> = Vec::new();
        for until in ends {
            let acts = |(range, _): &&(Range<u32>, f32)| range.start < until && until <= range.end;
            let guidance = ranges.iter().rfind(acts).map_or(self.guidance, |(_, guidance)| *guidance);
            match over.last_mut().filter(|last| last.1 == guidance) {
                Some(last) => last.0 = until,
                None => over.push((until, guidance)),
            }
        }
        over
    }

    /// True where a step of this guidance evaluates the negative prompt too. As `resolve_guidance` of
    /// stable-diffusion.cpp decides it: where it equals the image guidance, 1 where there is none,
    /// nothing is left of that prompt.
    #[must_use]
    pub fn is_guided(&self, guidance: f32) -> bool {
        !guidance.is_nan() && guidance != self.image_guidance.unwrap_or(1.0)
    }

    /// True where ranges or earlier steps may leave some steps unguided and others not.
    #[must_use]
    pub fn mixes_guidance(&self) -> bool {
        let ranges = self.guidance_ranges.iter().map(|range| range.guidance);
        let others = self.earlier_steps.iter().map(|steps| steps.guidance).chain(ranges);
        let own = self.is_guided(self.guidance);
        others.map(|guidance| self.is_guided(guidance)).any(|is_guided| is_guided != own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_it_is_written() {
        for range in [GuidanceRange::default(), GuidanceRange { guidance: -0.5, start: 0.000_000_1, end: 0.6 }] {
            assert_eq!(GuidanceRange::parse(&range.to_string()), Some(range));
        }
        assert_eq!(GuidanceRange::parse("3@0.8-0.2"), Some(GuidanceRange { guidance: 3.0, start: 0.8, end: 0.2 }), "it never acts");
        for none in ["3", "@0.2-0.8", "x@0.2-0.8", "NaN@0-1", "3@0.2-inf", "3@NaN-1", " 3@0-1"] {
            assert_eq!(GuidanceRange::parse(none), None, "{none}");
        }
    }

    fn over(ranges: &[(f32, f32, f32)]) -> Vec<(u32, f32)> {
        let guidance_ranges = ranges.iter().map(|(guidance, start, end)| GuidanceRange { guidance: *guidance, start: *start, end: *end });
        Recipe { guidance: 7.0, guidance_ranges: guidance_ranges.collect(), ..Recipe::default() }.guidance_over_steps(10)
    }

    #[test]
    fn guidance_over_steps_is_in_ranges_that_differ() {
        assert_eq!(over(&[]), [(10, 7.0)]);
        assert_eq!(over(&[(1.0, 0.2, 0.5)]), [(2, 7.0), (5, 1.0), (10, 7.0)]);
        assert_eq!(over(&[(1.0, 0.0, 1.0)]), [(10, 1.0)], "one range");
        assert_eq!(over(&[(7.0, 0.2, 0.5)]), [(10, 7.0)], "the same guidance");
        assert_eq!(over(&[(1.0, 0.0, 0.6), (3.0, 0.4, 1.0)]), [(4, 1.0), (10, 3.0)], "the later one counts");
        assert_eq!(over(&[(1.0, 0.5, 0.2)]), [(10, 7.0)], "it never acts");
    }

    #[test]
    fn a_negative_prompt_counts_where_some_steps_are_guided() {
        let ranged = |guidance, range| {
            let guidance_ranges = vec![GuidanceRange { guidance: range, end: 0.5, ..GuidanceRange::default() }];
            Recipe { guidance, guidance_ranges, ..Recipe::default() }.uses_negative_prompt()
        };
        assert_eq!([ranged(1.0, 3.0), ranged(3.0, 1.0), ranged(1.0, 1.0)], [true, true, false]);
    }

    #[test]
    fn guidance_is_mixed_where_some_steps_may_have_none() {
        let mixed = |guidance, ranges: &[f32]| {
            let guidance_ranges = ranges.iter().map(|guidance| GuidanceRange { guidance: *guidance, ..GuidanceRange::default() });
            Recipe { guidance, guidance_ranges: guidance_ranges.collect(), ..Recipe::default() }.mixes_guidance()
        };
        assert_eq!([mixed(7.0, &[]), mixed(7.0, &[3.0]), mixed(1.0, &[1.0])], [false; 3]);
        assert_eq!([mixed(7.0, &[1.0]), mixed(1.0, &[3.0]), mixed(7.0, &[3.0, 1.0])], [true; 3]);
        let first = Recipe { guidance: 1.0, ..Recipe::default() };
        let branch = Recipe { earlier_steps: first.steps_until(3, None), guidance: 7.0, ..Recipe::default() };
        assert!(branch.mixes_guidance());
    }
}
