//! How long pictures take: `cargo xtask bench [-- --sd15] [--rounds N]`; how fast files come in: `cargo xtask bench -- --downloads`.
//!
//! Two tables, measured in one run on this machine. Pictures: a cold start as a person meets it (a process for a picture), the next picture
//! with everything loaded, and the same pictures from the bare engine, interleaved so that both see the same machine. Frames: the window's
//! own work a frame (state, layout and shapes; not the graphics card's) while the engine works on all cores.

#[path = "parts/downloads.rs"]
mod downloads;

use std::error::Error;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use atelier::app::{App, Options};
use atelier::engine::{End, Event, Handle, PreviewOptions, Task, start};
use atelier::recipe::{FileRole, ModelFiles, Recipe};
use atelier::settings::Settings;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use testkit::tiny;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Longer than any picture here takes.
const LIMIT: Duration = Duration::from_mins(30);

struct Model {
    name: &'static str,
    files: ModelFiles,
    size: u32,
    steps: u32,
    threads: u32,
    rounds: usize,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let with_sd15 = arguments.iter().any(|argument| argument == "--sd15");
    let rounds =
        arguments.iter().position(|argument| argument == "--rounds").and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(15);
    if arguments.iter().any(|argument| argument == "--downloads") {
        return downloads::measure(rounds.min(5));
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench");
    std::fs::create_dir_all(&folder)?;

    let files = tiny::zimage(&folder, &tiny::Options::default())?;
    let files = [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)].into_iter().collect();
    let mut models = vec![Model { name: "tiny Z-Image, 64x64, 4 steps", files, size: 64, steps: 4, threads: 1, rounds }];
    if with_sd15 {
        let path = folder.join("sd15-random-f16.safetensors");
        if !path.exists() {
            eprintln!("making a random SD1.5 of 2 GB ...");
            testkit::sd15(&path, 1, testkit::Contents::Whole)?;
        }
        let files = [(FileRole::Model, path)].into_iter().collect();
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u32);
        models.push(Model { name: "random SD1.5 f16, 256x256, 2 steps", files, size: 256, steps: 2, threads, rounds: 3 });
    }

    println!("| model | cold first picture | warm next picture | bare engine, warm | Atelier over bare | same prompt again |");
    println!("|---|---|---|---|---|---|");
    for model in &models {
        let row = measure(model)?;
        println!(
            "| {} | {:.3} s | {:.4} s | {:.4} s | {:+.2} % | {:.4} s |",
            model.name,
            row.cold,
            row.warm,
            row.bare,
            (row.warm / row.bare - 1.0) * 100.0,
            row.reroll
        );
    }
    let frames = frames(&models[0].files)?;
    println!("\n| the window's own work a frame, while generating | ms |\n|---|---|");
    for (name, share) in [("median", 0.5), ("99 of 100 within", 0.99), ("longest", 1.0)] {
        let at = ((frames.len() - 1) as f64 * share) as usize;
        println!("| {name} ({} frames) | {:.2} |", frames.len(), frames[at] * 1000.0);
    }
    Ok(())
}

/// Seconds that each of 600 frames took while pictures were made with previews at every step, shortest first.
fn frames(files: &ModelFiles) -> Outcome<Vec<f64>> {
    let home = tempfile::tempdir()?;
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u32);
    let recipe = Recipe {
        files: files.clone(),
        prompt: "a lake".into(),
        width: 128,
        height: 128,
        steps: 1000,
        guidance: 1.0,
        threads: Some(threads),
        ..Recipe::default()
    };
    let options = Options {
        settings_path: Some(home.path().join("settings.json")),
        pictures_folder: home.path().join("Pictures"),
        wgpu: false,
        builtin: Err("it is not measured".into()),
        library: None,
    };
    let mut parts = Some((start(|| {}), Settings { recipe, ..Settings::default() }));
    let mut harness = Harness::builder().with_size([1440.0, 900.0]).build_ui_state(
        move |ui, slot: &mut Option<App>| {
            if let Some((handle, settings)) = parts.take() {
                *slot = App::new(ui.ctx(), handle, &options, settings).ok();
            }
            if let Some(app) = slot {
                app.logic(ui.ctx());
                app.ui(ui);
            }
        },
        None,
    );
    harness.step();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    let deadline = Instant::now() + LIMIT;
    while harness.state().as_ref().is_none_or(|app| app.state().forming.is_none()) {
        harness.step();
        if Instant::now() > deadline {
            return Err("no preview came".into());
        }
    }
    let mut frames = Vec::new();
    for _ in 0..600 {
        let begun = Instant::now();
        harness.step();
        let took = begun.elapsed();
        frames.push(took.as_secs_f64());
        // As a screen of 60 Hz leaves it to the engine.
        std::thread::sleep(Duration::from_micros(16_667).saturating_sub(took));
    }
    if let Some(app) = harness.state_mut().take() {
        app.finish();
    }
    frames.sort_by(f64::total_cmp);
    Ok(frames)
}

