//! From this computer's model to another studio's, and back. Pure.

use atelier_core::recipe::{PartialRecipe, Recipe};

use super::{NextRecipe, same_paths, with_model_of};
use crate::studio_model::StudioModel;

impl NextRecipe {
    /// Makes a model of another studio the one in use, with the settings that suit it. Those of this
    /// computer's model are remembered, so that one can go back.
    pub fn use_studio(&mut self, model: StudioModel, defaults: PartialRecipe) {
        if self.own_recipe.is_none() {
            self.own_recipe = Some(Box::new(self.recipe.clone()));
        }
        self.studio = Some(model);
        defaults.apply(&mut self.recipe);
        self.studio_defaults = defaults;
        // They were made for another model.
        self.recipe.loras.clear();
    }

    /// Has the model of another studio in use again, as at the end of the last start. `own`: the
    /// settings of this computer's model, whose files are those of the recipe.
    pub fn resume_studio(&mut self, model: StudioModel, own: Recipe) {
        self.own_recipe = Some(Box::new(Recipe { files: self.recipe.files.clone(), ..own }));
        self.studio = Some(model);
    }

    /// Goes from the model of another studio back to this computer's, with its settings.
    pub fn use_this_computer(&mut self) {
        if let Some(own) = self.own_recipe.take() {
            let now = std::mem::take(&mut self.recipe);
            self.recipe = with_model_of(&now, *own);
            self.follow_builtin();
        }
        self.leave_studio();
    }

    /// Leaves the model of another studio once another one of this computer was chosen: whoever
    /// chooses it wants no other studio's any more.
    pub fn follow_own_model(&mut self) {
        if self.own_recipe.as_ref().is_some_and(|own| !same_paths(&own.files, &self.recipe.files)) {
            self.leave_studio();
        }
    }

    fn leave_studio(&mut self) {
        (self.studio, self.own_recipe, self.studio_defaults) = (None, None, PartialRecipe::default());
    }
}

#[cfg(test)]
mod tests {
    use atelier_core::recipe::{FileRole, Lora, ModelFiles};

    use super::*;

    #[test]
    fn a_model_of_another_studio_has_its_own_settings_and_the_way_back_those_of_before() {
        let mut own =
            Recipe { prompt: "a lake".into(), steps: 30, loras: vec![Lora::new("/l/ink.safetensors".into(), 1.0)], ..Recipe::default() };
        own.files.set(FileRole::Model, "/m/a.safetensors");
        let mut next = NextRecipe::new(own.clone(), false, Err(String::new()));
        let model = |name: &str| StudioModel { studio: "Studio of Anna".into(), model: name.into() };
        let turbo =
            PartialRecipe { steps: Some(8), guidance: Some(1.0), sampler: Some(None), width: Some(1024), ..PartialRecipe::default() };
        next.use_studio(model("turbo"), turbo.clone());
        assert_eq!((next.recipe.steps, next.recipe.guidance, next.recipe.width, next.recipe.loras.len()), (8, 1.0, 1024, 0));
        assert_eq!((&next.recipe.files, next.recipe.prompt.as_str(), &next.studio_defaults), (&own.files, "a lake", &turbo));
        next.use_studio(model("old"), PartialRecipe::default());
        assert_eq!((next.recipe.steps, next.studio_defaults.is_empty()), (8, true), "one that tells nothing changes nothing");
        next.recipe.prompt = "a sea".into();
        next.follow_own_model();
        assert!(next.studio.is_some(), "its own files are the same");
        next.use_this_computer();
        assert_eq!(next.recipe, Recipe { prompt: "a sea".into(), ..own.clone() });
        assert_eq!((next.studio.clone(), next.own_recipe.clone()), (None, None));

        next.resume_studio(model("turbo"), Recipe { files: ModelFiles::default(), ..own.clone() });
        assert_eq!(next.own_recipe.as_deref(), Some(&own), "after a restart too");
        next.recipe.files.set(FileRole::Model, "/m/b.safetensors");
        next.recipe.steps = 12;
        next.follow_own_model();
        assert_eq!((next.studio, next.recipe.steps), (None, 12), "another model of this computer was chosen, with its settings");
    }
}
