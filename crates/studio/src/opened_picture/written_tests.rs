//! What Atelier writes into A1111's text is read back from it, with every setting that has a field
//! there.

use std::fs;
use std::path::{Path, PathBuf};

use atelier_core::cpu_math::CpuMath;
use atelier_core::recipe::{
    CacheMode, FileRole, GuidanceRange, Hires, LatentUpscaler, Lora, LoraStrengths, PartialRecipe, PictureInfo, Recipe, Rng, Sampler,
    Scheduler, Seed, SeedBlend, SkipLayers, StepCache, TileSize, Upscale,
};
use atelier_library::{Availability, CardFile, ModelCard, ModelKind, Role};
use atelier_media::a1111::{Parameters, format};
use atelier_media::{Tool, settings_of_texts};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::foreign::{Translation, translate};
use super::{KnownModels, read_opened_picture};

const INK: &str = "/l/ink.safetensors";

/// The text of the first picture of a recipe.
fn text(recipe: &Recipe, cpu_math: Option<CpuMath>) -> String {
    let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math, merged_loras: false };
    format(&Parameters::of(recipe, None, info, recipe.width, recipe.height))
}

fn read(text: String, cards: &[ModelCard]) -> Translation {
    let settings = settings_of_texts(vec![("parameters".to_owned(), text)]);
    translate(&settings, Tool::A1111, &KnownModels { files: &[PathBuf::from(INK)], cards })
}

fn words() -> impl Strategy<Value = String> {
    "[a-z]{1,8}(,? ([a-z]{1,8}|[(][a-z]{1,8}:1[.][1-9][)])){0,4}"
}

fn share() -> impl Strategy<Value = f32> {
    0.0..=1.0_f32
}

fn sigmas() -> impl Strategy<Value = Vec<f32>> {
    prop_oneof![Just(Vec::new()), vec(0.0..=100.0_f32, 2..6)]
}

/// Sampler and scheduler, and numbers of the sampling.
fn sampled() -> impl Strategy<Value = Recipe> {
    let names = (option::of(select(Sampler::ALL)), option::of(select(Scheduler::ALL)));
    let numbers = (1..=150_u32, 0.0..=30.0_f32, 0.0..=30.0_f32, option::of(0.0..=10.0_f32), option::of(0.0..=30.0_f32));
    let size = (64..=2048_u32, 64..=2048_u32);
    (names, numbers, size, option::of(1..=12_u32)).prop_map(|((sampler, scheduler), numbers, (width, height), clip_skip)| {
        let (steps, guidance, distilled_guidance, eta, flow_shift) = numbers;
        Recipe { sampler, scheduler, steps, guidance, distilled_guidance, eta, flow_shift, width, height, clip_skip, ..Recipe::default() }
    })
}

/// Of the two that one switch stands for, both or none.
fn guided() -> impl Strategy<Value = Recipe> {
    let range = (0.0..=30.0_f32, share(), share()).prop_map(|(guidance, start, end)| GuidanceRange { guidance, start, end });
    let skip = (0.0..=30.0_f32, vec(0..=1000_u32, 0..6), share(), share());
    let skip = skip.prop_map(|(scale, layers, start, end)| SkipLayers { scale, layers, start, end });
    let arguments = "([a-z_]{1,8}=[0-9]{1,3}(,[a-z_]{1,8}=-?[0-9.]{1,4}){0,3})?";
    let ranges = vec(range, 0..=GuidanceRange::MAX);
    (ranges, option::of(0.0..=30.0_f32), option::of(skip), sigmas(), arguments, any::<bool>()).prop_map(
        |(guidance_ranges, image_guidance, skip_layers, sigmas, sampler_arguments, is_seamless)| Recipe {
            guidance_ranges,
            image_guidance,
            skip_layers,
            sigmas,
            sampler_arguments,
            seamless_x: is_seamless,
            seamless_y: is_seamless,
            ..Recipe::default()
        },
    )
}

/// A size takes the place of a factor, and noise levels that of steps.
fn second_pass() -> impl Strategy<Value = Hires> {
    let size = prop_oneof![
        (1.0..=4.0_f32).prop_map(|scale| (scale, None)),
        (64..=4096_u32, 64..=4096_u32).prop_map(|size| (Hires::default().scale, Some(size)))
    ];
    let steps = prop_oneof![option::of(1..=150_u32).prop_map(|steps| (steps, Vec::new())), sigmas().prop_map(|sigmas| (None, sigmas))];
    let latent = option::of(select(LatentUpscaler::ALL));
    (size, 0.01..=1.0_f32, steps, latent).prop_map(|((scale, target), strength, (steps, sigmas), latent)| Hires {
        scale,
        target,
        strength,
        steps,
        sigmas,
        latent,
        ..Hires::default()
    })
}

/// Step cache, timestep shift, and the sides and the overlap of VAE tiles.
fn engines() -> impl Strategy<Value = Recipe> {
    let cache = (select(CacheMode::ALL), option::of(0.0..=1.0_f32), vec(any::<bool>(), 0..4), any::<bool>());
    let cache = cache.prop_map(|(mode, threshold, mask, is_mask_static)| {
        let options = threshold.map(|threshold| ("threshold".to_owned(), threshold)).into_iter().collect();
        StepCache { mode, options, mask, is_mask_static }
    });
    // The usual overlap is told as none.
    let size = (4..=512_u32, 4..=512_u32).prop_map(|(width, height)| TileSize { width, height });
    let size = prop_oneof![size, (4..=512_u32).prop_map(TileSize::square)];
    let tiles = option::of((option::of(size), option::of(0.0..0.5_f32)));
    (option::of(cache), option::of(1..=1000_u32), tiles).prop_map(|(step_cache, timestep_shift, tiles)| {
        let (vae_tile_size, vae_tile_overlap) = tiles.unwrap_or_default();
        Recipe { step_cache, timestep_shift, vae_tiling: tiles.is_some(), vae_tile_size, vae_tile_overlap, ..Recipe::default() }
    })
}

