//! Seconds and memory of one model's pictures, measured in a process of its own.

use std::time::Instant;

use atelier_core::device::SimulatedDevices;
use atelier_core::recipe::{ModelFiles, PlacementText, Recipe};
use atelier_engine::{End, Event, Handle, PreviewOptions, Task, simulate_devices, start};

use super::peers::{Bare, process};
use super::{LIMIT, Model, Outcome, peak_bytes};

/// A line of the table: ours beside a process for each picture and a bare context that stays.
fn print_row(model: &Model, what: &str, ours: f64, cold: Option<f64>, bare: Option<f64>) {
    let secs = |secs: f64| if secs < 0.1 { format!("{:.2} ms", secs * 1000.0) } else { format!("{secs:.3} s") };
    let format_peer = |peer: Option<f64>| peer.map_or_else(|| "-".to_owned(), secs);
    let ratio = |peer: Option<f64>| peer.map_or_else(|| "-".to_owned(), |peer| format!("{:.2}", peer / ours));
    println!(
        "| {} | {what} | {} | {} | {} | {} | {} |",
        model.name,
        secs(ours),
        format_peer(cold),
        format_peer(bare),
        ratio(cold),
        ratio(bare)
    );
}

/// Prints the rows of a model, each as soon as it is known.
pub(super) fn measure(model: &Model) -> Outcome<()> {
    // Room for one model and its buffers, and not for two.
    let bytes: u64 = model.recipe.files.iter().filter_map(|(_, path)| path.metadata().ok()).map(|it| it.len()).sum();
    let gib = (bytes as f64 * 1.3 + 6e6) / f64::from(1 << 30);
    simulate_devices(&format!("ONE:{gib:.4}").parse::<SimulatedDevices>()?)?;
    let engine = start(|| {});
    let (cold, cold_bytes) = process(model, &model.folder)?;
    let mut bare = Bare::start(model)?;
    let first = picture(&engine, &model.with("a first one", 0))?;
    bare.picture()?;
    print_row(model, "first picture", first, Some(cold), None);

    let (mut theirs, mut same, mut seeds, mut prompts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 1..=model.rounds as i64 {
        // Side by side, so that all see the same machine.
        theirs.push(bare.picture()?);
        prompts.push(picture(&engine, &model.with(&format!("picture {round}"), round))?);
        same.push(picture(&engine, &model.with(&format!("picture {round}"), round))?);
        seeds.push(picture(&engine, &model.with(&format!("picture {round}"), -round - 1))?);
    }
    let (bare_secs, new_prompt) = (median(theirs), median(prompts));
    let against = |what: &str, ours: f64| print_row(model, what, ours, Some(cold), Some(bare_secs));
    against("next picture, same prompt and seed", median(same));
    against("next picture, new seed", median(seeds));
    against("next picture, new prompt", new_prompt);
    println!("| {} | more than the bare engine, a picture | {:.2} ms | | | | |", model.name, (new_prompt - bare_secs) * 1000.0);

    let shown = preview(&engine, &model.with("a preview", 1))?;
    print_row(model, "Generate to first preview", shown, None, None);
    let stopped = cancel(&engine, &model.with("a stop", 1))?;
    print_row(model, "cancel to idle", stopped, None, None);
    let (ours, theirs) = (peak_bytes("self"), bare.peak_bytes());
    let mb = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{} MB", bytes / 1_000_000));
    let ratio = |bytes: Option<u64>| match (bytes, ours) {
        (Some(bytes), Some(ours)) => format!("{:.2}", bytes as f64 / ours as f64),
        _ => "-".to_owned(),
    };
    let (of_process, of_bare) = (ratio(cold_bytes), ratio(theirs));
    println!("| {} | most memory | {} | {} | {} | {of_process} | {of_bare} |", model.name, mb(ours), mb(cold_bytes), mb(theirs));
    drop(bare);
    if let Some(other) = &model.other {
        switches(model, other, &engine, cold)?;
    }
    Ok(())
}

/// Pictures of two models in turn. Others hold one for life or begin anew: beginning anew is what
/// they are compared with.
fn switches(model: &Model, other: &ModelFiles, engine: &Handle, cold: f64) -> Outcome<()> {
    let of = |files: &ModelFiles, place: &str, n: i64| {
        let placement = PlacementText { backend: place.into(), ..PlacementText::default() };
        Recipe { files: files.clone(), placement, ..model.with(&format!("turn {n}"), n) }
    };
    let a = &model.recipe.files;
    let shared = picture(engine, &of(other, "cpu", 0))?;
    print_row(model, "first picture of its cousin, text encoder shared", shared, Some(cold), None);
    let turns = |place: &str| -> Outcome<f64> {
        picture(engine, &of(a, place, 0))?;
        let turns = (1..=2).flat_map(|n| [(other, n), (a, n)]).map(|(files, n)| picture(engine, &of(files, place, n)));
        Ok(median(turns.collect::<Outcome<Vec<f64>>>()?))
    };
    print_row(model, "A, B, A, B, both in memory", turns("cpu")?, Some(cold), None);
    engine.unload()?;
    print_row(model, "A, B, A, B, memory for one", turns("ONE")?, Some(cold), None);
    Ok(())
}

/// From the request to the end of the job, as a caller sees it.
fn picture(engine: &Handle, recipe: &Recipe) -> Outcome<f64> {
    let begun = Instant::now();
    engine.submit(Task::Generate { recipe: Box::new(recipe.clone()), preview: PreviewOptions::Off, shares_steps: false })?;
    loop {
        match engine.next_within(LIMIT) {
            Some(Event::End { end: End::Done { .. }, .. }) => return Ok(begun.elapsed().as_secs_f64()),
            Some(Event::End { end, .. }) => return Err(format!("{end:?}").into()),
            Some(_) => {}
            None => return Err("the engine does not answer".into()),
        }
    }
}

/// Seconds from the request to the first preview.
fn preview(engine: &Handle, recipe: &Recipe) -> Outcome<f64> {
    let begun = Instant::now();
    let preview = PreviewOptions::Projection { every: 1 };
    engine.submit(Task::Generate { recipe: Box::new(recipe.clone()), preview, shares_steps: false })?;
    let mut shown = None;
    loop {
        match engine.next_within(LIMIT).ok_or("the engine does not answer")? {
            Event::Preview { .. } => shown = shown.or_else(|| Some(begun.elapsed().as_secs_f64())),
            Event::End { .. } => return shown.ok_or_else(|| "there was no preview".into()),
            _ => {}
        }
    }
}

/// Seconds from a cancel in the first step until the job has ended.
fn cancel(engine: &Handle, recipe: &Recipe) -> Outcome<f64> {
    let recipe = Recipe { steps: recipe.steps.max(50), ..recipe.clone() };
    let job = engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    let mut pressed = None;
    loop {
        match engine.next_within(LIMIT).ok_or("the engine does not answer")? {
            Event::Step { .. } if pressed.is_none() => {
                pressed = Some(Instant::now());
                engine.cancel(job);
            }
            Event::End { end: End::Cancelled, .. } => {
                return pressed.map(|at| at.elapsed().as_secs_f64()).ok_or_else(|| "too early".into());
            }
            Event::End { end, .. } => return Err(format!("{end:?}").into()),
            _ => {}
        }
    }
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
