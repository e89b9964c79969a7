//! An axis: what differs from column to column, row to row or page to page.

use std::path::{Path, PathBuf};

use atelier_language::tr;

use super::GridError;
use super::setting::SettingName;
use super::values::{MAX_VALUES, Ranges, too_many, values};
use crate::recipe::{Lora, Part, Recipe};
use crate::words::{GroupKind, NoWildcards, Prompt};

/// Finds files by the names that people type.
pub trait AxisFiles {
    /// A recipe with a model of this name or path, and what belongs to it.
    ///
    /// # Errors
    /// A clause with the next step.
    fn model(&self, name: &str) -> Result<Recipe, String>;

    /// The file of a LoRA of this name or path.
    ///
    /// # Errors
    /// A clause with the next step.
    fn lora(&self, name: &str) -> Result<PathBuf, String>;
}

/// What differs, and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name, as it is shown.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// As it is shown.
    pub label: String,
    change: AxisChange,
}

/// What a value makes of a recipe.
#[derive(Clone, Debug, PartialEq)]
enum AxisChange {
    /// A setting, or a part of one, has the value that this text means.
    Setting { setting: SettingName, text: String },
    /// A part of the settings has the values of this recipe.
    Part { part: Part, from: Box<Recipe> },
    /// A LoRA is used, with the strength that it has or 1; `None`: no other one.
    Lora(Option<PathBuf>),
    /// A LoRA has this strength.
    LoraStrength { path: PathBuf, strength: f32 },
    /// Words stand in the place of others, in the prompt and the negative prompt.
    Words { from: String, to: String },
}

impl Axis {
    /// Reads an axis: `steps=4,8,16`, `cfg=1..7/4`, `sampler=euler,heun`, `size=512x512,768x512`,
    /// `model=a,b`, `lora=ink,none`, `lora:ink=0.5,1`, `words=lake,hill` (those that come first are
    /// replaced), or `{day|night} lake`, words of the prompt with a choice in them.
    ///
    /// # Errors
    /// What is not understood, or is not there.
    pub fn read(text: &str, base: &Recipe, files: &dyn AxisFiles) -> Result<Self, GridError> {
        let trimmed = text.trim();
        if is_of_prompt(trimmed) {
            return choice_axis(trimmed, base);
        }
        let Some((name, list)) = trimmed.split_once('=') else {
            return Err(GridError::new(tr!("core-is-not-an-axis", text)));
        };
        let (name, list) = (name.trim(), list.trim());
        match name.to_lowercase().as_str() {
            "words" | "prompt_words" | "replace" => words_axis(list, base),
            "size" => size_axis(list),
            "model" | "checkpoint" => {
                let from = |name: &str| files.model(name).map(|recipe| AxisChange::Part { part: Part::Model, from: Box::new(recipe) });
                file_axis("model", list, from)
            }
            "lora" => {
                let from = |name: &str| match name.to_lowercase().as_str() {
                    "none" => Ok(AxisChange::Lora(None)),
                    _ => files.lora(name).map(|path| AxisChange::Lora(Some(path))),
                };
                file_axis("LoRA", list, from)
            }
            _ => match name.split_once(':').filter(|(kind, _)| kind.eq_ignore_ascii_case("lora")) {
                Some((_, lora)) => strength_axis(lora.trim(), list, base, files),
                None => setting_axis(name, list, base),
            },
        }
    }

    /// True where both change the same thing.
    #[must_use]
    pub fn changes_like(&self, other: &Self) -> bool {
        match (self.words(), other.words()) {
            (Some(own), Some(others)) => own == others,
            _ => self.name.eq_ignore_ascii_case(&other.name),
        }
    }

    /// The words that are replaced.
    fn words(&self) -> Option<&str> {
        match &self.values.first()?.change {
            AxisChange::Words { from, .. } => Some(from),
            _ => None,
        }
    }
}

