//! Pictures that guide the one that is made: control pictures, references, starts and pictures of a
//! person.
//!
//! The devices belong to the process: `GPU0` and `GPU1` of 4 GiB.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use atelier_core::placement::{Module, Phase};
use atelier_core::recipe::{
    ControlImage, FileRole, ImageSource, InitImage, LoraMode, ModelFiles, Person, Preprocessor, Recipe, Rgb8, Seed,
};
use atelier_engine::{End, Event, JobPhase, read_control};
use support::alone::Alone;
use support::engine::Said;
use support::{distance, family, folder, of_zeros, picture, placed, recipe, written};
use testkit::families;

fn alone() -> Alone {
    support::alone::alone("GPU0:4,GPU1:4")
}

/// Ovis-Image, which is edited with: it looks at reference pictures.
fn ovis() -> Recipe {
    Recipe { files: family("ovis"), steps: 1, ..recipe() }
}

/// SD1.5 with a `ControlNet`.
fn controlled() -> Recipe {
    static FILES: OnceLock<families::ControlledFiles> = OnceLock::new();
    let files = FILES.get_or_init(|| families::controlled_sd15(&folder("controlled")).unwrap()).clone();
    Recipe { files: support::controlled(files), ..of_zeros() }
}

#[test]
fn a_controlnet_follows_the_control_picture_as_strongly_as_asked() {
    let it = alone();
    let with = |seed, strength| Recipe { control: Some(ControlImage::with_strength(picture(64, 64, seed), strength)), ..controlled() };
    let strong = it.run(&with(1, 1.0));
    let plain = it.run(&controlled());
    assert_ne!(strong.pixels(), plain.pixels());
    assert_ne!(strong.pixels(), it.run(&with(2, 1.0)).pixels(), "another control picture");
    assert_ne!(strong.pixels(), it.run(&with(1, 0.5)).pixels());
    assert_eq!(plain.pixels(), it.run(&with(1, 0.0)).pixels());
    // Of any size: it is fitted to the picture's.
    let odd = Recipe { control: Some(ControlImage::with_strength(picture(37, 111, 1), 1.0)), ..controlled() };
    assert_ne!(it.run(&odd).pixels(), plain.pixels());
    // On a device of its own, whose arithmetic is the processor's.
    let placement = placed("all=cpu,controlnet=GPU0", "");
    let placed = it.run(&Recipe { placement, ..with(1, 1.0) });
    assert_eq!(placed.pixels(), strong.pixels());
    assert!(placed.used("GPU0") && !strong.used("GPU1"), "{:?}", placed.peaks());
}

#[test]
fn a_controlnet_acts_in_the_steps_that_it_is_given() {
    let it = alone();
    let within = |start, end| {
        let control = ControlImage { start, end, ..ControlImage::with_strength(picture(64, 64, 1), 1.0) };
        Recipe { steps: 3, control: Some(control), ..controlled() }
    };
    let pixels = |recipe: &Recipe| it.run(recipe).pixels().to_vec();
    let whole = pixels(&within(0.0, 1.0));
    let (first, last) = (pixels(&within(0.0, 0.5)), pixels(&within(0.5, 1.0)));
    // Steps 1 and 2 of 3 begin before 0.4 of them are over.
    assert_eq!(pixels(&within(0.0, 0.4)), first);
    assert_eq!(pixels(&within(0.4, 1.0)), last);
    // A branch goes on from steps that were controlled as its parent's were.
    let parent = within(0.0, 1.0);
    let branch = Recipe { earlier_steps: parent.steps_until(2, None), ..within(0.0, 0.5) };
    assert_eq!(pixels(&branch), first);
    let branch = Recipe { earlier_steps: within(1.0, 1.0).steps_until(2, None), ..parent };
    assert_eq!(pixels(&branch), last);
    // At the end: without its ControlNet the model is opened anew.
    let plain = pixels(&Recipe { control: None, ..within(0.0, 1.0) });
    assert_eq!([&whole, &plain, &first, &last].into_iter().collect::<HashSet<_>>().len(), 4);
    assert_eq!(pixels(&within(0.9, 1.0)), plain);
    // In no step of any number, so of one too.
    let once = |control| pixels(&Recipe { steps: 1, control, ..controlled() });
    let plain = once(None);
    for nowhere in [within(0.5, 0.5), within(0.8, 0.2)] {
        assert_eq!(once(nowhere.control), plain);
    }
}

