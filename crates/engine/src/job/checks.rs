//! Checks of a recipe that a job and an estimate share. Pure, but for the state of files.

use std::thread;

use crate::fingerprint::fingerprints;
use atelier_core::advice::Advice;
use atelier_core::canvas::{ModelSizes, PixelRect, tile_rects};
use atelier_core::recipe::{Hires, Lora, LoraStrengths, ModelFiles, ROWS, Recipe, RedrawTiles, TileSize};
use atelier_language::tr;
use atelier_library::{Family, snap};

/// Pixels of a side, least and greatest; the engine has no limit of its own, memory sets one long
/// before.
const SIDES: (u32, u32) = (*ROWS.width.limits.start(), *ROWS.width.limits.end());
/// Cores up to which all of them compute.
const FEW_CORES: u32 = 4;

/// Width and height in pixels after snapping to what the model can make.
pub(crate) fn snapped_size(recipe: &Recipe, size_multiple: u32) -> (u32, u32) {
    snapped((recipe.width, recipe.height), size_multiple)
}

/// Width and height in pixels of the second pass; a multiple of what the model can make.
pub(crate) fn hires_size(hires: &Hires, first: (u32, u32), size_multiple: u32) -> (u32, u32) {
    snapped(hires.size(first), size_multiple)
}

/// The tiles of a second pass of this size in pixels, where it is made in several.
pub(crate) fn redraw_tiles(hires: &Hires, size: (u32, u32), sizes: ModelSizes) -> Option<Vec<PixelRect>> {
    let tiles = hires.tiles.as_ref().filter(|_| hires.strength > 0.0)?;
    let (side, _) = snapped((tiles.side.unwrap_or(sizes.best), SIDES.0), sizes.multiple);
    let rects = tile_rects(size, side, RedrawTiles::overlap(side));
    (rects.len() > 1).then_some(rects)
}

/// A size in pixels after snapping to what the model can make.
pub(crate) fn snapped((width, height): (u32, u32), size_multiple: u32) -> (u32, u32) {
    let side = |asked| snap(asked, size_multiple, SIDES.0, SIDES.1);
    (side(width), side(height))
}

/// A picture of this size is decoded in tiles: with one tile or less there is nothing to cut.
/// `latent_pixels`, here and below: those of the model's family.
pub(crate) fn is_tiled(recipe: &Recipe, latent_pixels: u32) -> bool {
    recipe.vae_tiling && can_be_tiled(recipe, latent_pixels)
}

/// A picture of this size can be decoded in tiles.
pub(crate) fn can_be_tiled(recipe: &Recipe, latent_pixels: u32) -> bool {
    is_larger_than_a_tile(recipe, recipe.final_size(), latent_pixels)
}

/// Sides of a VAE tile in pixels.
pub(crate) fn vae_tile(recipe: &Recipe, latent_pixels: u32) -> TileSize {
    let TileSize { width, height } = recipe.vae_tile_size.unwrap_or(TileSize::square(TileSize::USUAL_SIDE));
    TileSize { width: width.saturating_mul(latent_pixels), height: height.saturating_mul(latent_pixels) }
}

/// True where a picture of this size in pixels is cut in tiles: where a side is longer than one, and
/// each side at which it continues itself is. The engine divides by the overlap at such a side, which
/// may be none of one tile.
pub(crate) fn is_larger_than_a_tile(recipe: &Recipe, (width, height): (u32, u32), latent_pixels: u32) -> bool {
    let tile = vae_tile(recipe, latent_pixels);
    let (is_wide, is_high) = (width > tile.width, height > tile.height);
    let has_seam_in_one_tile = (recipe.seamless_x && !is_wide) || (recipe.seamless_y && !is_high);
    (is_wide || is_high) && !has_seam_in_one_tile
}

/// Checks the size of a reference picture for a picture of this size.
///
/// # Errors
/// If nothing would be left of its shorter side: the engine gives it as many pixels as the picture
/// has, up to a mebipixel, and rounds its sides.
pub(crate) fn check_reference((width, height): (u32, u32), picture: (u32, u32), family: Family) -> Result<(), Advice> {
    // As `prepare_image_generation_latents` of stable-diffusion.cpp computes it. PiD takes it as it
    // is, HiDream-O1 resizes it otherwise.
    if matches!(family, Family::Pid | Family::HidreamO1) {
        return Ok(());
    }
    let multiple = if family == Family::QwenImage { 32.0 } else { 16.0 };
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let pixels = (u64::from(picture.0) * u64::from(picture.1)).min(1 << 20);
    let wide = ((pixels * width / height) as f64).sqrt();
    let high = wide * height as f64 / width as f64;
    if (wide / multiple).round() >= 1.0 && (high / multiple).round() >= 1.0 {
        return Ok(());
    }
    Err(Advice::new(tr!("engine-a-reference-picture-of", width, height), tr!("engine-crop-the-reference-picture")))
}

