//! Parts of a picture: what changes, what does not, and what is told, on the tiny model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fmt::Debug;

use atelier_core::canvas::{AreaFill, AreaPlan, AreaSettings, Borders, Mask, PixelRect, StartFit, plan_area, plan_outpaint};
use atelier_core::recipe::{FineColours, ImageSource, InitImage, Recipe, Rgb8, Samples};
use atelier_engine::{End, Event, PreviewOptions, Task};
use atelier_library::Family;
use support::engine::{Engine, Said};
use support::recipe;

const SIZE: (u32, u32) = (120, 96);
const SELECTED: PixelRect = PixelRect { left: 40, top: 36, width: 24, height: 20 };

/// A picture of two gradients, whose bytes all differ from their neighbours'.
fn start() -> Rgb8 {
    let (width, height) = SIZE;
    let pixels = (0..width * height).flat_map(|at| [at % width * 2, at / width * 2, (at * 7) % 251].map(|it| it as u8)).collect();
    Rgb8::new(width, height, pixels).unwrap()
}

fn mask(rect: PixelRect) -> Rgb8 {
    let (width, height) = SIZE;
    let white = |at: u32| rect.contains((at % width) as i32, (at / width) as i32);
    Rgb8::new(width, height, (0..width * height).flat_map(|at| [if white(at) { 255 } else { 0 }; 3]).collect()).unwrap()
}

fn settings() -> AreaSettings {
    AreaSettings { feather: Some(8), ..AreaSettings::default() }
}

/// Paints over a part of the start picture.
fn area_recipe(strength: f32) -> Recipe {
    Recipe {
        init: Some(InitImage { image: ImageSource::Pixels(start()), strength }),
        mask: Some(ImageSource::Pixels(mask(SELECTED))),
        area: Some(settings()),
        ..recipe()
    }
}

fn outpaint_recipe(borders: Borders) -> Recipe {
    Recipe { mask: None, outpaint: Some(borders), ..area_recipe(1.0) }
}

/// The plan that the engine makes of the recipe.
fn plan(recipe: &Recipe) -> AreaPlan {
    let mut selected = Mask::filled(SIZE.0, SIZE.1, 0);
    for (value, rgb) in selected.pixels_mut().iter_mut().zip(mask(SELECTED).pixels().chunks_exact(3)) {
        *value = rgb[0];
    }
    let sizes = Family::ZImage.model_sizes().with_size(recipe.width, recipe.height);
    plan_area(&selected, &sizes, recipe.init.as_ref().unwrap().strength, &recipe.area.unwrap()).unwrap()
}

/// What is kept of a picture's pixel, 0 to 255.
fn share(plan: &AreaPlan, x: u32, y: u32) -> u8 {
    let (left, top) = (x as i32 - plan.crop.left, y as i32 - plan.crop.top);
    if plan.crop.contains(x as i32, y as i32) { plan.paste.row(top as u32)[left as usize] } else { 0 }
}

fn total_steps(said: &Said) -> Vec<(u32, u32)> {
    said.events.iter().filter_map(|event| if let Event::Step { step, .. } = event { Some((step.done, step.total)) } else { None }).collect()
}

#[test]
fn away_from_the_mask_every_byte_is_the_pictures_and_under_it_it_changes() {
    let engine = Engine::start();
    for strength in [0.6, 1.0] {
        let recipe = area_recipe(strength);
        let said = engine.run(&recipe);
        let (begin, plan) = (said.begin(), plan(&recipe));
        assert_eq!((begin.width, begin.height), SIZE);
        let (old, new) = (start(), said.pixels());
        assert_eq!(new.len(), old.pixels().len());
        assert_only_the_part_changed(&plan, old.pixels(), new, 3);
        assert_eq!(engine.run(&recipe).pixels(), new, "the same again");
    }
}

/// Away from the part every value is as before; within the selection nearly every pixel has changed.
fn assert_only_the_part_changed<T: Debug + PartialEq>(plan: &AreaPlan, old: &[T], new: &[T], channels: usize) {
    let mut changed = 0;
    for (at, (old, new)) in old.chunks_exact(channels).zip(new.chunks_exact(channels)).enumerate() {
        let (x, y) = (at as u32 % SIZE.0, at as u32 / SIZE.0);
        if share(plan, x, y) == 0 {
            assert_eq!(old, new, "{x}, {y}");
        } else if SELECTED.contains(x as i32, y as i32) {
            changed += u32::from(old != new);
        }
    }
    assert!(changed > 400, "{changed} of 480 pixels changed");
}

