//! Weights of words where the text encoder is a language model, on the built-in model: what a phrase
//! asks for rises with its weight. The table of all prompts is `cargo xtask bench -- --weights`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::time::Duration;

use atelier_core::recipe::{Recipe, Rgb8, Seed};
use atelier_engine::{Event, Handle, PreviewOptions, Task};
use atelier_library::Builtin;
use testkit::attributes::{Measure, PROMPTS, mean};

/// Longer than a picture takes on the slowest machine.
const LIMIT: Duration = Duration::from_mins(10);

const SIZE: u32 = 128;

struct Painter {
    engine: Handle,
    recipe: Recipe,
}

impl Painter {
    fn new() -> Self {
        let builtin = Builtin::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/builtin-model")).unwrap();
        let mut recipe = Recipe::default();
        builtin.apply(&mut recipe);
        let recipe = Recipe { width: SIZE, height: SIZE, seed: Some(Seed(5)), threads: Some(1), ..recipe };
        Self { engine: atelier_engine::start(|| {}), recipe }
    }

    fn paint(&self, prompt: &str) -> Rgb8 {
        let recipe = Box::new(Recipe { prompt: prompt.to_owned(), ..self.recipe.clone() });
        self.engine.submit(Task::Generate { recipe, preview: PreviewOptions::Off, shares_steps: false }).unwrap();
        let mut painted = None;
        loop {
            match self.engine.next_within(LIMIT).unwrap() {
                Event::Picture { picture, .. } => painted = Some(picture.image.as_ref().clone()),
                Event::End { end, .. } => return painted.unwrap_or_else(|| panic!("{prompt}: {end:?}")),
                _ => {}
            }
        }
    }
}

/// Root of the mean square difference, in grey levels.
fn distance(one: &Rgb8, other: &Rgb8) -> f64 {
    let squares = one.pixels().iter().zip(other.pixels()).map(|(one, two)| f64::from(one.abs_diff(*two)).powi(2));
    (squares.sum::<f64>() / one.pixels().len() as f64).sqrt()
}

#[test]
fn what_a_phrase_asks_for_rises_with_its_weight_without_a_jump() {
    const WEIGHTS: [f32; 8] = [0.0, 0.5, 0.75, 0.99, 1.0, 1.01, 1.5, 2.5];
    let painter = Painter::new();
    for (words, phrase, _, measure) in [PROMPTS[0], PROMPTS[1], PROMPTS[4], PROMPTS[6], PROMPTS[7]] {
        let pictures = WEIGHTS.map(|weight| painter.paint(&format!("{words}, ({phrase}:{weight})")));
        let values = pictures.each_ref().map(|it| mean(it.pixels(), measure));
        // A grey level of play: what rises has an end at 255.
        assert!(values.windows(2).all(|it| it[1] >= it[0] - 1.0), "{words}, {phrase}: {values:.1?}");
        assert!(values[4] - values[0] >= 15.0 && values[7] >= values[4] - 1.0, "{words}, {phrase}: {values:.1?}");
        let near = [distance(&pictures[3], &pictures[4]), distance(&pictures[4], &pictures[5])];
        assert!(near.iter().all(|it| *it < 8.0), "{words}, {phrase}: {near:.1?} beside a weight of 1");
    }
}

/// A scene, what it says beside a weighed phrase, the contrary of that, its attribute, and the phrase,
/// which asks for nothing of the kind.
const KEPT: [(&str, &str, &str, &str, &str); 5] = [
    ("mountains", "at night", "at noon", "darkness", "pine trees"),
    ("a lake", "at noon", "at night", "brightness", "a boat"),
    ("mountains", "a red sky", "a blue sky", "redness", "a lake"),
    ("a lake", "a green sky", "a blue sky", "greenness", "mountains"),
    ("a coast", "a purple sky", "a green sky", "purpleness", "birds"),
];

fn measure_of(attribute: &str) -> Measure {
    PROMPTS.iter().find(|it| it.2 == attribute).unwrap().3
}

#[test]
fn nothing_else_that_is_said_turns_over_when_the_weight_of_a_phrase_changes() {
    const WEIGHTS: [f32; 4] = [0.5, 1.3, 1.6, 2.0];
    let painter = Painter::new();
    for (scene, said, contrary, attribute, phrase) in KEPT {
        let value = |prompt: String| mean(painter.paint(&prompt).pixels(), measure_of(attribute));
        let [own, turned] = [said, contrary].map(|words| value(format!("{scene}, {words}, {phrase}")));
        assert!(own - turned >= 20.0, "{scene}, {said}, {phrase}: {own:.1}, {contrary}: {turned:.1}");
        let weighed = WEIGHTS.map(|weight| value(format!("{scene}, {said}, ({phrase}:{weight})")));
        let halfway = f64::midpoint(own, turned);
        assert!(weighed.iter().all(|it| *it > halfway), "{scene}, {said}, {phrase}: {weighed:.1?}, {own:.1} or {turned:.1}");
    }
}

#[test]
fn no_weight_and_a_weight_of_one_are_the_same_bytes() {
    let painter = Painter::new();
    let plain = painter.paint("a lake, stars over hills");
    for prompt in ["a lake, (stars:1.0) over hills", "a lake,( stars:1) over hills", "(a lake, (stars:2):0.5) over hills"] {
        let weighed = painter.paint(prompt);
        if prompt.contains('2') {
            assert_ne!(weighed.pixels(), plain.pixels(), "only the stars come back to 1");
        } else {
            assert_eq!(weighed.pixels(), plain.pixels(), "{prompt}");
        }
    }
    // Brackets without a number, and texts in JSON, are letters.
    for (one, other) in [("a lake (large)", r"a lake \(large\)"), (r#"{"a": "(stars:1.5)"}"#, r#"{"a": "\(stars:1.5\)"}"#)] {
        assert_eq!(painter.paint(one).pixels(), painter.paint(other).pixels(), "{one}");
    }
    assert_ne!(painter.paint("a lake (large)").pixels(), painter.paint("a lake large").pixels());
}
