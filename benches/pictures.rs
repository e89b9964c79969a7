//! Seconds a picture: `cargo xtask bench [-- --rows tiny,builtin,sd15,zimage] [--rounds N]`;
//! download speed: `-- --downloads`; the processor's arithmetic: `-- --cpu`; the gallery with
//! 100,000 pictures: `-- --gallery`; painting on a large document: `-- --canvas`; seams of painted
//! parts: `-- --seams`; predicted beside measured times: `-- --time`; the planner's picks beside
//! what is quickest: `-- --time --picks`; what Live shows of a change, and when: `-- --live`;
//! typing in a prompt of 2,000 words with 200,000 tags: `-- --words`; what weights of words bring:
//! `-- --weights [--sd-cli PATH]`, beside what the engine's own program at PATH (of the engine's
//! version, as for `tests/sd_cli.rs`) makes of the same brackets; what phrases change that the model
//! knows, and that it does not: `-- --phrases`; what the real window takes of the processor in each
//! view: `-- --window [--secs N]`; how fast weights are read: `-- --loading [--file MODEL]`. The
//! last two on Linux alone.
//!
//! One table, measured in one run on this machine, each row written as it is done. Ours, as a
//! caller of the engine sees it, beside the same engine used as others use it: (a) a process for
//! each picture, as sd-cli does; (b) one bare context that stays, as sd-server has. Each model is
//! measured in a process of its own. Then the window's own work a frame (state, layout and shapes;
//! not the graphics card's).

#[path = "parts/canvas.rs"]
mod canvas;
#[path = "parts/downloads.rs"]
mod downloads;
#[path = "parts/frames.rs"]
mod frames;
#[path = "parts/gallery.rs"]
mod gallery;
#[path = "parts/live.rs"]
mod live;
#[cfg(target_os = "linux")]
#[path = "parts/loading.rs"]
mod loading;
#[path = "parts/peers.rs"]
mod peers;
#[path = "parts/phrases.rs"]
mod phrases;
#[path = "parts/picks.rs"]
mod picks;
#[path = "parts/processor.rs"]
mod processor;
#[path = "parts/rows.rs"]
mod rows;
#[path = "parts/seams.rs"]
mod seams;
#[path = "parts/time.rs"]
mod time;
#[path = "parts/weights.rs"]
mod weights;
#[cfg(target_os = "linux")]
#[path = "parts/window.rs"]
mod window;
#[path = "parts/words.rs"]
mod words;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use atelier::gui::shared::Screen;
use atelier_core::recipe::{FileRole, ModelFiles, Recipe, Seed};
use atelier_engine::simulate_devices;
use atelier_library::Builtin;
use testkit::tiny;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Longer than any picture here takes.
const LIMIT: Duration = Duration::from_mins(30);
const MODELS: [&str; 4] = ["tiny", "builtin", "sd15", "zimage"];

struct Model {
    name: &'static str,
    recipe: Recipe,
    /// One that shares its text encoder, to go to and fro between.
    other: Option<ModelFiles>,
    rounds: usize,
    folder: PathBuf,
    /// Folder that is removed with it.
    _removed: Option<tempfile::TempDir>,
}

impl Model {
    fn with(&self, prompt: &str, seed: i64) -> Recipe {
        Recipe { prompt: prompt.into(), seed: Some(Seed(seed.unsigned_abs())), ..self.recipe.clone() }
    }

