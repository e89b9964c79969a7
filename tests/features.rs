//! What a picture can be made with beside a prompt: control and reference pictures, several LoRAs,
//! files of other kinds, on several devices and with weights in pieces.
//!
//! The devices belong to the process: `GPU0` and `GPU1` of 4 GiB.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::slice;
use std::sync::OnceLock;

use atelier_core::placement::{self, Module, ModuleSet};
use atelier_core::recipe::{
    ControlImage, FileRole, ImageSource, InitImage, Lora, ModelFiles, Person, PlacementText, Preprocessor, Recipe, Rgb8, Scheduler, Seed,
};
use atelier_engine::{End, Event, JobPhase, Task, read_control};
use serde_json::json;
use support::alone::{Alone, deep, deep_options};
use support::engine::Said;
use support::{folder, recipe};
use testkit::families::{self, Part};
use testkit::tiny;

fn alone() -> Alone {
    support::alone::alone("GPU0:4,GPU1:4")
}

/// A picture of this size; other seeds give other ones.
fn picture(width: u32, height: u32, seed: usize) -> ImageSource {
    let pixels = (0..(width * height * 3) as usize).map(|n| (n * (2 * seed + 1) / 7 % 256) as u8).collect();
    ImageSource::Pixels(Rgb8::new(width, height, pixels).unwrap())
}

fn placed(backend: &str, params_backend: &str) -> PlacementText {
    PlacementText { backend: backend.into(), params_backend: params_backend.into(), ..PlacementText::default() }
}

/// The files of a family of tiny models.
fn family(name: &str) -> ModelFiles {
    let dir = folder(name);
    written(families::family(name, &dir).unwrap(), &dir)
}

