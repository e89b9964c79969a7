//! Pictures that are upscaled: a second pass at a larger size, and upscaling alone, on the tiny
//! model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;

use atelier_core::placement::Module;
use atelier_core::recipe::{Hires, ImageSource, InitImage, LatentUpscaler, ModelFiles, PlacementText, Recipe, RedrawTiles, Rgb8, Upscale};
use atelier_engine::{End, Event, JobPhase, Task};
use support::engine::{Engine, Said};
use support::{folder, recipe, tiny};
use testkit::tiny as make;

fn halves() -> Rgb8 {
    Rgb8::new(64, 48, (0..64 * 48).flat_map(|at| if at % 64 < 32 { [230, 30, 20] } else { [20, 40, 220] }).collect()).unwrap()
}

/// Upscales this picture, without generating anything.
fn upscaling(hires: Hires) -> Recipe {
    let init = InitImage { image: ImageSource::Pixels(halves()), strength: 0.0 };
    Recipe { init: Some(init), hires: Some(Hires { strength: 0.0, ..hires }), ..recipe() }
}

fn size(said: &Said) -> (u32, u32) {
    let image = &said.pictures()[0].image;
    (image.width(), image.height())
}

/// Done and total of each step that was told.
fn steps(said: &Said) -> Vec<(u32, u32)> {
    let step = |event: &Event| if let Event::Step { step, .. } = event { Some((step.done, step.total)) } else { None };
    said.events.iter().filter_map(step).collect()
}

fn reads(said: &Said, module: Module) -> bool {
    said.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: Some(of), .. } if *of == module))
}

#[test]
fn a_second_pass_has_as_many_steps_as_are_asked_for() {
    let engine = Engine::start();
    let refined = |steps| Recipe { hires: Some(Hires { scale: 1.5, strength: 0.5, steps, ..Hires::default() }), ..recipe() };
    let (own, usual) = (engine.run(&refined(Some(5))), engine.run(&refined(None)));
    assert_eq!(own.begin().steps, recipe().steps + 5);
    assert_eq!(usual.begin().steps, recipe().steps * 2);
    assert_ne!(own.pixels(), usual.pixels());
    let as_many = engine.run(&refined(Some(recipe().steps)));
    assert_eq!(as_many.pixels(), usual.pixels());
}