/// Seconds; medians where there are several.
struct Row {
    cold: f64,
    warm: f64,
    bare: f64,
    reroll: f64,
}

fn measure(model: &Model) -> Outcome<Row> {
    let cold = cold(model)?;
    let engine = start(|| {});
    let mut bare = Bare::start(model)?;
    picture(&engine, model, "warming up", 0)?;
    bare.picture()?;
    let (mut ours, mut theirs, mut rerolls) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=model.rounds {
        theirs.push(bare.picture()?);
        // A new prompt each time, as the bare engine gets: nothing remembered helps.
        ours.push(picture(&engine, model, &format!("picture {round}"), round as i64)?);
        rerolls.push(picture(&engine, model, &format!("picture {round}"), -1)?);
    }
    Ok(Row { cold, warm: median(ours), bare: median(theirs), reroll: median(rerolls) })
}

fn recipe(model: &Model, prompt: &str, seed: i64) -> Recipe {
    Recipe {
        files: model.files.clone(),
        prompt: prompt.into(),
        width: model.size,
        height: model.size,
        steps: model.steps,
        guidance: 1.0,
        seed,
        threads: Some(model.threads),
        ..Recipe::default()
    }
}

/// From the request to the end of the job, as a caller sees it.
fn picture(engine: &Handle, model: &Model, prompt: &str, seed: i64) -> Outcome<f64> {
    let begun = Instant::now();
    let recipe = Box::new(recipe(model, prompt, seed));
    engine.submit(Task::Generate { recipe, preview: PreviewOptions::Off })?;
    loop {
        match engine.next_within(LIMIT) {
            Some(Event::End { end: End::Done { .. }, .. }) => return Ok(begun.elapsed().as_secs_f64()),
            Some(Event::End { end, .. }) => return Err(format!("{end:?}").into()),
            Some(_) => {}
            None => return Err("the engine does not answer".into()),
        }
    }
}

/// A whole process for one picture, written to disk.
fn cold(model: &Model) -> Outcome<f64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.arg("generate").args(["-p", "a lake", "--cfg", "1", "--json", "-s", "1"]);
    for (role, path) in model.files.iter() {
        let flag = match role {
            FileRole::Diffusion => "--diffusion-model".to_owned(),
            other => format!("--{}", other.key()),
        };
        command.arg(flag).arg(path);
    }
    let size = model.size.to_string();
    command.args(["-W", &size, "-H", &size, "--steps", &model.steps.to_string(), "-t", &model.threads.to_string()]);
    command.arg("-o").arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench/cold.png"));
    let begun = Instant::now();
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stdout).into_owned().into());
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// The bare engine in a process of its own, which makes a picture each time a line is read from it.
struct Bare {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Bare {
    fn start(model: &Model) -> Outcome<Self> {
        let program = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("examples/bare")).ok_or("no build folder")?;
        let mut command = Command::new(&program);
        for (role, path) in model.files.iter() {
            command.arg(format!("{}={}", role.key(), path.display()));
        }
        command.args([format!("size={}", model.size), format!("steps={}", model.steps), format!("threads={}", model.threads)]);
        command.arg(format!("pictures={}", model.rounds + 1));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().ok_or("no pipe")?;
        Ok(Self { child, lines: BufReader::new(stdout).lines() })
    }

    /// Lets it make one picture and gives the seconds from asking to the answer, as [`picture`] does: a thread that sleeps has to wake up in
    /// both.
    fn picture(&mut self) -> Outcome<f64> {
        let begun = Instant::now();
        self.child.stdin.as_mut().ok_or("no pipe")?.write_all(b"\n")?;
        for line in &mut self.lines {
            if line? == "made" {
                return Ok(begun.elapsed().as_secs_f64());
            }
        }
        Err("the bare engine stopped".into())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
