//! The settings of a job beside those that every client has: guidance, noise levels, step cache,
//! tiles, and the second pass.

use atelier_core::recipe::{CacheMode, Recipe, SkipLayers, StepCache, TileSize, Upscale};
use atelier_core::sentences::sentence;
use serde_json::json;

use crate::http::fields::{Fields, Item};
use crate::http::names::{self, UpscalerName};
use crate::http::recipe::{HiresWish, SIDES, STEPS, Wish};

/// The highest timestep of a model.
const MAX_TIMESTEP: u32 = 1000;
/// Denoising strength of a second pass where none is asked for.
const USUAL_HIRES_STRENGTH: f32 = 0.7;
/// Names of no step cache.
const NO_CACHE: [&str; 3] = ["disabled", "none", "off"];

/// Reads them, and says which settings are not followed. `sample`: the fields of `sample_params`.
pub(super) fn read(it: &mut Fields, sample: &mut Fields, wish: &mut Wish) {
    wish.further.sampler_arguments = sample.word("extra_sample_args");
    read_guidance(sample, wish);
    wish.further.timestep_shift = sample.within("shifted_timestep", 0..=MAX_TIMESTEP).filter(|it| *it > 0).map(Some);
    let sigmas = read_sigmas(sample);
    wish.further.sigmas = (!sigmas.is_empty()).then_some(sigmas);
    read_tiles(it, wish);
    read_cache(it, wish);
    if !it.switch("auto_resize_ref_image", true) {
        wish.further.resize_references = Some(false);
    }
    if it.switch("increase_ref_index", false) {
        wish.further.number_references = Some(true);
    }
    if !it.switch("embed_image_metadata", true) {
        wish.notes.push("Pictures always tell how they were made: embed_image_metadata is not followed.".to_owned());
    }
}

fn read_guidance(sample: &mut Fields, wish: &mut Wish) {
    let mut guidance = sample.object("guidance");
    wish.guidance = guidance.not_negative("txt_cfg");
    wish.distilled_guidance = guidance.not_negative("distilled_guidance");
    // Clients that have no field for it send the other one's value.
    let of_image = guidance.not_negative("img_cfg").filter(|it| Some(*it) != wish.guidance);
    wish.further.image_guidance = of_image.map(Some);
    let mut slg = guidance.object("slg");
    let layers: Vec<u32> =
        slg.list("layers", Item::Whole).iter().filter_map(|it| u32::try_from(it.as_u64()?).ok()).take(SkipLayers::MAX_LAYERS).collect();
    let usual = SkipLayers::default();
    let (start, end) = (slg.decimal_or("layer_start", usual.start), slg.decimal_or("layer_end", usual.end));
    // An argument of the sampling makes it one of its own kind, without a strength, as for sd-cli.
    let is_of_own_kind = wish.further.sampler_arguments.as_ref().is_some_and(|it| it.contains("slg_uncond"));
    let scale = slg.decimal("scale").filter(|scale| *scale > 0.0).or(is_of_own_kind.then_some(0.0));
    if let Some(scale) = scale {
        wish.further.skip_layers = Some(Some(SkipLayers { scale, layers, start, end }));
    }
    guidance.close(slg);
    sample.close(guidance);
}

/// Noise levels, one more than there are steps; none where nobody chose.
fn read_sigmas(it: &mut Fields) -> Vec<f32> {
    let sigmas = it.list("custom_sigmas", Item::Number);
    if sigmas.len() > *STEPS.end() as usize + 1 {
        it.fault("custom_sigmas", format!("There are more than {} noise levels.", STEPS.end() + 1));
        return Vec::new();
    }
    let read: Option<Vec<f32>> = sigmas.iter().map(|it| it.as_f64().map(|it| it as f32).filter(|it| it.is_finite())).collect();
    if read.is_none() {
        it.fault("custom_sigmas", "It is not a list of numbers.");
    }
    read.unwrap_or_default()
}