/// The start picture with opacity and sixteen bits of its own.
fn fine_start() -> Rgb8 {
    let samples = (0..SIZE.0 * SIZE.1 * 4).map(|at| (at * 7919 % 65_521) as u16).collect();
    let fine = FineColours { samples: Samples::Sixteen(samples), has_alpha: true, profile: None, is_beyond_srgb: false, from_print: None };
    start().with_fine(Some(fine)).unwrap()
}

#[test]
fn away_from_the_mask_opacity_and_sixteen_bits_stay_and_a_whole_new_picture_says_that_it_has_none() {
    let engine = Engine::start();
    let init = |strength: f32| Some(InitImage { image: ImageSource::Pixels(fine_start()), strength });
    let recipe = Recipe { init: init(1.0), ..area_recipe(1.0) };
    let plan = plan(&recipe);
    let said = engine.run(&recipe);
    let (old, new) = (fine_start(), said.pictures()[0].image.clone());
    let (Some(Samples::Sixteen(old)), Some(Samples::Sixteen(new))) = (old.fine().map(|it| &it.samples), new.fine().map(|it| &it.samples))
    else {
        panic!("sixteen bits are gone")
    };
    assert_only_the_part_changed(&plan, old, new, 4);

    let whole = engine.run(&Recipe { init: init(0.5), mask: None, area: None, ..recipe });
    assert!(whole.pictures()[0].image.fine().is_none());
    let note = "The new picture is without the start picture's transparency and 16 bits a channel: a model keeps none.";
    assert!(whole.begin().notes.iter().any(|it| it == note), "{:?}", whole.begin().notes);
}

#[test]
fn a_mask_keeps_what_it_does_not_select_also_where_the_whole_picture_is_generated() {
    let engine = Engine::start();
    let (width, height) = (64, 80);
    let old = Rgb8::new(width, height, (0..width * height * 3).map(|at| (at * 31 % 251) as u8).collect()).unwrap();
    // As tools write it: a palette with transparency has eight bits and opacity.
    let samples: Vec<u8> =
        (0..width * height * 4).map(|at| if at % 4 == 3 { (at * 13 % 256) as u8 } else { (at * 31 % 251) as u8 }).collect();
    let fine =
        FineColours { samples: Samples::Eight(samples.clone()), has_alpha: true, profile: None, is_beyond_srgb: false, from_print: None };
    // Black, half selected, white.
    let shares: Vec<u8> = (0..width * height).map(|at| [0, 128, 255][(at % width / 24) as usize]).collect();
    let mask = Rgb8::new(width, height, shares.iter().flat_map(|share| [*share; 3]).collect()).unwrap();
    for image in [old.clone(), old.clone().with_fine(Some(fine)).unwrap()] {
        let init = Some(InitImage { image: ImageSource::Pixels(image.clone()), strength: 0.8 });
        let recipe = Recipe { init, mask: Some(ImageSource::Pixels(mask.clone())), width, height, ..recipe() };
        let said = engine.run(&recipe);
        assert!(said.begin().notes.is_empty(), "{:?}", said.begin().notes);
        let new = said.pictures()[0].image.clone();
        let changed = |from: u8| {
            let pixels = old.pixels().chunks_exact(3).zip(new.pixels().chunks_exact(3)).zip(&shares);
            pixels.filter(|((old, new), share)| **share == from && old != new).count()
        };
        match new.fine().map(|fine| &fine.samples) {
            Some(Samples::Eight(kept)) => {
                let pixels = samples.chunks_exact(4).zip(kept.chunks_exact(4)).zip(&shares);
                assert!(pixels.filter(|(_, share)| **share == 0).all(|((old, new), _)| old == new));
                assert!(kept.chunks_exact(4).zip(&shares).filter(|(_, share)| **share == 255).all(|(pixel, _)| pixel[3] == 255));
            }
            None => assert_eq!(changed(0), 0),
            Some(Samples::Sixteen(_)) => panic!("sixteen bits of eight"),
        }
        assert!(changed(255) > 1000, "{}", changed(255));
    }
    // Of another size nothing of the file's own can be kept, which is said.
    let init = Some(InitImage { image: ImageSource::Pixels(fine_start()), strength: 0.5 });
    let said = engine.run(&Recipe { init, area: None, ..area_recipe(0.5) });
    assert!(said.begin().notes.iter().any(|note| note.contains("transparency")), "{:?}", said.begin().notes);
}

