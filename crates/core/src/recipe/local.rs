//! The form in which files of this machine store a recipe: settings and queue.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    ControlImage, EarlierSteps, FileRole, Hires, ImageSource, InitImage, Lora, Person, PlacementText, Recipe, SeedBlend, StoredArea,
};
use crate::canvas::{Borders, StartFit};

/// Reference pictures beyond these are no recipe.
const MOST_PICTURES: usize = 64;
/// No processor has more threads.
const MOST_THREADS: u32 = 4096;

/// A recipe as files of this machine alone store it, with full paths; a field that is absent has its usual value, one out of its range too.
/// Names here are part of the formats of the settings and of the queue: they never change. Pixels that are in no file are left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalRecipe {
    files: BTreeMap<String, PathBuf>,
    prompt: String,
    negative_prompt: String,
    negative_in_prompt: bool,
    width: u32,
    height: u32,
    steps: u32,
    guidance: f32,
    distilled_guidance: f32,
    sampler: Option<String>,
    scheduler: Option<String>,
    eta: Option<f32>,
    flow_shift: Option<f32>,
    clip_skip: Option<u32>,
    seed: i64,
    seed_blend: Option<SeedBlend>,
    rng: String,
    batch_count: u32,
    vae_tiling: bool,
    flash_attention: bool,
    vae_conv_scale: bool,
    start_picture: Option<PathBuf>,
    start_strength: f32,
    mask: Option<PathBuf>,
    start_fit: String,
    area: Option<StoredArea>,
    outpaint: Option<Borders>,
    hires: Option<Hires>,
    earlier_steps: Vec<EarlierSteps>,
    last_step: Option<u32>,
    reference_pictures: Vec<PathBuf>,
    control_picture: Option<PathBuf>,
    control_strength: f32,
    person_pictures: Vec<PathBuf>,
    person_style_strength: f32,
    person_id_embedding: Option<PathBuf>,
    loras: Vec<LocalLora>,
    disabled_loras: Vec<LocalLora>,
    embeddings: Vec<PathBuf>,
    threads: Option<u32>,
    backend: String,
    params_backend: String,
    max_vram: String,
    stream_layers: bool,
    split_batch: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct LocalLora {
    path: PathBuf,
    strength: f32,
}

impl Default for LocalRecipe {
    fn default() -> Self {
        Self::from(&Recipe::default())
    }
}

impl From<&Recipe> for LocalRecipe {
    fn from(recipe: &Recipe) -> Self {
        let file = |source: &ImageSource| match source {
            ImageSource::File(path) => Some(path.clone()),
            ImageSource::Pixels(_) => None,
        };
        let loras = |loras: &[Lora]| loras.iter().map(|it| LocalLora { path: it.path.clone(), strength: it.strength }).collect();
        Self {
            files: recipe.files.iter().map(|(role, path)| (role.key().to_owned(), path.to_owned())).collect(),
            prompt: recipe.prompt.clone(),
            negative_prompt: recipe.negative_prompt.clone(),
            negative_in_prompt: recipe.negative_in_prompt,
            width: recipe.width,
            height: recipe.height,
            steps: recipe.steps,
            guidance: recipe.guidance,
            distilled_guidance: recipe.distilled_guidance,
            sampler: recipe.sampler.map(|it| it.key().to_owned()),
            scheduler: recipe.scheduler.map(|it| it.key().to_owned()),
            eta: recipe.eta,
            flow_shift: recipe.flow_shift,
            clip_skip: recipe.clip_skip,
            seed: recipe.seed,
            seed_blend: recipe.seed_blend,
            rng: recipe.rng.key().to_owned(),
            batch_count: recipe.batch_count,
            vae_tiling: recipe.vae_tiling,
            flash_attention: recipe.flash_attention,
            vae_conv_scale: recipe.vae_conv_scale,
            start_picture: recipe.init.as_ref().and_then(|init| file(&init.image)),
            start_strength: recipe.init.as_ref().map_or(0.75, |init| init.strength),
            mask: recipe.mask.as_ref().and_then(file),
            start_fit: recipe.start_fit.key().to_owned(),
            area: recipe.area.map(StoredArea::from),
            outpaint: recipe.outpaint,
            hires: recipe.hires.clone(),
            earlier_steps: recipe.earlier_steps.clone(),
            last_step: recipe.last_step,
            reference_pictures: recipe.reference_images.iter().filter_map(file).collect(),
            control_picture: recipe.control.as_ref().and_then(|control| file(&control.image)),
            control_strength: recipe.control.as_ref().map_or(ControlImage::USUAL_STRENGTH, |control| control.strength),
            person_pictures: recipe.person.images.iter().filter_map(file).collect(),
            person_style_strength: recipe.person.style_strength,
            person_id_embedding: recipe.person.id_embedding.clone(),
            threads: recipe.threads,
            loras: loras(&recipe.loras),
            disabled_loras: loras(&recipe.disabled_loras),
            embeddings: recipe.embeddings.clone(),
            backend: recipe.placement.backend.clone(),
            params_backend: recipe.placement.params_backend.clone(),
            max_vram: recipe.placement.max_vram.clone(),
            stream_layers: recipe.placement.stream_layers,
            split_batch: recipe.placement.split_batch.clone(),
        }
    }
}