#[test]
fn a_second_pass_keeps_the_composition_at_a_larger_size() {
    let engine = Engine::start();
    let plain = engine.run(&recipe());
    let hires = Recipe { hires: Some(Hires { scale: 1.5, strength: 0.5, ..Hires::default() }), ..recipe() };
    let said = engine.run(&hires);
    assert_eq!((size(&said), said.begin().width, said.begin().steps), ((96, 96), 96, recipe().steps * 2));
    let step_counts = steps(&said);
    assert!(step_counts.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{step_counts:?}");
    assert_eq!(step_counts.last(), Some(&(recipe().steps * 2, recipe().steps * 2)));
    assert_eq!(engine.run(&hires).pixels(), said.pixels(), "the same again");
    let only_upscaled = engine.run(&Recipe { hires: Some(Hires { scale: 1.5, strength: 0.0, ..Hires::default() }), ..recipe() });
    assert_eq!((size(&only_upscaled), steps(&only_upscaled).last()), ((96, 96), Some(&(recipe().steps, recipe().steps))));
    assert_ne!(only_upscaled.pixels(), said.pixels());
    assert_eq!(size(&plain), (64, 64));
}

#[test]
fn a_second_pass_begins_with_upscaled_latents() {
    let engine = Engine::start();
    let with = |latent| Recipe { hires: Some(Hires { scale: 1.5, strength: 0.6, latent, ..Hires::default() }), ..recipe() };
    let of_picture = engine.run(&with(None));
    let mut seen = HashSet::from([of_picture.pixels().to_vec()]);
    for latent in LatentUpscaler::ALL {
        let said = engine.run(&with(Some(*latent)));
        assert_eq!((size(&said), said.begin().width), ((96, 96), 96), "{latent}");
        let step_counts = steps(&said);
        assert!(step_counts.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{step_counts:?}");
        assert!(step_counts.last().is_some_and(|(done, total)| done == total), "{step_counts:?}");
        assert_eq!(engine.run(&with(Some(*latent))).pixels(), said.pixels(), "{latent}, the same again");
        assert!(said.pixels() != of_picture.pixels(), "{latent}");
        seen.insert(said.pixels().to_vec());
    }
    // Where they enlarge, those with and without antialiasing are the same.
    assert!(seen.len() >= 5, "{}", seen.len());
    let latent = with(Some(LatentUpscaler::Bicubic));
    let branch = Recipe { earlier_steps: latent.steps_until(1, None), ..latent.clone() };
    assert_eq!(engine.run(&branch).pixels(), engine.run(&latent).pixels(), "a branch begins with the steps of the first pass");
    let init = Some(InitImage { image: ImageSource::Pixels(halves()), strength: 0.0 });
    let of_start = engine.run(&Recipe { init, ..latent });
    assert!(of_start.begin().notes.iter().any(|note| note.contains("Lanczos")), "{:?}", of_start.begin().notes);
}

#[test]
fn a_second_pass_has_a_size_and_sigmas_of_its_own() {
    let engine = Engine::start();
    for latent in [None, Some(LatentUpscaler::Nearest)] {
        let hires = Hires { target: Some((128, 64)), strength: 0.5, latent, ..Hires::default() };
        let said = engine.run(&Recipe { hires: Some(hires.clone()), ..recipe() });
        assert_eq!((size(&said), said.begin().width, said.begin().height), ((128, 64), 128, 64));
        let own = |sigmas: &[f32]| Recipe { hires: Some(Hires { sigmas: sigmas.to_vec(), ..hires.clone() }), ..recipe() };
        let with_sigmas = engine.run(&own(&[0.6, 0.3, 0.0]));
        assert_eq!(with_sigmas.begin().steps, recipe().steps + 2);
        assert_ne!(with_sigmas.pixels(), said.pixels());
        assert_ne!(engine.run(&own(&[0.6, 0.1, 0.0])).pixels(), with_sigmas.pixels());
        // Those of the first pass are not the second one's.
        let first = Recipe { sigmas: vec![1.0, 0.5, 0.0], steps: 2, ..own(&[]) };
        let weak = Recipe { hires: Some(Hires { strength: 0.02, ..first.hires.clone().unwrap() }), ..first.clone() };
        assert_ne!(engine.run(&first).pixels(), engine.run(&weak).pixels(), "strength counts");
    }
}

#[test]
fn a_finished_picture_is_upscaled_without_a_model_by_lanczos_or_by_an_upscaler() {
    let engine = Engine::start();
    let upscaler = make::upscaler(&folder("hires-upscaler"), 4, 1).unwrap();
    let alone = Recipe { files: ModelFiles::default(), ..upscaling(Hires::default()) };
    let lanczos = engine.run(&alone);
    assert_eq!((size(&lanczos), lanczos.pictures()[0].info.seed), ((128, 96), recipe().seed));
    let pixels = lanczos.pixels();
    assert_eq!((pixels[..3].to_vec(), pixels[pixels.len() - 3..].to_vec()), (vec![230, 30, 20], vec![20, 40, 220]));
    let with_model = Recipe { hires: Some(Hires { strength: 0.0, upscaler: Some(upscaler), ..Hires::default() }), ..alone };
    let said = engine.run(&with_model);
    assert!(size(&said) == (128, 96) && said.pixels() != lanczos.pixels() && reads(&said, Module::Upscaler));
    let again = engine.run(&with_model);
    assert!(again.pixels() == said.pixels() && !reads(&again, Module::Upscaler), "it stays open");
}

#[test]
fn a_finished_picture_is_upscaled_and_drawn_anew_in_its_own_size() {
    let engine = Engine::start();
    let upscaler = make::upscaler(&folder("redraw-upscaler"), 2, 1).unwrap();
    let mut redrawn = upscaling(Hires { upscaler: Some(upscaler), ..Hires::default() });
    redrawn.hires.as_mut().unwrap().strength = 0.3;
    let said = engine.run(&redrawn);
    assert_eq!((size(&said), said.begin().steps), ((128, 96), recipe().steps));
    assert_eq!(steps(&said).last(), Some(&(recipe().steps, recipe().steps)), "every step, whatever the strength");
    redrawn.hires.as_mut().unwrap().strength = 0.9;
    let stronger = engine.run(&redrawn);
    let change = |said: &Said| -> u64 {
        let only = engine.run(&upscaling(redrawn.hires.clone().unwrap()));
        said.pixels().iter().zip(only.pixels()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
    };
    assert!(change(&said) < change(&stronger));
}

#[test]
fn the_finished_picture_is_upscaled_as_often_as_asked_to_the_models_own_factor() {
    let engine = Engine::start();
    let model = make::upscaler(&folder("finish-upscaler"), 2, 1).unwrap();
    let by_itself = |said: &Said| {
        let image = ImageSource::Pixels((*said.pictures()[0].image).clone());
        let placement = PlacementText::default();
        engine.run_task(Task::Upscale { image, model: model.clone(), allow_pickle: false, placement, threads: Some(1) })
    };
    let finished = |upscale: Upscale, recipe: Recipe| engine.run(&Recipe { upscale: Some(upscale), ..recipe });
    let (once, twice) = (Upscale::by(model.clone()), Upscale { repeats: 2, ..Upscale::by(model.clone()) });
    let by_hand = by_itself(&engine.run(&recipe()));
    assert_eq!(finished(once.clone(), recipe()).pixels(), by_hand.pixels());
    let said = finished(twice.clone(), recipe());
    assert_eq!((size(&said), said.pixels()), ((256, 256), by_itself(&by_hand).pixels()));
    let tiles = Upscale { tile_size: Some(32), ..twice.clone() };
    assert_eq!(size(&finished(tiles, recipe())), (256, 256));
    // A second pass comes before it.
    let second = Recipe { hires: Some(Hires { scale: 1.5, strength: 0.5, ..Hires::default() }), ..recipe() };
    assert_eq!(finished(once, second.clone()).pixels(), by_itself(&engine.run(&second)).pixels());
    let draft = finished(twice, Recipe { last_step: Some(1), steps: 3, ..recipe() });
    assert_eq!(size(&draft), (64, 64));
    assert!(draft.begin().notes[0].contains("draft is not upscaled"), "{:?}", draft.begin().notes);
    let refused = finished(Upscale::by(tiny().llm.clone()), recipe());
    assert!(refused.failure().advice.sentence.contains("not an upscaler"), "{:?}", refused.failure());
}

#[test]
fn what_cannot_upscale_is_refused_before_anything_is_generated() {
    let engine = Engine::start();
    let with = |upscaler: std::path::PathBuf| Recipe { hires: Some(Hires { upscaler: Some(upscaler), ..Hires::default() }), ..recipe() };
    let said = engine.run(&with(tiny().llm.clone()));
    assert!(said.failure().advice.sentence.contains("not an upscaler"), "{:?}", said.failure());
    let pickle = make::upscaler_pth(&folder("hires-pickle"), 2, 1).unwrap();
    assert!(engine.run(&with(pickle.clone())).failure().advice.sentence.contains("PyTorch checkpoint"));
    let mut agreed = with(pickle);
    agreed.hires.as_mut().unwrap().allow_pickle = true;
    assert!(matches!(engine.run(&agreed).end(), End::Done { .. }));
}

/// A picture of slow changes, upscaled to twice its size in tiles of 64 pixels: six of them.
fn in_tiles(strength: f32, side: u32) -> Recipe {
    let tiles = Some(RedrawTiles { side: Some(side), ..RedrawTiles::default() });
    Recipe { hires: Some(Hires { scale: 2.0, strength, tiles, ..Hires::default() }), ..upscaling(Hires::default()) }
}

/// Mean difference between each column and the next one, or each row.
fn jumps(image: &Rgb8, upright: bool) -> Vec<f64> {
    let (width, height) = (image.width() as usize, image.height() as usize);
    let value = |x: usize, y: usize, channel: usize| f64::from(image.pixels()[(y * width + x) * 3 + channel]);
    let (lines, length) = if upright { (width, height) } else { (height, width) };
    let jump = |line: usize, at: usize, channel: usize| {
        let [one, other] = [line, line + 1].map(|line| if upright { value(line, at, channel) } else { value(at, line, channel) });
        (one - other).abs()
    };
    let mean = |line: usize| (0..length * 3).map(|at| jump(line, at / 3, at % 3)).sum::<f64>() / (length * 3) as f64;
    (0..lines - 1).map(mean).collect()
}

#[test]
fn a_picture_is_redrawn_in_tiles_without_seams_and_keeps_its_colours() {
    let engine = Engine::start();
    let said = engine.run(&in_tiles(0.5, 64));
    assert_eq!((size(&said), said.begin().steps), ((128, 96), recipe().steps * 6), "{:?}", said.begin());
    assert_eq!(engine.run(&in_tiles(0.5, 64)).pixels(), said.pixels(), "the same again");
    let image = &said.pictures()[0].image;
    let plain = engine.run(&Recipe { hires: Some(Hires { strength: 0.0, ..Hires::default() }), ..in_tiles(0.5, 64) });
    assert_ne!(plain.pixels(), said.pixels());
    // Tiles end at columns 64 and 96, begin at 32 and 64; rows likewise.
    for (upright, borders) in [(true, [32, 64, 96]), (false, [32, 64, 64])] {
        let jumps = jumps(image, upright);
        // The picture itself changes at its middle column.
        let others: Vec<f64> = (0..jumps.len()).filter(|at| borders.iter().all(|it| at.abs_diff(*it) > 3)).map(|at| jumps[at]).collect();
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        for border in borders.into_iter().filter(|at| !upright || *at != 64) {
            let jump = jumps[border - 2..border + 2].iter().copied().fold(0.0, f64::max);
            println!("upright {upright}: {jump:.2} at {border}, {mean:.2} elsewhere");
            assert!(jump < mean * 1.5 + 2.0, "{jump} at {border}, {mean} elsewhere");
        }
    }
    // Colours that change slowly are those of the picture.
    let means = |pixels: &[u8]| -> Vec<f64> {
        let quarter = |left: bool, channel: usize| {
            let chosen: Vec<f64> = pixels
                .chunks_exact(3)
                .enumerate()
                .filter(|(at, _)| if left { at % 128 < 40 } else { at % 128 >= 88 })
                .map(|(_, pixel)| f64::from(pixel[channel]))
                .collect();
            chosen.iter().sum::<f64>() / chosen.len() as f64
        };
        (0..6).map(|at| quarter(at < 3, at % 3)).collect()
    };
    for (own, its) in means(said.pixels()).iter().zip(means(plain.pixels())) {
        assert!((own - its).abs() < 12.0, "{own} {its}");
    }
    let one = engine.run(&in_tiles(0.5, 256));
    let whole = engine.run(&Recipe { hires: Some(Hires { strength: 0.5, ..Hires::default() }), ..in_tiles(0.5, 64) });
    assert_eq!(one.pixels(), whole.pixels(), "what fits in one tile is redrawn at once, with its own words");
}

#[test]
fn tiles_of_an_interrupted_picture_are_not_made_again() {
    let kept = folder("hires-tiles");
    let recipe = in_tiles(0.5, 64);
    let whole = Engine::start().run(&recipe);
    let steps_of = |said: &Said| steps(said).len();
    let stopped = {
        let engine = Engine::start_remembering(&kept.join("measured.json"));
        let in_fourth_tile = move |event: &Event| matches!(event, Event::Step { step, .. } if step.done > crate::recipe().steps * 3);
        engine.run_until(&recipe, in_fourth_tile)
    };
    assert!(matches!(stopped.end(), End::Cancelled), "{:?}", stopped.end());
    let tiles = || std::fs::read_dir(kept.join("tiles")).unwrap().count();
    assert_eq!(tiles(), 3);
    let engine = Engine::start_remembering(&kept.join("measured.json"));
    let again = engine.run(&recipe);
    assert_eq!(again.pixels(), whole.pixels());
    assert!(steps_of(&again) * 3 < steps_of(&whole) * 2, "{} of {}", steps_of(&again), steps_of(&whole));
    assert_eq!(tiles(), 0, "the picture is finished");
    // Other settings have tiles of their own.
    assert_ne!(engine.run(&in_tiles(0.3, 64)).pixels(), whole.pixels());
}