#[test]
fn a_part_runs_all_its_steps_at_every_strength_and_changes_more_at_a_higher_one() {
    let engine = Engine::start();
    let mut last = 0.0;
    for strength in [0.1, 0.4, 0.9] {
        let said = engine.run(&area_recipe(strength));
        assert_eq!(said.begin().steps, 3);
        let steps = total_steps(&said);
        assert!(steps.contains(&(3, 3)) && steps.iter().all(|(_, total)| *total == 3), "{steps:?}");
        let differences = start().pixels().iter().zip(said.pixels()).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>();
        assert!(differences > last, "{strength}: {differences} after {last}");
        last = differences;
    }
}

#[test]
fn settings_of_the_part_change_what_is_under_the_mask() {
    let engine = Engine::start();
    let with = |settings: AreaSettings| engine.run(&Recipe { area: Some(settings), ..area_recipe(0.5) }).pixels().to_vec();
    let usual = with(settings());
    assert_ne!(with(AreaSettings { soft_mask: false, ..settings() }), usual);
    assert_ne!(with(AreaSettings { seam_correction: false, ..settings() }), usual);
    assert_ne!(with(AreaSettings { crop: Some(PixelRect { left: 0, top: 0, width: 120, height: 96 }), ..settings() }), usual);
    let mut filled: Vec<_> = AreaFill::ALL.iter().map(|fill| with(AreaSettings { fill: Some(*fill), ..settings() })).collect();
    assert!(filled.contains(&usual), "the picture itself below strength 1");
    filled.sort();
    filled.dedup();
    assert_eq!(filled.len(), AreaFill::ALL.len());
}

#[test]
fn a_preview_says_where_it_lies() {
    let recipe = area_recipe(0.8);
    let preview = PreviewOptions::Projection { every: 1 };
    let said = Engine::start().run_task(Task::Generate { recipe: Box::new(recipe.clone()), preview, shares_steps: false });
    let places: Vec<_> = said.previews().iter().map(|preview| preview.place).collect();
    assert!(!places.is_empty());
    assert!(places.iter().all(|place| *place == Some(plan(&recipe).crop)), "{places:?}");
    let whole = Engine::start().run_task(Task::Generate { recipe: Box::new(support::recipe()), preview, shares_steps: false });
    assert!(whole.previews().iter().all(|preview| preview.place.is_none()));
}

#[test]
fn a_picture_is_extended_in_as_many_steps_as_the_model_needs_and_keeps_its_own_pixels() {
    let engine = Engine::start();
    let borders = Borders { left: 0, top: 0, right: 70, bottom: 10 };
    let recipe = outpaint_recipe(borders);
    let sizes = Family::ZImage.model_sizes().with_size(recipe.width, recipe.height);
    let parts = plan_outpaint(SIZE, &borders, &sizes, 1.0, &settings());
    assert!(parts.len() > 2, "{}", parts.len());
    let said = engine.run(&recipe);
    let begin = said.begin();
    assert_eq!((begin.width, begin.height), (SIZE.0 + 70, SIZE.1 + 10));
    assert_eq!(begin.steps as usize, 3 * parts.len());
    let steps = total_steps(&said);
    assert!(steps.is_sorted(), "{steps:?}");
    assert_eq!(steps.last().map(|(done, total)| (*done, *total)), Some((begin.steps, begin.steps)));
    let (old, new) = (start(), said.pixels());
    let mut same = 0;
    for y in 0..SIZE.1 {
        for x in 0..SIZE.0 {
            let (from, to) = ((y * SIZE.0 + x) as usize * 3, (y * begin.width + x) as usize * 3);
            let is_kept = parts.iter().all(|part| share(part, x, y) == 0);
            if is_kept {
                assert_eq!(old.pixels()[from..from + 3], new[to..to + 3], "{x}, {y}");
                same += 1;
            }
        }
    }
    assert!(same > 9000, "{same} pixels of {}", SIZE.0 * SIZE.1);
    let right: Vec<&[u8]> = (0..SIZE.1).map(|y| &new[((y * begin.width + SIZE.0 + 40) * 3) as usize..][..3]).collect();
    assert!(right.iter().any(|pixel| *pixel != right[0]), "there is a picture");
}

#[test]
fn what_cannot_be_done_to_a_part_is_said_before_anything_loads() {
    let engine = Engine::start();
    let says = |recipe: Recipe, words: &str| {
        let said = engine.run(&recipe);
        assert!(said.phases().is_empty());
        let sentence = said.failure().advice.sentence.clone();
        assert!(sentence.contains(words), "{sentence}");
    };
    let black = Some(ImageSource::Pixels(mask(PixelRect::default())));
    says(Recipe { mask: black, ..area_recipe(0.5) }, "mask is empty");
    says(Recipe { mask: None, ..area_recipe(0.5) }, "needs a mask");
    says(Recipe { init: None, ..area_recipe(0.5) }, "no start picture");
    let wide = Borders { left: 8, ..Borders::default() };
    says(Recipe { outpaint: Some(wide), ..area_recipe(0.5) }, "cannot be combined");
    says(outpaint_recipe(Borders { left: Borders::MAX, right: Borders::MAX, ..Borders::default() }), "too large");
}