impl From<LocalRecipe> for Recipe {
    fn from(stored: LocalRecipe) -> Self {
        let usual = Self::default();
        let within = |value: f32, low: f32, high: f32, usual: f32| if (low..=high).contains(&value) { value } else { usual };
        let loras = |loras: Vec<LocalLora>| {
            loras.into_iter().map(|it| Lora { path: it.path, strength: within(it.strength, -10.0, 10.0, 1.0) }).collect()
        };
        Self {
            files: stored.files.into_iter().filter_map(|(key, path)| Some((FileRole::from_key(&key)?, path))).collect(),
            prompt: stored.prompt,
            negative_prompt: stored.negative_prompt,
            negative_in_prompt: stored.negative_in_prompt,
            width: stored.width.clamp(64, 8192),
            height: stored.height.clamp(64, 8192),
            steps: stored.steps.clamp(1, 1000),
            guidance: within(stored.guidance, 0.0, 100.0, usual.guidance),
            distilled_guidance: within(stored.distilled_guidance, 0.0, 100.0, usual.distilled_guidance),
            sampler: stored.sampler.and_then(|name| name.parse().ok()),
            scheduler: stored.scheduler.and_then(|name| name.parse().ok()),
            eta: stored.eta.filter(|it| (0.0..=10.0).contains(it)),
            flow_shift: stored.flow_shift.filter(|it| (0.0..=100.0).contains(it)),
            clip_skip: stored.clip_skip.filter(|it| (1..=12).contains(it)),
            seed: stored.seed.max(-1),
            seed_blend: stored.seed_blend.map(SeedBlend::clamped),
            rng: stored.rng.parse().unwrap_or_default(),
            batch_count: stored.batch_count.clamp(1, 1000),
            vae_tiling: stored.vae_tiling,
            flash_attention: stored.flash_attention,
            vae_conv_scale: stored.vae_conv_scale,
            init: stored
                .start_picture
                .map(|path| InitImage { image: ImageSource::File(path), strength: within(stored.start_strength, 0.0, 1.0, 0.75) }),
            mask: stored.mask.map(ImageSource::File),
            start_fit: StartFit::from_key(&stored.start_fit).unwrap_or_default(),
            area: stored.area.map(Into::into),
            outpaint: stored.outpaint.map(Borders::clamped),
            hires: stored.hires.map(Hires::clamped),
            earlier_steps: stored.earlier_steps.into_iter().take(EarlierSteps::MOST).map(EarlierSteps::clamped).collect(),
            last_step: stored.last_step.filter(|step| (1..=1000).contains(step)),
            reference_images: stored.reference_pictures.into_iter().take(MOST_PICTURES).map(ImageSource::File).collect(),
            control: stored.control_picture.map(|path| ControlImage {
                image: ImageSource::File(path),
                strength: within(stored.control_strength, 0.0, 1.0, ControlImage::USUAL_STRENGTH),
            }),
            person: Person {
                images: stored.person_pictures.into_iter().take(Person::MOST_IMAGES).map(ImageSource::File).collect(),
                style_strength: stored.person_style_strength,
                id_embedding: stored.person_id_embedding,
            }
            .clamped(),
            threads: stored.threads.filter(|it| (1..=MOST_THREADS).contains(it)),
            loras: loras(stored.loras),
            disabled_loras: loras(stored.disabled_loras),
            embeddings: stored.embeddings.into_iter().take(MOST_PICTURES).collect(),
            placement: PlacementText {
                backend: stored.backend,
                params_backend: stored.params_backend,
                max_vram: stored.max_vram,
                stream_layers: stored.stream_layers,
                split_batch: stored.split_batch,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::AreaSettings;
    use crate::recipe::RedrawTiles;

    #[test]
    fn a_recipe_comes_back_with_its_paths_and_one_of_an_older_version_is_readable() {
        let mut recipe = Recipe { prompt: "a lake".into(), seed: 7, steps: 9, batch_count: 3, ..Recipe::default() };
        recipe.files.set(FileRole::Model, "/models/a.safetensors");
        recipe.init = Some(InitImage { image: ImageSource::File("/pictures/b.png".into()), strength: 0.5 });
        recipe.start_fit = StartFit::Stretch;
        let images = vec![ImageSource::File("/pictures/ann.png".into()), ImageSource::File("/pictures/ann-2.png".into())];
        recipe.person = Person { images, style_strength: 30.0, id_embedding: Some("/pictures/id_embeds.bin".into()) };
        recipe.area = Some(AreaSettings { feather: Some(3), ..AreaSettings::default() });
        recipe.outpaint = Some(Borders { left: 64, ..Borders::default() });
        let tiles = Some(RedrawTiles { side: Some(512), ..RedrawTiles::default() });
        recipe.hires = Some(Hires { upscaler: Some("/models/x4.safetensors".into()), tiles, ..Hires::default() });
        recipe.loras.push(Lora { path: "/loras/ink.safetensors".into(), strength: 0.8 });
        recipe.earlier_steps = recipe.steps_until(3, Some("a.png".into()));
        recipe.seed_blend = Some(SeedBlend { seed: 9, amount: 0.5 });
        recipe.last_step = Some(4);
        recipe.disabled_loras.push(Lora { path: "/loras/oil.safetensors".into(), strength: 0.3 });
        let text = serde_json::to_string(&LocalRecipe::from(&recipe)).unwrap();
        assert_eq!(Recipe::from(serde_json::from_str::<LocalRecipe>(&text).unwrap()), recipe);
        let old: Recipe = serde_json::from_str::<LocalRecipe>(r#"{"prompt":"a lake","of a newer version":1}"#).unwrap().into();
        assert_eq!(old, Recipe { prompt: "a lake".into(), ..Recipe::default() });
    }
}
