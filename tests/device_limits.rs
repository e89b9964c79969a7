//! Devices that cannot do what a model asks: buffers that are too small for one tensor, and number
//! types that they do not compute with.
//!
//! The devices belong to the process: `SMALL` has no buffer larger than a mebibyte, `MIDDLE` none
//! larger than 20 of them, `PLAIN` does not compute with `Q8_0`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::recipe::{FileRole, ModelFiles, PlacementText, Recipe};
use support::alone::{Alone, alone};
use support::{folder, recipe};
use testkit::tiny::{self, Format, Options};

fn limited() -> Alone {
    alone("SMALL:1/largest=0.001,MIDDLE:1/largest=0.02,PLAIN:1/without=q8_0")
}

fn placed(backend: &str) -> Recipe {
    Recipe { placement: PlacementText { backend: backend.into(), ..PlacementText::default() }, ..recipe() }
}

/// The tiny model in `Q8_0`, where rows are long enough.
fn quantised() -> ModelFiles {
    let options = Options { format: Format::GgufQ8, ..Options::default() };
    let files = tiny::zimage(&folder("quantised"), &options).unwrap();
    [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)].into_iter().collect()
}

#[test]
fn a_table_of_tokens_larger_than_a_buffer_is_an_error_with_advice() {
    let limited = limited();
    // Two mebibytes of embeddings.
    let recipe = placed("all=cpu,te=SMALL");
    let failure = limited.run(&recipe).failure().clone();
    assert!(failure.advice.sentence.contains("at once") && failure.advice.hint.contains("te=cpu"), "{failure:?}");
    assert!(
        failure.log.iter().any(|line| line.contains("too large for params buffer") && line.contains("embed_tokens.weight")),
        "{failure:?}"
    );
    assert_eq!(limited.engine.estimate(&recipe).unwrap_err().advice, failure.advice);
    assert_eq!(limited.run(&placed("all=cpu")).pictures().len(), 1);
}

#[test]
fn a_picture_whose_tensors_are_larger_than_a_buffer_is_an_error_before_it_is_computed() {
    let limited = limited();
    // A plane of 64 channels in F32.
    let recipe = Recipe { width: 128, height: 128, ..placed("all=cpu,vae=SMALL") };
    let failure = limited.run(&recipe).failure().clone();
    let estimate = limited.engine.estimate(&recipe).unwrap_err();
    for failure in [&failure, &*estimate] {
        assert!(failure.advice.sentence.contains("at once") && failure.advice.hint.contains("tiling"), "{failure:?}");
    }
}

#[test]
fn a_picture_that_is_too_large_to_be_decoded_in_one_piece_is_decoded_in_tiles() {
    let limited = limited();
    // 64 channels in F32 take 64 MiB, and 16 in a tile.
    let recipe = Recipe { width: 512, height: 512, steps: 1, ..placed("all=cpu,vae=MIDDLE") };
    let said = limited.run(&recipe);
    let [note] = &said.pictures()[0].notes[..] else { panic!("{:?}", said.pictures()[0].notes) };
    assert_eq!(note.sentence, "Decoded in tiles (VAE tiling): MIDDLE cannot allocate 67.1 MB at once, which the whole picture needs.");
    // What is foretold is what is done.
    let in_tiles = Recipe { vae_tiling: true, ..recipe.clone() };
    assert_eq!(limited.engine.estimate(&recipe).unwrap().needs, limited.engine.estimate(&in_tiles).unwrap().needs);
    let tiled = limited.run(&in_tiles);
    assert_eq!((tiled.pixels(), tiled.pictures()[0].notes.len()), (said.pixels(), 0));
}

#[test]
fn a_quantisation_that_a_device_does_not_compute_is_told_before_it_is_computed() {
    let limited = limited();
    let recipe = Recipe { files: quantised(), ..placed("all=cpu,diffusion=PLAIN") };
    let failure = limited.run(&recipe).failure().clone();
    assert!(failure.advice.sentence.contains("number type") && failure.advice.hint.contains("another quantisation"), "{failure:?}");
    assert!(failure.log.iter().any(|line| line.contains("PLAIN does not compute") && line.contains("q8_0")), "{failure:?}");
    assert_eq!(limited.engine.estimate(&recipe).unwrap_err().advice, failure.advice);
    // The same device computes what it can.
    assert_eq!(limited.run(&placed("all=cpu,diffusion=PLAIN")).pictures().len(), 1);
    assert_eq!(limited.run(&Recipe { files: quantised(), ..placed("all=cpu") }).pictures().len(), 1);
}
