//! In which steps of a picture a part of the work is done.

use serde::{Deserialize, Serialize};

use super::part_of_steps::begins_after;
use super::{ControlImage, EarlierSteps, Recipe};

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
    /// Those of classifier-free guidance: they evaluate the negative prompt too.
    Guided,
    /// Those of `Guided` in which the `ControlNet` acts.
    GuidedControl,
}

/// Steps with each part of the work.
pub type StepCounts = [(StepShare, u32); StepShare::EVERY.len()];

impl StepShare {
    /// Every share.
    pub const EVERY: [Self; 5] = [Self::All, Self::Control, Self::SkipLayers, Self::Guided, Self::GuidedControl];

    /// Those of these steps that are guided; `None` where guidance adds nothing to this part of the
    /// work.
    #[must_use]
    pub const fn guided(self) -> Option<Self> {
        match self {
            Self::All => Some(Self::Guided),
            Self::Control => Some(Self::GuidedControl),
            Self::SkipLayers | Self::Guided | Self::GuidedControl => None,
        }
    }
}

impl Recipe {
    /// Steps of a pass of the picture, from 0, that the engine runs with each part of the work.
    #[must_use]
    pub fn step_counts(&self, pass: u32) -> StepCounts {
        StepShare::EVERY.map(|share| (share, self.steps_with(share, pass)))
    }

