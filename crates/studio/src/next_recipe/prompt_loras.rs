//! LoRAs that a prompt names, beside those of the settings. Their tags stay in the text that a
//! person wrote; the recipe of a picture has them in its list instead.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use atelier_core::placement::Change;
use atelier_core::recipe::{Lora, Recipe};
use atelier_core::words::take_loras_if;
use atelier_library::lora_named;

use super::NextRecipe;
use super::prompt_reading::{PromptReading, add_named_loras, known_loras};

impl NextRecipe {
    /// What its prompt says of LoRAs, read once for each change: it is asked each frame, by each
    /// command that makes a picture.
    fn reading(&self) -> Arc<PromptReading> {
        let mut kept = self.prompt_reading.borrow_mut();
        if let Some(reading) = kept.as_ref().filter(|it| it.is_of(&self.recipe, &self.lora_files)) {
            return Arc::clone(reading);
        }
        Arc::clone(kept.insert(Arc::new(PromptReading::of(&self.recipe, &self.lora_files, false))))
    }

    /// Names in `<lora:name:strength>` of the prompt that no known file has.
    #[must_use]
    pub fn unknown_loras(&self) -> Vec<String> {
        self.reading().unknown.clone()
    }

    /// The known file that `<lora:name:strength>` of the prompt means.
    #[must_use]
    pub fn lora_named(&self, name: &str) -> Option<&Path> {
        lora_named(name, known_loras(&self.recipe, &self.lora_files))
    }

    /// The LoRAs that the prompt names, and whose files are known: they count in place of those of
    /// the same files in the list. For another studio's model there are none, since it finds them by
    /// their names.
    #[must_use]
    pub fn prompt_loras(&self) -> Vec<Lora> {
        let mut loras = Vec::new();
        if self.studio.is_none() && may_name_loras(&self.recipe.prompt) {
            add_named_loras(&mut loras, self.reading().named.iter().cloned());
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
        let reading = self.reading();
        if reading.named.is_empty() {
            return Cow::Borrowed(&self.recipe);
        }
        let mut recipe = self.recipe.clone();
        reading.take_into(&mut recipe);
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

    /// Takes the LoRAs that a prompt names, and whose files are known, into its recipe's list. All is
    /// chosen in the prompt.
    pub fn take_loras_of(&self, recipe: &mut Recipe) {
        // A recipe without files is one for another studio, which finds them by their names.
        if self.studio.is_some() && recipe.files.is_empty() {
            return;
        }
        PromptReading::of(recipe, &self.lora_files, true).take_into(recipe);
    }
}

/// False where a look at the letters tells that no tag is there.
fn may_name_loras(prompt: &str) -> bool {
    prompt.contains('<')
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::studio_model::StudioModel;
    use atelier_core::recipe::{ModelFiles, Seed};
    use atelier_core::words::NoWildcards;

    /// The recipe of 20 steps with this prompt, where `ink` is known.
    fn next(prompt: &str) -> NextRecipe {
        let recipe = Recipe { steps: 20, prompt: prompt.into(), ..Recipe::default() };
        let mut next = NextRecipe::new(recipe, false, Err(String::new()));
        next.lora_files = Arc::from([PathBuf::from("/l/ink.safetensors")]);
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
    fn a_prompt_is_read_once_for_each_change_of_what_its_loras_depend_on() {
        let mut next = next("a <lora:ink:0.5> lake <lora:pen:1>");
        let mut before = next.reading();
        assert!(next.ready().is_err() && !next.unknown_loras().is_empty());
        assert_eq!((next.prompt_loras(), next.resolved_recipe().loras.len()), (vec![ink(0.5)], 1));
        next.recipe.guidance = 3.0;
        assert!(Arc::ptr_eq(&before, &next.reading()), "it was read again for the same words");
        let changes: [fn(&mut NextRecipe); 4] = [
            |next| next.recipe.prompt.push('s'),
            |next| next.recipe.steps = 8,
            |next| next.recipe.loras.push(Lora::new("/l/pen.gguf".into(), 1.0)),
            |next| next.lora_files = Arc::from([]),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            change(&mut next);
            let now = next.reading();
            assert!(!Arc::ptr_eq(&before, &now), "change {number} was not seen");
            assert!(Arc::ptr_eq(&now, &next.reading()));
            before = now;
        }
        assert_eq!(next.unknown_loras(), ["ink"]);
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
    fn a_lora_behind_an_escaped_mark_of_a_comment_acts() {
        let next = next(r"\# Scene: \// a lake <lora:ink:0.5>");
        assert_eq!(next.prompt_loras().len(), 1);
        let mut job = next.recipe.choose_pictures(Seed(1), &NoWildcards).recipes.remove(0);
        next.take_loras_of(&mut job);
        assert_eq!((job.prompt.as_str(), job.loras), ("# Scene: // a lake", next.prompt_loras()));
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
