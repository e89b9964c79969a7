//! State of the presets ("styles"): the list, the one that is being saved, and the one that was applied last. Plain data.

use std::collections::BTreeSet;
use std::path::PathBuf;

use atelier_core::recipe::{PartialRecipe, Recipe, changed_settings};
use atelier_studio::presets::{Preset, PresetPart, Presets, StyleImport};

/// State of the presets.
#[derive(Clone, Debug, Default)]
pub struct PresetState {
    /// Their folder; `None` where this person has none.
    pub folder: Option<PathBuf>,
    pub list: Presets,
    /// The preset that is being put together, where its dialog is open.
    pub draft: Option<PresetDraft>,
    /// The styles of a list that wait for an answer, where their dialog is open.
    pub import: Option<StyleImport>,
    /// The preset that was applied last.
    pub applied: Option<AppliedPreset>,
}

/// A preset that is being put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetDraft {
    pub name: String,
    /// The parts of the present settings that it gets.
    pub parts: BTreeSet<PresetPart>,
    /// It gets a small look of the picture that is shown.
    pub with_picture: bool,
}

impl Default for PresetDraft {
    fn default() -> Self {
        let parts = [PresetPart::Prompt, PresetPart::NegativePrompt, PresetPart::Sampling, PresetPart::Loras].into();
        Self { name: String::new(), parts, with_picture: true }
    }
}

/// A preset that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedPreset {
    pub name: String,
    /// Names of the settings that it changed.
    pub changes: Vec<&'static str>,
    /// The settings after it; once they are others, it is no longer shown.
    pub recipe: Recipe,
}

impl PresetState {
    /// The preset of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Preset> {
        self.list.presets.iter().map(|(preset, _)| preset).find(|preset| preset.name == name)
    }

    /// The preset that was applied last, while nothing was changed since.
    #[must_use]
    pub fn applied_to(&self, recipe: &Recipe) -> Option<&AppliedPreset> {
        self.applied.as_ref().filter(|applied| applied.recipe == *recipe)
    }
}

/// Names of the settings that these would change.
#[must_use]
pub fn changes_of(settings: &PartialRecipe, recipe: &Recipe) -> Vec<&'static str> {
    let mut after = recipe.clone();
    settings.apply(&mut after);
    changed_settings(recipe, &after)
}
