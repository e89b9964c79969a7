//! The model that comes with Atelier, as it is in the source tree: whole, small, and painting what
//! it is asked for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use atelier_core::recipe::{ImageSource, Recipe, Rgb8, Seed};
use atelier_library::{Builtin, MANIFEST, check_files};
use support::engine::Engine;

/// Bytes that the model's folder may take in the repository.
const MAX_BYTES: u64 = 40_000_000;
/// Pictures of each prompt.
const SEEDS: u32 = 3;

/// The model in the source tree.
fn shipped() -> (PathBuf, Builtin) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/builtin-model");
    let builtin = Builtin::open(&folder).unwrap_or_else(|error| panic!("{error}"));
    (folder, builtin)
}

#[test]
fn its_files_are_whole_small_and_all_that_is_there() {
    let (folder, builtin) = shipped();
    builtin.verify().unwrap();
    let files = &builtin.manifest().files;
    for file in files {
        assert!(file.size.is_some() && file.sha256.is_some(), "{}: size and sum are written down", file.filename.as_str());
    }
    let mut bytes = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let known = files.iter().any(|file| file.filename.as_str() == name)
            || [MANIFEST, "LICENSE", "README.md", "examples", "words.txt"].contains(&name.as_str());
        assert!(known, "{name} is in the folder, and nobody needs it");
        bytes += entry.metadata().unwrap().len();
    }
    let examples: BTreeSet<PathBuf> = builtin.manifest().examples.iter().filter_map(|it| builtin.example_file(it)).collect();
    for entry in std::fs::read_dir(folder.join("examples")).unwrap() {
        let entry = entry.unwrap();
        assert!(examples.contains(&entry.path()), "{} is no example", entry.path().display());
        bytes += entry.metadata().unwrap().len();
    }
    assert!(examples.iter().all(|file| file.is_file()) && examples.len() == builtin.manifest().examples.len());
    assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    assert!(folder.join("LICENSE").is_file() && builtin.manifest().licence.is_some());
}

#[test]
fn its_files_make_a_model_together_without_a_word_of_correction() {
    let (_, builtin) = shipped();
    let checked = check_files(builtin.files(), &[]).unwrap();
    assert_eq!((&checked.files, checked.notes), (builtin.files(), Vec::<String>::new()));
}

#[test]
fn each_example_is_what_it_makes_of_that_prompt_and_seed() {
    let (_, builtin) = shipped();
    let engine = Engine::start();
    for example in &builtin.manifest().examples {
        let file = builtin.example_file(example).unwrap();
        let mut recipe = Recipe::default();
        builtin.apply(&mut recipe);
        recipe = Recipe { prompt: example.prompt.clone(), seed: Some(example.seed.unwrap()), threads: Some(2), ..recipe };
        let said = engine.run(&recipe);
        let [picture] = said.pictures().try_into().unwrap_or_else(|_| panic!("{:?}", said.end()));
        let shown = atelier_media::read_image(&ImageSource::File(file)).unwrap();
        assert_eq!((shown.width(), shown.height()), (picture.image.width(), picture.image.height()));
        let squares = shown.pixels().iter().zip(picture.image.pixels()).map(|(one, two)| f64::from(one.abs_diff(*two)).powi(2));
        let mean_square = squares.sum::<f64>() / shown.pixels().len() as f64;
        let psnr_db = 10.0 * (255.0_f64.powi(2) / mean_square.max(1e-9)).log10();
        // The file is compressed; another picture of the same words has less than 20.
        assert!(psnr_db > 28.0, "{}: {psnr_db:.1} dB", example.prompt);
    }
}

/// A prompt, without what the negative prompt names, as a picture of 128x128, once for each seed.
fn paint(engine: &Engine, builtin: &Builtin, prompt: &str, negative_prompt: &str) -> Vec<Rgb8> {
    let mut recipe = Recipe::default();
    builtin.apply(&mut recipe);
    recipe = Recipe { prompt: prompt.into(), negative_prompt: negative_prompt.into(), threads: Some(2), ..recipe };
    recipe = Recipe { width: 128, height: 128, seed: Some(Seed(1)), batch_count: SEEDS, ..recipe };
    let said = engine.run(&recipe);
    let pictures: Vec<Rgb8> = said.pictures().into_iter().map(|picture| picture.image.as_ref().clone()).collect();
    assert_eq!(pictures.len(), SEEDS as usize, "{:?}", said.end());
    pictures
}

/// Paints two prompts that differ in one word. Each picture of the first must have at least
/// `margin` more of a measure than that of the second from the same seed.
fn differ(first: &str, second: &str, margin: f64, measure: impl Fn(&Rgb8) -> f64) {
    let (_, builtin) = shipped();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let other = words(first).iter().zip(&words(second)).filter(|(one, two)| one != two).count();
    assert_eq!((words(first).len(), other), (words(second).len(), 1), "one word makes the difference");
    let engine = Engine::start();
    let (firsts, seconds) = (paint(&engine, &builtin, first, ""), paint(&engine, &builtin, second, ""));
    let measures: Vec<(f64, f64)> = firsts.iter().zip(&seconds).map(|(one, two)| (measure(one), measure(two))).collect();
    assert!(measures.iter().all(|(one, two)| one - two >= margin), "\"{first}\" against \"{second}\": {measures:.1?}");
}

#[test]
fn noon_is_brighter_than_night() {
    differ("mountains and a lake at noon", "mountains and a lake at night", 40.0, luminance);
}

#[test]
fn a_red_sky_is_redder_than_a_blue_one() {
    differ("a red sky over the hills", "a blue sky over the hills", 30.0, redness);
}

