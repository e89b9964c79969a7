//! Settings that no other test sees in a picture reach the engine, those that models of one family
//! alone use among them: each makes a picture of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use atelier_core::recipe::{FileRole, ImageSource, ModelFiles, PredictionType, Recipe, Rgb8, Rng, Sampler, TileSize, VaeFormat};
use support::engine::Engine;
use support::{folder, of_zeros, recipe};
use testkit::families::{self, Part};

fn grey() -> ImageSource {
    ImageSource::Pixels(Rgb8::new(64, 64, vec![128; 64 * 64 * 3]).unwrap())
}

/// A picture with twice the pixels.
fn wide() -> ImageSource {
    let pixels = (0..128 * 64 * 3).map(|n: u32| (n * 5 / 7 % 256) as u8).collect();
    ImageSource::Pixels(Rgb8::new(128, 64, pixels).unwrap())
}

fn written(name: &str, parts: Vec<(&'static str, Part)>) -> ModelFiles {
    support::written(parts, &folder(name))
}

/// A recipe for a model that is mostly zeros.
fn of(files: ModelFiles) -> Recipe {
    Recipe { files, steps: recipe().steps, ..of_zeros() }
}

/// The model leaves memory: settings with which it is opened would have it there several times.
fn pixels(engine: &Engine, recipe: &Recipe) -> Vec<u8> {
    let said = engine.run(recipe);
    engine.handle().unload().unwrap();
    said.pixels().to_vec()
}

/// Each of these makes a picture of its own, and so does `plain`. Returns those of the others.
fn assert_all_differ(engine: &Engine, plain: &Recipe, others: &[(&str, Recipe)]) -> Vec<Vec<u8>> {
    let mut pictures = vec![pixels(engine, plain)];
    for (setting, recipe) in others {
        let picture = pixels(engine, recipe);
        assert!(!pictures.contains(&picture), "{setting} makes the picture of another");
        pictures.push(picture);
    }
    pictures.split_off(1)
}

/// Runs a test whose model takes gigabytes: one at a time, with two threads in place of a second
/// test, and its files are gone afterwards.
fn with_large_model(name: &str, parts: Vec<(&'static str, Part)>, test: impl FnOnce(&Engine, &Recipe, &Path)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let engine = Engine::start();
    test(&engine, &Recipe { steps: 1, threads: Some(2), ..of(written(name, parts)) }, &folder(name));
    drop(engine);
    fs::remove_dir_all(folder(name)).unwrap();
}

#[test]
fn settings_of_sampling_and_tiles_reach_the_engine() {
    let engine = Engine::start();
    let plain = Recipe { sampler: Some(Sampler::EulerA), ..recipe() };
    let others = [
        ("eta", Recipe { eta: Some(0.5), ..plain.clone() }),
        ("flow_shift", Recipe { flow_shift: Some(1.5), ..plain.clone() }),
        ("sampler_rng", Recipe { sampler_rng: Some(Rng::Cpu), ..plain.clone() }),
    ];
    assert_all_differ(&engine, &plain, &others);
    let tiled = Recipe { width: 320, height: 192, steps: 1, vae_tiling: true, vae_tile_size: Some(TileSize::square(16)), ..recipe() };
    let others = [
        ("vae_tile_size", Recipe { vae_tile_size: Some(TileSize::square(8)), ..tiled.clone() }),
        ("the width of vae_tile_size", Recipe { vae_tile_size: Some(TileSize { width: 8, height: 16 }), ..tiled.clone() }),
        ("the height of vae_tile_size", Recipe { vae_tile_size: Some(TileSize { width: 16, height: 8 }), ..tiled.clone() }),
        ("vae_tile_overlap", Recipe { vae_tile_overlap: Some(0.125), ..tiled.clone() }),
    ];
    assert_all_differ(&engine, &tiled, &others);
}

#[test]
fn settings_of_unets_reach_the_engine() {
    let engine = Engine::start();
    let sd15 = of(written("sd15", families::reading("sd15")));
    let predicted = |prediction| Recipe { prediction: Some(prediction), ..sd15.clone() };
    let others = [("v", predicted(PredictionType::V)), ("edm_v", predicted(PredictionType::EdmV))];
    assert_all_differ(&engine, &sd15, &others);
    let sdxl = of(written("sdxl", families::reading("sdxl")));
    assert_all_differ(&engine, &sdxl, &[("timestep_shift", Recipe { timestep_shift: Some(250), ..sdxl.clone() })]);
}

#[test]
fn settings_of_flux_and_its_references_reach_the_engine() {
    let engine = Engine::start();
    let flux = Recipe { guidance: 3.0, steps: 1, ..of(written("flux", families::reading("flux"))) };
    let seen = Recipe { reference_images: vec![wide(), grey()], ..flux.clone() };
    let others = [
        ("distilled_guidance", Recipe { distilled_guidance: 1.0, ..flux.clone() }),
        ("reference_images", seen.clone()),
        ("image_guidance", Recipe { image_guidance: Some(1.5), ..seen.clone() }),
        ("resize_references", Recipe { resize_references: false, ..seen.clone() }),
        ("number_references", Recipe { number_references: true, ..seen }),
    ];
    assert_all_differ(&engine, &flux, &others);
}

#[test]
fn chromas_masks_and_padding_change_what_it_reads_of_a_prompt() {
    with_large_model("chroma", families::chroma(), |engine, plain, _| {
        // Its approximator reads these zeros once for each of 344 vectors: so they are an eighth.
        let plain = Recipe { tensor_type_rules: "distilled_guidance_layer\\.layers=tq2_0".parse().unwrap(), ..plain.clone() };
        let unmasked = Recipe { chroma_dit_mask: false, ..plain.clone() };
        let padded = Recipe { chroma_t5_padding: 64, ..plain.clone() };
        let t5_masked = Recipe { chroma_t5_mask: true, ..plain.clone() };
        let others = [("chroma_dit_mask", unmasked.clone()), ("chroma_t5_padding", padded), ("chroma_t5_mask", t5_masked)];
        let pictures = assert_all_differ(engine, &plain, &others);
        // The padding is what the diffusion module's mask leaves unmasked.
        assert!(pixels(engine, &Recipe { chroma_t5_padding: 64, ..unmasked }) == pictures[0]);
    });
}

#[test]
fn qwen_images_references_have_a_timestep_of_zero_where_the_setting_or_its_file_says_so() {
    let parts = families::qwen_image();
    let Some(("diffusion", Part::Draft(mut module))) = parts.first().cloned() else { panic!("its module can be changed") };
    // As the file of an edition has it that learned so.
    module.add("__index_timestep_zero__", &[1]);
    with_large_model("qwen-image", parts, |engine, plain, dir| {
        let plain = Recipe { reference_images: vec![grey()], ..plain.clone() };
        let marked = dir.join("marked.safetensors");
        module.write(&marked).unwrap();
        let mut by_file = plain.clone();
        by_file.files.set(FileRole::Diffusion, marked);
        let zero = pixels(engine, &Recipe { zero_cond_t: true, ..plain.clone() });
        assert!(pixels(engine, &plain) != zero, "the setting changes nothing");
        assert!(pixels(engine, &by_file) == zero, "the file does not say it");
    });
}

#[test]
fn pids_vae_format_scales_what_it_sees_of_its_reference() {
    with_large_model("pid", families::pid(false), |engine, plain, _| {
        let plain = Recipe { reference_images: vec![grey()], ..plain.clone() };
        let format = |format| Recipe { vae_format: Some(format), ..plain.clone() };
        assert_all_differ(engine, &plain, &[("Flux", format(VaeFormat::Flux)), ("SD3", format(VaeFormat::Sd3))]);
    });
}

#[test]
fn pids_file_says_that_it_sees_the_latents_of_flux2_and_whole_ones_of_any_reference() {
    with_large_model("pid-flux2", families::pid(true), |engine, plain, _| {
        let seen = |side: u32, vae_format| {
            let grey = Rgb8::new(side, side, vec![128; side as usize * side as usize * 3]).unwrap();
            pixels(engine, &Recipe { reference_images: vec![ImageSource::Pixels(grey)], vae_format, ..plain.clone() })
        };
        let by_setting = seen(64, Some(VaeFormat::Flux2));
        assert!(seen(64, None) == by_setting, "the file does not say it");
        // Of nine parts of latents in a row, the last would be half of one. All are as grey.
        assert!(seen(72, None) == by_setting, "another size");
    });
}
