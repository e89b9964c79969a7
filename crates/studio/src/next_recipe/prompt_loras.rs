//! LoRAs that a prompt names, beside those of the settings. Their tags stay in the text that a
//! person wrote; the recipe of a picture has them in its list instead.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use atelier_core::placement::Change;
use atelier_core::recipe::{Lora, Recipe};
use atelier_core::words::{lora_names, take_loras, take_loras_if};
use atelier_library::lora_named;

use super::NextRecipe;

impl NextRecipe {
    /// Names in `<lora:name:strength>` of the prompt that no known file has.
    #[must_use]
    pub fn unknown_loras(&self) -> Vec<String> {
        // Each command that makes a picture asks in each frame.
        if lora_names(&self.recipe.prompt).all(|name| self.lora_named(name).is_some()) {
            return Vec::new();
        }
        let names = take_loras(&self.recipe.prompt).1.into_iter().map(|tag| tag.name);
        names.filter(|name| self.lora_named(name).is_none()).collect()
    }

    /// The known file that `<lora:name:strength>` of the prompt means.
    #[must_use]
    pub fn lora_named(&self, name: &str) -> Option<&Path> {
        lora_named(name, self.known_loras(&self.recipe))
    }

    /// The LoRAs that the prompt names, and whose files are known: they count in place of those of
    /// the same files in the list. For another studio's model there are none, since it finds them by
    /// their names.
    #[must_use]
    pub fn prompt_loras(&self) -> Vec<Lora> {
        let mut loras = Vec::new();
        if self.studio.is_none() && may_name_loras(&self.recipe.prompt) {
            add_named_loras(&mut loras, self.taken(&self.recipe).1);
        }
        loras
    }

    /// The recipe as its pictures are made: the LoRAs that its prompt names are in its list, and not
    /// among its words.
    #[must_use]
    pub fn resolved_recipe(&self) -> Cow<'_, Recipe> {
        if self.studio.is_some() || !may_name_loras(&self.recipe.prompt) {
            return Cow::Borrowed(&self.recipe);
        }
        let mut recipe = self.recipe.clone();
        self.take_loras_of(&mut recipe);
        Cow::Owned(recipe)
    }

    /// A prompt without the tags that name this file.
    #[must_use]
    pub fn without_lora(&self, prompt: &str, path: &Path) -> String {
        take_loras_if(prompt, |tag| self.lora_named(&tag.name) == Some(path))
    }

    /// Applies a change to the recipe; a LoRA that is to go leaves the prompt too.
    pub fn apply_change(&mut self, change: &Change) {
        if let Change::WithoutLora { name } = change {
            let is_it = |path: &Path| path.file_name().is_some_and(|file| file == name.as_str());
            let prompt = take_loras_if(&self.recipe.prompt, |tag| self.lora_named(&tag.name).is_some_and(is_it));
            self.recipe.prompt = prompt;
        }
        change.apply(&mut self.recipe);
    }

    /// Takes the LoRAs that a prompt names, and whose files are known, into its recipe's list.
    pub fn take_loras_of(&self, recipe: &mut Recipe) {
        // A recipe without files is one for another studio, which finds them by their names.
        if self.studio.is_some() && recipe.files.is_empty() {
            return;
        }
        let (prompt, named) = self.taken(recipe);
        if !named.is_empty() {
            recipe.prompt = prompt;
            add_named_loras(&mut recipe.loras, named);
        }
    }

    /// A recipe's prompt without the tags of known files, and these LoRAs in its order.
    fn taken(&self, recipe: &Recipe) -> (String, Vec<Lora>) {
        let mut named = Vec::new();
        let steps = recipe.steps_in_pass(0);
        let prompt = take_loras_if(&recipe.prompt, |tag| {
            let path = lora_named(&tag.name, self.known_loras(recipe));
            named.extend(path.map(|path| tag.lora(path.to_owned(), steps)));
            path.is_some()
        });
        (prompt, named)
    }

    fn known_loras<'a>(&'a self, recipe: &'a Recipe) -> impl Iterator<Item = &'a Path> {
        recipe.loras.iter().map(|lora| &lora.path).chain(&self.lora_files).map(PathBuf::as_path)
    }
}

/// False where a look at the letters tells that no tag is there: it is asked each frame.
fn may_name_loras(prompt: &str) -> bool {
    prompt.contains('<')
}

