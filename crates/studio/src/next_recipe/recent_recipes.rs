//! The last recipe of each model that was used.

use std::collections::BTreeSet;

use atelier_core::recipe::{ImageSource, ModelFiles, Part, Recipe};

/// Models whose settings are remembered.
const MAX_RECIPES: usize = 32;
/// The settings that are not about a model: another one keeps them.
pub(super) const KEPT_BY_ANOTHER_MODEL: [Part; 9] = [
    Part::Prompt,
    Part::NegativePrompt,
    Part::Seed,
    Part::Count,
    Part::Start,
    Part::FurtherStarts,
    Part::References,
    Part::Upscale,
    Part::Machine,
];

/// True if these are the same files, in whatever roles: the engine corrects roles.
#[must_use]
pub fn same_paths(one: &ModelFiles, other: &ModelFiles) -> bool {
    let paths = |files: &ModelFiles| files.iter().map(|(_, path)| path.to_owned()).collect::<BTreeSet<_>>();
    paths(one) == paths(other)
}

/// The last settings of each model that was used, the latest first: those that are about the model,
/// and its placement.
#[derive(Debug, Default)]
pub struct RecentRecipes(Vec<Recipe>);

impl RecentRecipes {
    /// Those of an earlier session, the latest first.
    #[must_use]
    pub fn new(recipes: &[Recipe]) -> Self {
        let mut all = Self::default();
        for recipe in recipes.iter().rev() {
            all.remember(recipe);
        }
        all
    }

    /// Remembers the settings that a model is used with.
    pub fn remember(&mut self, recipe: &Recipe) {
        let mut kept = recipe.clone();
        kept.take_parts(&Recipe::default(), &KEPT_BY_ANOTHER_MODEL);
        kept.placement.clone_from(&recipe.placement);
        // Neither are the steps of one picture, and pixels that no file has.
        kept.earlier_steps = Vec::new();
        kept.control = kept.control.filter(|control| matches!(control.image, ImageSource::File(_)));
        self.0.retain(|it| !same_paths(&it.files, &kept.files));
        self.0.insert(0, kept);
        self.0.truncate(MAX_RECIPES);
    }

    /// All of them, the latest first.
    #[must_use]
    pub fn recipes(&self) -> &[Recipe] {
        &self.0
    }

    /// The last recipe of the model of these files.
    #[must_use]
    pub fn of(&self, files: &ModelFiles) -> Option<&Recipe> {
        self.0.iter().find(|it| same_paths(&it.files, files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{FileRole, Seed};

    #[test]
    fn a_model_is_the_same_whatever_its_files_are_said_to_be_for() {
        let (mut one, mut other) = (ModelFiles::default(), ModelFiles::default());
        one.set(FileRole::Model, "/m/a.safetensors");
        other.set(FileRole::Diffusion, "/m/a.safetensors");
        assert!(same_paths(&one, &other));
        other.set(FileRole::Vae, "/m/b.safetensors");
        assert!(!same_paths(&one, &other));
    }

    #[test]
    fn of_a_model_its_own_settings_are_remembered_and_no_words() {
        let recipe = |name: &str, steps| {
            let mut recipe = Recipe { prompt: "a lake".into(), seed: Some(Seed(7)), steps, ..Recipe::default() };
            recipe.files.set(FileRole::Model, format!("/m/{name}.safetensors"));
            recipe.placement.backend = "te=cpu".into();
            recipe
        };
        let mut recent = RecentRecipes::default();
        for (name, steps) in [("a", 8), ("b", 20), ("a", 4)] {
            recent.remember(&recipe(name, steps));
        }
        let said = |recent: &RecentRecipes| recent.recipes().iter().map(|it| (it.steps, it.seed, it.prompt.clone())).collect::<Vec<_>>();
        assert_eq!(said(&recent), [(4, None, String::new()), (20, None, String::new())]);
        assert_eq!(recent.of(&recipe("b", 0).files).unwrap().placement.backend, "te=cpu");
        assert_eq!(RecentRecipes::new(recent.recipes()).recipes(), recent.recipes());
    }
}