/// Identity of a set of LoRAs: a file that was replaced is another.
pub(crate) fn lora_key(loras: &[Lora]) -> String {
    let strengths: Vec<LoraStrengths> = loras.iter().map(Lora::strengths).collect();
    if loras.is_empty() { String::new() } else { format!("{:?} {strengths:?}", fingerprints(&ModelFiles::default(), loras)) }
}

/// Threads of the CPU: `requested`, else all cores but one, which the interface needs.
pub(crate) fn cpu_threads(requested: Option<u32>) -> u32 {
    let cores = thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    requested.unwrap_or_else(|| default_threads(cores)).clamp(1, cores.max(1) * 4)
}

/// Few cores all compute, since threads that wait step aside for the interface
/// (`vendor/ggml-sys/patches/ggml-cpu.c.patch`).
const fn default_threads(cores: u32) -> u32 {
    if cores <= FEW_CORES { cores } else { cores - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_picture_may_be_as_narrow_as_leaves_something_of_it() {
        let fits = |width, height, family| check_reference((width, height), (64, 64), family).is_ok();
        // 64 x 64 pixels at this shape are 8 high, which rounds up to 16.
        assert!(fits(64, 1, Family::Flux) && fits(1, 64, Family::Flux) && !fits(67, 1, Family::Flux) && !fits(1, 67, Family::Flux));
        assert!(fits(16, 1, Family::QwenImage) && !fits(17, 1, Family::QwenImage) && fits(700, 1, Family::Pid));
        assert!(check_reference((700, 2), (1024, 1024), Family::Flux).is_ok());
        assert!(check_reference((u32::MAX, 1), (u32::MAX, u32::MAX), Family::Flux).is_err());
    }

    #[test]
    fn a_panorama_is_cut_along_its_longer_side_and_a_seamless_side_is_none_of_a_tile() {
        let recipe = Recipe { vae_tiling: true, vae_tile_size: Some(TileSize::square(64)), ..Recipe::default() };
        let is_cut = |recipe: &Recipe, width, height| is_tiled(&Recipe { width, height, ..recipe.clone() }, 8);
        let sizes = [(512, 512), (2048, 512), (512, 520), (256, 1024), (1024, 1024)];
        assert_eq!(sizes.map(|(width, height)| is_cut(&recipe, width, height)), [false, true, true, true, true]);
        let around = Recipe { seamless_x: true, ..recipe.clone() };
        assert_eq!(sizes.map(|(width, height)| is_cut(&around, width, height)), [false, true, false, false, true]);
        assert!(!is_cut(&Recipe { vae_tiling: false, ..recipe.clone() }, 2048, 512));
        // 512 x 1024 pixels.
        let high = Recipe { vae_tile_size: Some(TileSize { width: 64, height: 128 }), ..recipe };
        assert_eq!(sizes.map(|(width, height)| is_cut(&high, width, height)), [false, true, false, false, true]);
        let around = Recipe { seamless_y: true, ..high };
        assert_eq!([(2048, 512), (256, 1032)].map(|(width, height)| is_cut(&around, width, height)), [false, true]);
    }

    #[test]
    fn a_tile_has_as_many_pixels_as_the_latents_of_the_family() {
        let recipe = Recipe { vae_tiling: true, seamless_x: true, width: 512, height: 1024, ..Recipe::default() };
        let tiles = [Family::Sdxl, Family::Flux2Klein, Family::Lens, Family::HidreamO1].map(|family| {
            let pixels = family.latent_pixels();
            (vae_tile(&recipe, pixels).width, is_tiled(&recipe, pixels))
        });
        // The VAE of Flux.2 has one tile from left to right, at whose seam the engine has no overlap.
        assert_eq!(tiles, [(256, true), (512, false), (512, false), (32, true)]);
    }

    #[test]
    fn one_core_is_left_to_others_where_there_are_many() {
        assert_eq!([1, 2, 4, 5, 16].map(default_threads), [1, 2, 4, 4, 15]);
        assert_eq!(cpu_threads(Some(0)), 1);
    }
}