/// Adds the LoRAs that a prompt names, in its order. One that is named twice for the same steps
/// counts with both strengths, and one that is in the list already as the prompt has it.
pub fn add_named_loras(loras: &mut Vec<Lora>, named: impl IntoIterator<Item = Lora>) {
    let mut found: Vec<Lora> = Vec::new();
    for lora in named {
        lora.add_to(&mut found);
    }
    // What the prompt says of a file stands where the first LoRA of that file stood.
    let named: BTreeSet<PathBuf> = found.iter().map(|lora| lora.path.clone()).collect();
    let listed = std::mem::take(loras);
    for lora in listed {
        if named.contains(&lora.path) {
            loras.extend(found.extract_if(.., |it| it.path == lora.path));
        } else {
            loras.push(lora);
        }
    }
    loras.append(&mut found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studio_model::StudioModel;
    use atelier_core::recipe::ModelFiles;

    /// The recipe of 20 steps with this prompt, where `ink` is known.
    fn next(prompt: &str) -> NextRecipe {
        let recipe = Recipe { steps: 20, prompt: prompt.into(), ..Recipe::default() };
        let mut next = NextRecipe::new(recipe, false, Err(String::new()));
        next.lora_files = vec!["/l/ink.safetensors".into()];
        next
    }

    fn ink(strength: f32) -> Lora {
        Lora::new("/l/ink.safetensors".into(), strength)
    }

    #[test]
    fn a_lora_that_the_prompt_names_stays_in_it_and_is_in_the_list_of_its_pictures() {
        let mut next = next("a <lora:ink:0.5> lake <lora:pen:1>");
        assert_eq!((next.prompt_loras(), next.unknown_loras()), (vec![ink(0.5)], vec!["pen".to_owned()]));
        let resolved = next.resolved_recipe().into_owned();
        assert_eq!((resolved.prompt.as_str(), &resolved.loras[..]), ("a lake <lora:pen:1>", &[ink(0.5)][..]));
        assert!(next.recipe.loras.is_empty() && next.recipe.prompt.contains("ink"));
        next.recipe.prompt = "a [<lora:ink:0.5>::5] lake".into();
        let resolved = next.resolved_recipe().into_owned();
        assert_eq!((resolved.prompt.as_str(), &resolved.loras[..]), ("a lake", &[Lora { end: 0.25, ..ink(0.5) }][..]));
        next.recipe.prompt = "a lake < sea".into();
        assert_eq!(*next.resolved_recipe(), next.recipe);
        next.recipe.prompt = "a <lora:ink:0.5> lake {<lora:pen:1>|fog} # <lora:oil:1>".into();
        assert_eq!(next.unknown_loras(), [""; 0], "these are not taken, or nobody knows yet whether they are");
    }

    #[test]
    fn a_lora_in_prompt_and_list_counts_once_as_the_prompt_has_it() {
        let mut next = next("a lake <lora:ink:0.5>");
        next.use_lora("/l/ink.safetensors".into());
        assert!(next.recipe.loras.is_empty(), "it is used already");
        next.recipe.loras = vec![ink(1.0)];
        assert_eq!(next.resolved_recipe().loras, [ink(0.5)]);
        next.recipe.prompt.push_str(", <lora:INK:0.25>");
        assert_eq!((next.prompt_loras(), &next.resolved_recipe().loras[..]), (vec![ink(0.75)], &[ink(0.75)][..]));
        let path = Path::new("/l/ink.safetensors");
        assert_eq!(next.without_lora("a <lora:ink:1> sea <lora:pen:1> [<lora:Ink:1>:5]", path), "a sea <lora:pen:1>");
    }

    #[test]
    fn a_lora_that_is_to_go_leaves_the_prompt_too() {
        let mut next = next("a <lora:ink:0.5> lake");
        next.apply_change(&Change::WithoutLora { name: "pen.safetensors".into() });
        assert!(next.recipe.prompt.contains("ink"));
        next.apply_change(&Change::WithoutLora { name: "ink.safetensors".into() });
        assert_eq!((next.recipe.prompt.as_str(), next.prompt_loras().len()), ("a lake", 0));
    }

    #[test]
    fn a_lora_for_another_studio_stays_in_the_prompt() {
        let mut next = next("a lake <lora:ink:0.5>");
        next.studio = Some(StudioModel { studio: "Studio of Anna".into(), model: "big".into() });
        assert_eq!((next.resolved_recipe().prompt.as_str(), next.prompt_loras().len()), ("a lake <lora:ink:0.5>", 0));
        let mut job = Recipe { files: ModelFiles::default(), ..next.recipe.clone() };
        next.take_loras_of(&mut job);
        assert_eq!((job.prompt.as_str(), job.loras.len()), ("a lake <lora:ink:0.5>", 0));
    }

    #[test]
    fn a_lora_is_in_the_list_once_with_the_strength_of_the_prompt() {
        let lora = |path: &str, strength| Lora::new(path.into(), strength);
        let mut loras = vec![lora("a", 1.0), lora("b", 0.25)];
        add_named_loras(&mut loras, [lora("c", 0.5), lora("b", 0.75), lora("c", 0.25)]);
        assert_eq!(loras, [lora("a", 1.0), lora("b", 0.75), lora("c", 0.75)]);
        let part = |path: &str, start, end| Lora { start, end, ..lora(path, 0.5) };
        add_named_loras(&mut loras, [part("b", 0.0, 0.5), part("d", 0.0, 0.5), part("b", 0.5, 1.0), part("b", 0.0, 0.5)]);
        let both = Lora { strength: 1.0, ..part("b", 0.0, 0.5) };
        assert_eq!(loras, [lora("a", 1.0), both, part("b", 0.5, 1.0), lora("c", 0.75), part("d", 0.0, 0.5)]);
    }
}
