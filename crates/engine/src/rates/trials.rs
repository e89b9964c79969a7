//! What pictures took with each placement, by everything that it depends on.

use serde::{Deserialize, Serialize};

use super::conditions::{Conditions, ModelKey, median};
use crate::protocol::MeasuredPlacement;
use atelier_core::recipe::{ControlImage, PlacementText, Recipe, Sampler, StepCache};
use atelier_core::words::Prompt;

/// Placements that are kept, of all models and sizes.
const MAX_TRIALS: usize = 300;
/// Pictures of a placement of which the median counts.
const MAX_SECS: usize = 3;

/// Times of pictures by placement, the newest last.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Trials(Vec<Trial>);

/// Seconds of pictures with one placement.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Trial {
    /// Of every device of the placement.
    conditions: Vec<Conditions>,
    model: ModelKey,
    picture: PictureKey,
    placement: PlacementText,
    /// The newest last.
    secs: Vec<f64>,
}

/// Everything of a recipe beside its model that changes the work of a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PictureKey {
    width: u32,
    height: u32,
    steps: u32,
    evaluations: u32,
    is_guided: bool,
    vae_tiling: bool,
    flash_attention: bool,
    begins_with_picture: bool,
    has_control: bool,
    references: usize,
    loras: usize,
    /// Pictures of a person.
    #[serde(default)]
    person: usize,
    /// Prompts that are joined to the first.
    #[serde(default)]
    joined_prompts: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step_cache: Option<StepCache>,
    /// Start and end of the skip-layer guidance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skip_layers: Option<[f32; 2]>,
    /// Start and end of the control, where they are not those of all steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    control: Option<[f32; 2]>,
}

impl PictureKey {
    fn of(recipe: &Recipe) -> Self {
        Self {
            width: recipe.width,
            height: recipe.height,
            steps: recipe.steps_in_pass(0),
            evaluations: recipe.sampler.map_or(1, Sampler::evaluations),
            is_guided: recipe.uses_guidance(),
            vae_tiling: recipe.vae_tiling,
            flash_attention: recipe.flash_attention,
            begins_with_picture: recipe.init.is_some(),
            has_control: recipe.control.is_some(),
            references: recipe.reference_images.len(),
            loras: recipe.loras.len(),
            person: recipe.person.images.len(),
            joined_prompts: Prompt::parse_chosen(&recipe.prompt).joined(),
            step_cache: recipe.step_cache.clone(),
            skip_layers: recipe.skip_layers.as_ref().map(|skip| [skip.start, skip.end]),
            control: recipe.control.as_ref().map(|it| [it.start, it.end]).filter(|it| *it != [0.0, ControlImage::USUAL_END]),
        }
    }
}

impl Trials {
    /// Adds a picture's seconds.
    pub(super) fn add(&mut self, conditions: Vec<Conditions>, model: ModelKey, recipe: &Recipe, placement: PlacementText, secs: f64) {
        let picture = PictureKey::of(recipe);
        let same = |it: &Trial| (&it.conditions, &it.model, &it.picture, &it.placement) == (&conditions, &model, &picture, &placement);
        let mut all = match self.0.iter().position(same) {
            Some(index) => self.0.remove(index).secs,
            None => Vec::new(),
        };
        if all.len() >= MAX_SECS {
            all.remove(0);
        }
        all.push(secs);
        if self.0.len() >= MAX_TRIALS {
            self.0.remove(0);
        }
        self.0.push(Trial { conditions, model, picture, placement, secs: all });
    }

    /// The placements with which such pictures were made on these devices, whatever their steps;
    /// the quickest first.
    pub(super) fn of(&self, conditions: &[Conditions], model: &ModelKey, recipe: &Recipe) -> Vec<MeasuredPlacement> {
        let wanted = PictureKey::of(recipe);
        let is_wanted = |it: &&Trial| {
            let is_here = it.conditions.iter().all(|it| conditions.contains(it));
            it.model == *model && PictureKey { steps: wanted.steps, ..it.picture.clone() } == wanted && is_here
        };
        let measured =
            |it: &Trial| Some(MeasuredPlacement { placement: it.placement.clone(), steps: it.picture.steps, secs: median(&it.secs)? });
        let mut found: Vec<MeasuredPlacement> = self.0.iter().filter(is_wanted).filter_map(measured).collect();
        found.sort_by(|a, b| a.secs.total_cmp(&b.secs));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::ModelFiles;

    #[test]
    fn the_oldest_are_forgotten() {
        let (mut trials, model) = (Trials::default(), ModelKey::of(&ModelFiles::default()));
        for width in 0..=MAX_TRIALS as u32 {
            trials.add(Vec::new(), model.clone(), &Recipe { width, ..Recipe::default() }, PlacementText::default(), 1.0);
        }
        let of = |width| trials.of(&[], &model, &Recipe { width, ..Recipe::default() }).len();
        assert_eq!((of(0), of(1), of(MAX_TRIALS as u32)), (0, 1, 1));
    }

    #[test]
    fn joined_prompts_are_other_work() {
        let (mut trials, model) = (Trials::default(), ModelKey::of(&ModelFiles::default()));
        let of = |prompt: &str| Recipe { prompt: prompt.to_owned(), ..Recipe::default() };
        trials.add(Vec::new(), model.clone(), &of("fog AND rain"), PlacementText::default(), 3.0);
        let known = ["rain AND a lake", "fog", "fog AND rain AND a lake"].map(|prompt| trials.of(&[], &model, &of(prompt)).len());
        assert_eq!(known, [1, 0, 0]);
    }
}
