//! In which steps of a picture a part of the work is done.

use serde::{Deserialize, Serialize};

use super::{ControlImage, Recipe};

/// The steps in which a part of the work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepShare {
    /// All of them.
    #[default]
    All,
    /// Those in which the `ControlNet` acts.
    Control,
    /// Those of the skip-layer guidance.
    SkipLayers,
}

impl Recipe {
    /// Steps of a pass of the picture, from 0, that the engine runs with this part of the work.
    #[must_use]
    pub fn steps_with(&self, share: StepShare, pass: u32) -> u32 {
        let (all, until) = (self.steps_in_pass(pass), self.steps_until_end_of_pass(pass));
        let count = |is_in: &dyn Fn(u32) -> bool| u32::try_from((1..=until).filter(|step| is_in(*step)).count()).unwrap_or(until);
        match share {
            StepShare::All => until,
            StepShare::Control => count(&|step| self.has_control_in(step, all, pass)),
            StepShare::SkipLayers => self.skip_layers.as_ref().map_or(0, |skip| {
                let range = skip.steps(all);
                count(&|step| step > range.start && step <= range.end)
            }),
        }
    }

    /// True where the `ControlNet` acts in a step, from 1, of so many (`atelier_has_control` of the
    /// shim).
    fn has_control_in(&self, step: u32, all: u32, pass: u32) -> bool {
        let Some(ControlImage { start, end, .. }) = &self.control else { return false };
        // The first pass has the steps of a branch.
        let earlier = self.earlier_steps.iter().find(|earlier| pass == 0 && step <= earlier.until_step);
        let (start, end) = earlier.map_or((*start, *end), |earlier| (earlier.control_start, earlier.control_end));
        begins_after(step, all, start) && !begins_after(step, all, end)
    }
}

/// True where a step, from 1, of so many begins after this part of them, 0 to 1.
fn begins_after(step: u32, all: u32, part: f32) -> bool {
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
    use crate::recipe::{Hires, ImageSource, SkipLayers};

    fn controlled(start: f32, end: f32) -> Recipe {
        let control = ControlImage { start, end, ..ControlImage::new(ImageSource::File("x.png".into())) };
        Recipe { steps: 10, control: Some(control), ..Recipe::default() }
    }

    #[test]
    fn a_controlnet_acts_in_its_part_of_the_steps_of_each_pass() {
        let steps = |recipe: &Recipe, pass| recipe.steps_with(StepShare::Control, pass);
        let of = |start, end| steps(&controlled(start, end), 0);
        assert_eq!([of(0.0, 1.0), of(0.0, 0.4), of(0.35, 1.0), of(0.5, 0.5), of(0.95, 1.0)], [10, 4, 6, 0, 0]);
        let second = Recipe { hires: Some(Hires { steps: Some(4), ..Hires::default() }), ..controlled(0.5, 1.0) };
        assert_eq!([steps(&second, 0), steps(&second, 1)], [5, 2]);
        assert_eq!(steps(&Recipe { last_step: Some(7), ..second.clone() }, 0), 2, "a draft ends before");
        assert_eq!(steps(&Recipe { control: None, ..second }, 0), 0);
        let branch = Recipe { earlier_steps: controlled(0.0, 1.0).steps_until(3, None), ..controlled(0.8, 1.0) };
        assert_eq!(steps(&branch, 0), 5, "its first steps are those of another picture");
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

    #[test]
    fn layers_are_skipped_in_a_part_of_the_steps() {
        let with = |steps, start, end| {
            let skip_layers = Some(SkipLayers { start, end, ..SkipLayers::default() });
            Recipe { steps, skip_layers, ..Recipe::default() }.steps_with(StepShare::SkipLayers, 0)
        };
        // Steps 1 to 3 of 20; of one there is none before the last level.
        assert_eq!([with(20, 0.01, 0.2), with(20, 0.0, 1.0), with(1, 0.01, 0.2), with(1, 0.0, 1.0)], [3, 20, 0, 1]);
        assert_eq!(Recipe::default().steps_with(StepShare::SkipLayers, 0), 0);
    }
}
