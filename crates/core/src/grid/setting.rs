//! Settings by the names that people type, and their values from text.

use atelier_language::tr;
use serde_json::{Map, Value};

use super::GridError;
use crate::recipe::{
    CacheMode, Hires, PredictionType, Recipe, Rng, SETTING_NAMES, Sampler, Scheduler, SeedBlend, SkipLayers, StepCache, setting_name,
};

/// Other names of settings, and of parts of them.
const ALIASES: [(&str, &str); 16] = [
    ("cfg", "guidance"),
    ("cfg_scale", "guidance"),
    ("sampling_method", "sampler"),
    ("schedule", "scheduler"),
    ("negative", "negative_prompt"),
    ("strength", "init.strength"),
    ("denoise", "init.strength"),
    ("denoising_strength", "init.strength"),
    ("upscale", "hires.scale"),
    ("hires_scale", "hires.scale"),
    ("hires_strength", "hires.strength"),
    ("hires_steps", "hires.steps"),
    ("control_strength", "control.strength"),
    ("placement", "placement.backend"),
    ("backend", "placement.backend"),
    ("variation", "seed_blend.amount"),
];
/// Settings that have an axis of their own kind, or that a sheet decides; in its words nothing is
/// drawn.
const OTHERS: [&str; 7] = ["files", "loras", "disabled_loras", "further_starts", "batch_count", "template", "words_seed"];

/// A setting, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettingName {
    /// Its key in files.
    pub(super) key: &'static str,
    /// The part of it.
    pub(super) part: Option<String>,
    /// Its name, as it is shown.
    pub(super) label: String,
}

/// Names that an axis may have, for people.
#[must_use]
pub fn axis_names() -> Vec<&'static str> {
    let own = ["model", "lora", "size", "words"];
    let settings = SETTING_NAMES.iter().map(|(key, _)| *key).filter(|key| !OTHERS.contains(key));
    own.into_iter().chain(settings).chain(ALIASES.iter().map(|(alias, _)| *alias)).collect()
}

impl SettingName {
    /// The setting of this name; `None` where there is none.
    pub(super) fn find(text: &str) -> Option<Self> {
        let name = text.trim().to_lowercase().replace(['-', ' '], "_");
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| name);
        let (key, part) = name.split_once('.').map_or((name, None), |(key, part)| (key, Some(part)));
        let spoken = |label: &str| label.replace(['-', ' '], "_") == key;
        let settings = || SETTING_NAMES.iter().filter(|(key, _)| !OTHERS.contains(key));
        let (key, _) = settings().find(|(own, _)| *own == key).or_else(|| settings().find(|(_, label)| spoken(label)))?;
        let label = setting_name(key);
        let label = match (*key, part) {
            ("init", Some("strength")) => tr!("core-denoising-strength").to_owned(),
            ("placement", Some("backend")) | (_, None) => label.to_owned(),
            (_, Some(part)) => format!("{label} {}", part.replace('_', " ")),
        };
        Some(Self { key, part: part.map(str::to_owned), label })
    }

    /// True where a number need not be whole.
    pub(super) fn takes_fractions(&self, base: &Recipe) -> bool {
        self.read(base, "0.5").is_ok()
    }

    /// A recipe that has this value of the setting, and of all others the usual one.
    pub(super) fn recipe_with(&self, base: &Recipe, text: &str) -> Result<Recipe, GridError> {
        self.within_limits(self.read(base, text)?, text)
    }

    fn read(&self, base: &Recipe, text: &str) -> Result<Recipe, GridError> {
        let mut reason = None;
        for value in candidates(self.key, self.part.is_none(), text) {
            let value = match &self.part {
                None => value,
                Some(part) => self.with_part(base, part, value)?,
            };
            let field = Map::from_iter([(self.key.to_owned(), value)]);
            match serde_json::from_value::<Recipe>(Value::Object(field)) {
                Ok(recipe) => return Ok(recipe),
                Err(error) => reason = reason.or(Some(error)),
            }
        }
        tracing::debug!("{}: {reason:?}", self.key);
        Err(GridError::new(tr!("core-the-setting-cannot-be", label = self.label, text)))
    }

    /// The value of the whole setting with another value of a part.
    fn with_part(&self, base: &Recipe, part: &str, value: Value) -> Result<Value, GridError> {
        let whole = base.setting_value(self.key).filter(|value| !value.is_null());
        let usual = || match self.key {
            "hires" => serde_json::to_value(Hires::default()).ok(),
            "seed_blend" => serde_json::to_value(SeedBlend::default()).ok(),
            "skip_layers" => serde_json::to_value(SkipLayers::default()).ok(),
            _ => None,
        };
        let Some(Value::Object(mut fields)) = whole.or_else(usual) else {
            return Err(GridError::new(tr!("core-there-is-no-setting-whose", name = setting_name(self.key), part)));
        };
        if !fields.contains_key(part) {
            return Err(GridError::new(tr!("core-the-setting-has-no-part", name = setting_name(self.key), part, parts = names(&fields))));
        }
        if (self.key, part) == ("seed_blend", "seed") && value.as_i64().is_some_and(i64::is_negative) {
            return Err(random_seed());
        }
        fields.insert(part.to_owned(), value);
        Ok(Value::Object(fields))
    }

    /// Refuses what a picture would be made without.
    fn within_limits(&self, recipe: Recipe, text: &str) -> Result<Recipe, GridError> {
        let mut limited = recipe.clone();
        // A list of noise levels decides the number of steps; it is counted where the cell is made.
        let notes = limited.clamp();
        let is_kept = limited.setting_value(self.key) == recipe.setting_value(self.key);
        if !is_kept {
            let sentence = notes.first().map(|note| note.trim_end_matches('.').to_lowercase()).unwrap_or_default();
            return Err(GridError::new(tr!("core-the-setting-cannot-be-because", label = self.label, text, sentence)));
        }
        if self.key == "seed" && recipe.seed.is_none() {
            return Err(random_seed());
        }
        Ok(recipe)
    }
}

fn random_seed() -> GridError {
    GridError::new(tr!("core-a-random-seed-compares"))
}

fn names(fields: &Map<String, Value>) -> String {
    fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// What a text may mean, the likeliest first.
fn candidates(key: &str, is_whole: bool, text: &str) -> Vec<Value> {
    let words = |text: &str| Value::String(text.to_owned());
    if is_whole && matches!(key, "prompt" | "negative_prompt" | "sampler_arguments") {
        return vec![words(text)];
    }
    let lower = text.to_lowercase();
    let named = match key {
        "sampler" => text.parse::<Sampler>().ok().map(Sampler::key),
        "scheduler" => text.parse::<Scheduler>().ok().map(Scheduler::key),
        "prediction" => text.parse::<PredictionType>().ok().map(PredictionType::key),
        "rng" | "sampler_rng" => text.parse::<Rng>().ok().map(Rng::key),
        _ => None,
    };
    let mut all: Vec<Value> = named.map(words).into_iter().collect();
    // A step cache by its name alone has the engine's own values.
    let cache = text.parse::<CacheMode>().ok().filter(|_| is_whole && key == "step_cache");
    all.extend(cache.and_then(|mode| serde_json::to_value(StepCache::of(mode)).ok()));
    all.extend(match lower.as_str() {
        "on" | "yes" => Some(Value::Bool(true)),
        "off" | "no" => Some(Value::Bool(false)),
        "none" | "usual" | "auto" | "default" => Some(Value::Null),
        _ => None,
    });
    all.extend(serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_string()));
    all.extend([words(text), words(&lower)]);
    all
}
