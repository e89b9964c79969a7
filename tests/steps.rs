//! Pictures that are branches of others: their first steps have the settings of those, on the tiny
//! model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::canvas::Borders;
use atelier_core::recipe::{
    CacheMode, GuidanceRange, Hires, ImageSource, InitImage, Lora, Recipe, Rgb8, Sampler, Seed, SeedBlend, StepCache,
};
use atelier_core::words::take_loras;
use atelier_engine::{End, Event, JobPhase};
use support::engine::{Engine, Said};
use support::{folder, recipe};
use testkit::tiny;

fn parent() -> Recipe {
    Recipe { steps: 5, guidance: 2.0, sampler: Some(Sampler::EulerA), ..recipe() }
}

/// The seed of a recipe, and so many more.
fn seed_after(recipe: &Recipe, by: u64) -> Option<Seed> {
    recipe.seed.map(|seed| seed.after(by))
}

/// The rest of the parent's steps after this one with other words.
fn branch(of: &Recipe, step: u32, prompt: &str) -> Recipe {
    Recipe { earlier_steps: of.steps_until(step, Some("1.png".into())), prompt: prompt.into(), ..of.clone() }
}

/// How often a picture was decoded.
fn decodings(said: &Said) -> usize {
    let phases = said.phases();
    phases.iter().filter(|phase| matches!(phase, JobPhase::Decoding { .. })).count()
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
    let second = Recipe { seed: seed_after(&parent(), 1), ..parent() };
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
    let with_lora = Recipe { loras: vec![Lora::new(path, 1.0)], ..parent() };
    let whole = engine.run(&with_lora);
    let without = Recipe { loras: Vec::new(), ..branch(&with_lora, 2, "a lake") };
    let kept = engine.run(&without);
    assert!(kept.pixels() != whole.pixels() && kept.pixels() != engine.run(&parent()).pixels());
    assert_eq!(Engine::start().run(&without).pixels(), kept.pixels());
    let missing = Recipe { loras: vec![Lora::new("gone.safetensors".into(), 1.0)], ..parent() };
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
}

/// Mean difference of the bytes.
fn distance(one: &[u8], other: &[u8]) -> f64 {
    let sum: u64 = one.iter().zip(other).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / one.len() as f64
}

#[test]
fn the_rest_of_a_picture_is_rerolled_with_another_seed() {
    let engine = Engine::start();
    let parent = Recipe { steps: 8, sampler: None, ..parent() };
    let whole = engine.run(&parent);
    let rerolled = |step| Recipe { seed: seed_after(&parent, 100), ..branch(&parent, step, "a lake") };
    let [early, late] = [2, 6].map(|step| engine.run(&rerolled(step)));
    let other = engine.run(&Recipe { seed: seed_after(&parent, 100), ..parent.clone() });
    let [early_distance, late_distance, other_distance] = [&early, &late, &other].map(|it| distance(it.pixels(), whole.pixels()));
    assert!(0.0 < late_distance && late_distance < early_distance, "{late_distance} {early_distance} {other_distance}");
    assert_ne!(early.pixels(), other.pixels());
    assert_eq!(decodings(&late), 1);
    // A branch of it, and the same without kept steps.
    let second = Recipe { earlier_steps: rerolled(2).steps_until(5, None), prompt: "a red fox".into(), ..rerolled(2) };
    let kept = engine.run(&second);
    let same = Recipe { prompt: "a lake".into(), ..second.clone() };
    assert_eq!(engine.run(&same).pixels(), early.pixels());
    let fresh = Engine::start();
    assert_eq!(fresh.run(&second).pixels(), kept.pixels());
    assert_eq!(fresh.run(&rerolled(6)).pixels(), late.pixels());
    // Of a batch, the first picture has the parent's noise and the others have their own.
    let batch = engine.run(&Recipe { batch_count: 2, ..branch(&parent, 2, "a lake") });
    assert_eq!(batch.pictures()[0].image.pixels(), whole.pixels());
    let second = engine.run(&Recipe { seed: seed_after(&parent, 1), ..branch(&parent, 2, "a lake") });
    assert_eq!(batch.pictures()[1].image.pixels(), second.pixels());
}

