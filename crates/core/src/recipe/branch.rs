//! Branches and drafts: recipes whose first steps are those of another picture.

use super::{ControlImage, EarlierSteps, Recipe};

impl EarlierSteps {
    /// The first `until_step` steps of a recipe that is no branch itself.
    pub(super) fn of(recipe: &Recipe, until_step: u32) -> Self {
        Self {
            until_step,
            picture: None,
            seed: recipe.seed,
            seed_blend: recipe.seed_blend,
            prompt: recipe.prompt.clone(),
            negative_prompt: recipe.negative_prompt.clone(),
            guidance: recipe.guidance,
            distilled_guidance: recipe.distilled_guidance,
            control_strength: recipe.control.as_ref().map_or(1.0, |control| control.strength),
            control_start: recipe.control.as_ref().map_or(0.0, |control| control.start),
            control_end: recipe.control.as_ref().map_or(ControlImage::USUAL_END, |control| control.end),
            loras: recipe.loras.clone(),
        }
    }
}

impl Default for EarlierSteps {
    fn default() -> Self {
        Self::of(&Recipe::default(), 1)
    }
}

impl Recipe {
    /// The earlier steps of a picture that begins with the first `until_step` steps of this one,
    /// which the file `picture` shows.
    #[must_use]
    pub fn steps_until(&self, until_step: u32, picture: Option<String>) -> Vec<EarlierSteps> {
        let mut steps: Vec<EarlierSteps> = self.earlier_steps.iter().filter(|it| it.until_step < until_step).cloned().collect();
        if let Some(last) = self.earlier_steps.iter().find(|it| it.until_step >= until_step) {
            steps.push(EarlierSteps { until_step, picture, ..last.clone() });
            return steps;
        }
        // Of its own steps, those of each guidance.
        let before = steps.last().map_or(0, |it| it.until_step);
        let own =
            |until: u32, guidance| EarlierSteps { guidance, picture: picture.clone(), ..EarlierSteps::of(self, until.min(until_step)) };
        let over = self.guidance_over_steps(self.steps_in_pass(0));
        let mut last = self.guidance;
        for (until, guidance) in over.into_iter().filter(|(until, _)| *until > before) {
            last = guidance;
            if until >= until_step {
                break;
            }
            steps.push(own(until, guidance));
        }
        steps.push(own(until_step, last));
        steps
    }

