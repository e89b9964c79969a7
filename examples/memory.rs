//! Memory of pictures, predicted against measured, by device and phase: `cargo run --example memory
//! [-- --sd15]`.
//!
//! Everything runs on simulated devices, on which every buffer is counted. The second picture of a
//! model counts: all weights are where they live then. With `--sd15`, a random SD1.5 of real size
//! (2 GB on disk) is among the models.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atelier_core::recipe::{FileRole, PlacementText, Recipe, Seed};
use atelier_engine::{End, Event, Handle, Peak, PreviewOptions, Task, simulate_devices, start};
use atelier_library::Builtin;
use testkit::tiny;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Longer than any picture here takes.
const LIMIT: Duration = Duration::from_mins(30);

fn main() -> Outcome<()> {
    let with_sd15 = std::env::args().any(|argument| argument == "--sd15");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target").join("memory");
    std::fs::create_dir_all(&folder)?;
    simulate_devices(&"GPU0:12,GPU1:12".parse()?)?;

    let files = tiny::zimage(&folder, &tiny::Options::default())?;
    let files = [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)].into_iter().collect();
    let base = Recipe { steps: 1, seed: Some(Seed(1)), guidance: 1.0, ..Recipe::default() };
    let mut models = vec![("tiny Z-Image, 64 x 64", Recipe { files, width: 64, height: 64, ..base.clone() })];
    if let Ok(builtin) = Builtin::find() {
        let mut recipe = base.clone();
        builtin.apply(&mut recipe);
        models.push(("built-in model", Recipe { steps: 1, ..recipe }));
    }
    if with_sd15 {
        let files = [(FileRole::Model, testkit::sd15_cached(&folder)?)].into_iter().collect();
        models.push(("random SD1.5 f16, 256 x 256", Recipe { files, width: 256, height: 256, ..base }));
    }

    let engine = start(|| {});
    println!("| model | backend | weights in | device | phase | predicted | measured | error |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, recipe) in &models {
        for (backend, params) in [("GPU0", ""), ("te=GPU1,diffusion=GPU0,vae=GPU0", "cpu")] {
            let placement = PlacementText { backend: backend.into(), params_backend: params.into(), ..PlacementText::default() };
            let first = Recipe { placement, prompt: "a hill".into(), ..recipe.clone() };
            let second = Recipe { prompt: "a lake".into(), ..first.clone() };
            let estimated = estimate(&engine, &second)?;
            picture(&engine, first.clone())?;
            for peak in picture(&engine, second)? {
                let (predicted, measured) = (peak.predicted_bytes.unwrap_or(0), peak.bytes);
                if predicted.max(measured) > 0 {
                    let error = (predicted as f64 / measured as f64 - 1.0) * 100.0;
                    let (device, phase) = (peak.device, peak.phase.label());
                    let home = if params.is_empty() { "-" } else { params };
                    println!("| {name} | {backend} | {home} | {device} | {phase} | {predicted} | {measured} | {error:+.2} % |");
                }
            }
            let other = Recipe { width: recipe.width + 64, prompt: "a wood".into(), ..first };
            let again = estimate(&engine, &other)?;
            let ms = |time: Duration| time.as_secs_f64() * 1000.0;
            eprintln!("{name}: predicted first in {:.0} ms, then for another size and prompt in {:.0} ms", ms(estimated), ms(again));
        }
    }
    Ok(())
}

/// Asks what a recipe takes; how long the answer took.
fn estimate(engine: &Handle, recipe: &Recipe) -> Outcome<Duration> {
    let begun = Instant::now();
    engine.estimate(recipe.clone())?;
    loop {
        match engine.next_within(LIMIT).ok_or("no answer")? {
            Event::Estimated { estimate: Ok(_), .. } => return Ok(begun.elapsed()),
            Event::Estimated { estimate: Err(failure), .. } => return Err(failure.advice.sentence.into()),
            _ => {}
        }
    }
}

fn picture(engine: &Handle, recipe: Recipe) -> Outcome<Vec<Peak>> {
    engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    let mut found = Vec::new();
    loop {
        match engine.next_within(LIMIT).ok_or("no picture")? {
            Event::Measured { peaks, .. } => found = peaks,
            Event::End { end: End::Done { .. }, .. } => return Ok(found),
            Event::End { end, .. } => return Err(format!("{end:?}").into()),
            _ => {}
        }
    }
}