impl AxisValue {
    /// Gives a recipe this value.
    pub fn apply(&self, recipe: &mut Recipe) {
        match &self.change {
            AxisChange::Setting { setting, text } => {
                // It was read once; another axis may have changed another part of the same setting.
                if let Ok(from) = setting.recipe_with(recipe, text) {
                    recipe.take_setting(setting.key, &from);
                }
            }
            AxisChange::Part { part, from } => recipe.take_parts(from, &[*part]),
            AxisChange::Lora(None) => {}
            AxisChange::Lora(Some(path)) => {
                if !recipe.loras.iter().any(|lora| lora.path == *path) {
                    recipe.loras.push(Lora::new(path.clone(), 1.0));
                }
            }
            AxisChange::LoraStrength { path, strength } => {
                // One file may be there for several ranges of the steps.
                let mut is_used = false;
                for lora in recipe.loras.iter_mut().filter(|lora| lora.path == *path) {
                    lora.strength = *strength;
                    is_used = true;
                }
                if !is_used {
                    recipe.loras.push(Lora::new(path.clone(), *strength));
                }
            }
            AxisChange::Words { from, to } => {
                for text in [&mut recipe.prompt, &mut recipe.negative_prompt] {
                    *text = text.replace(from.as_str(), to);
                }
            }
        }
    }
}

fn setting_axis(name: &str, list: &str, base: &Recipe) -> Result<Axis, GridError> {
    let Some(setting) = SettingName::find(name) else {
        let names = super::axis_names();
        let closest = names.iter().find(|it| it.starts_with(&name.to_lowercase()) || name.to_lowercase().starts_with(**it));
        let advice = closest.map_or_else(|| tr!("core-use-the-name-of").to_owned(), |name| tr!("core-did-you-mean", name));
        return Err(GridError::new(tr!("core-no-setting-is-called", name, advice)));
    };
    let has_words = matches!(setting.key, "prompt" | "negative_prompt" | "sampler_arguments");
    let read = |text: String| {
        setting.recipe_with(base, &text)?;
        Ok(AxisValue { label: label_of(&text), change: AxisChange::Setting { setting: setting.clone(), text } })
    };
    let ranges = match (has_words, setting.takes_fractions(base)) {
        (true, _) => Ranges::Never,
        (false, true) => Ranges::Real,
        (false, false) => Ranges::Whole,
    };
    let mut texts = values(list, ranges)?;
    if matches!(setting.key, "prompt" | "negative_prompt") {
        texts = texts.iter().map(|text| expansions(text)).collect::<Result<Vec<_>, _>>()?.concat();
        if texts.len() > MAX_VALUES {
            return Err(too_many());
        }
    }
    let values = texts.into_iter().map(read).collect::<Result<_, GridError>>()?;
    Ok(Axis { name: setting.label.clone(), values })
}

fn size_axis(list: &str) -> Result<Axis, GridError> {
    let read = |label: String| {
        let sides = label.to_lowercase().replace('×', "x");
        let size = sides.split_once('x').and_then(|(width, height)| Some((width.trim().parse().ok()?, height.trim().parse().ok()?)));
        let wrong = || GridError::new(tr!("core-is-not-a-size", label));
        let (width, height) = size.ok_or_else(wrong)?;
        let from = Recipe { width, height, ..Recipe::default() };
        if !from.clone().clamp().is_empty() {
            return Err(wrong());
        }
        Ok(AxisValue { label: format!("{width} x {height}"), change: AxisChange::Part { part: Part::Size, from: Box::new(from) } })
    };
    Ok(Axis { name: "size".to_owned(), values: values(list, Ranges::Never)?.into_iter().map(read).collect::<Result<_, GridError>>()? })
}

fn file_axis(name: &str, list: &str, change: impl Fn(&str) -> Result<AxisChange, String>) -> Result<Axis, GridError> {
    let read = |text: String| {
        let change = change(&text).map_err(GridError)?;
        Ok(AxisValue { label: stem(&text), change })
    };
    Ok(Axis { name: name.to_owned(), values: values(list, Ranges::Never)?.into_iter().map(read).collect::<Result<_, GridError>>()? })
}