/// Writes the files of a model into a folder.
fn written(parts: Vec<(&'static str, Part)>, dir: &Path) -> ModelFiles {
    parts.into_iter().map(|(role, part)| (FileRole::from_key(role).unwrap(), part.write(dir, role).unwrap())).collect()
}

/// A small recipe for a family.
fn of_family(name: &str) -> Recipe {
    Recipe { files: family(name), steps: 1, ..recipe() }
}

fn logs(said: &Said) -> Vec<&str> {
    said.events.iter().filter_map(|event| if let Event::Log { text, .. } = event { Some(text.as_str()) } else { None }).collect()
}

/// True where a job used memory of a device, beside what models that it does not use have there.
fn used(said: &Said, device: &str) -> bool {
    said.peaks().iter().any(|peak| peak.device == device && peak.bytes > peak.others_bytes)
}

/// SD1.5 with a `ControlNet`.
fn controlled() -> Recipe {
    static FILES: OnceLock<families::ControlledFiles> = OnceLock::new();
    let files = FILES.get_or_init(|| families::controlled_sd15(&folder("controlled")).unwrap()).clone();
    let files =
        [(FileRole::Model, files.model), (FileRole::Taesd, files.taesd), (FileRole::Controlnet, files.controlnet)].into_iter().collect();
    Recipe { files, steps: 1, ..recipe() }
}

#[test]
fn a_lora_of_two_modules_is_told_as_used_whole() {
    let it = alone();
    let dir = folder("lora-of-two-modules");
    let base = Recipe { files: written(families::reading("sd15"), &dir), steps: 1, ..recipe() };
    let path = dir.join("both.safetensors");
    families::lora_of_two_modules().write(&path).unwrap();
    let with = Recipe { loras: vec![Lora::new(path, 1.0)], ..base.clone() };
    // The second time its text is known.
    for seed in [7, 8] {
        let said = it.run(&Recipe { seed: Some(Seed(seed)), ..with.clone() });
        let notes = &said.pictures()[0].notes;
        assert!(notes.iter().all(|note| !note.is_of_lora()), "{notes:?}");
        assert_ne!(said.pixels(), it.run(&Recipe { seed: Some(Seed(seed)), ..base.clone() }).pixels());
    }
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
    assert!(used(&placed, "GPU0") && !used(&strong, "GPU1"), "{:?}", placed.peaks());
}

#[test]
fn a_controlnet_acts_in_the_steps_that_it_is_given() {
    let it = alone();
    let within = |start, end| {
        let control = ControlImage { start, end, ..ControlImage::with_strength(picture(64, 64, 1), 1.0) };
        Recipe { steps: 4, control: Some(control), ..controlled() }
    };
    let pixels = |recipe: &Recipe| it.run(recipe).pixels().to_vec();
    let whole = pixels(&within(0.0, 1.0));
    let plain = pixels(&Recipe { control: None, ..within(0.0, 1.0) });
    let (first, last) = (pixels(&within(0.0, 0.5)), pixels(&within(0.5, 1.0)));
    assert_eq!([&whole, &plain, &first, &last].into_iter().collect::<HashSet<_>>().len(), 4);
    assert_eq!(pixels(&within(0.0, 0.5)), first);
    // Steps 1 and 2 of 4 begin before 0.4 of them are over.
    assert_eq!(pixels(&within(0.0, 0.4)), first);
    assert_eq!(pixels(&within(0.3, 1.0)), last);
    for nowhere in [within(0.5, 0.5), within(0.8, 0.2), within(0.9, 1.0)] {
        assert_eq!(pixels(&nowhere), plain);
    }
    // A branch goes on from steps that were controlled as its parent's were.
    let parent = within(0.0, 1.0);
    let branch = Recipe { earlier_steps: parent.steps_until(2, None), ..within(0.0, 0.5) };
    assert_eq!(pixels(&branch), first);
    let branch = Recipe { earlier_steps: within(1.0, 1.0).steps_until(2, None), ..parent };
    assert_eq!(pixels(&branch), last);
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
    let files = families::controlled_sdxl(&dir).unwrap();
    let mut plain = Recipe { steps: 1, ..recipe() };
    plain.files =
        [(FileRole::Model, files.model), (FileRole::Taesd, files.taesd), (FileRole::Controlnet, files.controlnet)].into_iter().collect();
    let with = |seed, strength| Recipe { control: Some(ControlImage::with_strength(picture(64, 64, seed), strength)), ..plain.clone() };
    let strong = it.run(&with(1, 1.0));
    assert_ne!(strong.pixels(), it.run(&plain).pixels());
    assert_ne!(strong.pixels(), it.run(&with(2, 1.0)).pixels(), "another control picture");
    assert_ne!(strong.pixels(), it.run(&with(1, 0.5)).pixels());
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
fn ideogram_is_guided_by_its_second_diffusion_module() {
    let it = alone();
    let dir = folder("ideogram");
    let plain = Recipe { files: written(families::ideogram4(), &dir), steps: 1, ..recipe() };
    let second = |bias: f32| {
        let path = dir.join(format!("unconditional-{bias}.safetensors"));
        families::ideogram4_module(bias).write(&path).unwrap();
        let mut recipe = Recipe { guidance: 3.0, ..plain.clone() };
        recipe.files.set(FileRole::UncondDiffusion, path);
        recipe
    };
    let (other, further) = (second(0.25), second(0.5));
    let guided = it.run(&other);
    assert_ne!(guided.pixels(), it.run(&Recipe { guidance: 1.0, ..other.clone() }).pixels());
    assert_ne!(guided.pixels(), it.run(&further).pixels(), "the second module is not the one that was chosen");
    // Without guidance nothing is asked of it.
    let unguided = |recipe: &Recipe| it.run(&Recipe { guidance: 1.0, ..recipe.clone() }).pixels().to_vec();
    assert_eq!(unguided(&other), unguided(&plain));
    drop(it);
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
    let plain = of_family("ovis");
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
    let plain = Recipe { steps: 2, placement: placed("all=cpu,vae=GPU1", ""), ..of_family("ovis") };
    let from = |image, prompt: &str, seed| {
        let init = Some(InitImage { image: picture(64, 64, image), strength: 0.7 });
        it.run(&Recipe { prompt: prompt.into(), seed: Some(Seed(seed)), init, ..plain.clone() })
    };
    let encoding = |said: &Said| {
        let peaks = said.peaks().iter().filter(|peak| peak.device == "GPU1" && peak.phase == placement::Phase::Encode);
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
    let plain = of_family("ovis");
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

#[test]
fn files_without_effect_are_said_and_change_nothing() {
    let it = alone();
    let plain = it.run(&recipe());
    let path = folder("without-effect").join("clip-vision.safetensors");
    families::clip_vision().write(&path).unwrap();
    let mut recipe = recipe();
    recipe.files.set(FileRole::ClipVision, path);
    recipe.placement = placed("all=cpu,clip_vision=GPU0", "");
    let said = it.run(&recipe);
    assert_eq!(said.pixels(), plain.pixels());
    let sentence = FileRole::ClipVision.without_effect().unwrap();
    assert!(said.begin().notes.iter().any(|note| note == sentence), "{:?}", said.begin().notes);
    assert!(!used(&said, "GPU0"), "{:?}", said.peaks());
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
        steps: 1,
        prompt: "a woman img by a lake".into(),
        person: Person { images, ..Person::default() },
        ..recipe()
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
    assert!(used(&elsewhere, "GPU0") && !used(&elsewhere, "GPU1"), "{:?}", elsewhere.peaks());
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

#[test]
fn an_embedding_in_a_role_that_is_not_its_own_is_refused() {
    let it = alone();
    let path = folder("embedding").join("style.safetensors");
    families::embedding().write(&path).unwrap();
    let lora = it.run(&Recipe { loras: vec![Lora::new(path.clone(), 1.0)], ..recipe() });
    assert!(lora.failure().advice.sentence.contains("style.safetensors"), "{:?}", lora.failure());
    let mut as_encoder = recipe();
    as_encoder.files.set(FileRole::Llm, path);
    assert!(it.run(&as_encoder).failure().advice.sentence.contains("style.safetensors"));
}

/// The tensors of SDXL's and SD1.5's vocabularies.
const VOCABULARIES: [(&str, &str); 2] = [("token_embedding.weight", "clip_g"), ("embeddings.token_embedding.weight", "clip_l")];
/// The number of "a", as a word, in CLIP's vocabulary. Those of the letters that follow come behind
/// it.
const TOKEN_A: u64 = 320;

/// Writes an embedding of the vectors that a model's vocabularies have for these tokens.
fn embedding_of_tokens(path: &Path, model: &Path, tokens: &[u64]) {
    let header = atelier_library::read_header(model).unwrap();
    let (mut entries, mut data) = (serde_json::Map::new(), Vec::new());
    let is_xl = header.tensors.iter().any(|it| it.name.starts_with("conditioner."));
    for (end, name) in VOCABULARIES {
        let is_it = |name: &str| name.ends_with(end) && name.contains("embeddings.") == end.starts_with("embeddings.");
        let Some(vocabulary) = header.tensors.iter().find(|it| is_it(&it.name)) else { continue };
        let width = *vocabulary.shape.last().unwrap();
        let start = data.len();
        for token in tokens {
            let mut file = File::open(model).unwrap();
            file.seek(SeekFrom::Start(vocabulary.offset + token * width * 2)).unwrap();
            let mut row = vec![0; width as usize * 2];
            file.read_exact(&mut row).unwrap();
            data.extend(row);
        }
        let name = if is_xl { name } else { "emb_params" };
        entries.insert(name.into(), json!({ "dtype": "F16", "shape": [tokens.len(), width], "data_offsets": [start, data.len()] }));
    }
    let header = serde_json::Value::Object(entries).to_string();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(path, [&length[..], header.as_bytes(), &data].concat()).unwrap();
}

#[test]
fn an_embedding_of_a_words_own_vectors_gives_the_bytes_of_the_word() {
    let it = alone();
    for name in ["sd15", "sdxl"] {
        let dir = folder(&format!("{name}-reading"));
        let files = written(families::reading(name), &dir);
        let path = dir.join("zebrane.safetensors");
        let embed = |tokens: &[u64]| embedding_of_tokens(&path, files.get(FileRole::Model).unwrap(), tokens);
        let plain = |prompt: &str| Recipe { files: files.clone(), steps: 1, prompt: prompt.into(), ..recipe() };
        let with = |prompt: &str| Recipe { embeddings: vec![path.clone()], ..plain(prompt) };
        let pixels = |recipe: &Recipe| it.run(recipe).pixels().to_vec();
        embed(&[TOKEN_A]);
        let a = pixels(&plain("photo of a"));
        assert_eq!(pixels(&with("photo of Zebrane")), a, "{name}");
        assert_ne!(pixels(&plain("photo of zebrane")), a, "{name}: a word like any other without the embedding");
        assert_eq!(pixels(&with("photo of (embedding:zebrane:1.3)")), pixels(&plain("photo of (a:1.3)")), "{name}");
        // Another file of the same name is another embedding, also for what was encoded before.
        embed(&[TOKEN_A, TOKEN_A + 1]);
        let two = pixels(&plain("photo of a b"));
        assert_ne!(two, a, "{name}");
        assert_eq!(pixels(&with("photo of zebrane")), two, "{name}");
        let guided = |recipe: Recipe, negative: &str| Recipe { negative_prompt: negative.into(), guidance: 4.0, ..recipe };
        assert_eq!(pixels(&guided(with("fog"), "zebrane")), pixels(&guided(plain("fog"), "a b")), "{name}");
    }
}

#[test]
fn an_embedding_of_another_family_is_refused_where_a_prompt_names_it() {
    let it = alone();
    let path = folder("embedding-of-sd15").join("style.safetensors");
    families::embedding().write(&path).unwrap();
    let named = Recipe { prompt: "a lake, style".into(), embeddings: vec![path.clone()], ..recipe() };
    let sentence = it.run(&named).failure().advice.sentence.clone();
    assert_eq!(sentence, "style.safetensors was made for SD1.5, and the model is Z-Image.");
    let unnamed = Recipe { prompt: "a lake".into(), ..named };
    assert_eq!(it.run(&unnamed).pixels(), it.run(&Recipe { embeddings: Vec::new(), ..unnamed.clone() }).pixels());
}

fn lora(seed: u64, options: &tiny::Options) -> Lora {
    let path = tiny::lora(&folder(&format!("lora-{seed}-{}", options.layers)), &tiny::Options { seed, ..options.clone() }).unwrap();
    Lora::new(path, 1.0)
}

fn with_loras(recipe: Recipe, loras: &[Lora]) -> Recipe {
    Recipe { loras: loras.to_vec(), ..recipe }
}

#[test]
fn several_loras_are_all_used_and_their_order_does_not_matter() {
    let it = alone();
    let options = tiny::Options::default();
    let (a, b) = (lora(5, &options), lora(6, &options));
    let run = |loras: &[Lora]| it.run(&with_loras(recipe(), loras)).pixels().to_vec();
    let (plain, only_a, only_b, both) = (run(&[]), run(slice::from_ref(&a)), run(slice::from_ref(&b)), run(&[a.clone(), b.clone()]));
    assert_eq!([&plain, &only_a, &only_b, &both].into_iter().collect::<HashSet<_>>().len(), 4);
    let swapped = run(&[b.clone(), a.clone()]);
    // Sums of floats in another order differ, by 3 of 255 where the processor multiplies in
    // bfloat16: much less than a LoRA changes.
    let difference = |other: &[u8]| both.iter().zip(other).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
    let least = difference(&only_a).min(difference(&only_b));
    assert!(difference(&swapped) <= least / 10, "{} of {least}", difference(&swapped));
    let without = Lora { strength: 0.0, ..b.clone() };
    assert_eq!(run(&[a.clone(), without]), only_a);
    assert_eq!(run(&[]), plain, "and nothing of them stays");
    // Notes are about each of them by name.
    let partial = tiny::partial_lora(&folder("lora-partial"), &options).unwrap();
    let said = it.run(&with_loras(recipe(), &[a, Lora::new(partial, 1.0)]));
    let notes = &said.pictures()[0].notes;
    assert!(notes.len() == 1 && notes[0].sentence.contains("partial-lora.safetensors"), "{notes:?}");
}

/// The deep model with its layers streamed into a budget.
fn streamed(max_vram: &str) -> Recipe {
    let placement = PlacementText { max_vram: max_vram.into(), stream_layers: ModuleSet::DIFFUSION, ..placed("all=GPU0", "all=cpu") };
    Recipe { files: deep().clone(), placement, ..recipe() }
}

/// True where the diffusion module's graph was cut, so that its weights were on the device a piece
/// at a time.
fn is_streamed(said: &Said) -> bool {
    let weights = deep().get(FileRole::Diffusion).unwrap().metadata().unwrap().len();
    let mut peaks = said.peaks().iter().filter(|peak| peak.device == "GPU0" && peak.phase == placement::Phase::Denoise);
    logs(said).iter().any(|line| line.contains("graph cut plan")) && peaks.all(|peak| peak.bytes - peak.others_bytes < weights)
}

#[test]
fn loras_reach_layers_that_are_streamed() {
    let it = alone();
    let loras = [lora(5, &deep_options()), lora(6, &deep_options())];
    for count in 0..=2 {
        let whole = it.run(&with_loras(Recipe { placement: placed("all=cpu", ""), ..streamed("") }, &loras[..count]));
        let pieces = it.run(&with_loras(streamed("0.006"), &loras[..count]));
        assert!(!is_streamed(&whole));
        assert!(is_streamed(&pieces), "{count} LoRAs: {:?}", logs(&pieces));
        assert_eq!(pieces.pixels(), whole.pixels(), "{count} LoRAs");
    }
}

#[test]
fn a_batch_of_streamed_pictures_is_the_same_as_one_of_whole_ones() {
    let it = alone();
    let batch = |recipe: Recipe| it.run(&Recipe { batch_count: 3, ..recipe });
    let whole = batch(Recipe { placement: placed("all=cpu", ""), ..streamed("") });
    let pieces = batch(streamed("0.006"));
    let pixels = |said: &Said| said.pictures().iter().map(|it| (it.info.index, it.image.pixels().to_vec())).collect::<Vec<_>>();
    assert!(is_streamed(&pieces) && pixels(&whole).len() == 3);
    assert_eq!(pixels(&pieces), pixels(&whole));
}

#[test]
fn a_batch_with_a_lora_is_shared_by_two_devices() {
    let it = alone();
    let deep = Recipe { batch_count: 3, files: deep().clone(), ..with_loras(recipe(), &[lora(5, &deep_options())]) };
    let alone = it.run(&Recipe { placement: placed("all=cpu", ""), ..deep.clone() });
    let placement = PlacementText { split_batch: "GPU0,GPU1".into(), ..placed("all=GPU0", "") };
    let shared = it.run(&Recipe { placement, ..deep });
    let sorted = |said: &Said| {
        let mut pictures: Vec<_> = said.pictures().iter().map(|it| (it.info.index, it.image.pixels().to_vec())).collect();
        pictures.sort_unstable();
        pictures
    };
    assert_eq!(sorted(&shared), sorted(&alone));
}

#[test]
fn an_upscaler_runs_where_it_is_placed_and_nowhere_else() {
    let it = alone();
    let model = tiny::upscaler(&folder("upscaler"), 2, 1).unwrap();
    let upscale = |placement: PlacementText| {
        let (image, model) = (picture(64, 64, 3), model.clone());
        it.engine.run_task(Task::Upscale { image, model, allow_pickle: false, placement, threads: Some(1) })
    };
    let on_cpu = upscale(placed("cpu", ""));
    for (backend, params, device, other) in [
        ("upscaler=GPU1", "", "GPU1", "GPU0"),
        ("all=cpu,upscaler=GPU0", "upscaler=cpu", "GPU0", "GPU1"),
        ("all=GPU1,upscaler=GPU0", "disk", "GPU0", "GPU1"),
    ] {
        let said = upscale(placed(backend, params));
        assert_eq!(said.pixels(), on_cpu.pixels(), "{backend}");
        assert!(used(&said, device) && !used(&said, other), "{backend}: {:?}", said.peaks());
    }
    assert!(upscale(placed("upscaler=GPU7", "")).failure().advice.sentence.contains("GPU7"));
}

#[test]
fn models_of_other_families_make_the_same_picture_wherever_their_modules_run() {
    let it = alone();
    for name in ["sd15", "sd3", "zimage-vae", "zimage-gguf"] {
        let recipe = Recipe { prompt: "a lake".into(), guidance: 2.0, negative_prompt: "fog".into(), ..of_family(name) };
        let first = it.run(&Recipe { placement: placed("cpu", ""), ..recipe.clone() });
        assert!(first.pixels().iter().collect::<HashSet<_>>().len() > 8, "{name}");
        let again = it.run(&Recipe { placement: placed("all=GPU0,vae=GPU1,te=cpu", "te=disk"), ..recipe });
        assert_eq!(again.pixels(), first.pixels(), "{name}");
        assert!(used(&again, "GPU0") && used(&again, "GPU1"), "{name}");
        it.engine.handle().unload().unwrap();
    }
}

/// Schedules that divide by the steps less one, or look into a table, have one step too. One step
/// goes from the highest noise level to none.
#[test]
fn every_noise_schedule_makes_a_picture_in_one_step() {
    let engine = alone();
    let schedules = |recipe: &Recipe| {
        let made = |scheduler| engine.run(&Recipe { scheduler: Some(scheduler), ..recipe.clone() });
        Scheduler::ALL.iter().map(|scheduler| (*scheduler, made(*scheduler))).collect::<Vec<_>>()
    };
    for name in ["sd15", "zimage"] {
        let recipe = if name == "sd15" { of_family(name) } else { Recipe { steps: 1, ..recipe() } };
        let made = schedules(&recipe);
        let usual = made[0].1.pixels().to_vec();
        for (scheduler, said) in &made {
            let is_foreign = *scheduler == Scheduler::Ays && name == "zimage";
            assert_eq!(said.begin().notes.iter().any(|note| note.contains("Align Your Steps")), is_foreign, "{name} {scheduler:?}");
            if matches!(scheduler, Scheduler::Karras | Scheduler::Exponential | Scheduler::Gits) {
                // Its one noise level is the model's largest, which each computes in a way of its own:
                // where processors round otherwise, a sample differs by a level.
                let is_near = said.pixels().iter().zip(&usual).all(|(one, other)| one.abs_diff(*other) <= 1);
                assert!(is_near && said.pixels().len() == usual.len(), "{name} {scheduler:?}");
            }
        }
    }
}