/// What a depth estimator writes is grey, of 8 or 16 bits; nothing is made of it first.
#[test]
fn a_depth_map_is_used_as_it_is() {
    let it = alone();
    let dir = folder("depth-maps");
    let depth = |x: u32, y: u32| (x * 3 + y) as u8;
    let (narrow, wide) = (dir.join("depth8.png"), dir.join("depth16.png"));
    image::GrayImage::from_fn(64, 64, |x, y| image::Luma([depth(x, y)])).save(&narrow).unwrap();
    image::ImageBuffer::from_fn(64, 64, |x, y| image::Luma([u16::from(depth(x, y)) * 257])).save(&wide).unwrap();
    let pixels = (0..64 * 64).flat_map(|n| [depth(n % 64, n / 64); 3]).collect();
    let sources = [ImageSource::Pixels(Rgb8::new(64, 64, pixels).unwrap()), ImageSource::File(narrow), ImageSource::File(wide)];
    let [same, from_8, from_16] =
        sources.map(|image| it.run(&Recipe { control: Some(ControlImage::new(image)), ..controlled() }).pixels().to_vec());
    assert_eq!((&from_8, &from_16), (&same, &same));
    assert_ne!(same, it.run(&controlled()).pixels());
}

#[test]
fn a_controlnet_in_diffusers_names_is_the_same_one() {
    let it = alone();
    let control = Some(ControlImage::with_strength(picture(64, 64, 1), 1.0));
    let recipe = Recipe { control, ..controlled() };
    let mut renamed = recipe.clone();
    let path = folder("controlled").join("diffusers.safetensors");
    families::sd15_controlnet_of_diffusers().write(&path).unwrap();
    renamed.files.set(FileRole::Controlnet, path);
    assert_eq!(it.run(&renamed).pixels(), it.run(&recipe).pixels());
}

