//! Recipes of jobs, decoded once: the queue is listed at each event, and its recipes seldom change.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use atelier_core::recipe::{LocalFile, Recipe, Stored};

/// Recipes that are kept; with one more all are forgotten, and decoded again where they are listed.
const MAX_RECIPES: usize = 256;
/// Longest text of a recipe that is kept, in bytes. A prompt may have a million.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Decoded recipes by their stored text.
#[derive(Debug, Default)]
pub(crate) struct DecodedRecipes(RefCell<HashMap<String, Arc<Recipe>>>);

impl DecodedRecipes {
    /// The recipe of this text. One that cannot be read is one without files, which the engine
    /// refuses with a sentence.
    pub(super) fn get(&self, text: &str) -> Arc<Recipe> {
        if let Some(recipe) = self.0.borrow().get(text) {
            return Arc::clone(recipe);
        }
        let recipe = Arc::new(decode(text));
        if text.len() <= MAX_TEXT_BYTES {
            let mut kept = self.0.borrow_mut();
            if kept.len() >= MAX_RECIPES {
                kept.clear();
            }
            kept.insert(text.to_owned(), Arc::clone(&recipe));
        }
        recipe
    }
}

fn decode(text: &str) -> Recipe {
    let (recipe, notes) = match serde_json::from_str::<Stored<LocalFile>>(text) {
        Ok(stored) => stored.restore(&mut |_, file| Some(file.into_path())),
        Err(error) => (Recipe::default(), vec![error.to_string()]),
    };
    for note in notes {
        tracing::debug!("a job of the queue: {note}");
    }
    recipe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(prompt: &str) -> String {
        serde_json::to_string(&Stored::of(&Recipe { prompt: prompt.into(), ..Recipe::default() }, &LocalFile::of)).unwrap()
    }

    #[test]
    fn a_text_is_decoded_once_and_another_text_is_another_recipe() {
        let recipes = DecodedRecipes::default();
        let lake = recipes.get(&text("a lake"));
        assert!(Arc::ptr_eq(&lake, &recipes.get(&text("a lake"))));
        let hill = recipes.get(&text("a hill"));
        assert_eq!((lake.prompt.as_str(), hill.prompt.as_str()), ("a lake", "a hill"));
        assert_eq!(*recipes.get("no recipe"), Recipe::default());
    }

    #[test]
    fn what_is_kept_is_bounded_in_number_and_bytes() {
        let recipes = DecodedRecipes::default();
        let long = text(&"lake ".repeat(MAX_TEXT_BYTES));
        assert!(!Arc::ptr_eq(&recipes.get(&long), &recipes.get(&long)));
        for number in 0..3 * MAX_RECIPES {
            assert_eq!(recipes.get(&text(&number.to_string())).prompt, number.to_string());
            assert!(recipes.0.borrow().len() <= MAX_RECIPES);
        }
    }
}
