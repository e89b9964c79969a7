//! Weights of words on the built-in model: how much of what a phrase asks for is in the picture.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use atelier_core::recipe::{Recipe, Rgb8, Seed};
use atelier_core::sd_cli;
use atelier_engine::start;
use atelier_library::Builtin;
use testkit::attributes::{Measure, PROMPTS, mean};

use super::Outcome;
use super::seams::picture;

/// Side of the pictures: the attributes are means over all of a picture.
const SIDE: u32 = 128;
const WEIGHTS: [f32; 9] = [0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0];
/// Of the engine's own program.
const THREADS: u32 = 2;
/// Grey levels by which a value that rises may fall: what rises has an end.
const PLAY: f64 = 1.0;

/// Prints a table of 24 prompts at nine weights: ours, behind what was before. That is the engine as
/// it is published, where its program is named by `sd_cli`; else brackets that are letters, which is
/// what other programs make of them for such models.
pub(super) fn measure(sd_cli: Option<&Path>) -> Outcome<()> {
    let builtin = Builtin::find()?;
    let mut recipe = Recipe { seed: Some(Seed(5)), ..Recipe::default() };
    builtin.apply(&mut recipe);
    (recipe.width, recipe.height) = (SIDE, SIDE);
    let engine = start(|| {});
    let of = |prompt: String| Recipe { prompt, ..recipe.clone() };
    let weighted = |words: &str, phrase: &str, weight: f32| of(format!("{words}, ({phrase}:{weight})"));
    println!(
        "{}, {SIDE} x {SIDE}, {} steps, seed {}: `words, (phrase:weight)`\n",
        builtin.manifest().name,
        recipe.steps,
        recipe.seed.unwrap_or_default()
    );
    if let Some(program) = sd_cli {
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("weighted.png");
        table("Before: sd-cli, a factor on hidden states", |words, phrase, weight| {
            published(program, &weighted(words, phrase, weight), &output)
        })?;
    } else {
        println!("With `--sd-cli PATH`, a program of the engine's version, the first table is of what that makes.\n");
        table("Brackets that are letters", |words, phrase, weight| picture(&engine, &of(format!("{words}, \\({phrase}:{weight}\\)"))))?;
    }
    table("Weights", |words, phrase, weight| picture(&engine, &weighted(words, phrase, weight)))
}

/// Prints a table with a row for each prompt.
fn table(name: &str, make: impl Fn(&str, &str, f32) -> Outcome<Rgb8>) -> Outcome<()> {
    let columns = WEIGHTS.map(|weight| format!(" {weight} |")).concat();
    println!("### {name}\n\n| words, phrase | of |{columns} never falls | gained |\n|---|---|{}---|---|", "---|".repeat(WEIGHTS.len()));
    let (mut rising, mut gained) = (0, 0.0);
    for (words, phrase, attribute, measure) in PROMPTS {
        let mut values = Vec::with_capacity(WEIGHTS.len());
        for weight in WEIGHTS {
            values.push(value(&make(words, phrase, weight)?, measure));
        }
        let never_falls = values.windows(2).all(|it| it[1] >= it[0] - PLAY);
        let gain = values.last().copied().unwrap_or_default() - values.first().copied().unwrap_or_default();
        rising += usize::from(never_falls);
        gained += gain;
        let cells: String = values.iter().map(|value| format!(" {value:.0}")).collect::<Vec<_>>().join(" |");
        println!("| {words}, {phrase} | {attribute} |{cells} | {} | {gain:+.0} |", if never_falls { "yes" } else { "no" });
    }
    println!("\n{rising} of {} never fall; {:+.1} grey levels gained on average.\n", PROMPTS.len(), gained / PROMPTS.len() as f64);
    Ok(())
}

fn value(picture: &Rgb8, measure: Measure) -> f64 {
    mean(picture.pixels(), measure)
}

/// The picture that an sd-cli program makes of a recipe, in a process of its own. The brackets of
/// its prompt reach the program as they are typed.
fn published(program: &Path, recipe: &Recipe, output: &Path) -> Outcome<Rgb8> {
    let line = sd_cli::write(&Recipe { threads: Some(THREADS), ..recipe.clone() }).line;
    let words = shell_words::split(&line)?;
    // The first word is the program's name.
    let arguments = words.iter().skip(1);
    let mut command = Command::new(program);
    command.args(arguments).arg("--output").arg(output).stdin(Stdio::null());
    let ended = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    if !ended.status.success() {
        return Err(format!("{line}: {}\n{}", ended.status, String::from_utf8_lossy(&ended.stderr)).into());
    }
    let image = image::open(output)?.into_rgb8();
    // Else a process that writes nothing would be taken for one that made this picture again.
    fs::remove_file(output)?;
    let (width, height) = image.dimensions();
    Rgb8::new(width, height, image.into_raw()).ok_or_else(|| "the picture has another size".into())
}