/// A file's name without folders and extension; a name stays as it is.
fn stem(text: &str) -> String {
    let path = Path::new(text);
    let is_file = path.extension().is_some_and(|it| matches!(it.to_str(), Some("safetensors" | "gguf" | "ckpt" | "pt" | "sft")));
    let name = if is_file { path.file_stem() } else { path.file_name() };
    name.map_or_else(|| text.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn strength_axis(lora: &str, list: &str, base: &Recipe, files: &dyn AxisFiles) -> Result<Axis, GridError> {
    let own = base.loras.iter().find(|own| own.path.file_stem().is_some_and(|name| name.eq_ignore_ascii_case(lora)));
    let path = own.map_or_else(|| files.lora(lora).map_err(GridError), |own| Ok(own.path.clone()))?;
    let read = |label: String| {
        let strength = label.parse::<f32>().ok().filter(|strength| Lora::STRENGTHS.contains(strength));
        let (least, most) = (Lora::STRENGTHS.start(), Lora::STRENGTHS.end());
        let strength = strength.ok_or_else(|| GridError::new(tr!("core-is-not-a-strength", label, least, most)))?;
        Ok(AxisValue { label, change: AxisChange::LoraStrength { path: path.clone(), strength } })
    };
    let values = values(list, Ranges::Real)?.into_iter().map(read).collect::<Result<_, GridError>>()?;
    Ok(Axis { name: stem(lora), values })
}

/// Words that the prompt has, and others in their place.
fn words_axis(list: &str, base: &Recipe) -> Result<Axis, GridError> {
    let words = values(list, Ranges::Never)?;
    let from = words.first().cloned().unwrap_or_default();
    check_words(&from, base)?;
    let value = |to: String| AxisValue { label: to.clone(), change: AxisChange::Words { from: from.clone(), to } };
    Ok(Axis { name: "words".to_owned(), values: words.into_iter().map(value).collect() })
}

/// True for words with a choice that is not a value of a setting, and for braces, which may have
/// been meant as one.
fn is_of_prompt(text: &str) -> bool {
    let prompt = Prompt::parse(text);
    let name_end = text.find('=').unwrap_or(text.len());
    let opens_before = |index: usize| prompt.spans.get(index).is_some_and(|span| span.range.start < name_end);
    let has_choice = prompt.groups.iter().any(|group| matches!(group.kind, GroupKind::Choice { .. }) && opens_before(group.open));
    has_choice || (text.starts_with('{') && text.ends_with('}'))
}

/// Words that the prompt has, with a choice in them.
fn choice_axis(words: &str, base: &Recipe) -> Result<Axis, GridError> {
    check_words(words, base)?;
    let value = |to: String| AxisValue { label: label_of(&to), change: AxisChange::Words { from: words.to_owned(), to } };
    let values: Vec<_> = expansions(words)?.into_iter().map(value).collect();
    if values.len() < 2 {
        return Err(GridError::new(tr!("core-a-choice-needs-two")));
    }
    Ok(Axis { name: "words".to_owned(), values })
}

/// The texts that words of a prompt become.
fn expansions(words: &str) -> Result<Vec<String>, GridError> {
    let prompt = Prompt::parse(words);
    if prompt.names_wildcards() {
        return Err(GridError::new(tr!("core-names-a-list-of", words)));
    }
    prompt.expansions(MAX_VALUES, &NoWildcards).ok_or_else(too_many)
}

/// What is shown of a text that may be empty.
fn label_of(text: &str) -> String {
    let shown = text.trim();
    if shown.is_empty() { "none".to_owned() } else { shown.to_owned() }
}

fn check_words(from: &str, base: &Recipe) -> Result<(), GridError> {
    let is_there = [&base.prompt, &base.negative_prompt].iter().any(|text| text.contains(from));
    if is_there { Ok(()) } else { Err(GridError::new(tr!("core-is-not-in-the", from))) }
}