#[test]
fn a_draft_is_finished_to_the_bytes_of_the_picture_that_did_not_stop() {
    let engine = Engine::start();
    let whole = engine.run(&parent());
    let drafts = Recipe { last_step: Some(2), batch_count: 2, ..parent() };
    let drawn = Engine::start();
    let said = drawn.run(&drafts);
    assert_eq!((said.pictures().len(), said.begin().steps), (2, 2));
    assert_ne!(said.pictures()[0].image.pixels(), whole.pixels());
    let info = said.pictures()[0].info;
    let finishing = drafts.finishing(info.seed, Some("draft.png".into())).unwrap();
    assert_eq!(drawn.run(&finishing).pixels(), whole.pixels(), "from the steps that were kept");
    assert_eq!(Engine::start().run(&finishing).pixels(), whole.pixels(), "and where they are gone");
    let all = engine.run(&Recipe { last_step: Some(9), ..parent() });
    assert_eq!(all.pixels(), whole.pixels(), "a picture with fewer steps is no draft");
    let larger = Recipe { hires: Some(Hires { scale: 1.5, strength: 0.5, ..Hires::default() }), ..parent() };
    let draft = Recipe { last_step: Some(2), ..larger.clone() };
    let small = engine.run(&draft);
    assert_eq!(small.pixels(), said.pictures()[0].image.pixels(), "only the finished picture is upscaled");
    assert_eq!(engine.run(&draft.finishing(parent().seed, None).unwrap()).pixels(), engine.run(&larger).pixels());
}

#[test]
fn parts_and_upscaled_pictures_are_drafts_and_have_branches_too() {
    let pixels: Vec<u8> = (0..64 * 64 * 3).map(|at| (at % 251) as u8).collect();
    let init = |strength| Some(InitImage { image: ImageSource::Pixels(Rgb8::new(64, 64, pixels.clone()).unwrap()), strength });
    let extended = Recipe { init: init(1.0), outpaint: Some(Borders { left: 64, ..Borders::default() }), ..parent() };
    let redrawn = Recipe { init: init(0.0), hires: Some(Hires { scale: 2.0, strength: 0.6, ..Hires::default() }), ..parent() };
    let engine = Engine::start();
    for recipe in [extended, redrawn] {
        let whole = engine.run(&recipe);
        let draft = Recipe { last_step: Some(2), ..recipe.clone() };
        let stopped = engine.run(&draft);
        assert!(stopped.pixels() != whole.pixels());
        assert_eq!(stopped.pixels().len(), whole.pixels().len());
        let finishing = draft.finishing(recipe.seed, None).unwrap();
        assert_eq!(engine.run(&finishing).pixels(), whole.pixels());
        assert_eq!(Engine::start().run(&finishing).pixels(), whole.pixels());
        let other = engine.run(&branch(&recipe, 2, "a red fox"));
        assert!(other.pixels() != whole.pixels() && other.begin().notes.is_empty(), "{:?}", other.begin().notes);
        let rerolled = engine.run(&Recipe { seed: Some(Seed(900)), ..branch(&recipe, 3, "a lake") });
        assert_ne!(rerolled.pixels(), whole.pixels());
    }
}

#[test]
fn words_over_steps_are_the_bytes_of_their_branches() {
    let engine = Engine::start();
    let written = |prompt: &str| Recipe { prompt: prompt.into(), ..parent() };
    let chain = engine.run(&branch(&parent(), 2, "a red fox"));
    for same in ["[a lake:a red fox:2]", "a [lake:red fox:0.4]", "a [lake::2][red fox:2]"] {
        assert_eq!(engine.run(&written(same)).pixels(), chain.pixels(), "{same}");
    }
    assert_eq!(Engine::start().run(&written("[a lake:a red fox:2]")).pixels(), chain.pixels(), "without kept steps");
    assert_eq!(engine.run(&written("a [lake:lake:3]")).pixels(), engine.run(&parent()).pixels(), "one range is none");
    let turns: Vec<&str> = ["a lake", "a red fox"].into_iter().cycle().take(5).collect();
    let turning = (1..5).zip(&turns[1..]).fold(parent(), |of, (step, prompt)| branch(&of, step, prompt));
    assert_eq!(engine.run(&written("a [lake|red fox]")).pixels(), engine.run(&turning).pixels());
    let denied = Recipe { negative_prompt: "[fog:rain:3]".into(), ..parent() };
    let fog = Recipe { negative_prompt: "fog".into(), ..parent() };
    let rain = Recipe { negative_prompt: "rain".into(), ..branch(&fog, 3, "a lake") };
    assert_eq!(engine.run(&denied).pixels(), engine.run(&rain).pixels());
    // Of a batch each picture begins with noise of its own, and a draft goes on with its words.
    let batch = engine.run(&Recipe { batch_count: 2, ..written("[a lake:a red fox:2]") });
    let second = Recipe { seed: seed_after(&parent(), 1), ..parent() };
    assert_eq!(batch.pictures()[1].image.pixels(), engine.run(&branch(&second, 2, "a red fox")).pixels());
    let draft = Recipe { last_step: Some(1), ..written("[a lake:a red fox:2]") };
    assert_eq!(engine.run(&draft).pixels(), engine.run(&Recipe { last_step: Some(1), ..parent() }).pixels());
    assert_eq!(engine.run(&draft.finishing(parent().seed, None).unwrap()).pixels(), chain.pixels());
    let escaped = engine.run(&written(r"\[a lake:a red fox:2\]"));
    assert!(escaped.pixels() != chain.pixels() && escaped.begin().notes.is_empty());
}

