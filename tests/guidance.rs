//! What guides and shortens the sampling: each setting makes a picture of its own, says what it was,
//! and ends no process whatever its values are.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io;
use std::path::Path;

use atelier_core::recipe::{CacheMode, ModelFiles, Recipe, Sampler, SkipLayers, StepCache};
use atelier_engine::End;
use support::engine::{Engine, Said};
use support::{folder, psnr, recipe};
use testkit::families::{self, Part};

/// More steps than a cache computes in any case.
const STEPS: u32 = 14;

fn files_of(test: &str, family: &str, parts: impl FnOnce(&str, &Path) -> io::Result<Vec<(&'static str, Part)>>) -> ModelFiles {
    let dir = folder(&format!("guidance-{test}-{family}"));
    let parts = parts(family, &dir).unwrap();
    support::written(parts, &dir)
}

/// Each test writes files of its own.
fn unet(test: &str) -> ModelFiles {
    files_of(test, "sd15", |family, _| Ok(families::reading(family)))
}

fn notes(said: &Said) -> Vec<String> {
    said.pictures()[0].notes.iter().map(|note| note.sentence.clone()).collect()
}

#[test]
fn every_setting_makes_another_picture_and_the_same_again() {
    let engine = Engine::start();
    let plain = Recipe { guidance: 3.0, steps: 4, ..recipe() };
    let base = engine.run(&plain).pixels().to_vec();
    let ovis = Recipe { files: files_of("settings", "ovis", families::family), ..plain.clone() };
    let others = [
        ovis.clone(),
        Recipe { skip_layers: Some(SkipLayers { layers: vec![0], start: 0.0, end: 1.0, ..SkipLayers::default() }), ..ovis },
        Recipe { sampler_arguments: "apg_eta=0.2,apg_norm_threshold=0.5".into(), ..plain.clone() },
        Recipe { sigmas: vec![1.0, 0.7, 0.4, 0.1, 0.0], ..plain.clone() },
        Recipe { seamless_x: true, ..plain.clone() },
        Recipe { seamless_y: true, ..plain.clone() },
    ];
    let mut pictures = vec![base];
    for other in others {
        let said = engine.run(&other);
        assert_eq!(notes(&said), [""; 0], "{other:?}");
        let pixels = said.pixels().to_vec();
        assert_eq!(engine.run(&other).pixels(), pixels, "the same again: {other:?}");
        assert!(!pictures.contains(&pixels), "{other:?}");
        pictures.push(pixels);
    }
}

#[test]
fn the_number_of_sigmas_is_that_of_the_steps_and_one_more() {
    let said = Engine::start().run(&Recipe { sigmas: vec![1.0, 0.5, 0.0], steps: 9, ..recipe() });
    assert_eq!(said.begin().steps, 2);
    assert_eq!(said.begin().notes, ["Steps: 2 instead of 9, for as many sigmas."]);
}

/// How much opposite edges of a picture differ, and how much neighbours within it do.
fn seam(pixels: &[u8], width: usize) -> (f64, f64) {
    let row = |y: usize| &pixels[y * width * 3..(y + 1) * width * 3];
    let (mut seam, mut within, height) = (0.0, 0.0, pixels.len() / width / 3);
    for y in 0..height {
        let at = |x: usize, channel: usize| f64::from(row(y)[x * 3 + channel]);
        for channel in 0..3 {
            seam += (at(0, channel) - at(width - 1, channel)).abs();
            within += (1..width).map(|x| (at(x, channel) - at(x - 1, channel)).abs()).sum::<f64>() / (width - 1) as f64;
        }
    }
    (seam, within)
}

#[test]
fn a_seamless_picture_continues_beyond_its_edges() {
    let engine = Engine::start();
    let plain = Recipe { steps: 8, width: 128, height: 64, ..recipe() };
    let (edge, _) = seam(engine.run(&plain).pixels(), 128);
    let (seamless, within) = seam(engine.run(&Recipe { seamless_x: true, ..plain.clone() }).pixels(), 128);
    println!("difference across the seam: {edge:.0} plain, {seamless:.0} seamless; within the picture {within:.0}");
    assert!(seamless < 1.5 * within && edge > 2.0 * within, "{seamless}, {edge} and {within}");
    let both = Recipe { width: 96, height: 128, seamless_x: true, seamless_y: true, ..plain };
    let made = engine.run(&both).pixels().to_vec();
    let pixel = |x: usize, y: usize| made[(y * 96 + x) * 3..][..3].to_vec();
    let turned: Vec<u8> = (0..96).flat_map(|x| (0..128).map(move |y| (x, y))).flat_map(|(x, y)| pixel(x, y)).collect();
    for (pixels, width) in [(&made, 96), (&turned, 128)] {
        let (seamless, within) = seam(pixels, width);
        assert!(seamless < 1.5 * within, "{width} pixels between the edges: {seamless} and {within}");
    }
}

#[test]
fn step_caches_make_pictures_of_the_models_that_they_are_for_and_are_told_elsewhere() {
    let engine = Engine::start();
    let transformer = Recipe { steps: STEPS, ..recipe() };
    let unet = Recipe { files: unet("caches"), ..transformer.clone() };
    for (plain, is_unet) in [(transformer, false), (unet, true)] {
        let base = engine.run(&plain).pixels().to_vec();
        for mode in CacheMode::ALL {
            let options = StepCache::read_options("threshold=5,start=0.05,warmup=2").unwrap();
            let cached = Recipe { step_cache: Some(StepCache { options, ..StepCache::of(*mode) }), ..plain.clone() };
            let said = engine.run(&cached);
            let is_for_it = match mode {
                CacheMode::UCache => is_unet,
                CacheMode::Spectrum => true,
                _ => !is_unet,
            };
            let told = notes(&said).iter().any(|note| note.starts_with("Step cache: "));
            assert_eq!(told, !is_for_it, "{mode} {:?}", notes(&said));
            assert_eq!(said.pixels().to_vec() == base, !is_for_it, "{mode}, UNet: {is_unet}");
            assert_eq!(engine.run(&cached).pixels(), said.pixels(), "the same again: {mode}");
        }
    }
}

#[test]
#[ignore = "prints the table of docs/measured-settings.md, on a quiet machine"]
fn what_step_caches_gain_and_cost() {
    let engine = Engine::start();
    let models = [recipe(), Recipe { files: unet("gains"), ..recipe() }];
    // The least seconds of denoising of three pictures, and the picture.
    let made = |recipe: &Recipe| {
        let runs = [(); 3].map(|()| engine.run(recipe));
        let secs = runs.iter().map(|said| if let End::Done { timings, .. } = said.end() { timings.denoise_secs } else { f64::INFINITY });
        (runs[0].pixels().to_vec(), secs.fold(f64::INFINITY, f64::min), notes(&runs[0]))
    };
    println!("| | tiny Z-Image, 8 steps | 20 steps | tiny SD1.5, 8 steps | 20 steps |");
    println!("|---|---|---|---|---|");
    for mode in CacheMode::ALL {
        let mut cells = Vec::new();
        for plain in models.iter().flat_map(|plain| [8, 20].map(|steps| Recipe { steps, ..plain.clone() })) {
            let (whole, all_secs, _) = made(&plain);
            let (pixels, secs, told) = made(&Recipe { step_cache: Some(StepCache::of(*mode)), ..plain });
            let likeness = if pixels == whole { "same".to_owned() } else { format!("{:.1} dB", psnr(&whole, &pixels)) };
            cells.push(if told.is_empty() { format!("{likeness}, {:.2}", secs / all_secs) } else { "no use, told".to_owned() });
        }
        println!("| {} | {} |", mode.label(), cells.join(" | "));
    }
}

#[test]
fn no_value_of_a_step_cache_ends_the_process() {
    let engine = Engine::start();
    let unet = unet("values");
    for mode in CacheMode::ALL {
        for pick in [|limits: &std::ops::RangeInclusive<f32>| *limits.start(), |limits: &std::ops::RangeInclusive<f32>| *limits.end()] {
            let options: std::collections::BTreeMap<String, f32> =
                StepCache::OPTIONS.iter().map(|(name, limits)| ((*name).to_owned(), pick(limits))).collect();
            for steps in [1, 5] {
                let mask = vec![false; steps as usize];
                let cache = StepCache { options: options.clone(), mask, is_mask_static: true, ..StepCache::of(*mode) };
                let plain = Recipe { step_cache: Some(cache.clone()), steps, guidance: 2.0, ..recipe() };
                let plain = if *mode == CacheMode::UCache { Recipe { files: unet.clone(), ..plain } } else { plain };
                let said = engine.run(&plain);
                assert_eq!(said.pictures().len(), 1, "{cache:?} {:?}", said.events.last());
            }
        }
    }
}

/// A branch goes on from steps, and a draft is finished from them, to the bytes of the whole picture;
/// where steps look further back, nothing is gone on from, which is told.
#[test]
fn branches_and_finished_drafts_are_the_picture_made_at_once() {
    let engine = Engine::start();
    let plain = Recipe { guidance: 3.0, steps: 6, ..recipe() };
    let ovis = Recipe { files: files_of("branches", "ovis", families::family), ..plain.clone() };
    let skip_layers = Some(SkipLayers { layers: vec![0], start: 0.0, end: 0.7, ..SkipLayers::default() });
    for (recipe, looks_back) in [
        (Recipe { skip_layers, ..ovis }, None),
        (Recipe { sampler_arguments: "apg_eta=0.2,apg_norm_threshold=0.5".into(), ..plain.clone() }, None),
        (Recipe { sampler_arguments: "apg_eta=0.2, apg_momentum=0.5".into(), ..plain.clone() }, Some("APG's momentum")),
        (Recipe { sampler_arguments: "apg_eta=0.2,apg_momentum=0".into(), ..plain.clone() }, None),
        (Recipe { sampler: Some(Sampler::Lcm), sampler_arguments: "noise_scale_end=0.2".into(), ..plain.clone() }, None),
        (Recipe { step_cache: Some(StepCache::of(CacheMode::EasyCache)), ..plain.clone() }, Some("a step cache")),
        (Recipe { step_cache: Some(StepCache::of(CacheMode::Spectrum)), ..plain }, Some("a step cache")),
    ] {
        let whole = engine.run(&recipe).pixels().to_vec();
        let draft = Recipe { last_step: Some(3), ..recipe.clone() };
        assert_eq!(engine.run(&draft).begin().steps, 3, "{recipe:?}");
        let branch = Recipe { earlier_steps: recipe.steps_until(3, None), ..recipe.clone() };
        for recipe in [branch, draft.finishing(draft.seed, None).unwrap()] {
            let said = engine.run(&recipe);
            assert_eq!(said.pixels(), whole, "{recipe:?}");
            let told = notes(&said).iter().any(|note| looks_back.is_some_and(|it| note.contains(it)));
            assert_eq!((told, notes(&said).is_empty()), (looks_back.is_some(), looks_back.is_none()), "{:?}", notes(&said));
        }
    }
}
