//! The same settings make the same picture, whichever way they come in: `generate`, the queue, a
//! picture that is like another, a file of settings.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use atelier::settings;
use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::{FileRole, ImageSource, PictureInfo, Recipe, Rgb8, Sampler, Scheduler, Seed, TileSize};
use atelier_library::BUILTIN_VARIABLE;
use atelier_media::{read_image, read_metadata};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use support::{files, folder, tiny};

const SEED: u64 = 47;
/// Random sets of settings.
const SETS: usize = 200;
/// Random sets of flags: four processes each.
const FLAG_SETS: usize = 60;

fn atelier(home: &Path, args: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).env(BUILTIN_VARIABLE, home.join("none")).args(args).stdin(Stdio::null());
    command.output().unwrap()
}

/// Values within their limits, at them and beyond them.
fn random_flags(random: &mut StdRng) -> Vec<String> {
    let mut flags = Vec::new();
    let mut add = |random: &mut StdRng, name: &str, values: &[String]| {
        if random.random_range(0..3) > 0 {
            flags.push(format!("{name}={}", values[random.random_range(0..values.len())]));
        }
    };
    let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    add(random, "--steps", &texts(&["0", "1", "2", "3"]));
    add(random, "--cfg-scale", &texts(&["-3", "0", "0.5", "1", "1.5", "7", "100", "150", "1e30"]));
    add(random, "--guidance", &texts(&["-1", "0", "3.5", "100", "1000"]));
    add(random, "--eta", &texts(&["-1", "0", "0.3", "1", "10", "11"]));
    add(random, "--flow-shift", &texts(&["0.5", "3", "100", "101"]));
    add(random, "--clip-skip", &texts(&["-1", "0", "1", "2", "12", "20"]));
    add(random, "--width", &texts(&["1", "32", "64", "65", "72", "80"]));
    add(random, "--height", &texts(&["48", "64", "70", "96"]));
    add(random, "--sampling-method", &Sampler::ALL.iter().map(|it| it.key().to_owned()).collect::<Vec<_>>());
    add(random, "--scheduler", &Scheduler::ALL.iter().map(|it| it.key().to_owned()).collect::<Vec<_>>());
    add(random, "--rng", &texts(&["cuda", "cpu", "std_default"]));
    add(random, "--negative-prompt", &texts(&["", "fog", "-7 \"quoted\""]));
    if random.random_range(0..3) == 0 {
        flags.push(format!("--blend-seed={}", random.random_range(0..9)));
    }
    for flag in ["--vae-tiling", "--no-diffusion-fa"] {
        if random.random_range(0..4) == 0 {
            flags.push(flag.to_owned());
        }
    }
    if random.random_range(0..3) == 0 {
        flags.push(format!("--words-seed={}", random.random_range(0..=u64::MAX)));
    }
    flags.push(format!("--seed={}", random.random_range(0..=u64::MAX)));
    // Plain words, what is chosen for each picture, and words that change over the steps.
    let prompts = ["a lake", "a {red|blue|green} lake, {2$$fog|rain|snow}", "a [lake:red fox:1]", "{day|night} [a|b]"];
    flags.push(format!("--prompt={}", prompts[random.random_range(0..prompts.len())]));
    flags
}

fn model() -> Vec<String> {
    let files = files();
    let roles = [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)];
    roles.iter().map(|(flag, role)| format!("{flag}={}", files.get(*role).unwrap().display())).collect()
}

fn common(flags: &[String]) -> Vec<String> {
    let size = ["--width=64".to_owned(), "--height=64".to_owned(), "--steps=2".to_owned()];
    let rest = ["-t".to_owned(), "1".to_owned()];
    [&size[..], &rest, &model(), flags].concat()
}

