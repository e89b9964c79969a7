//! What a phrase of a prompt changes in a small draft of the built-in model: phrases that it was
//! trained with beside phrases that it does not know. The bound from which on the window says that
//! a phrase changed something is `MIN_MEAN` of `src/gui/phrases/effect.rs`.

use atelier_core::recipe::{Recipe, Seed};
use atelier_engine::{Handle, start};
use atelier_library::Builtin;
use testkit::attributes::PROMPTS;

use super::Outcome;
use super::seams::picture;

/// Side of the drafts that the window compares for a picture of the model's usual size.
const SIDE: u32 = 128;
/// Steps of a draft: as few as tell its composition, and as many as the window's have.
const STEPS: [u32; 2] = [2, 8];
const SEEDS: [u64; 3] = [5, 6, 7];
/// Bounds that are tried, in grey levels of 255.
const BOUNDS: [f64; 9] = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0];
/// Phrases of which the model knows no word that matters, behind the words of the others.
const UNKNOWN: [&str; PROMPTS.len()] = [
    "a cat",
    "a dog",
    "a guitar",
    "masterpiece",
    "best quality",
    "highly detailed",
    "a portrait",
    "oil on canvas",
    "cinematic",
    "a bicycle",
    "a teapot",
    "a wizard",
    "an elephant",
    "a piano",
    "bokeh",
    "a robot",
    "a banana",
    "graffiti",
    "a tractor",
    "a penguin",
    "chocolate",
    "a submarine",
    "a dragon",
    "a laptop",
];

/// A phrase, and what it changes for each number of steps and each seed.
struct Row {
    prompt: String,
    changes: [Vec<f64>; STEPS.len()],
}

/// Prints what each phrase changes, and the share of both kinds that reaches each bound.
pub(super) fn measure() -> Outcome<()> {
    let builtin = Builtin::find()?;
    let mut recipe = Recipe::default();
    builtin.apply(&mut recipe);
    (recipe.width, recipe.height) = (SIDE, SIDE);
    let engine = start(|| {});
    println!(
        "{}, {SIDE} x {SIDE}, seeds {SEEDS:?}: mean difference of `words, phrase` and `words` in grey levels of 255, least to most\n",
        builtin.manifest().name
    );
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for ((words, phrase, ..), other) in PROMPTS.into_iter().zip(UNKNOWN) {
        if !builtin.unknown_words(phrase).is_empty() || builtin.unknown_words(other).is_empty() {
            return Err(format!("the model's list of words has changed: see “{phrase}” and “{other}”").into());
        }
        known.push(row(&engine, &recipe, words, phrase)?);
        unknown.push(row(&engine, &recipe, words, other)?);
    }
    table("Phrases that the model knows", &known);
    table("Phrases that it does not know", &unknown);
    let columns = STEPS.map(|steps| format!(" known, {steps} steps | unknown, {steps} steps |")).concat();
    println!("### Pictures that change by so much\n\n| bound |{columns}\n|---|{}", "---|---|".repeat(STEPS.len()));
    for bound in BOUNDS {
        let shares = |at: usize| format!(" {:.0} % | {:.0} % |", share_from(&known, at, bound), share_from(&unknown, at, bound));
        println!("| {bound} |{}", (0..STEPS.len()).map(shares).collect::<Vec<_>>().concat());
    }
    Ok(())
}

fn row(engine: &Handle, recipe: &Recipe, words: &str, phrase: &str) -> Outcome<Row> {
    let prompt = format!("{words}, {phrase}");
    let mut changes = STEPS.map(|_| Vec::new());
    for (steps, found) in STEPS.into_iter().zip(&mut changes) {
        for seed in SEEDS {
            let of = |prompt: &str| picture(engine, &Recipe { prompt: prompt.to_owned(), seed: Some(Seed(seed)), steps, ..recipe.clone() });
            let change = of(&prompt)?.mean_difference(&of(words)?);
            found.push(change.ok_or("the drafts differ in size")?);
        }
    }
    Ok(Row { prompt, changes })
}

fn table(name: &str, rows: &[Row]) {
    let columns = STEPS.map(|steps| format!(" {steps} steps |")).concat();
    println!("### {name}\n\n| words, phrase |{columns}\n|---|{}", "---|".repeat(STEPS.len()));
    for Row { prompt, changes } in rows {
        let cells: Vec<String> = changes.iter().map(|of_steps| format!(" {} |", least_to_most(of_steps.iter().copied()))).collect();
        println!("| {prompt} |{}", cells.concat());
    }
    let of_all = |at: usize| format!(" {} |", least_to_most(rows.iter().flat_map(|row| row.changes[at].iter().copied())));
    println!("| all |{}\n", (0..STEPS.len()).map(of_all).collect::<Vec<_>>().concat());
}

fn least_to_most(values: impl Iterator<Item = f64>) -> String {
    let (least, most) = values.fold((f64::INFINITY, 0.0), |(least, most), value| (value.min(least), value.max(most)));
    format!("{least:.2} to {most:.2}")
}

/// Share of pictures, 0 to 100, that change by so much at least. `at`: index of the steps.
fn share_from(rows: &[Row], at: usize, bound: f64) -> f64 {
    let changes: Vec<f64> = rows.iter().flat_map(|row| row.changes[at].iter().copied()).collect();
    100.0 * changes.iter().filter(|change| **change >= bound).count() as f64 / changes.len() as f64
}
