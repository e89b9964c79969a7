//! A style: some settings under a name, and what they come to beside a person's own. Pure.

use atelier_core::recipe::{Part, PartialRecipe, Recipe};
use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// Stands for the person's prompt in a style's words.
pub const PLACEHOLDER: &str = "{prompt}";

/// Some settings under a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Style {
    pub name: String,
    pub settings: PartialRecipe,
}

/// A part of the settings that a style can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StylePart {
    Prompt,
    NegativePrompt,
    Model,
    Size,
    /// Steps, guidance, sampler and scheduler, and what belongs to them.
    Sampling,
    Loras,
    /// The seed, and the generator of its noise.
    Seed,
}

impl StylePart {
    /// All of them, in the order of the settings.
    pub const ALL: [Self; 7] = [Self::Prompt, Self::NegativePrompt, Self::Model, Self::Size, Self::Sampling, Self::Loras, Self::Seed];

    /// The words shown.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Prompt => tr!("studio-prompt"),
            Self::NegativePrompt => tr!("studio-negative-prompt-2"),
            Self::Model => tr!("studio-model"),
            Self::Size => tr!("studio-size"),
            Self::Sampling => tr!("studio-sampling"),
            Self::Loras => tr!("studio-loras"),
            Self::Seed => tr!("studio-seed"),
        }
    }

    /// The part of the settings.
    const fn part(self) -> Part {
        match self {
            Self::Prompt => Part::Prompt,
            Self::NegativePrompt => Part::NegativePrompt,
            Self::Model => Part::Model,
            Self::Size => Part::Size,
            Self::Sampling => Part::Sampling,
            Self::Loras => Part::Loras,
            Self::Seed => Part::Seed,
        }
    }
}

impl Style {
    /// These parts of a recipe, under a name.
    #[must_use]
    pub fn of(name: String, recipe: &Recipe, parts: impl IntoIterator<Item = StylePart>) -> Self {
        let parts: Vec<Part> = parts.into_iter().map(StylePart::part).collect();
        let settings = PartialRecipe::of(recipe).filter_parts(|part| parts.contains(&part));
        Self { name, settings }
    }

    /// The settings that it brings to a recipe, with the person's own words in its words.
    #[must_use]
    pub fn settings_for(&self, recipe: &Recipe) -> PartialRecipe {
        let words = |style: &Option<String>, own: &str| style.as_deref().map(|style| with_words(style, own));
        PartialRecipe {
            prompt: words(&self.settings.prompt, &recipe.prompt),
            negative_prompt: words(&self.settings.negative_prompt, &recipe.negative_prompt),
            ..self.settings.clone()
        }
    }
}

/// A style's words with the person's own. What is there already is not added again.
fn with_words(style: &str, own: &str) -> String {
    let own = own.trim();
    if let Some((before, after)) = style.split_once(PLACEHOLDER) {
        let is_there = own.starts_with(before) && own.ends_with(after) && own.len() >= before.len() + after.len();
        return if is_there && !(before.is_empty() && after.is_empty()) { own.to_owned() } else { format!("{before}{own}{after}") };
    }
    match (own.is_empty(), style.trim().is_empty()) {
        (true, _) => style.to_owned(),
        (_, true) => own.to_owned(),
        _ if own.ends_with(style) => own.to_owned(),
        _ => format!("{own}, {style}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{FileRole, Seed, changed_settings};

    #[test]
    fn words_go_round_or_behind_the_persons_own_and_not_twice() {
        assert_eq!(with_words("ink drawing of {prompt}, fine lines", "a lake"), "ink drawing of a lake, fine lines");
        assert_eq!(with_words("ink drawing of {prompt}", "ink drawing of a lake"), "ink drawing of a lake");
        assert_eq!(with_words("oil on canvas", "a lake"), "a lake, oil on canvas");
        assert_eq!(with_words("oil on canvas", "a lake, oil on canvas"), "a lake, oil on canvas");
        assert_eq!((with_words("oil", "").as_str(), with_words("", "a lake").as_str()), ("oil", "a lake"));
    }

    #[test]
    fn a_style_has_the_parts_that_were_chosen_and_changes_only_those() {
        let mut from = Recipe { prompt: "ink".into(), steps: 4, seed: Some(Seed(7)), width: 64, ..Recipe::default() };
        from.files.set(FileRole::Model, "m.gguf");
        let now = Recipe { prompt: "a lake".into(), ..Recipe::default() };
        let changed = |parts: &[StylePart]| {
            let style = Style::of("Ink".into(), &from, parts.iter().copied());
            let mut recipe = now.clone();
            style.settings_for(&recipe).apply(&mut recipe);
            (changed_settings(&now, &recipe), recipe.prompt)
        };
        assert_eq!(changed(&[StylePart::Prompt, StylePart::Sampling]), (vec!["prompt", "steps"], "a lake, ink".to_owned()));
        assert_eq!(changed(&[StylePart::Size, StylePart::Seed, StylePart::Model]).0, ["model", "size", "seed"]);
        let all = changed(&StylePart::ALL).0;
        assert_eq!(all, ["model", "prompt", "size", "steps", "seed"]);
        assert!(Style::of("Nothing".into(), &from, []).settings.is_empty());
    }
}
