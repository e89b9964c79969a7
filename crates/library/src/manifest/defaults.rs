//! The settings that suit a model.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use atelier_core::recipe::{ROWS, Recipe, Sampler, Scheduler};
use atelier_language::tr;

/// The settings that suit a model; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Defaults {
    /// Denoising steps.
    #[serde(deserialize_with = "steps", skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Classifier-free guidance; 1 switches it off.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub cfg: Option<f32>,
    /// Guidance that distilled models take as an input.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub distilled_guidance: Option<f32>,
    /// Width in pixels.
    #[serde(deserialize_with = "side", skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Height in pixels.
    #[serde(deserialize_with = "side", skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Sampler.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Sampler>,
    /// Scheduler.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// Timestep shift of flow models.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub flow_shift: Option<f32>,
    /// Noise added back at each step by ancestral samplers.
    #[serde(deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub eta: Option<f32>,
    /// CLIP layers left out from the end.
    #[serde(deserialize_with = "layers", skip_serializing_if = "Option::is_none")]
    pub clip_skip: Option<u32>,
    /// Reference pictures have a timestep of 0 (Qwen-Image-Edit 2511).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub zero_cond_t: bool,
    /// The model reads in its prompt what a picture does not show: "without the sun".
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub negative_in_prompt: bool,
    /// Preview that suits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<PreviewWay>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Preview that suits a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreviewWay {
    /// The engine's projection of the latents has the right colours.
    Proj,
    /// Only its tiny autoencoder has the right colours.
    Tae,
}

impl Defaults {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Puts a recipe to the settings that suit the model. Sampler, scheduler, shift and the like
    /// that are not named become the model's own.
    pub fn apply(&self, recipe: &mut Recipe) {
        let usual = Recipe::default();
        recipe.steps = self.steps.unwrap_or(usual.steps);
        recipe.guidance = self.cfg.unwrap_or(usual.guidance);
        recipe.distilled_guidance = self.distilled_guidance.unwrap_or(usual.distilled_guidance);
        recipe.width = self.width.unwrap_or(usual.width);
        recipe.height = self.height.unwrap_or(usual.height);
        recipe.sampler = self.sampler;
        recipe.scheduler = self.scheduler;
        recipe.flow_shift = self.flow_shift;
        recipe.eta = self.eta;
        recipe.clip_skip = self.clip_skip;
        recipe.negative_in_prompt = self.negative_in_prompt;
        recipe.zero_cond_t = self.zero_cond_t;
    }
}

fn within<'de, D: Deserializer<'de>>(deserializer: D, range: std::ops::RangeInclusive<u32>, what: &str) -> Result<Option<u32>, D::Error> {
    let value = Option::<u32>::deserialize(deserializer)?;
    match value.filter(|it| !range.contains(it)) {
        Some(wrong) => {
            Err(de::Error::custom(tr!("library-is-out-of-range-choose-to", wrong, what, start = range.start(), end = range.end())))
        }
        None => Ok(value),
    }
}

fn steps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(deserializer, ROWS.steps.limits, "steps")
}

pub(super) fn side<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(deserializer, ROWS.width.limits, "pixels")
}

fn layers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(deserializer, ROWS.clip_skip.limits, "layers")
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
    let value = Option::<f32>::deserialize(deserializer)?;
    match value.filter(|it| !(0.0..=100.0).contains(it)) {
        Some(wrong) => Err(de::Error::custom(tr!("library-is-out-of-range", wrong))),
        None => Ok(value),
    }
}

fn named<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: fmt::Display>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::<String>::deserialize(deserializer)?.map(|name| name.parse().map_err(de::Error::custom)).transpose()
}