fn events(output: &Output) -> Vec<Value> {
    let told = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{told:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Sentences that a command said, from all of its lines.
fn notes(events: &[Value]) -> Vec<String> {
    let lists = events.iter().filter_map(|event| event.get("notes")).filter_map(Value::as_array).flatten();
    let single = events.iter().filter(|event| event["event"] == "note").filter_map(|event| event.get("text"));
    lists.chain(single).filter_map(|note| Some(note.as_str()?.to_owned())).collect()
}

fn only_picture(folder: &Path) -> PathBuf {
    let found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn pixels(path: &Path) -> Rgb8 {
    read_image(&ImageSource::File(path.to_owned())).unwrap()
}

/// What a picture says of itself.
fn stored(path: &Path) -> Value {
    serde_json::from_str(&read_metadata(path).unwrap().recipe.unwrap().to_json().unwrap()).unwrap()
}

#[test]
fn random_flags_make_the_same_picture_and_notes_in_every_way() {
    tiny();
    let mut random = StdRng::seed_from_u64(SEED);
    let sets: Vec<_> = (0..FLAG_SETS).map(|_| random_flags(&mut random)).collect();
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((set, flags)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|set| Some((set, sets.get(set)?))) {
                    compare_ways(set, flags);
                }
            });
        }
    });
}

