//! The first steps of a picture that is a branch of another: they have the settings of that one.

use serde::{Deserialize, Serialize};

use super::{Lora, Recipe};

/// Steps of a picture before those of its recipe, with settings of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierSteps {
    /// The last of these steps, from 1; they begin after those of the entry before.
    pub until_step: u32,
    /// File name of the picture that they were taken from, for people.
    pub picture: Option<String>,
    /// The prompt of these steps.
    pub prompt: String,
    /// Their negative prompt.
    pub negative_prompt: String,
    /// Their classifier-free guidance.
    pub guidance: f32,
    /// Their guidance of distilled models.
    pub distilled_guidance: f32,
    /// Their control strength; without effect without a control picture.
    pub control_strength: f32,
    /// Their low-rank adapters.
    pub loras: Vec<Lora>,
}

impl EarlierSteps {
    /// More branches of branches than these are no recipe.
    pub const MOST: usize = 16;

    /// The first `until_step` steps of a recipe that is no branch itself.
    fn of(recipe: &Recipe, until_step: u32) -> Self {
        Self {
            until_step,
            picture: None,
            prompt: recipe.prompt.clone(),
            negative_prompt: recipe.negative_prompt.clone(),
            guidance: recipe.guidance,
            distilled_guidance: recipe.distilled_guidance,
            control_strength: recipe.control.as_ref().map_or(1.0, |control| control.strength),
            loras: recipe.loras.clone(),
        }
    }

    /// With numbers out of their range, or that are none, brought into it.
    #[must_use]
    pub fn clamped(self) -> Self {
        let within = |value: f32, least: f32, most: f32| if value.is_finite() { value.clamp(least, most) } else { 1.0 };
        let lora = |lora: Lora| Lora { strength: within(lora.strength, -10.0, 10.0), ..lora };
        Self {
            guidance: within(self.guidance, 0.0, 100.0),
            distilled_guidance: within(self.distilled_guidance, 0.0, 100.0),
            control_strength: within(self.control_strength, 0.0, 1.0),
            loras: self.loras.into_iter().map(lora).collect(),
            ..self
        }
    }
}

impl Default for EarlierSteps {
    fn default() -> Self {
        Self::of(&Recipe::default(), 1)
    }
}

impl Recipe {
    /// The earlier steps of a picture that begins with the first `until_step` steps of this one, which the file `picture` shows.
    #[must_use]
    pub fn steps_until(&self, until_step: u32, picture: Option<String>) -> Vec<EarlierSteps> {
        let before = self.earlier_steps.iter().filter(|it| it.until_step < until_step).cloned();
        let last = self.earlier_steps.iter().find(|it| it.until_step >= until_step).cloned();
        let last = last.unwrap_or_else(|| EarlierSteps::of(self, until_step));
        before.chain([EarlierSteps { until_step, picture, ..last }]).collect()
    }

    /// The recipe whose first steps are the earlier steps of this one; `None` where it has none.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (last, before) = self.earlier_steps.split_last()?;
        let mut parent = Self {
            earlier_steps: before.to_vec(),
            prompt: last.prompt.clone(),
            negative_prompt: last.negative_prompt.clone(),
            guidance: last.guidance,
            distilled_guidance: last.distilled_guidance,
            loras: last.loras.clone(),
            ..self.clone()
        };
        if let Some(control) = &mut parent.control {
            control.strength = last.control_strength;
        }
        Some(parent)
    }

    /// Keeps the earlier steps that lie before `last_step`, in rising order. True where some were changed or left out.
    pub fn limit_earlier_steps(&mut self, last_step: u32) -> bool {
        let before = self.earlier_steps.clone();
        let mut end = 0;
        self.earlier_steps.truncate(EarlierSteps::MOST);
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

    fn recipe(prompt: &str) -> Recipe {
        Recipe { prompt: prompt.into(), seed: 7, ..Recipe::default() }
    }

    #[test]
    fn a_branch_knows_the_settings_of_each_of_its_steps() {
        let first = Recipe { loras: vec![Lora { path: "ink".into(), strength: 0.5 }], ..recipe("day") };
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
        assert_eq!(limited(&(1..40).collect::<Vec<_>>(), 100).0.len(), EarlierSteps::MOST);
    }

    #[test]
    fn numbers_are_kept_in_their_range() {
        let wild = EarlierSteps { guidance: f32::NAN, control_strength: 7.0, ..EarlierSteps::default() }.clamped();
        assert_eq!((wild.guidance, wild.control_strength), (1.0, 1.0));
    }
}