    fn threads(&self) -> u32 {
        self.recipe.threads.unwrap_or(1)
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| arguments.iter().position(|it| it == flag).and_then(|at| arguments.get(at + 1));
    let rounds = value("--rounds").and_then(|rounds| rounds.parse().ok());
    if arguments.iter().any(|argument| argument == "--downloads") {
        return downloads::measure(rounds.unwrap_or(5).min(5));
    }
    if arguments.iter().any(|argument| argument == "--canvas") {
        return canvas::measure();
    }
    if arguments.iter().any(|argument| argument == "--words") {
        return words::measure();
    }
    if arguments.iter().any(|argument| argument == "--phrases") {
        return phrases::measure();
    }
    #[cfg(target_os = "linux")]
    if arguments.iter().any(|argument| argument == "--window") {
        return window::measure(value("--secs").and_then(|secs| secs.parse().ok()).unwrap_or(30));
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench");
    std::fs::create_dir_all(&folder)?;
    if arguments.iter().any(|argument| argument == "--gallery") {
        return gallery::measure(&folder, rounds.unwrap_or(9));
    }
    #[cfg(target_os = "linux")]
    if let Some(file) = value("--loading-part") {
        return loading::part(Path::new(file));
    }
    #[cfg(target_os = "linux")]
    if arguments.iter().any(|argument| argument == "--loading") {
        let files = value("--file").map_or_else(|| loading::files(&folder).map(Vec::from), |file| Ok(vec![PathBuf::from(file)]))?;
        return loading::measure(&files, rounds.unwrap_or(3));
    }
    if arguments.iter().any(|argument| argument == "--live") {
        return live::measure(rounds.unwrap_or(12));
    }
    if arguments.iter().any(|argument| argument == "--seams") {
        return seams::measure(rounds.unwrap_or(3));
    }
    if arguments.iter().any(|argument| argument == "--weights") {
        return weights::measure(value("--sd-cli").map(Path::new));
    }
    let (wanted_threads, only) = (value("--threads").and_then(|threads| threads.parse().ok()), value("--only").map_or("", String::as_str));
    let threads = wanted_threads.unwrap_or(1);
    if let Some(machine) = value("--picks-part") {
        return picks::part(&folder, machine, value("--named").map_or("", String::as_str), threads, only);
    }
    if arguments.iter().any(|argument| argument == "--picks") {
        return picks::measure(threads, only);
    }
    if arguments.iter().any(|argument| argument == "--time") {
        return time::measure(&folder, threads, only);
    }
    if let Some(home) = value("--gallery-part") {
        return gallery::part(Path::new(home), rounds.unwrap_or(9));
    }
    if let Some(part) = value("--cpu-part") {
        return processor::part(part, &folder, threads);
    }
    if arguments.iter().any(|argument| argument == "--cpu") {
        return processor::measure(value("--python").map(PathBuf::from), &folder, rounds.unwrap_or(3), wanted_threads, only);
    }
    if let Some(name) = value("--model") {
        return match model(name, &folder, rounds)? {
            Ok(model) => rows::measure(&model),
            Err(why) => {
                println!("| {name} | left out: {why} | | | | | |");
                Ok(())
            }
        };
    }
    let wanted: Vec<&str> = value("--rows").map_or_else(|| MODELS.to_vec(), |rows| rows.split(',').collect());
    println!("| model | what | ours | (a) a process each | (b) one bare context | (a) / ours | (b) / ours |");
    println!("|---|---|---|---|---|---|---|");
    for name in wanted {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--model", name]);
        if let Some(rounds) = rounds {
            command.args(["--rounds", &rounds.to_string()]);
        }
        if !command.status()?.success() {
            println!("| {name} | could not be measured | | | | | |");
        }
    }
    let files = files(tiny::zimage(&folder, &tiny::Options::default())?);
    println!("\n| the window's own work a frame, while generating | median | 99 of 100 within | longest |\n|---|---|---|---|");
    // Columns as on a machine with two graphics cards.
    simulate_devices(&"GPU0:8,GPU1:6".parse()?)?;
    for view in [Screen::Create, Screen::Devices] {
        let frames = frames::frames(&files, view)?;
        let within = |share: f64| frames[((frames.len() - 1) as f64 * share) as usize] * 1000.0;
        println!("| {} ({} frames) | {:.2} ms | {:.2} ms | {:.2} ms |", view.label(), frames.len(), within(0.5), within(0.99), within(1.0));
    }
    Ok(())
}

fn files(tiny: tiny::TinyFiles) -> ModelFiles {
    [(FileRole::Diffusion, tiny.diffusion), (FileRole::Llm, tiny.llm), (FileRole::Taesd, tiny.taesd)].into_iter().collect()
}

/// A model by its name in `--rows`; `Err` says why it cannot be had.
fn model(name: &str, folder: &Path, rounds: Option<usize>) -> Outcome<Result<Model, String>> {
    let cores = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u32);
    let recipe = |files: ModelFiles, side: u32, steps: u32, threads: u32| Recipe {
        files,
        width: side,
        height: side,
        steps,
        guidance: 1.0,
        threads: Some(threads),
        placement: atelier_core::recipe::PlacementText { backend: "cpu".into(), ..Default::default() },
        ..Recipe::default()
    };
    let new_model = |name, recipe, other, usual: usize| Model {
        name,
        recipe,
        other,
        rounds: rounds.unwrap_or(usual),
        folder: folder.to_owned(),
        _removed: None,
    };
    let short = |gigabytes: u64| format!("the disk of {} has less than {} GB free", folder.display(), 2 * gigabytes);
    Ok(match name {
        "tiny" => {
            let (a, b) = cousins(folder, &tiny::Options::default())?;
            Ok(new_model("tiny Z-Image, 64x64, 4 steps", recipe(a, 64, 4, 1), Some(b), 15))
        }
        "builtin" => match Builtin::find() {
            Ok(builtin) => {
                let mut recipe = recipe(ModelFiles::default(), 64, 1, cores);
                builtin.apply(&mut recipe);
                Ok(new_model("built-in, 256x256, 12 steps", recipe, None, 3))
            }
            Err(error) => Err(error.to_string()),
        },
        "sd15" if !has_room(folder, 2_200_000_000) => Err(short(2)),
        "sd15" => {
            let path = testkit::sd15_cached(folder)?;
            let files = [(FileRole::Model, path)].into_iter().collect();
            Ok(new_model("random SD1.5 f16, 256x256, 4 steps", recipe(files, 256, 4, cores), None, 2))
        }
        "zimage" if !has_room(folder, 5_200_000_000) => Err(short(5)),
        "zimage" => {
            // Half of the real width and of its layers.
            let options =
                tiny::Options { width: 2048, layers: 16, refiners: 2, encoder_width: 1024, encoder_layers: 12, ..tiny::Options::default() };
            let folder = tempfile::tempdir_in(folder)?;
            let (a, b) = cousins(folder.path(), &options)?;
            let model = new_model("random Z-Image of 3 GB, 128x128, 2 steps", recipe(a, 128, 2, cores), Some(b), 2);
            Ok(Model { _removed: Some(folder), ..model })
        }
        other => Err(format!("no model is called {other}; choose from {}", MODELS.join(", "))),
    })
}

/// Two models that have the same text encoder and autoencoder.
fn cousins(folder: &Path, options: &tiny::Options) -> Outcome<(ModelFiles, ModelFiles)> {
    let a = files(tiny::zimage(folder, options)?);
    let mut b = a.clone();
    b.set(FileRole::Diffusion, tiny::diffusion(&folder.join("cousin.safetensors"), &tiny::Options { seed: 77, ..options.clone() })?);
    Ok((a, b))
}

fn make(folder: PathBuf) -> Outcome<PathBuf> {
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// True where so many bytes can be written here with as many left for others, or where the system
/// does not say.
fn has_room(folder: &Path, bytes: u64) -> bool {
    #[cfg(unix)]
    let free = rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail * disk.f_frsize);
    #[cfg(not(unix))]
    let free: Option<u64> = None.filter(|_| folder.exists());
    free.is_none_or(|free| free > 2 * bytes)
}

/// The most memory that a process had, in bytes, where the system tells; `self` is this one.
fn peak_bytes(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