/// Makes the picture of a set of flags with `generate`, with the queue, with `--like` of the first,
/// and reads its settings from a file.
fn compare_ways(set: usize, flags: &[String]) {
    let told_set = format!("seed {SEED}, set {set}: {flags:?}");
    println!("{told_set}");
    let home = folder(&format!("set-{set}"));
    fs::remove_dir_all(&home).unwrap();
    let [direct, queued, like] = ["direct", "queued", "like"].map(|name| home.join(name));
    for folder in [&direct, &queued, &like] {
        fs::create_dir_all(folder).unwrap();
    }
    // What is learnt of a model is of one home.
    let homes = ["a", "b", "c"].map(|name| home.join(name));
    let args = |words: &[&str], more: &[String], out: &Path| {
        let words = words.iter().map(|word| (*word).to_owned());
        words.chain(more.iter().cloned()).chain(["-o".to_owned(), out.display().to_string()]).collect::<Vec<_>>()
    };
    let output = atelier(&homes[0], &args(&["generate", "--json"], &common(flags), &direct));
    let (made, told) = (events(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    let added = events(&atelier(&homes[1], &args(&["queue", "--json", "add"], &common(flags), &queued)));
    let run = events(&atelier(&homes[1], &["queue", "run", "--json"].map(str::to_owned)));
    let first = only_picture(&direct);
    let again = [&["--like".to_owned(), first.display().to_string(), "-t".to_owned(), "1".to_owned()][..], &model()].concat();
    let copied = atelier(&homes[2], &args(&["generate", "--json"], &again, &like));
    let told_again = String::from_utf8_lossy(&copied.stderr).into_owned();
    assert!(copied.status.success(), "{told_set}: {told_again}");

    let (second, third) = (only_picture(&queued), only_picture(&like));
    let said = stored(&first);
    assert_eq!(said, stored(&second), "what the queue's picture says; {told_set}");
    assert_same_pixels(&first, &second, &format!("the queue; {told_set}"));
    assert_same_pixels(&first, &third, &format!("--like; {told_set}"));
    // What flags were brought to is told at once, beside the events.
    let of_flags = notes(&added);
    assert!(of_flags.iter().all(|note| told.lines().any(|line| line == note)), "{of_flags:?} in {told}; {told_set}");
    let later = notes(&made);
    let again = notes(&run);
    assert!(later.iter().all(|note| again.contains(note) || said.to_string().contains(note.as_str())), "{later:?}; {told_set}");
    assert!(of_flags.iter().all(|note| !told_again.contains(note)), "what was used is what the picture says: {told_again}; {told_set}");

    let paths = Paths::beneath(&homes[0]);
    let restored = read_metadata(&first).unwrap().recipe.unwrap().into_recipe(|_, _, _| None).recipe;
    settings::save(&paths.settings_file, &settings::Settings { recipe: restored.clone(), ..settings::Settings::default() }).unwrap();
    let loaded = settings::load(&paths.settings_file);
    assert_eq!(loaded.settings.recipe, restored, "{told_set}");
    assert!(loaded.problem.is_none(), "{told_set}");
    fs::remove_dir_all(&home).unwrap();
}

#[track_caller]
fn assert_same_pixels(one: &Path, other: &Path, told: &str) {
    let (one, other) = (pixels(one), pixels(other));
    let differences = one.pixels().iter().zip(other.pixels()).filter(|(one, other)| one != other).count();
    assert!(one == other, "{differences} of {} bytes differ: {told}", one.pixels().len());
}

/// The same by the settings alone: a file of settings and a picture bring each number into its
/// limits as `clamp` does, with the same sentences.
#[test]
fn random_settings_come_back_from_every_file() {
    let mut random = StdRng::seed_from_u64(SEED + 1);
    let home = folder("files");
    let paths = Paths::beneath(&home);
    for set in 0..SETS {
        let asked = Recipe {
            steps: [0, 1, 20, 1000, 5000][random.random_range(0..5)],
            guidance: [-1.0, 0.0, 7.5, 100.0, 150.0, f32::INFINITY][random.random_range(0..6)],
            distilled_guidance: [-1.0, 3.5, 1000.0][random.random_range(0..3)],
            width: [1, 64, 520, 16_384, u32::MAX][random.random_range(0..5)],
            height: [1, 64, 777, 16_384][random.random_range(0..4)],
            clip_skip: [None, Some(0), Some(2), Some(20)][random.random_range(0..4)],
            eta: [None, Some(-1.0), Some(0.5), Some(f32::NAN)][random.random_range(0..4)],
            flow_shift: [None, Some(3.0), Some(1e9)][random.random_range(0..3)],
            sampler: Some(Sampler::ALL[random.random_range(0..Sampler::ALL.len())]).filter(|_| random.random_range(0..2) == 0),
            seed: [None, Some(Seed(7)), Some(Seed::MAX)][random.random_range(0..3)],
            vae_tiling: random.random_range(0..2) == 0,
            vae_tile_size: [None, Some(TileSize::square(0)), Some(TileSize { width: 16, height: 9999 }), Some(TileSize::square(9999))]
                [random.random_range(0..4)],
            vae_tile_overlap: [None, Some(0.0), Some(9.0)][random.random_range(0..3)],
            ..Recipe::default()
        };
        let told = format!("seed {}, set {set}: {asked:?}", SEED + 1);
        let notes = asked.clone().clamp();
        let clamped = |recipe: &Recipe| {
            let mut recipe = recipe.clone();
            recipe.clamp();
            recipe
        };
        let used = clamped(&asked);
        assert_eq!(used.clone().clamp(), Vec::<String>::new(), "{told}");
        // A file that holds what was asked for: its reader says the same and uses the same.
        if asked.guidance.is_finite() && asked.eta.is_none_or(f32::is_finite) {
            settings::save(&paths.settings_file, &settings::Settings { recipe: asked.clone(), ..settings::Settings::default() }).unwrap();
            let loaded = settings::load(&paths.settings_file);
            assert_eq!(loaded.settings.recipe, used, "{told}");
            assert_eq!(loaded.problem.map(|problem| problem.hint).unwrap_or_default(), notes.join(" "), "{told}");
            let info = PictureInfo { index: 0, seed: asked.seed, cpu_math: None, merged_loras: false };
            let picture = atelier_media::StoredRecipe::of(&asked, info, asked.width, asked.height, |_| 0);
            let restored = picture.into_recipe(|_, _, _| None);
            assert_eq!(restored.recipe, clamped(&asked), "{told}");
            assert_eq!(restored.notes, notes, "{told}");
        }
    }
}
