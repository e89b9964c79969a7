//! State of the styles: the list, the one that is being saved, and the one that was applied last.
//! Plain data.

use std::collections::BTreeSet;
use std::path::PathBuf;

use atelier_core::recipe::{PartialRecipe, Recipe, changed_settings};
use atelier_studio::styles::{Style, StyleImport, StylePart, Styles};

/// State of the styles.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Their folder; `None` where this person has none.
    pub folder: Option<PathBuf>,
    pub list: Styles,
    /// The style that is being put together, where its dialog is open.
    pub draft: Option<StyleDraft>,
    /// The styles of a list that wait for an answer, where their dialog is open.
    pub import: Option<StyleImport>,
    /// The style that was applied last.
    pub applied: Option<AppliedStyle>,
    /// The first field of a dialog that has just opened takes the keyboard.
    pub focus_dialog: bool,
}

/// A style that is being put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyleDraft {
    pub name: String,
    /// The parts of the present settings that it gets.
    pub parts: BTreeSet<StylePart>,
    /// It gets a small look of the picture that is shown.
    pub with_picture: bool,
}

impl Default for StyleDraft {
    fn default() -> Self {
        let parts = [StylePart::Prompt, StylePart::NegativePrompt, StylePart::Sampling, StylePart::Loras].into();
        Self { name: String::new(), parts, with_picture: true }
    }
}

/// A style that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedStyle {
    pub name: String,
    /// Names of the settings that it changed.
    pub changes: Vec<&'static str>,
    /// The settings after it; once they are others, it is no longer shown.
    pub recipe: Recipe,
}

impl State {
    /// The style of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Style> {
        self.list.styles.iter().map(|(style, _)| style).find(|style| style.name == name)
    }

    /// The style that was applied last, while nothing was changed since.
    #[must_use]
    pub fn applied_to(&self, recipe: &Recipe) -> Option<&AppliedStyle> {
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
