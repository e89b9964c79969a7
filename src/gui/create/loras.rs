//! LoRAs of this disk, as the Create view offers them.

use std::path::Path;

use crate::gui::shared::Shared;
use atelier_language::tr;
use atelier_library::{ModelCard, ModelKind};

/// A LoRA of the library.
#[derive(Clone, Copy)]
pub(crate) struct KnownLora<'a> {
    card: &'a ModelCard,
    pub(crate) path: &'a Path,
}

impl<'a> KnownLora<'a> {
    /// The name for people.
    pub(crate) fn name(&self) -> &'a str {
        &self.card.name
    }

    /// Family of the models that it was made for.
    pub(crate) fn family(&self) -> Option<&'a str> {
        self.card.family.as_deref()
    }

    /// Words of a prompt that evoke what it was trained on.
    pub(crate) fn trigger_words(&self) -> &'a [String] {
        &self.card.trigger_words
    }

    /// True if every word of this text is somewhere in its name, family or trigger words.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.card.matches(text)
    }

    /// A sentence where it was made for models of another family than the chosen one.
    pub(crate) fn mismatch(&self, shared: &Shared) -> Option<String> {
        let (of_lora, of_model) = (self.family()?, shared.model_family()?);
        (of_lora != of_model).then(|| tr!("create-made-for-this-model-is", of_lora, of_model))
    }
}

/// LoRAs of this disk.
pub(crate) fn known_loras(shared: &Shared) -> impl Iterator<Item = KnownLora<'_>> {
    shared.cards_with_file(ModelKind::Lora).map(|(card, path)| KnownLora { card, path })
}

/// The name of a LoRA's file for people.
pub(crate) fn lora_name(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