/// Evaluations of the diffusion module that were computed; the others were kept.
fn evaluations(said: &Said) -> u64 {
    let counts =
        said.events.iter().filter_map(|event| if let Event::Measured { evaluations, .. } = event { Some(*evaluations) } else { None });
    counts.sum()
}

#[test]
fn loras_in_a_part_of_the_steps_are_the_bytes_of_their_branches() {
    let engine = Engine::start();
    let lora = Lora::new(tiny::lora(&folder("steps-lora-part"), &tiny::Options::default()).unwrap(), 1.0);
    let within = |start, end| Recipe { loras: vec![Lora { start, end, ..lora.clone() }], ..parent() };
    let (with, without) = (|of: Recipe| Recipe { loras: vec![lora.clone()], ..of }, |of: Recipe| Recipe { loras: Vec::new(), ..of });
    let same = |one: &Recipe, other: &Recipe, why: &str| assert_eq!(engine.run(one).pixels(), engine.run(other).pixels(), "{why}");
    same(&within(0.0, 1.0), &with(parent()), "one range is none");
    same(&within(0.6, 0.2), &parent(), "in no step");
    let first = without(branch(&with(parent()), 2, "a lake"));
    same(&within(0.0, 0.4), &first, "the first steps");
    same(&within(0.6, 1.0), &with(branch(&parent(), 3, "a lake")), "the last steps");
    let from_second = with(branch(&parent(), 1, "a lake"));
    let middle = within(0.2, 0.8);
    same(&middle, &without(branch(&from_second, 4, "a lake")), "some in the middle");
    assert_eq!(Engine::start().run(&middle).pixels(), engine.run(&middle).pixels(), "without kept steps");
    assert!(engine.run(&first).pixels() != engine.run(&parent()).pixels());
}

#[test]
fn guidance_in_a_part_of_the_steps_has_the_bytes_of_its_branches() {
    let engine = Engine::start();
    let guided = |guidance: f32| Recipe { guidance, negative_prompt: "fog".into(), ..parent() };
    let within = |start: f32, end: f32| Recipe { guidance_ranges: vec![GuidanceRange { guidance: 1.0, start, end }], ..guided(3.0) };
    let then = |before: &Recipe, step: u32, after: Recipe| Recipe { earlier_steps: before.steps_until(step, None), ..after };
    let same = |one: &Recipe, other: &Recipe, what: &str| {
        assert!(engine.run(one).pixels() == engine.run(other).pixels(), "{what}");
    };
    same(&within(0.0, 1.0), &guided(1.0), "one range over all steps is none");
    same(&within(0.4, 0.4), &guided(3.0), "a range without steps is none");
    same(&within(0.0, 0.4), &then(&guided(1.0), 2, guided(3.0)), "the first steps");
    same(&within(0.4, 1.0), &then(&guided(3.0), 2, guided(1.0)), "the last steps");
    same(&within(0.2, 0.6), &then(&then(&guided(3.0), 1, guided(1.0)), 3, guided(3.0)), "steps between");
    assert!(engine.run(&within(0.2, 0.6)).pixels() != engine.run(&guided(3.0)).pixels());
    // A branch of such a picture keeps it.
    let branch = Recipe { earlier_steps: within(0.2, 0.6).steps_until(4, None), ..guided(3.0) };
    same(&branch, &within(0.2, 0.6), "a branch with the same settings");
}