#[test]
fn the_sea_lies_flat_and_blue_where_a_forest_stands() {
    // The hour is named, or the seed decides it and the sea may be that of a sunset.
    differ("a wide sea at noon under a clear sky", "a wide forest at noon under a clear sky", 10.0, wateriness);
}

#[test]
fn what_is_to_be_left_out_is_not_there() {
    let (_, builtin) = shipped();
    let engine = Engine::start();
    let prompt = "rolling hills on a cloudy night";
    let with = paint(&engine, &builtin, prompt, "");
    let without = paint(&engine, &builtin, prompt, "the moon");
    let lights: Vec<(f64, f64)> = with.iter().zip(&without).map(|(one, two)| (light(one), light(two))).collect();
    assert!(lights.iter().all(|(one, two)| one - two >= 40.0), "{lights:.1?}");
}

#[test]
fn pictures_of_one_prompt_are_no_copies_of_each_other() {
    let (_, builtin) = shipped();
    let engine = Engine::start();
    for prompt in ["mountains and a lake at noon, pines", "a lone tree on a hill at sunset", "a sailing boat on a calm sea, pink twilight"]
    {
        let pictures = paint(&engine, &builtin, prompt, "");
        let pairs = (0..pictures.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let differences: Vec<f64> = pairs.map(|(one, other)| difference(&pictures[one], &pictures[other])).collect();
        // The nearest of these have 10; what differs by its grain alone has 2.
        assert!(differences.iter().all(|it| *it >= 6.0), "{prompt}: {differences:.1?}");
    }
}

/// Mean difference of two pictures of one size, 0 to 255.
fn difference(one: &Rgb8, other: &Rgb8) -> f64 {
    let differences = one.pixels().iter().zip(other.pixels()).map(|(one, other)| f64::from(one.abs_diff(*other)));
    differences.sum::<f64>() / one.pixels().len() as f64
}

/// Mean of a value over the pixels of the rows from `top` on.
fn mean(picture: &Rgb8, top: u32, value: impl Fn([f64; 3]) -> f64) -> f64 {
    let skipped = (top * picture.width() * 3) as usize;
    let values: Vec<f64> = picture.pixels()[skipped..].chunks_exact(3).map(|it| value([it[0], it[1], it[2]].map(f64::from))).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Rec. 709 luma.
fn luma([red, green, blue]: [f64; 3]) -> f64 {
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Mean luma, 0 to 255.
fn luminance(picture: &Rgb8) -> f64 {
    mean(picture, 0, luma)
}

/// Luma that one pixel in two hundred has at least, 0 to 255: that of a moon, which covers one in
/// eighty.
fn light(picture: &Rgb8) -> f64 {
    let mut lumas: Vec<f64> = picture.pixels().chunks_exact(3).map(|it| luma([it[0], it[1], it[2]].map(f64::from))).collect();
    lumas.sort_by(f64::total_cmp);
    lumas[lumas.len() * 199 / 200]
}

/// Mean of red minus blue.
fn redness(picture: &Rgb8) -> f64 {
    mean(picture, 0, |[red, _, blue]| red - blue)
}

/// Of the lower third: mean of blue minus green, less the mean difference in luma between
/// neighbours in a row.
fn wateriness(picture: &Rgb8) -> f64 {
    let (width, top) = (picture.width() as usize, picture.height() * 2 / 3);
    let rows = picture.pixels().chunks_exact(width * 3).skip(top as usize);
    let mut differences = Vec::new();
    for row in rows {
        let lumas: Vec<f64> = row.chunks_exact(3).map(|it| luma([it[0], it[1], it[2]].map(f64::from))).collect();
        differences.extend(lumas.windows(2).map(|it| (it[0] - it[1]).abs()));
    }
    let rough = differences.iter().sum::<f64>() / differences.len() as f64;
    mean(picture, top, |[_, green, blue]| blue - green) - rough
}

/// A picture whose upper two thirds and lower third are painted by these, from column and row.
fn picture(upper: impl Fn(u32, u32) -> [u8; 3], lower: impl Fn(u32, u32) -> [u8; 3]) -> Rgb8 {
    let pixels = (0..30).flat_map(|y| (0..30).map(move |x| (x, y))).flat_map(|(x, y)| if y < 20 { upper(x, y) } else { lower(x, y) });
    Rgb8::new(30, 30, pixels.collect()).unwrap()
}

#[test]
fn the_measures_tell_painted_examples_apart() {
    let sky = |_, _| [120, 170, 230];
    let sea = picture(sky, |_, y| [30, 80, 120 + y as u8]);
    let forest = picture(sky, |x, _| if x % 3 == 0 { [10, 30, 12] } else { [40, 90, 45] });
    assert!(wateriness(&sea) - wateriness(&forest) > 50.0);
    let night = picture(|_, _| [10, 12, 40], |_, _| [5, 5, 12]);
    assert!(luminance(&sea) - luminance(&night) > 80.0);
    let moon = picture(|x, y| if x < 4 && y < 4 { [250, 250, 240] } else { [10, 12, 40] }, |_, _| [5, 5, 12]);
    assert!(light(&moon) > 240.0 && light(&night) < 20.0);
    assert!(difference(&sea, &night) > 60.0 && difference(&moon, &night) < 5.0);
    let red = picture(|_, _| [220, 90, 60], |_, _| [60, 30, 30]);
    assert!(redness(&red) > 90.0 && redness(&sea) < -60.0);
    let white = picture(|_, _| [255; 3], |_, _| [255; 3]);
    assert!((luminance(&white) - 255.0).abs() < 1e-9 && redness(&white) == 0.0 && wateriness(&white) == 0.0);
}
