//! Pictures that are branches of others: their first steps have the settings of those, on the tiny model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::canvas::Borders;
use atelier_core::recipe::{Hires, ImageSource, InitImage, Lora, Recipe, Rgb8, Sampler};
use atelier_engine::{End, Phase};
use support::engine::{Engine, Said};
use support::{folder, recipe};
use testkit::tiny;

fn parent() -> Recipe {
    Recipe { steps: 5, guidance: 2.0, sampler: Some(Sampler::EulerA), ..recipe() }
}

/// The rest of the parent's steps after this one with other words.
fn branch(of: &Recipe, step: u32, prompt: &str) -> Recipe {
    Recipe { earlier_steps: of.steps_until(step, Some("1.png".into())), prompt: prompt.into(), ..of.clone() }
}

/// How often a picture was decoded.
fn decodings(said: &Said) -> usize {
    let phases = said.phases();
    phases.iter().filter(|phase| matches!(phase, Phase::Decoding { .. })).count()
}

#[test]
fn a_branch_with_the_same_settings_is_its_parent_and_one_with_other_words_is_not() {
    let engine = Engine::start();
    let whole = engine.run(&parent());
    for step in 1..5 {
        assert_eq!(engine.run(&branch(&parent(), step, "a lake")).pixels(), whole.pixels(), "from step {step}");
    }
    let other = engine.run(&branch(&parent(), 2, "a red fox"));
    let unrelated = engine.run(&Recipe { prompt: "a red fox".into(), ..parent() });
    assert!(other.pixels() != whole.pixels() && other.pixels() != unrelated.pixels());
    assert_eq!(decodings(&other), 1);
    let guided = engine.run(&Recipe { guidance: 6.0, ..branch(&parent(), 2, "a lake") });
    assert!(guided.pixels() != whole.pixels() && guided.pixels() != other.pixels());
}

#[test]
fn steps_that_are_no_longer_kept_are_computed_again_to_the_same_bytes() {
    let first = Engine::start();
    first.run(&parent());
    let second = branch(&parent(), 2, "a red fox");
    let third = branch(&second, 4, "a green hill");
    let kept = [&second, &third].map(|recipe| first.run(recipe));
    let fresh = Engine::start();
    // The branch of a branch first: both of its parents are computed.
    let again = [&third, &second].map(|recipe| fresh.run(recipe));
    assert_eq!(again[0].pixels(), kept[1].pixels());
    assert_eq!(again[1].pixels(), kept[0].pixels());
    assert!(kept[0].pixels() != kept[1].pixels());
    assert_eq!(again[0].begin().steps, 5);
}

#[test]
fn each_picture_of_a_batch_has_steps_of_its_own_and_a_second_pass_comes_after_them() {
    let engine = Engine::start();
    let batch = engine.run(&Recipe { batch_count: 2, ..parent() });
    let second = Recipe { seed: parent().seed + 1, ..parent() };
    let same = engine.run(&branch(&second, 3, "a lake"));
    assert_eq!(same.pictures()[0].image.pixels(), batch.pictures()[1].image.pixels());
    assert_eq!(same.pictures()[0].info.seed, second.seed);
    let larger = Recipe { hires: Some(Hires { scale: 1.5, strength: 0.5, ..Hires::default() }), ..parent() };
    let whole = engine.run(&larger);
    assert_eq!(engine.run(&branch(&larger, 3, "a lake")).pixels(), whole.pixels());
    assert_ne!(engine.run(&branch(&larger, 3, "a red fox")).pixels(), whole.pixels());
}

#[test]
fn steps_with_a_lora_go_on_without_it() {
    let engine = Engine::start();
    let path = tiny::lora(&folder("steps-lora"), &tiny::Options::default()).unwrap();
    let with_lora = Recipe { loras: vec![Lora { path, strength: 1.0 }], ..parent() };
    let whole = engine.run(&with_lora);
    let without = Recipe { loras: Vec::new(), ..branch(&with_lora, 2, "a lake") };
    let kept = engine.run(&without);
    assert!(kept.pixels() != whole.pixels() && kept.pixels() != engine.run(&parent()).pixels());
    assert_eq!(Engine::start().run(&without).pixels(), kept.pixels());
    let missing = Recipe { loras: vec![Lora { path: "gone.safetensors".into(), strength: 1.0 }], ..parent() };
    assert!(matches!(engine.run(&branch(&missing, 2, "a lake")).end(), End::Failed(_)));
}

#[test]
fn a_step_that_the_picture_does_not_have_is_said() {
    let engine = Engine::start();
    let whole = engine.run(&parent());
    let late = engine.run(&branch(&parent(), 9, "a lake"));
    assert_eq!(late.pixels(), whole.pixels());
    assert!(late.begin().notes.iter().any(|note| note.contains("after step 4")), "{:?}", late.begin().notes);
    let one = engine.run(&Recipe { steps: 1, ..branch(&parent(), 2, "a lake") });
    assert!(one.begin().notes.iter().any(|note| note.contains("too few steps")), "{:?}", one.begin().notes);
    let image = ImageSource::Pixels(Rgb8::new(64, 64, vec![90; 64 * 64 * 3]).unwrap());
    let init = Some(InitImage { image, strength: 1.0 });
    let extended = Recipe { init, outpaint: Some(Borders { left: 64, ..Borders::default() }), ..branch(&parent(), 2, "a lake") };
    let extended = engine.run(&extended);
    assert!(extended.begin().notes.iter().any(|note| note.contains("not used")), "{:?}", extended.begin().notes);
}
