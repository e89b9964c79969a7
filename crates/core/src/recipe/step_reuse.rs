//! Which steps of a picture are those of one that was made before.

use std::collections::BTreeSet;

use super::{Affects, ControlImage, EarlierSteps, Recipe};

impl Recipe {
    /// True where a step depends on more than the latents that the one before it left, by momentum
    /// of APG.
    #[must_use]
    pub fn has_momentum(&self) -> bool {
        self.sampler_argument("apg_momentum").is_some_and(|momentum| momentum != 0.0)
    }

    /// The first step, from 1, that is computed for a picture of this recipe where the steps of a
    /// picture of `made` are still kept: those before it are the same, and settings change behind
    /// some of them. `None` where all are computed, or where both recipes make one picture.
    #[must_use]
    pub fn first_computed_step(&self, made: &Self) -> Option<u32> {
        let steps = self.steps_in_pass(0);
        let takes_none = self.step_cache.is_some() || self.has_momentum() || self.changes_part() || self.upscales_init();
        if takes_none || steps != made.steps_in_pass(0) || self.without_step_settings() != made.without_step_settings() {
            return None;
        }
        let (own, kept) = (self.step_ranges(steps)?, made.step_ranges(steps)?);
        let end = own.last()?.until_step;
        // Between the ends of ranges nothing changes: a window asks in each frame.
        let ends: BTreeSet<u32> = own.iter().chain(&kept).map(|it| it.until_step).filter(|it| (1..=end).contains(it)).collect();
        let is_same = |step: &u32| range_of(&own, *step).zip(range_of(&kept, *step)).is_some_and(|(one, other)| one.has_settings_of(other));
        let same = ends.into_iter().take_while(is_same).last().unwrap_or(0);
        // What the last settings compute is no beginning of another picture.
        let [.., last_kept, _] = own.as_slice() else { return None };
        let first = same.min(last_kept.until_step);
        (first > 0 && same < end).then_some(first + 1)
    }

    /// What each step has, as ranges of them up to the last one. `None` where they are too many, or
    /// begin with noise of another picture.
    fn step_ranges(&self, steps: u32) -> Option<Vec<EarlierSteps>> {
        let mut spread = self.clone();
        spread.spread_over_steps(steps).ok()?;
        if spread.has_new_noise() {
            return None;
        }
        let end = spread.draft_step().unwrap_or(steps);
        let last = EarlierSteps { seed: None, ..EarlierSteps::of(&spread, end) };
        Some(spread.earlier_steps.into_iter().chain([last]).collect())
    }

    /// What all steps have in common: the settings that change steps, without those that may be
    /// others in some of them.
    fn without_step_settings(&self) -> Self {
        let usual = Self::default();
        let mut rest = Self {
            prompt: usual.prompt,
            negative_prompt: usual.negative_prompt,
            guidance: usual.guidance,
            guidance_ranges: usual.guidance_ranges,
            distilled_guidance: usual.distilled_guidance,
            loras: usual.loras,
            earlier_steps: usual.earlier_steps,
            width: self.width,
            height: self.height,
            mask: self.mask.clone(),
            reference_images: self.reference_images.clone(),
            ..self.only(Affects::Steps)
        };
        if let Some(control) = &mut rest.control {
            (control.strength, control.start, control.end) = (ControlImage::USUAL_STRENGTH, 0.0, ControlImage::USUAL_END);
        }
        rest
    }
}

/// The range that a step, from 1, is in.
fn range_of(ranges: &[EarlierSteps], step: u32) -> Option<&EarlierSteps> {
    ranges.iter().find(|it| it.until_step >= step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{CacheMode, GuidanceRange, Lora, Seed, StepCache};

    fn recipe(prompt: &str) -> Recipe {
        Recipe { prompt: prompt.into(), steps: 10, seed: Some(Seed(7)), ..Recipe::default() }
    }

    fn first(now: &Recipe, made: &Recipe) -> Option<u32> {
        now.first_computed_step(made)
    }

    #[test]
    fn a_change_of_words_is_computed_from_its_step() {
        let made = recipe("[day:night:4]");
        assert_eq!(first(&recipe("[day:night:6]"), &made), Some(5), "later");
        assert_eq!(first(&recipe("[day:night:2]"), &made), Some(3), "earlier");
        assert_eq!(first(&recipe("[day:dusk:4]"), &made), Some(5));
        assert_eq!(first(&recipe("[day:night:6]"), &recipe("day")), Some(7));
        assert_eq!(first(&recipe("[dawn:night:4]"), &made), None, "from the first step on");
        assert_eq!(first(&recipe("day"), &made), None, "without a change all of them are computed");
        assert_eq!(first(&made, &made), None, "the same picture");
        let three = |last: u32| recipe(&format!("[[day:dusk:2]:night:{last}]"));
        assert_eq!(first(&three(8), &three(5)), Some(6));
        assert_eq!(first(&three(2), &three(5)), Some(3));
    }

    #[test]
    fn a_change_of_a_lora_is_computed_from_its_step() {
        let within = |start, end| Recipe { loras: vec![Lora { start, end, ..Lora::new("ink".into(), 0.8) }], ..recipe("day") };
        assert_eq!(first(&within(0.0, 0.8), &within(0.0, 0.5)), Some(6));
        assert_eq!(first(&within(0.3, 1.0), &within(0.5, 1.0)), Some(4));
        assert_eq!(first(&within(0.0, 0.5), &within(0.0, 1.0)), Some(6));
        assert_eq!(first(&within(0.2, 1.0), &within(0.0, 1.0)), None);
    }

    #[test]
    fn a_change_of_guidance_is_computed_from_its_step() {
        let within = |start, end| Recipe { guidance_ranges: vec![GuidanceRange { guidance: 1.0, start, end }], ..recipe("day") };
        assert_eq!(first(&within(0.5, 0.8), &within(0.5, 1.0)), Some(9));
        assert_eq!(first(&within(0.3, 1.0), &within(0.5, 1.0)), Some(4));
        assert_eq!(first(&within(0.4, 1.0), &recipe("day")), Some(5));
        assert_eq!(first(&within(0.0, 1.0), &recipe("day")), None, "from the first step on");
    }

    #[test]
    fn what_changes_every_step_is_computed_whole() {
        let (now, made) = (recipe("[day:night:6]"), recipe("[day:night:4]"));
        for other in [
            Recipe { seed: Some(Seed(8)), ..now.clone() },
            Recipe { steps: 11, ..now.clone() },
            Recipe { guidance: 3.0, ..now.clone() },
            Recipe { width: 768, ..now.clone() },
            Recipe { step_cache: Some(StepCache::of(CacheMode::EasyCache)), ..now.clone() },
            Recipe { sampler_arguments: "apg_momentum=0.5".into(), ..now.clone() },
        ] {
            assert_eq!(first(&other, &made), None, "{other:?}");
        }
        assert_eq!(first(&Recipe { batch_count: 4, vae_tiling: true, ..now }, &made), Some(5), "what comes after the steps");
    }

    #[test]
    fn a_draft_is_as_long_as_its_steps() {
        let draft = Recipe { last_step: Some(3), ..recipe("[day:night:8]") };
        assert_eq!(first(&recipe("[day:night:6]"), &draft), Some(4), "kept are those of the draft");
        assert_eq!(first(&draft, &recipe("[day:night:6]")), None);
    }
}
