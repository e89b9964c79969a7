//! Pictures that are enlarged: a second pass at a larger size, and enlarging alone, on the tiny model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::placement::Module;
use atelier_core::recipe::{Hires, ImageSource, InitImage, ModelFiles, Recipe, Rgb8};
use atelier_engine::{End, Event, Phase};
use support::engine::{Engine, Said};
use support::{folder, recipe, tiny};
use testkit::tiny as make;

fn halves() -> Rgb8 {
    Rgb8::new(64, 48, (0..64 * 48).flat_map(|at| if at % 64 < 32 { [230, 30, 20] } else { [20, 40, 220] }).collect()).unwrap()
}

/// Enlarges this picture, without generating anything.
fn enlarging(hires: Hires) -> Recipe {
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
    said.phases().iter().any(|phase| matches!(phase, Phase::Loading { module: Some(of), .. } if *of == module))
}

#[test]
fn a_second_pass_keeps_the_composition_at_a_larger_size() {
    let engine = Engine::start();
    let plain = engine.run(&recipe());
    let hires = Recipe { hires: Some(Hires { scale: 1.5, strength: 0.5, ..Hires::default() }), ..recipe() };
    let said = engine.run(&hires);
    assert_eq!((size(&said), said.begin().width, said.begin().steps), ((96, 96), 96, recipe().steps * 2));
    let told = steps(&said);
    assert!(told.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{told:?}");
    assert_eq!(told.last(), Some(&(recipe().steps * 2, recipe().steps * 2)));
    assert_eq!(engine.run(&hires).pixels(), said.pixels(), "the same again");
    let only_enlarged = engine.run(&Recipe { hires: Some(Hires { scale: 1.5, strength: 0.0, ..Hires::default() }), ..recipe() });
    assert_eq!((size(&only_enlarged), steps(&only_enlarged).last()), ((96, 96), Some(&(recipe().steps, recipe().steps))));
    assert_ne!(only_enlarged.pixels(), said.pixels());
    assert_eq!(size(&plain), (64, 64));
}

#[test]
fn a_finished_picture_is_enlarged_without_a_model_by_lanczos_or_by_an_upscaler() {
    let engine = Engine::start();
    let upscaler = make::upscaler(&folder("hires-upscaler"), 4, 1).unwrap();
    let alone = Recipe { files: ModelFiles::default(), ..enlarging(Hires::default()) };
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
fn a_finished_picture_is_enlarged_and_drawn_anew_in_its_own_size() {
    let engine = Engine::start();
    let upscaler = make::upscaler(&folder("redraw-upscaler"), 2, 1).unwrap();
    let mut redrawn = enlarging(Hires { upscaler: Some(upscaler), ..Hires::default() });
    redrawn.hires.as_mut().unwrap().strength = 0.3;
    let said = engine.run(&redrawn);
    assert_eq!((size(&said), said.begin().steps), ((128, 96), recipe().steps));
    assert_eq!(steps(&said).last(), Some(&(recipe().steps, recipe().steps)), "every step, whatever the strength");
    redrawn.hires.as_mut().unwrap().strength = 0.9;
    let stronger = engine.run(&redrawn);
    let change = |said: &Said| -> u64 {
        let only = engine.run(&enlarging(redrawn.hires.clone().unwrap()));
        said.pixels().iter().zip(only.pixels()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum()
    };
    assert!(change(&said) < change(&stronger));
}

#[test]
fn what_cannot_enlarge_is_refused_before_anything_is_generated() {
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