#[test]
fn a_part_is_cancelled_like_any_picture_and_the_next_is_whole() {
    let engine = Engine::start();
    let recipe = outpaint_recipe(Borders { right: 70, ..Borders::default() });
    let said = engine.run_until(&recipe, |event| matches!(event, Event::Step { step, .. } if step.done >= 4));
    assert_eq!(said.end(), &End::Cancelled);
    assert!(said.pictures().is_empty());
    assert_eq!(engine.run(&recipe).pixels(), Engine::start().run(&recipe).pixels());
}

#[test]
fn the_memory_of_a_part_is_that_of_a_picture_of_its_work_size() {
    let engine = Engine::start();
    let recipe = area_recipe(0.5);
    let (width, height) = plan(&recipe).work;
    let whole = Recipe { area: None, width, height, ..recipe.clone() };
    assert_eq!(engine.estimate(&recipe).unwrap().needs, engine.estimate(&whole).unwrap().needs);
    let larger = Recipe { width: width * 2, height: height * 2, ..whole };
    assert_ne!(engine.estimate(&recipe).unwrap().needs, engine.estimate(&larger).unwrap().needs);
}

#[test]
fn a_start_picture_is_cropped_fitted_or_stretched() {
    let engine = Engine::start();
    let run = |start_fit| {
        let init = Some(InitImage { image: ImageSource::Pixels(start()), strength: 0.3 });
        engine.run(&Recipe { init, start_fit, ..recipe() }).pixels().to_vec()
    };
    let [crop, fit, stretch] = StartFit::ALL.map(run);
    assert!(crop != fit && fit != stretch && crop != stretch);
}

/// The mean difference of a column from the next one to the right, round, in these rows.
fn step(pixels: &[u8], column: u32, rows: std::ops::Range<u32>) -> f64 {
    let (width, count) = (SIZE.0, f64::from(rows.end - rows.start) * 3.0);
    let value = |x: u32, y: u32, channel: u32| f64::from(pixels[(((y * width) + x % width) * 3 + channel) as usize]);
    rows.flat_map(|y| (0..3).map(move |channel| (y, channel)))
        .map(|(y, channel)| (value(column + 1, y, channel) - value(column, y, channel)).abs())
        .sum::<f64>()
        / count
}

#[test]
fn a_part_over_the_border_of_a_seamless_picture_has_no_seam() {
    let engine = Engine::start();
    let (width, height) = SIZE;
    // A picture whose borders continue each other, but for what is masked on both sides of one.
    let wave = |x: u32, y: u32| (128.0 + 80.0 * (f64::from(x) / f64::from(width) * std::f64::consts::TAU).sin() + f64::from(y % 9)) as u8;
    let start = Rgb8::new(width, height, (0..width * height).flat_map(|at| [wave(at % width, at / width); 3]).collect()).unwrap();
    let is_masked = |x: u32, y: u32| !(14..width - 14).contains(&x) && (30..66).contains(&y);
    let masked: Vec<u8> = (0..width * height).flat_map(|at| [if is_masked(at % width, at / width) { 255 } else { 0 }; 3]).collect();
    let recipe = |seamless_x: bool| Recipe {
        init: Some(InitImage { image: ImageSource::Pixels(start.clone()), strength: 1.0 }),
        mask: Rgb8::new(width, height, masked.clone()).map(ImageSource::Pixels),
        seamless_x,
        ..area_recipe(1.0)
    };
    let said = engine.run(&recipe(true));
    let pixels = said.pixels();
    let inner = (106..119).chain(0..13).map(|x| step(pixels, x, 34..62)).fold(0.0, f64::max);
    let seam = step(pixels, width - 1, 34..62);
    assert!(seam <= inner, "a seam of {seam}, of steps up to {inner} beside it");
    let flat = engine.run(&recipe(false));
    let flat_seam = step(flat.pixels(), width - 1, 34..62);
    assert!(flat_seam > seam, "without wrapping the seam is {flat_seam}, with it {seam}");
    // What was not selected is as it was, on both sides.
    for x in [40, 60, 80] {
        assert_eq!(pixels[((48 * width + x) * 3) as usize], wave(x, 48));
    }
}