#[test]
fn a_controlnet_of_sdxl_follows_the_control_picture_in_both_namings() {
    let it = alone();
    let dir = folder("controlled-sdxl");
    let plain = Recipe { files: support::controlled(families::controlled_sdxl(&dir).unwrap()), ..of_zeros() };
    let with = |seed, strength| Recipe { control: Some(ControlImage::with_strength(picture(64, 64, seed), strength)), ..plain.clone() };
    let strong = it.run(&with(1, 1.0));
    assert_ne!(strong.pixels(), it.run(&with(2, 1.0)).pixels(), "another control picture");
    assert_ne!(strong.pixels(), it.run(&with(1, 0.5)).pixels());
    assert_ne!(strong.pixels(), it.run(&plain).pixels());
    let mut renamed = with(1, 1.0);
    let path = dir.join("diffusers.safetensors");
    let [_, of_diffusers] = families::sdxl_controlnets();
    of_diffusers.write(&path).unwrap();
    renamed.files.set(FileRole::Controlnet, path);
    assert_eq!(it.run(&renamed).pixels(), strong.pixels());
    drop(it);
    // Gigabytes, of which the next test has no use.
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_preprocessor_makes_the_control_picture_that_is_used() {
    let it = alone();
    let with = |preprocessor| {
        let control = ControlImage { preprocessor, ..ControlImage::with_strength(picture(96, 80, 3), 1.0) };
        Recipe { control: Some(control), ..controlled() }
    };
    let mut seen = HashSet::from([it.run(&with(None)).pixels().to_vec()]);
    for preprocessor in Preprocessor::ALL {
        let recipe = with(Some(*preprocessor));
        let made = it.run(&recipe).pixels().to_vec();
        let control = read_control(recipe.control.as_ref().unwrap(), (64, 64)).unwrap();
        let finished = Recipe { control: Some(ControlImage::with_strength(ImageSource::Pixels(control), 1.0)), ..recipe };
        assert_eq!(it.run(&finished).pixels(), made, "{preprocessor}");
        assert!(seen.insert(made), "{preprocessor}");
    }
}

#[test]
fn a_controlnet_of_another_family_is_refused_before_anything_loads() {
    let it = alone();
    let mut recipe = recipe();
    recipe.files.set(FileRole::Controlnet, controlled().files.get(FileRole::Controlnet).unwrap());
    let said = it.run(&Recipe { control: Some(ControlImage::with_strength(picture(64, 64, 1), 1.0)), ..recipe });
    let advice = &said.failure().advice;
    assert!(advice.sentence.contains("ControlNet") && advice.sentence.contains("Z-Image"), "{advice:?}");
    assert!(said.phases().is_empty());
}

#[test]
fn an_edit_model_looks_at_every_reference_picture() {
    let it = alone();
    let plain = ovis();
    let with = |seeds: &[usize]| Recipe { reference_images: seeds.iter().map(|seed| picture(64, 64, *seed)).collect(), ..plain.clone() };
    let pictures: Vec<Vec<u8>> =
        [&[][..], &[1], &[2], &[1, 2], &[2, 1]].iter().map(|seeds| it.run(&with(seeds)).pixels().to_vec()).collect();
    assert_eq!(pictures.iter().collect::<HashSet<_>>().len(), 5, "each changes the picture, and so does their order");
    assert_eq!(it.run(&with(&[1, 2])).pixels(), pictures[3]);
    let elsewhere = Recipe { placement: placed("all=GPU0,vae=GPU1", ""), ..with(&[1, 2]) };
    assert_eq!(it.run(&elsewhere).pixels(), pictures[3]);
}

#[test]
fn a_start_picture_is_encoded_once_for_all_pictures_made_from_it() {
    let it = alone();
    let plain = Recipe { steps: 2, placement: placed("all=cpu,vae=GPU1", ""), ..ovis() };
    let from = |image, prompt: &str, seed| {
        let init = Some(InitImage { image: picture(64, 64, image), strength: 0.7 });
        it.run(&Recipe { prompt: prompt.into(), seed: Some(Seed(seed)), init, ..plain.clone() })
    };
    let encoding = |said: &Said| {
        let peaks = said.peaks().iter().filter(|peak| peak.device == "GPU1" && peak.phase == Phase::Encode);
        peaks.map(|peak| peak.bytes).max().unwrap_or(0)
    };
    // The VAE's decoder is in memory too from here on.
    from(3, "a lake", 1);
    let first = from(1, "a lake", 1);
    let second = from(1, "a hill", 2);
    assert!(encoding(&second) < encoding(&first), "the VAE computed nothing: {:?}", second.peaks());
    assert_eq!(encoding(&from(2, "a hill", 2)), encoding(&first), "another start picture");
    it.engine.handle().unload().unwrap();
    assert_eq!(from(1, "a hill", 2).pixels(), second.pixels(), "as if it had been encoded");
}

#[test]
fn a_reference_picture_of_any_shape_is_read() {
    let it = alone();
    let plain = ovis();
    let with = |width, height| Recipe { reference_images: vec![picture(width, height, 1)], ..plain.clone() };
    for (width, height) in [(1, 1), (60, 2), (2, 60), (65, 33)] {
        let said = it.run(&with(width, height));
        assert!(matches!(said.end(), End::Done { .. }), "{width} x {height}: {:?}", said.end());
    }
    // Nothing would be left of the shorter side where the engine makes it as large as the picture.
    for (width, height) in [(700, 2), (2, 700)] {
        let said = it.run(&with(width, height));
        assert!(said.failure().advice.sentence.contains("too narrow") && said.phases().is_empty(), "{:?}", said.failure());
        assert_eq!(it.engine.estimate(&with(width, height)).unwrap_err().advice, said.failure().advice);
    }
}

#[test]
fn a_model_that_looks_at_no_reference_pictures_says_so() {
    let it = alone();
    let plain = it.run(&recipe());
    let said = it.run(&Recipe { reference_images: vec![picture(64, 64, 1)], ..recipe() });
    assert!(said.begin().notes.iter().any(|note| note.contains("reference picture")), "{:?}", said.begin().notes);
    assert_eq!(said.pixels(), plain.pixels());
}

/// SDXL whose text encoders tell words apart, with a `PhotoMaker`.
fn with_photomaker() -> ModelFiles {
    static FILES: OnceLock<ModelFiles> = OnceLock::new();
    let make = || {
        let dir = folder("photomaker");
        let mut files = written(families::reading("sdxl"), &dir);
        // Its folder is no reason to take it for the second version.
        let path = dir.join("not-v2.safetensors");
        families::photomaker().write(&path).unwrap();
        files.set(FileRole::Photomaker, path);
        files
    };
    FILES.get_or_init(make).clone()
}

/// A small recipe with the person of these pictures, which have any shape, and no model.
fn of_person(seeds: &[usize]) -> Recipe {
    let images = seeds.iter().map(|seed| picture(96, 61, *seed)).collect();
    Recipe {
        files: ModelFiles::default(),
        prompt: "a woman img by a lake".into(),
        person: Person { images, ..Person::default() },
        ..of_zeros()
    }
}

fn with_person(seeds: &[usize]) -> Recipe {
    Recipe { files: with_photomaker(), ..of_person(seeds) }
}

#[test]
fn a_photomaker_brings_the_person_of_its_pictures_into_the_picture() {
    let it = alone();
    let pixels = |recipe: &Recipe| it.run(recipe).pixels().to_vec();
    let ann = pixels(&with_person(&[1]));
    // The words are the same, and were encoded before.
    let bob = pixels(&with_person(&[2]));
    assert_ne!(bob, ann, "another person");
    assert_eq!(pixels(&with_person(&[1])), ann, "found in the cache");
    // Later steps alone have the person, and of one step none is late.
    let weak = |seed| Recipe { person: Person { style_strength: 100.0, ..with_person(&[seed]).person }, ..with_person(&[seed]) };
    let words = pixels(&weak(1));
    assert!(words != ann && words != bob && pixels(&weak(2)) == words);
    it.engine.handle().unload().unwrap();
    let placement = placed("all=cpu,photomaker=GPU0", "");
    let elsewhere = Recipe { placement, ..with_person(&[1]) };
    let is_loading =
        |event: &Event| matches!(event, Event::Phase { phase: JobPhase::Loading { module: Some(Module::Photomaker), .. }, .. });
    assert!(matches!(it.engine.run_until(&elsewhere, is_loading).end(), End::Cancelled));
    let elsewhere = it.run(&elsewhere);
    assert_eq!(elsewhere.pixels(), ann, "encoded anew, on a device of its own");
    assert!(elsewhere.used("GPU0") && !elsewhere.used("GPU1"), "{:?}", elsewhere.peaks());
}

/// Merged, its changes are rounded elsewhere than at run time, which is a little of what they make
/// of the picture.
#[test]
fn the_lora_of_a_photomaker_is_merged_where_that_is_asked_for_and_can_be() {
    let it = alone();
    let run = |lora_mode, memory_map| it.run(&Recipe { lora_mode, memory_map, ..with_person(&[1]) });
    let says_at_runtime = |said: &Said| said.begin().notes.iter().any(|note| note.starts_with("LoRAs are applied at run time"));
    let merged = run(LoraMode::Immediately, false);
    let at_runtime = run(LoraMode::AtRuntime, false);
    let rounded = distance(merged.pixels(), at_runtime.pixels());
    assert!(rounded > 0.0 && rounded < 2.0, "{rounded}");
    // Files that are mapped are another model, which never had it: it was taken out.
    let mapped = run(LoraMode::Immediately, true);
    assert_eq!(mapped.pixels(), at_runtime.pixels());
    assert_eq!([&at_runtime, &merged, &mapped].map(says_at_runtime), [false, false, true]);
}

#[test]
fn a_person_that_would_be_left_out_is_refused_before_anything_loads() {
    let it = alone();
    let dir = folder("photomaker-refused");
    let photomaker = |name: &str, is_v2: bool| {
        let path = dir.join(name);
        families::photomaker_of_zeros(is_v2).write(&path).unwrap();
        path
    };
    let good = Recipe { files: family("sdxl"), ..of_person(&[1]) };
    let with = |path: &Path| {
        let mut files = good.files.clone();
        files.set(FileRole::Photomaker, path);
        Recipe { files, ..good.clone() }
    };
    let (first, second) = (with(&photomaker("v1.safetensors", false)), with(&photomaker("v2.safetensors", true)));
    let mut of_another_family = first.clone();
    of_another_family.files = family("sd15");
    of_another_family.files.set(FileRole::Photomaker, dir.join("v1.safetensors"));
    let features = dir.join("id_embeds.bin");
    let header = [2i32, 0, 0, 512, 2].map(i32::to_le_bytes).concat();
    fs::write(&features, [header, vec![0; 2 * 512 * 4]].concat()).unwrap();
    let two_faces = Recipe { person: Person { id_embedding: Some(features), ..second.person.clone() }, ..second.clone() };
    let many = vec![picture(8, 8, 1); Person::MAX_IMAGES + 1];
    for (recipe, says) in [
        (Recipe { person: Person::default(), ..first.clone() }, "PhotoMaker needs pictures of a person."),
        (good.clone(), "Pictures of a person need a PhotoMaker."),
        (Recipe { person: Person { images: many, ..Person::default() }, ..first.clone() }, "takes 16 at most"),
        (of_another_family, "works with SDXL alone, and the model is SD1.5"),
        (second, "PhotoMaker v2 needs a face embedding file"),
        (two_faces, "was made from 2 pictures, and there are 1"),
    ] {
        let said = it.run(&recipe);
        assert!(said.failure().advice.sentence.contains(says) && said.phases().is_empty(), "{:?}", said.failure());
        assert_eq!(it.engine.estimate(&recipe).unwrap_err().advice, said.failure().advice);
    }
    let wordless = Recipe { prompt: "a woman by a lake".into(), ..first };
    let said = it.run(&wordless);
    assert!(said.failure().advice.sentence.contains("no word img") && said.phases().is_empty(), "{:?}", said.failure());
    it.engine.estimate(&wordless).expect("the word may come yet");
}

#[test]
fn a_photomaker_that_is_none_is_no_reason_for_pictures_without_the_person() {
    let it = alone();
    let path = folder("photomaker-fragment").join("pm.safetensors");
    families::fragment().write(&path).unwrap();
    let mut recipe = Recipe { files: family("sdxl"), ..of_person(&[1]) };
    recipe.files.set(FileRole::Photomaker, path);
    let said = it.run(&recipe);
    assert!(said.pictures().is_empty(), "{:?}", said.end());
    assert!(said.failure().advice.sentence.ends_with('.'), "{:?}", said.failure());
}
