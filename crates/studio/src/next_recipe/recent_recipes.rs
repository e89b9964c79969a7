//! The last recipe of each model that was used.

use std::collections::BTreeSet;

use atelier_core::recipe::{ModelFiles, Recipe};

/// Models whose settings are remembered.
const MAX_RECIPES: usize = 32;

/// True if these are the same files, in whatever roles: the engine corrects roles.
#[must_use]
pub fn same_paths(one: &ModelFiles, other: &ModelFiles) -> bool {
    let paths = |files: &ModelFiles| files.iter().map(|(_, path)| path.to_owned()).collect::<BTreeSet<_>>();
    paths(one) == paths(other)
}

/// The last recipe of each model that was used, the latest first.
#[derive(Debug, Default)]
pub struct RecentRecipes(Vec<Recipe>);

impl RecentRecipes {
    /// Remembers the settings that a model is used with.
    pub fn remember(&mut self, recipe: &Recipe) {
        self.0.retain(|it| !same_paths(&it.files, &recipe.files));
        self.0.insert(0, recipe.clone());
        self.0.truncate(MAX_RECIPES);
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
    use atelier_core::recipe::FileRole;

    #[test]
    fn a_model_is_the_same_whatever_its_files_are_said_to_be_for() {
        let (mut one, mut other) = (ModelFiles::default(), ModelFiles::default());
        one.set(FileRole::Model, "/m/a.safetensors");
        other.set(FileRole::Diffusion, "/m/a.safetensors");
        assert!(same_paths(&one, &other));
        other.set(FileRole::Vae, "/m/b.safetensors");
        assert!(!same_paths(&one, &other));
    }
}