    /// Steps of a pass of the picture, from 0, that the engine runs with this part of the work.
    #[must_use]
    pub fn steps_with(&self, share: StepShare, pass: u32) -> u32 {
        let (all, until) = (self.steps_in_pass(pass), self.steps_until_end_of_pass(pass));
        let count = |is_in: &dyn Fn(u32) -> bool| u32::try_from((1..=until).filter(|step| is_in(*step)).count()).unwrap_or(until);
        match share {
            StepShare::All => until,
            StepShare::Control => count(&|step| self.has_control_in(step, all, pass)),
            StepShare::Guided | StepShare::GuidedControl => {
                let own = self.guidance_over_steps(self.steps_in_pass(0));
                let is_guided = |step| self.is_guided(self.guidance_in(step, pass, &own));
                let acts = |step| share == StepShare::Guided || self.has_control_in(step, all, pass);
                count(&|step| is_guided(step) && acts(step))
            }
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
        let earlier = self.earlier_steps_at(step, pass);
        let (start, end) = earlier.map_or((*start, *end), |earlier| (earlier.control_start, earlier.control_end));
        begins_after(step, all, start) && !begins_after(step, all, end)
    }

    /// The guidance of a step, from 1, of a pass, where `own` is that over the steps of the first
    /// pass.
    fn guidance_in(&self, step: u32, pass: u32, own: &[(u32, f32)]) -> f32 {
        if let Some(earlier) = self.earlier_steps_at(step, pass) {
            return earlier.guidance;
        }
        let range = own.iter().find(|(until, _)| self.changes_over_pass(pass) && step <= *until);
        range.or(own.last()).map_or(self.guidance, |(_, guidance)| *guidance)
    }

    /// The settings of a step, from 1, of a pass, where it is one of another picture.
    fn earlier_steps_at(&self, step: u32, pass: u32) -> Option<&EarlierSteps> {
        self.earlier_steps.iter().find(|earlier| self.changes_over_pass(pass) && step <= earlier.until_step)
    }

    /// True where the steps of a pass are those of a branch, with ranges of their own: of the first
    /// pass and of each part of a picture. A second pass and tiles have the settings of the last
    /// step in all of theirs.
    fn changes_over_pass(&self, pass: u32) -> bool {
        let begins_in_tiles = self.upscales_init() && self.hires.as_ref().is_some_and(|hires| hires.tiles.is_some());
        self.changes_part() || (pass == 0 && !begins_in_tiles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::Borders;
    use crate::recipe::{GuidanceRange, Hires, ImageSource, InitImage, RedrawTiles, SkipLayers};

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
    fn layers_are_skipped_in_a_part_of_the_steps() {
        let with = |steps, start, end| {
            let skip_layers = Some(SkipLayers { start, end, ..SkipLayers::default() });
            Recipe { steps, skip_layers, ..Recipe::default() }.steps_with(StepShare::SkipLayers, 0)
        };
        // Steps 1 to 3 of 20; of one there is none before the last level.
        assert_eq!([with(20, 0.01, 0.2), with(20, 0.0, 1.0), with(1, 0.01, 0.2), with(1, 0.0, 1.0)], [3, 20, 0, 1]);
        assert_eq!(Recipe::default().steps_with(StepShare::SkipLayers, 0), 0);
    }

    /// Ten steps with another guidance in a part of them.
    fn ranged(guidance: f32, range: f32, start: f32, end: f32) -> Recipe {
        Recipe { steps: 10, guidance, guidance_ranges: vec![GuidanceRange { guidance: range, start, end }], ..Recipe::default() }
    }

    fn guided(recipe: &Recipe, pass: u32) -> u32 {
        recipe.steps_with(StepShare::Guided, pass)
    }

    #[test]
    fn guidance_acts_in_the_steps_of_its_ranges() {
        let plain = |guidance| guided(&Recipe { steps: 10, guidance, ..Recipe::default() }, 0);
        assert_eq!([plain(7.0), plain(1.0), plain(0.5), plain(0.0)], [10, 0, 10, 10], "1 alone is none");
        assert_eq!(guided(&ranged(7.0, 1.0, 0.2, 0.6), 0), 6);
        assert_eq!(guided(&ranged(1.0, 5.0, 0.2, 0.6), 0), 4);
        assert_eq!(guided(&ranged(7.0, 3.0, 0.2, 0.6), 0), 10, "with another strength");
        assert_eq!(guided(&Recipe { last_step: Some(4), ..ranged(7.0, 1.0, 0.2, 0.6) }, 0), 2, "a draft ends before");
        let branch = Recipe { earlier_steps: ranged(7.0, 1.0, 0.2, 0.6).steps_until(5, None), ..ranged(1.0, 4.0, 0.0, 0.8) };
        assert_eq!(guided(&branch, 0), 2 + 3, "its first steps are those of another picture");
    }

    #[test]
    fn a_second_pass_is_guided_as_the_last_step_is_and_a_part_as_a_picture() {
        let hires = Some(Hires { steps: Some(4), ..Hires::default() });
        let passes = |recipe: Recipe| [0, 1].map(|pass| guided(&recipe, pass));
        assert_eq!(passes(Recipe { hires: hires.clone(), ..ranged(7.0, 1.0, 0.5, 1.0) }), [5, 0]);
        assert_eq!(passes(Recipe { hires: hires.clone(), ..ranged(7.0, 1.0, 0.0, 0.5) }), [5, 4]);
        let init = |strength| Some(InitImage { image: ImageSource::File("x.png".into()), strength });
        let larger = Recipe { init: init(0.0), hires: hires.clone(), ..ranged(7.0, 1.0, 0.0, 0.5) };
        assert_eq!(guided(&larger, 0), 2, "what is upscaled has ranges of its steps");
        let hires = hires.map(|hires| Hires { tiles: Some(RedrawTiles::default()), ..hires });
        assert_eq!(passes(Recipe { hires, ..larger }), [4, 4], "tiles have not");
        let outpaint = Some(Borders { right: 64, ..Borders::default() });
        assert_eq!(passes(Recipe { init: init(1.0), outpaint, ..ranged(7.0, 1.0, 0.0, 0.5) }), [5, 5]);
    }

    #[test]
    fn of_two_guidances_that_are_equal_one_is_a_pass() {
        let with = |image| Recipe { image_guidance: Some(image), ..ranged(7.0, 1.5, 0.2, 0.6) };
        assert_eq!([guided(&with(1.5), 0), guided(&with(7.0), 0), guided(&with(2.0), 0)], [6, 4, 10]);
        assert_eq!([with(1.5), with(7.0), with(2.0)].map(|it| it.mixes_guidance()), [true, true, false]);
    }

    #[test]
    fn guidance_acts_on_a_controlnet_where_both_act() {
        let both = Recipe { guidance: 7.0, ..controlled(0.0, 0.6) };
        let ranged = Recipe { guidance_ranges: ranged(7.0, 1.0, 0.0, 0.4).guidance_ranges, ..both.clone() };
        let counts = |recipe: &Recipe| recipe.step_counts(0).map(|(_, steps)| steps);
        assert_eq!((counts(&both), counts(&ranged)), ([10, 6, 0, 10, 6], [10, 6, 0, 6, 2]));
    }
}
