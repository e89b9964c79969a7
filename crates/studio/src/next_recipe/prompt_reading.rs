//! What a prompt says of LoRAs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_core::recipe::{Lora, Recipe};
use atelier_core::words::{LoraTag, take_loras_if, take_loras_with_comments_if};
use atelier_library::lora_named;

/// What a prompt says of LoRAs, beside all that this depends on.
#[derive(Debug)]
pub(super) struct PromptReading {
    prompt: String,
    steps: u32,
    /// Files of the recipe's own list.
    listed: Vec<PathBuf>,
    library: Arc<[PathBuf]>,
    /// The prompt without the tags of known files.
    rest: String,
    /// The LoRAs of these tags, in the order of the prompt.
    pub(super) named: Vec<Lora>,
    /// Names that no known file has.
    pub(super) unknown: Vec<String>,
}

impl PromptReading {
    /// `is_chosen`: the prompt is a template no longer, so that it has no comments.
    pub(super) fn of(recipe: &Recipe, library: &Arc<[PathBuf]>, is_chosen: bool) -> Self {
        let (mut named, mut unknown) = (Vec::new(), Vec::new());
        let steps = recipe.steps_in_pass(0);
        let take = |tag: LoraTag| {
            let path = lora_named(&tag.name, known_loras(recipe, library));
            match path {
                Some(path) => named.push(tag.lora(path.to_owned(), steps)),
                None => unknown.push(tag.name),
            }
            path.is_some()
        };
        let rest = if is_chosen { take_loras_with_comments_if(&recipe.prompt, take) } else { take_loras_if(&recipe.prompt, take) };
        let listed = recipe.loras.iter().map(|lora| lora.path.clone()).collect();
        Self { prompt: recipe.prompt.clone(), steps, listed, library: Arc::clone(library), rest, named, unknown }
    }

    /// True while it would be read in the same way.
    pub(super) fn is_of(&self, recipe: &Recipe, library: &Arc<[PathBuf]>) -> bool {
        let listed = recipe.loras.iter().map(|lora| &lora.path);
        let has_files = self.listed.iter().eq(listed) && Arc::ptr_eq(&self.library, library);
        has_files && self.steps == recipe.steps_in_pass(0) && self.prompt == recipe.prompt
    }

    /// Takes the LoRAs into the list of the recipe that was read.
    pub(super) fn take_into(&self, recipe: &mut Recipe) {
        if !self.named.is_empty() {
            recipe.prompt.clone_from(&self.rest);
            add_named_loras(&mut recipe.loras, self.named.iter().cloned());
        }
    }
}

/// The files that a tag in the prompt of this recipe may mean.
pub(super) fn known_loras<'a>(recipe: &'a Recipe, library: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    recipe.loras.iter().map(|lora| &lora.path).chain(library).map(PathBuf::as_path)
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
