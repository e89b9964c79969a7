//! The lines of `atelier inspect --json`.

use serde::{Deserialize, Serialize};

use atelier_core::recipe::{Seed, StepCache, TileSize};
use atelier_media::{PictureModel, PictureSettings, StoredRecipe};

/// What a picture file says of how it was made; null is what it does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct Inspected {
    pub path: String,
    pub tool: Option<String>,
    #[serde(default)]
    pub studio: Option<String>,
    pub prompt: Option<String>,
    pub negative_prompt: Option<String>,
    pub seed: Option<Seed>,
    pub words_seed: Option<Seed>,
    pub blend_seed: Option<Seed>,
    pub blend: Option<f32>,
    pub steps: Option<u32>,
    pub guidance: Option<f32>,
    pub guidance_ranges: Option<Vec<String>>,
    pub distilled_guidance: Option<f32>,
    pub sampler: Option<String>,
    pub scheduler: Option<String>,
    pub image_guidance: Option<f32>,
    pub slg_scale: Option<f32>,
    pub skip_layers: Option<Vec<u32>>,
    pub skip_layer_start: Option<f32>,
    pub skip_layer_end: Option<f32>,
    pub sigmas: Option<Vec<f32>>,
    pub sampler_arguments: Option<String>,
    pub seamless_x: Option<bool>,
    pub seamless_y: Option<bool>,
    pub flow_shift: Option<f32>,
    pub timestep_shift: Option<u32>,
    pub cache_mode: Option<String>,
    pub cache_options: Option<String>,
    pub cache_mask: Option<String>,
    pub vae_tiling: Option<bool>,
    pub vae_tile_size: Option<TileSize>,
    pub vae_tile_overlap: Option<f32>,
    pub eta: Option<f32>,
    pub clip_skip: Option<u32>,
    pub strength: Option<f32>,
    pub hires_scale: Option<f32>,
    pub hires_width: Option<u32>,
    pub hires_height: Option<u32>,
    pub hires_strength: Option<f32>,
    pub hires_steps: Option<u32>,
    pub hires_sigmas: Option<Vec<f32>>,
    pub hires_upscaler: Option<String>,
    pub upscaler: Option<String>,
    pub control_model: Option<String>,
    pub control_preprocessor: Option<String>,
    pub control_strength: Option<f32>,
    pub control_start: Option<f32>,
    pub control_end: Option<f32>,
    pub rng: Option<String>,
    pub sampler_rng: Option<String>,
    pub cpu_math: Option<String>,
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub file_width: u32,
    pub file_height: u32,
    pub model: Option<InspectedModel>,
    pub vae: Option<InspectedModel>,
    pub loras: Vec<InspectedLora>,
    pub raw_texts: Vec<InspectedText>,
    pub unknown_fields: Vec<InspectedField>,
}

/// A model by name or hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct InspectedModel {
    pub name: Option<String>,
    pub hash: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct InspectedLora {
    pub name: String,
    pub hash: Option<String>,
    pub strength: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder_strength: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<f32>,
}

/// A text of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct InspectedText {
    pub key: String,
    pub text: String,
}

/// A field that was not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "docs/json.md documents every field")]
pub struct InspectedField {
    pub name: String,
    pub value: String,
}

impl Inspected {
    /// The settings of the file of this path.
    #[must_use]
    pub fn new(path: String, settings: PictureSettings) -> Self {
        let model = |it: PictureModel| InspectedModel { name: it.name, hash: it.hash };
        Self {
            path,
            tool: settings.tool.map(|tool| tool.key().to_owned()),
            studio: settings.recipe.as_ref().and_then(StoredRecipe::studio).map(str::to_owned),
            prompt: settings.prompt,
            negative_prompt: settings.negative_prompt,
            seed: settings.seed,
            words_seed: settings.words_seed,
            blend_seed: settings.seed_blend.map(|blend| blend.seed),
            blend: settings.seed_blend.map(|blend| blend.amount),
            steps: settings.steps,
            guidance: settings.guidance,
            guidance_ranges: settings.guidance_ranges.map(|ranges| ranges.iter().map(ToString::to_string).collect()),
            distilled_guidance: settings.distilled_guidance,
            sampler: settings.sampler,
            scheduler: settings.scheduler,
            image_guidance: settings.image_guidance,
            slg_scale: settings.skip_layers.as_ref().map(|skip| skip.scale),
            skip_layer_start: settings.skip_layers.as_ref().map(|skip| skip.start),
            skip_layer_end: settings.skip_layers.as_ref().map(|skip| skip.end),
            skip_layers: settings.skip_layers.map(|skip| skip.layers),
            sigmas: settings.sigmas,
            sampler_arguments: settings.sampler_arguments,
            seamless_x: settings.seamless.map(|[x, _]| x),
            seamless_y: settings.seamless.map(|[_, y]| y),
            flow_shift: settings.flow_shift,
            timestep_shift: settings.timestep_shift,
            cache_options: settings.step_cache.as_ref().map(StepCache::options_text).filter(|text| !text.is_empty()),
            cache_mask: settings.step_cache.as_ref().map(StepCache::mask_text).filter(|text| !text.is_empty()),
            cache_mode: settings.step_cache.map(|cache| cache.mode.key().to_owned()),
            vae_tiling: settings.tiles.map(|_| true),
            vae_tile_size: settings.tiles.and_then(|tiles| tiles.size),
            vae_tile_overlap: settings.tiles.and_then(|tiles| tiles.overlap),
            eta: settings.eta,
            clip_skip: settings.clip_skip,
            strength: settings.strength,
            hires_scale: settings.hires.as_ref().map(|hires| hires.scale),
            hires_width: settings.hires.as_ref().and_then(|hires| Some(hires.size?.0)),
            hires_height: settings.hires.as_ref().and_then(|hires| Some(hires.size?.1)),
            hires_strength: settings.hires.as_ref().and_then(|hires| hires.strength),
            hires_steps: settings.hires.as_ref().and_then(|hires| hires.steps),
            hires_sigmas: settings.hires.as_ref().map(|hires| hires.sigmas.clone()).filter(|sigmas| !sigmas.is_empty()),
            hires_upscaler: settings.hires.and_then(|hires| hires.upscaler),
            upscaler: settings.upscaler,
            control_strength: settings.control.as_ref().and_then(|control| control.strength),
            control_start: settings.control.as_ref().and_then(|control| control.start),
            control_end: settings.control.as_ref().and_then(|control| control.end),
            control_preprocessor: settings.control.as_ref().and_then(|control| control.preprocessor.clone()),
            control_model: settings.control.and_then(|control| control.model),
            rng: settings.rng.map(|rng| rng.key().to_owned()),
            sampler_rng: settings.sampler_rng.map(|rng| rng.key().to_owned()),
            cpu_math: settings.cpu_math.map(|math| math.name().to_owned()),
            width: settings.size.map(|size| size.0),
            height: settings.size.map(|size| size.1),
            file_width: settings.width,
            file_height: settings.height,
            model: settings.model.map(model),
            vae: settings.vae.map(model),
            loras: settings
                .loras
                .into_iter()
                .map(|lora| InspectedLora {
                    start: lora.range().map(|(start, _)| start),
                    end: lora.range().map(|(_, end)| end),
                    name: lora.name,
                    hash: lora.hash,
                    strength: lora.strength,
                    encoder_strength: lora.encoder_strength,
                })
                .collect(),
            raw_texts: settings.raw_texts.into_iter().map(|(key, text)| InspectedText { key, text }).collect(),
            unknown_fields: settings.not_understood.into_iter().map(|(name, value)| InspectedField { name, value }).collect(),
        }
    }
}