/// Reads the tiles in which pictures are decoded.
fn read_tiles(it: &mut Fields, wish: &mut Wish) {
    let mut tiles = it.object("vae_tiling_params");
    if tiles.switch("enabled", false) {
        wish.further.vae_tiling = Some(true);
        // 0 or less is the engine's own.
        let side = |tiles: &mut Fields, key: &str| tiles.whole(key).and_then(|side| u32::try_from(side).ok()).unwrap_or_default();
        let (wide, high) = (side(&mut tiles, "tile_size_x"), side(&mut tiles, "tile_size_y"));
        wish.further.vae_tile_size = TileSize::chosen(wide, high).map(Some);
        // Clients send the usual one where nobody chose.
        let overlap = tiles.decimal("target_overlap").filter(|overlap| *overlap != Recipe::USUAL_VAE_TILE_OVERLAP);
        wish.further.vae_tile_overlap = overlap.map(Some);
        let mut part = |key: &str| tiles.decimal(key).filter(|part| *part > 0.0);
        let parts = [part("rel_size_x"), part("rel_size_y")];
        let [wide, high] = parts.map(Option::unwrap_or_default);
        wish.relative_vae_tiles = (parts != [None, None]).then_some((wide, high));
        // Of moving pictures.
        tiles.leave_usual(&[("temporal_tiling", json!(false)), ("extra_tiling_args", json!(""))]);
    } else {
        tiles.leave_all();
    }
    it.close(tiles);
}

/// Reads the step cache, as sd-cli writes its options and its mask. What its kind has no use for is
/// named as unread.
fn read_cache(it: &mut Fields, wish: &mut Wish) {
    let names: Vec<&str> = NO_CACHE.into_iter().chain(CacheMode::ALL.iter().map(|mode| mode.key())).collect();
    let name = it.named_or("cache_mode", &names, NO_CACHE[0]);
    // What clients send where nobody chose.
    it.leave_usual(&[("scm_mask", json!("")), ("scm_policy_dynamic", json!(true))]);
    let (options, mask, is_dynamic) = (it.word("cache_option"), it.word("scm_mask"), it.flag("scm_policy_dynamic"));
    if NO_CACHE.contains(&name.as_str()) {
        return;
    }
    let mode = match name.parse::<CacheMode>() {
        Ok(mode) => mode,
        Err(unknown) => {
            it.fault("cache_mode", sentence(&unknown.to_string()));
            return;
        }
    };
    let mut cache = StepCache::of(mode);
    match options.map(|text| StepCache::read_options(&text)) {
        Some(Ok(options)) => cache.options = options,
        Some(Err(reason)) => it.fault("cache_option", sentence(&reason)),
        None => {}
    }
    match mask.map(|text| StepCache::read_mask(&text)) {
        Some(_) if !mode.has_mask() => it.ignore("scm_mask"),
        Some(Ok(mask)) => cache.mask = mask,
        Some(Err(reason)) => it.fault("scm_mask", sentence(&reason)),
        None => {}
    }
    let is_static = is_dynamic == Some(false);
    if is_static && cache.mask.is_empty() {
        it.ignore("scm_policy_dynamic");
    } else {
        cache.is_mask_static = is_static;
    }
    wish.further.step_cache = Some(Some(cache));
}

/// Reads the second pass.
pub(super) fn read_hires(it: &mut Fields, wish: &mut Wish) {
    let mut hires = it.object("hires");
    if hires.switch("enabled", false) {
        // What clients send where nobody chose.
        hires.leave_usual(&[
            ("target_width", json!(0)),
            ("target_height", json!(0)),
            ("upscale_tile_size", json!(0)),
            ("upscale_tile_size", json!(128)),
        ]);
        let named = names::upscaler(&hires.word("upscaler").unwrap_or_default());
        wish.notes.extend(named.note);
        // Of a model that upscales.
        let has_tiles = matches!(named.value, UpscalerName::Model(_));
        let tile_size = hires.within("upscale_tile_size", Upscale::TILES);
        if tile_size.is_some() && !has_tiles {
            hires.ignore("upscale_tile_size");
        }
        let (width, height) = (hires.within("target_width", SIDES), hires.within("target_height", SIDES));
        wish.hires = Some(HiresWish {
            scale: hires.clamped_or("scale", 1.0..=4.0, 2.0),
            // As sd-server: one side is both.
            target: width.or(height).zip(height.or(width)),
            strength: hires.clamped_or("denoising_strength", 0.0..=1.0, USUAL_HIRES_STRENGTH),
            steps: Some(hires.within_or("steps", 0..=*STEPS.end(), 0)).filter(|steps| *steps > 0),
            sigmas: read_sigmas(&mut hires),
            upscaler: named.value,
            tile_size: tile_size.filter(|_| has_tiles),
        });
    } else {
        hires.leave_all();
    }
    it.close(hires);
}

#[cfg(test)]
mod tests;