    /// The recipe whose first steps are the earlier steps of this one; `None` where it has none.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (last, before) = self.earlier_steps.split_last()?;
        let mut parent = Self {
            earlier_steps: before.to_vec(),
            seed: last.seed.or(self.seed),
            seed_blend: last.seed_blend,
            prompt: last.prompt.clone(),
            negative_prompt: last.negative_prompt.clone(),
            guidance: last.guidance,
            // Those of its steps are among its earlier ones.
            guidance_ranges: Vec::new(),
            distilled_guidance: last.distilled_guidance,
            loras: last.loras.clone(),
            ..self.clone()
        };
        if let Some(control) = &mut parent.control {
            (control.strength, control.start, control.end) = (last.control_strength, last.control_start, last.control_end);
        }
        Some(parent)
    }

    /// True where the steps after the last earlier ones do not go on with their noise, but begin
    /// with noise of their own.
    #[must_use]
    pub fn has_new_noise(&self) -> bool {
        self.earlier_steps.last().is_some_and(|last| (last.seed.is_some() && last.seed != self.seed) || last.seed_blend != self.seed_blend)
    }

    /// Moves the seeds of the earlier steps by as much as those of another part of the same
    /// picture.
    pub fn move_earlier_seeds(&mut self, by: u64) {
        for seed in self.earlier_steps.iter_mut().filter_map(|it| it.seed.as_mut()) {
            *seed = seed.after(by);
        }
    }

    /// Keeps the earlier steps that lie before `last_step`, in rising order. True where some were
    /// changed or left out.
    pub fn limit_earlier_steps(&mut self, last_step: u32) -> bool {
        let before = self.earlier_steps.clone();
        let mut end = 0;
        self.earlier_steps.truncate(EarlierSteps::MAX);
        self.earlier_steps.retain_mut(|it| {
            it.until_step = it.until_step.min(last_step.saturating_sub(1));
            let is_later = it.until_step > end;
            end = end.max(it.until_step);
            is_later
        });
        self.earlier_steps != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{GuidanceRange, Lora, Seed, SeedBlend};

    fn recipe(prompt: &str) -> Recipe {
        Recipe { prompt: prompt.into(), seed: Some(Seed(7)), ..Recipe::default() }
    }

    #[test]
    fn a_branch_knows_the_settings_of_each_of_its_steps() {
        let first = Recipe { loras: vec![Lora::new("ink".into(), 0.5)], ..recipe("day") };
        let second = Recipe { earlier_steps: first.steps_until(4, Some("1.png".into())), guidance: 2.0, ..recipe("dusk") };
        assert_eq!(second.parent(), Some(first.clone()));
        let third = Recipe { earlier_steps: second.steps_until(6, None), ..recipe("night") };
        let until: Vec<_> = third.earlier_steps.iter().map(|it| (it.until_step, it.prompt.as_str(), it.picture.as_deref())).collect();
        assert_eq!(until, [(4, "day", Some("1.png")), (6, "dusk", None)]);
        assert_eq!(third.parent(), Some(second.clone()));
        let earlier = second.steps_until(3, None);
        assert_eq!(earlier.len(), 1, "steps of the first picture alone");
        assert_eq!((earlier[0].until_step, earlier[0].prompt.as_str()), (3, "day"));
        assert_eq!(first.parent(), None);
    }

    #[test]
    fn a_branch_keeps_the_guidance_of_each_step() {
        let range = GuidanceRange { guidance: 1.0, start: 0.2, end: 0.4 };
        let first = Recipe { steps: 10, guidance: 7.0, guidance_ranges: vec![range], ..recipe("day") };
        let steps = |until| first.steps_until(until, None).into_iter().map(|it| (it.until_step, it.guidance)).collect::<Vec<_>>();
        assert_eq!(steps(1), [(1, 7.0)]);
        assert_eq!(steps(3), [(2, 7.0), (3, 1.0)]);
        assert_eq!(steps(4), [(2, 7.0), (4, 1.0)]);
        assert_eq!(steps(8), [(2, 7.0), (4, 1.0), (8, 7.0)]);
        let branch = Recipe { earlier_steps: first.steps_until(3, None), ..first.clone() };
        assert!(branch.parent().unwrap().guidance_ranges.is_empty());
    }

    #[test]
    fn each_step_of_a_branch_is_controlled_as_its_own_picture_was() {
        let with = |strength, start, end| {
            let image = crate::recipe::ImageSource::File("pose.png".into());
            Recipe { control: Some(ControlImage { strength, start, end, ..ControlImage::new(image) }), ..recipe("day") }
        };
        let first = with(0.4, 0.2, 0.6);
        let branch = Recipe { earlier_steps: first.steps_until(4, None), ..with(0.9, 0.0, 1.0) };
        assert_eq!(branch.parent(), Some(first));
    }

    #[test]
    fn the_rest_of_a_picture_can_have_another_seed() {
        let first = recipe("day");
        let again = Recipe { earlier_steps: first.steps_until(4, None), seed: Some(Seed(9)), ..first.clone() };
        assert!(again.has_new_noise() && again.parent() == Some(first.clone()));
        let same = Recipe { earlier_steps: first.steps_until(4, None), ..first.clone() };
        assert!(!same.has_new_noise() && !first.has_new_noise());
        let blended = Recipe { seed_blend: Some(SeedBlend::default()), ..same };
        assert!(blended.has_new_noise() && blended.parent() == Some(first.clone()));
        let random = recipe("day");
        let random = Recipe { earlier_steps: Recipe { seed: None, ..random.clone() }.steps_until(4, None), ..random };
        assert!(!random.has_new_noise(), "a seed that nobody knew is the picture's own");
    }

    #[test]
    fn a_draft_is_finished_by_the_rest_of_its_steps() {
        let draft = Recipe { last_step: Some(5), batch_count: 3, seed: None, ..recipe("day") };
        assert_eq!(draft.draft_step(), Some(5));
        let finished = draft.finishing(Some(Seed(8)), Some("1.png".into())).unwrap();
        assert_eq!((finished.draft_step(), finished.seed, finished.batch_count), (None, Some(Seed(8)), 1));
        assert_eq!((finished.earlier_steps[0].until_step, finished.has_new_noise()), (5, false));
        assert_eq!(finished.finishing(Some(Seed(8)), None), None);
        let short = Recipe { steps: 4, ..draft };
        assert_eq!(short.draft_step(), None, "all of its steps are run");
    }

    #[test]
    fn earlier_steps_end_before_the_last_step_and_rise() {
        let steps =
            |all: &[u32]| all.iter().map(|until_step| EarlierSteps { until_step: *until_step, ..EarlierSteps::default() }).collect();
        let limited = |all: &[u32], last| {
            let mut recipe = Recipe { earlier_steps: steps(all), ..Recipe::default() };
            let is_changed = recipe.limit_earlier_steps(last);
            (recipe.earlier_steps.iter().map(|it| it.until_step).collect::<Vec<_>>(), is_changed)
        };
        assert_eq!(limited(&[2, 5], 8), (vec![2, 5], false));
        assert_eq!(limited(&[2, 2, 1, 9, 12], 8), (vec![2, 7], true));
        assert_eq!(limited(&[0, 3], 1), (vec![], true));
        assert_eq!(limited(&(1..40).collect::<Vec<_>>(), 100).0.len(), EarlierSteps::MAX);
    }

    #[test]
    fn numbers_are_kept_in_their_range() {
        let wild = EarlierSteps { guidance: f32::NAN, control_strength: 7.0, ..EarlierSteps::default() };
        let mut recipe = Recipe { earlier_steps: vec![wild; 20], ..Recipe::default() };
        assert_eq!(recipe.clamp().len(), 1 + 2 * EarlierSteps::MAX);
        assert!(recipe.earlier_steps.iter().all(|steps| (steps.guidance, steps.control_strength) == (1.0, 1.0)));
    }
}
