//! Pictures of Atelier: the stored recipe beside A1111's text.

use atelier_core::recipe::{Hires, LatentUpscaler, Lora, Recipe};

use super::settings::{PictureHires, PictureLora, PictureModel, PictureSettings, PictureTiles, Tool};
use super::texts::Texts;
use crate::StoredRecipe;
use crate::png::RECIPE;

impl StoredRecipe {
    /// Its LoRAs.
    #[must_use]
    pub fn loras(&self) -> Vec<PictureLora> {
        loras_of(&self.clone().with_names().recipe.loras)
    }
}

fn loras_of(loras: &[Lora]) -> Vec<PictureLora> {
    let told = |lora: &Lora| {
        let name = lora.path.file_stem()?.to_string_lossy().into_owned();
        let Lora { strength, encoder_strength, start, end, .. } = *lora;
        Some(PictureLora { name, hash: None, strength, encoder_strength, start, end })
    };
    loras.iter().filter_map(told).collect()
}

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let stored = StoredRecipe::from_json(texts.get(RECIPE)?)?;
    let restored = stored.clone().with_names();
    let Recipe { files, prompt, negative_prompt, width, height, steps, guidance, seed, rng, loras, init, .. } = restored.recipe;
    let stem = |path: &std::path::Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let hires = |it: Hires| PictureHires {
        scale: it.scale,
        size: it.target,
        strength: Some(it.strength),
        steps: it.own_steps(),
        sigmas: it.sigmas.clone(),
        upscaler: match (&it.upscaler, it.latent_upscaler()) {
            (Some(path), _) => stem(path),
            (None, latent) => Some(latent.map_or("Lanczos", LatentUpscaler::label).to_owned()),
        },
    };
    let (size, overlap) = (restored.recipe.vae_tile_size, restored.recipe.vae_tile_overlap);
    Some(PictureSettings {
        tool: Some(Tool::Atelier),
        size: Some((width, height)),
        prompt: Some(prompt),
        negative_prompt: Some(negative_prompt),
        seed,
        words_seed: restored.recipe.words_seed,
        seed_blend: restored.recipe.seed_blend,
        steps: Some(steps),
        guidance: Some(guidance),
        guidance_ranges: Some(restored.recipe.guidance_ranges).filter(|it| !it.is_empty()),
        distilled_guidance: Some(restored.recipe.distilled_guidance),
        image_guidance: restored.recipe.image_guidance,
        skip_layers: restored.recipe.skip_layers,
        sigmas: Some(restored.recipe.sigmas).filter(|it| !it.is_empty()),
        sampler_arguments: Some(restored.recipe.sampler_arguments).filter(|it| !it.is_empty()),
        seamless: Some([restored.recipe.seamless_x, restored.recipe.seamless_y]).filter(|it| it.contains(&true)),
        hires: restored.recipe.hires.map(hires),
        flow_shift: restored.recipe.flow_shift,
        timestep_shift: restored.recipe.timestep_shift,
        step_cache: restored.recipe.step_cache,
        tiles: restored.recipe.vae_tiling.then_some(PictureTiles { size, overlap }),
        eta: restored.recipe.eta,
        clip_skip: restored.recipe.clip_skip,
        strength: init.map(|init| init.strength),
        upscaler: restored.recipe.upscale.and_then(|it| stem(&it.model)),
        rng: Some(rng),
        sampler_rng: restored.recipe.sampler_rng,
        cpu_math: stored.cpu_math(),
        sampler: restored.recipe.sampler.map(|it| it.label().to_owned()),
        scheduler: restored.recipe.scheduler.map(|it| it.label().to_owned()),
        model: PictureModel::of(stored.model().map(str::to_owned).or_else(|| files.main().and_then(stem)), None),
        vae: PictureModel::of(files.get(atelier_core::recipe::FileRole::Vae).and_then(stem), None),
        loras: loras_of(&loras),
        not_understood: restored.notes.into_iter().map(|note| ("atelier".to_owned(), note)).collect(),
        recipe: Some(stored),
        ..PictureSettings::default()
    })
}
