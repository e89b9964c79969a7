//! Settings that models of one family alone use change their pictures, each in its own way.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;

use atelier_core::recipe::{FileRole, ImageSource, ModelFiles, Recipe, Rgb8, VaeFormat};
use support::engine::{Engine, Said};
use support::{folder, recipe};
use testkit::families::{self, Part};

fn grey() -> ImageSource {
    ImageSource::Pixels(Rgb8::new(64, 64, vec![128; 64 * 64 * 3]).unwrap())
}

fn written(name: &str, parts: Vec<(&'static str, Part)>) -> ModelFiles {
    let dir = folder(name);
    parts.into_iter().map(|(role, part)| (FileRole::from_key(role).unwrap(), part.write(&dir, role).unwrap())).collect()
}

fn notes(said: &Said) -> Vec<String> {
    said.pictures()[0].notes.iter().map(|note| note.sentence.clone()).collect()
}

/// Pixels of a picture of which nothing else was said.
fn pixels(engine: &Engine, recipe: &Recipe) -> Vec<u8> {
    let said = engine.run(recipe);
    assert_eq!(notes(&said), [""; 0]);
    said.pixels().to_vec()
}

#[test]
fn chromas_masks_and_padding_change_what_it_reads_of_a_prompt() {
    let engine = Engine::start();
    let plain = Recipe { files: written("chroma", families::chroma()), steps: 1, ..recipe() };
    let unmasked = Recipe { chroma_dit_mask: false, ..plain.clone() };
    let padded = Recipe { chroma_t5_padding: 64, ..plain.clone() };
    let t5_masked = Recipe { chroma_t5_mask: true, ..plain.clone() };
    let pictures = [&plain, &unmasked, &padded, &t5_masked].map(|recipe| pixels(&engine, recipe));
    for (n, picture) in pictures.iter().enumerate() {
        assert!(!pictures[..n].contains(picture), "setting {n} makes the picture of another");
    }
    // The padding is what the diffusion module's mask leaves unmasked.
    assert_eq!(pixels(&engine, &Recipe { chroma_t5_padding: 64, ..unmasked }), pictures[1]);
    fs::remove_dir_all(folder("chroma")).unwrap();
}

#[test]
fn qwen_images_references_have_a_timestep_of_zero_where_the_setting_or_its_file_says_so() {
    let engine = Engine::start();
    let dir = folder("qwen-image");
    let parts = families::qwen_image();
    let Some(("diffusion", Part::Draft(mut module))) = parts.first().cloned() else { panic!("{parts:?}") };
    let plain = Recipe { files: written("qwen-image", parts), reference_images: vec![grey()], steps: 1, ..recipe() };
    // As the file of Qwen-Image-Edit 2511 has it.
    module.add("__index_timestep_zero__", &[1]);
    let marked = dir.join("marked.safetensors");
    module.write(&marked).unwrap();
    let mut by_file = plain.clone();
    by_file.files.set(FileRole::Diffusion, marked);
    let zero = pixels(&engine, &Recipe { zero_cond_t: true, ..plain.clone() });
    assert_ne!(pixels(&engine, &plain), zero);
    assert_eq!(pixels(&engine, &by_file), zero);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn pids_vae_format_scales_what_it_sees_of_its_reference() {
    let engine = Engine::start();
    let plain = Recipe { files: written("pid", families::pid()), reference_images: vec![grey()], steps: 1, ..recipe() };
    let picture = |vae_format| engine.run(&Recipe { vae_format, ..plain.clone() }).pixels().to_vec();
    let pictures = [None, Some(VaeFormat::Flux), Some(VaeFormat::Sd3)].map(picture);
    assert!(pictures[0] != pictures[1] && pictures[0] != pictures[2] && pictures[1] != pictures[2]);
    fs::remove_dir_all(folder("pid")).unwrap();
}