#[test]
fn a_lora_in_the_brackets_of_the_prompt_has_the_bytes_of_its_range() {
    let engine = Engine::start();
    let path = tiny::lora(&folder("steps-lora-text"), &tiny::Options::default()).unwrap();
    let lora = Lora::new(path.clone(), 1.0);
    let written = |text: &str| {
        let (prompt, tags) = take_loras(text);
        Recipe { prompt, loras: tags.iter().map(|tag| tag.lora(path.clone(), 5)).collect(), ..parent() }
    };
    let within = |start, end| Recipe { loras: vec![Lora { start, end, ..lora.clone() }], ..parent() };
    let with = |of: Recipe| Recipe { loras: vec![lora.clone()], ..of };
    let without = |of: Recipe| Recipe { loras: Vec::new(), ..of };
    let first = engine.run(&without(branch(&with(parent()), 2, "a lake")));
    let last = engine.run(&with(branch(&parent(), 2, "a lake")));
    assert!(first.pixels() != last.pixels());
    for (text, range, chain) in [
        ("a lake [<lora:x:1>::2]", within(0.0, 0.4), &first),
        ("a lake [<lora:x:1>::0.4]", within(0.0, 0.4), &first),
        ("a lake [<lora:x:1>:2]", within(0.4, 1.0), &last),
    ] {
        assert_eq!(written(text).prompt, "a lake");
        assert_eq!(engine.run(&written(text)).pixels(), chain.pixels(), "{text}");
        assert_eq!(engine.run(&range).pixels(), chain.pixels(), "{text} in the recipe");
    }
    let half = Lora { strength: 0.5, ..lora.clone() };
    let other = Recipe { loras: vec![half], ..branch(&with(parent()), 2, "a lake") };
    assert_eq!(engine.run(&written("a lake [<lora:x:1>:<lora:x:0.5>:2]")).pixels(), engine.run(&other).pixels());
    let turns = engine.run(&written("a lake [<lora:x:1>|b]"));
    assert!(turns.begin().notes.iter().any(|note| note.contains("LoRA's tag is read as words")), "{:?}", turns.begin().notes);
}

#[test]
fn a_change_over_the_steps_is_computed_from_its_step() {
    let lora = Lora::new(tiny::lora(&folder("steps-lora-change"), &tiny::Options::default()).unwrap(), 1.0);
    let words = |prompt: &str| Recipe { prompt: prompt.into(), ..parent() };
    let until = |end| Recipe { loras: vec![Lora { end, ..lora.clone() }], ..parent() };
    let changes = [
        vec![words("[a lake:a red fox:2]"), words("[a lake:a red fox:3]"), words("[a lake:a red fox:1]"), words("[a lake:a hill:1]")],
        vec![until(0.4), until(0.8), until(0.2)],
    ];
    for recipes in changes {
        let engine = Engine::start();
        assert_eq!(evaluations(&engine.run(&recipes[0])), 5, "all of them at first");
        for pair in recipes.windows(2) {
            let first = pair[1].first_computed_step(&pair[0]).unwrap();
            let changed = engine.run(&pair[1]);
            assert_eq!(evaluations(&changed), u64::from(5 - (first - 1)), "{:?}", pair[1].prompt);
            assert_eq!(changed.pixels(), Engine::start().run(&pair[1]).pixels(), "{:?}", pair[1].prompt);
        }
    }
}

#[test]
fn words_that_cannot_change_over_the_steps_are_told() {
    let engine = Engine::start();
    let cached =
        |prompt: &str| Recipe { prompt: prompt.into(), sampler: None, step_cache: Some(StepCache::of(CacheMode::EasyCache)), ..parent() };
    let last = engine.run(&cached("[a lake:a red fox:2]"));
    assert!(last.begin().notes.iter().any(|note| note.contains("a step cache")), "{:?}", last.begin().notes);
    assert_eq!(last.pixels(), engine.run(&cached("a red fox")).pixels());
    let wild = engine.run(&Recipe { steps: 100, prompt: "[a|b]".into(), ..parent() });
    assert!(wild.failure().advice.sentence.contains("more than 64 times"), "{:?}", wild.failure());
}

#[test]
fn a_second_seed_is_blended_in_by_degrees() {
    let engine = Engine::start();
    let blended = |amount| {
        let seed_blend = Some(SeedBlend { seed: seed_after(&parent(), 50).unwrap(), amount });
        engine.run(&Recipe { seed_blend, ..parent() })
    };
    let [own, other] = [0, 50].map(|by| engine.run(&Recipe { seed: seed_after(&parent(), by), ..parent() }));
    assert_eq!(blended(0.0).pixels(), own.pixels());
    assert_eq!(blended(1.0).pixels(), other.pixels());
    let distances: Vec<f64> = [0.0, 0.1, 0.4, 1.0].map(|amount| distance(blended(amount).pixels(), own.pixels())).into();
    assert!(distances.is_sorted_by(|a, b| a < b), "{distances:?}");
    // The noise of the branch's first steps stays, though the branch itself has one seed.
    let first = Recipe { seed_blend: Some(SeedBlend { seed: Seed(3), amount: 0.5 }), ..parent() };
    assert_eq!(engine.run(&branch(&first, 2, "a lake")).pixels(), engine.run(&first).pixels());
}