fn seed() -> impl Strategy<Value = Seed> {
    prop_oneof![any::<u64>(), Just(u64::MAX), Just(1_u64 << 63)].prop_map(Seed)
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let blend = (seed(), share()).prop_map(|(seed, amount)| SeedBlend { seed, amount });
    let noise = (seed(), option::of(seed()), option::of(blend), select(Rng::ALL), option::of(select(Rng::ALL)));
    let strengths = (-2.0..=2.0_f32, -2.0..=2.0_f32).prop_map(|(strength, encoder)| LoraStrengths::new(strength, encoder));
    let texts = (words(), prop_oneof![Just(String::new()), words()]);
    let added = (option::of(second_pass()), option::of(strengths));
    (texts, noise, sampled(), guided(), engines(), added).prop_map(|(texts, noise, sampled, guided, engine, (hires, lora))| {
        let (seed, words_seed, seed_blend, rng, sampler_rng) = noise;
        Recipe {
            prompt: texts.0,
            negative_prompt: texts.1,
            seed: Some(seed),
            words_seed,
            seed_blend,
            rng,
            sampler_rng,
            guidance_ranges: guided.guidance_ranges,
            image_guidance: guided.image_guidance,
            skip_layers: guided.skip_layers,
            sigmas: guided.sigmas,
            sampler_arguments: guided.sampler_arguments,
            seamless_x: guided.seamless_x,
            seamless_y: guided.seamless_y,
            step_cache: engine.step_cache,
            timestep_shift: engine.timestep_shift,
            vae_tiling: engine.vae_tiling,
            vae_tile_size: engine.vae_tile_size,
            vae_tile_overlap: engine.vae_tile_overlap,
            hires,
            loras: lora.map(|strengths| Lora::with_strengths(INK.into(), strengths)).into_iter().collect(),
            ..sampled
        }
    })
}

proptest! {
    #[test]
    fn every_setting_with_a_field_comes_back(recipe in recipes()) {
        let text = text(&recipe, None);
        let translation = read(text.clone(), &[]);
        let mut back = Recipe::default();
        translation.settings.apply(&mut back);
        prop_assert_eq!(back, recipe, "{}", text);
        prop_assert_eq!(translation.not_understood, Vec::new());
        prop_assert_eq!(translation.differences, Vec::<String>::new());
        prop_assert_eq!(translation.missing, Vec::new());
    }
}

#[test]
fn what_a_recipe_does_not_say_is_told_of_none_and_changes_nothing() {
    let settings = read("a lake\nSteps: 4, Seed: 7, Size: 64x96, Version: Atelier 0.1.0".into(), &[]).settings;
    let told = PartialRecipe {
        prompt: Some("a lake".into()),
        negative_prompt: Some(String::new()),
        steps: Some(4),
        seed: Some(Some(Seed(7))),
        width: Some(64),
        height: Some(96),
        rng: Some(Rng::Cuda),
        ..PartialRecipe::default()
    };
    assert_eq!(settings, told);
}

#[test]
fn the_upscaler_of_the_finished_picture_is_found_by_its_name() {
    let recipe = Recipe { seed: Some(Seed(7)), upscale: Some(Upscale::by("/elsewhere/x4.safetensors".into())), ..Recipe::default() };
    let file = CardFile {
        role: Role::Part(FileRole::Upscaler),
        name: "x4.safetensors".into(),
        path: Some("/up/x4.safetensors".into()),
        bytes: None,
        facts: None,
        sha256: None,
    };
    let (name, availability) = ("x4".to_owned(), Availability::InPlace);
    let card = ModelCard { name, kind: ModelKind::Upscaler, availability, files: vec![file], ..ModelCard::default() };
    let here = read(text(&recipe, None), &[card]);
    assert_eq!(here.settings.upscale, Some(Some(Upscale::by("/up/x4.safetensors".into()))));
    let nowhere = read(text(&recipe, None), &[]);
    let left: Vec<_> = nowhere.not_understood.iter().map(|line| line.value.as_str()).collect();
    assert_eq!((nowhere.settings.upscale, left), (None, vec!["x4"]));
}

#[test]
fn ranges_of_loras_and_the_arithmetic_come_back() {
    let recipe =
        Recipe { seed: Some(Seed(7)), loras: vec![Lora { start: 0.2, end: 0.7, ..Lora::new(INK.into(), 0.5) }], ..Recipe::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    fs::write(&path, testkit::pictures::png(&[("parameters", &text(&recipe, Some(CpuMath::F32)))])).unwrap();
    let opened = read_opened_picture(&path, &KnownModels { files: &[PathBuf::from(INK)], cards: &[] }).unwrap();
    let loras = opened.settings.loras.unwrap();
    assert_eq!((loras.len(), loras[0].path.as_path(), loras[0].strength), (1, Path::new(INK), 0.5));
    assert_eq!(loras[0].steps(recipe.steps), recipe.loras[0].steps(recipe.steps));
    assert_eq!(opened.info.cpu_math, Some(CpuMath::F32));
}
