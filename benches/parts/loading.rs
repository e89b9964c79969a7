//! How fast a model's weights are read: `cargo xtask bench -- --loading [--file MODEL] [--rounds
//! N]`. The file of a whole model, by default a random SD1.5, in the system's cache and out of it,
//! beside a plain read of the same bytes. All take turns, and the best of each counts.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use atelier_core::recipe::{FileRole, PlacementText, Recipe};
use atelier_engine::{End, Event, PreviewOptions, Task, start};

use super::{LIMIT, Outcome, peak_bytes};

/// Of a plain read.
const CHUNK_BYTES: usize = 4 << 20;

pub(super) fn measure(file: &Path, rounds: usize) -> Outcome<()> {
    let bytes = file.metadata()?.len() as f64;
    println!("{}, {:.2} GB, the best of {rounds}:\n", file.display(), bytes / 1e9);
    println!("| the file | loading | GB/s | plain read | plain read / loading | most memory / file |\n|---|---|---|---|---|---|");
    for (state, is_cached) in [("in the system's cache", true), ("not in it", false)] {
        let (mut plain, mut loading, mut memory) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for _ in 0..rounds {
            set_cached(file, is_cached)?;
            plain = plain.min(read(file)?);
            set_cached(file, is_cached)?;
            let (secs, peak) = load(file)?;
            (loading, memory) = (loading.min(secs), memory.min(peak));
        }
        let (rate, ratio, share) = (bytes / loading / 1e9, plain / loading, memory / bytes);
        println!("| {state} | {loading:.2} s | {rate:.2} | {plain:.2} s | {ratio:.2} | {share:.2} |");
    }
    Ok(())
}

/// Brings the file into the system's cache, or out of it.
fn set_cached(file: &Path, is_cached: bool) -> Outcome<()> {
    if is_cached {
        read(file)?;
        return Ok(());
    }
    let file = File::open(file)?;
    // Pages that are not on the disk yet stay.
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// Seconds of a plain read, which keeps nothing.
fn read(file: &Path) -> Outcome<f64> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut file = File::open(file)?;
    let begun = Instant::now();
    while file.read(&mut chunk)? > 0 {}
    Ok(begun.elapsed().as_secs_f64())
}

/// Seconds of loading, and the most memory, of a process of its own: one that has read a file
/// before reads it otherwise.
fn load(file: &Path) -> Outcome<(f64, f64)> {
    let output = Command::new(std::env::current_exe()?).arg("--loading-part").arg(file).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the model was not loaded: {}", output.status).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let (secs, peak) = text.trim().split_once('\t').ok_or("nothing was measured")?;
    Ok((secs.parse()?, peak.parse()?))
}

/// Makes a small picture in this process, and prints what loading took.
pub(super) fn part(file: &Path) -> Outcome<()> {
    let recipe = Recipe {
        files: [(FileRole::Model, file.to_owned())].into_iter().collect(),
        prompt: "a lake".into(),
        width: 64,
        height: 64,
        steps: 1,
        guidance: 1.0,
        placement: PlacementText { backend: "cpu".into(), ..PlacementText::default() },
        ..Recipe::default()
    };
    let engine = start(|| {});
    engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    loop {
        match engine.next_within(LIMIT).ok_or("the engine does not answer")? {
            Event::End { end: End::Done { timings, .. }, .. } => {
                println!("{}\t{}", timings.load_secs, peak_bytes("self").unwrap_or_default());
                return Ok(());
            }
            Event::End { end, .. } => return Err(format!("{end:?}").into()),
            _ => {}
        }
    }
}
