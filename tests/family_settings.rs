//! Settings that models of one family alone use change their pictures, each in its own way.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;

use atelier_core::recipe::{FileRole, ModelFiles, Recipe};
use support::engine::{Engine, Said};
use support::{folder, recipe};
use testkit::families::{self, Part};

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
