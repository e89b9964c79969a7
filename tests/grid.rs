//! Sheets of pictures: each cell is the picture made alone, and what was foretold is what is done.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier_core::grid::{Axis, AxisFiles, Cell, Grid};
use atelier_core::module::Module;
use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::{FileRole, Hires, ImageSource, Recipe};
use atelier_engine::{Event, JobPhase, PreviewOptions, Task};
use atelier_gallery::{Database, Grouping, Order, Query};
use atelier_library::BUILTIN_VARIABLE;
use atelier_media::{read_image, read_metadata};
use support::engine::{Engine, Said};
use support::{files, folder, recipe};
use testkit::tiny;

/// Models by the paths of their diffusion modules.
struct Models;

impl AxisFiles for Models {
    fn model(&self, name: &str) -> Result<Recipe, String> {
        let mut recipe = recipe();
        recipe.files.set(FileRole::Diffusion, name);
        Ok(recipe)
    }

    fn lora(&self, name: &str) -> Result<PathBuf, String> {
        Ok(name.into())
    }
}

fn cells(base: &Recipe, axes: &[&str]) -> Vec<Cell> {
    let axes = axes.iter().map(|text| Axis::read(text, base, &Models).unwrap()).collect();
    Grid::new(base.clone(), axes).unwrap().cells()
}

/// The diffusion module of another model.
fn other_model() -> PathBuf {
    tiny::zimage(&folder("other"), &tiny::Options { seed: 9, ..tiny::Options::default() }).unwrap().diffusion
}

/// What pictures took, by the engine's own words.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    loads: usize,
    encodings: u64,
    evaluations: u64,
}

fn run(engine: &Engine, recipe: &Recipe, shares_steps: bool) -> Said {
    engine.run_task(Task::Generate { recipe: Box::new(recipe.clone()), preview: PreviewOptions::Off, shares_steps })
}

impl Counted {
    /// Without the encodings, which the engine counts as a whole.
    fn add(&mut self, said: &Said) {
        let reads = |phase: &JobPhase| matches!(phase, JobPhase::Loading { module: Some(Module::Diffusion), .. });
        self.loads += usize::from(said.phases().iter().any(reads));
        let counts =
            said.events.iter().filter_map(|event| if let Event::Measured { evaluations, .. } = event { Some(*evaluations) } else { None });
        self.evaluations += counts.sum::<u64>();
    }

    /// Texts that this engine's encoders read.
    fn texts(engine: &Engine) -> u64 {
        engine.residency(|residency| !residency.models.is_empty());
        engine.handle().unload().unwrap();
        engine.residency(|residency| residency.models.is_empty()).encodings.made
    }
}

/// Makes the cells as a sheet, and each alone: the same bytes, and what was foretold of both.
fn compare(base: &Recipe, axes: &[&str], drafts_first: bool) {
    let cells = cells(base, axes);
    let turns = Grid::turns(&cells, drafts_first);
    let forecast = Grid::forecast(&turns, |_| None);
    let sheet = Engine::start();
    let (mut together, mut apart) = (Counted::default(), Counted::default());
    for turn in &turns {
        let (recipe, index) = (&turn.recipe, turn.cells[0]);
        let said = run(&sheet, recipe, true);
        together.add(&said);
        if turn.is_draft {
            continue;
        }
        let alone = Engine::start();
        let own = run(&alone, recipe, false);
        assert_eq!(said.pixels(), own.pixels(), "{axes:?}: {:?}", cells[index].at);
        apart.add(&own);
        apart.encodings += Counted::texts(&alone);
    }
    together.encodings = Counted::texts(&sheet);
    assert_eq!(forecast.drafts > 0, drafts_first, "{axes:?}");
    let foretold = Counted { loads: forecast.loads, encodings: forecast.encodings as u64, evaluations: forecast.evaluations };
    assert_eq!(together, foretold, "{axes:?}");
    let mut single = Counted::default();
    for cell in &cells {
        let own = Grid::forecast(&Grid::turns(std::slice::from_ref(cell), false), |_| None);
        single.loads += own.loads;
        single.encodings += own.encodings as u64;
        single.evaluations += own.evaluations;
    }
    assert_eq!(apart, single, "{axes:?}, each alone");
    let drafts = turns.iter().filter(|turn| turn.is_draft);
    let drafts: u64 = drafts.map(|turn| Grid::forecast(std::slice::from_ref(turn), |_| None).evaluations).sum();
    assert_eq!(apart.evaluations + drafts, together.evaluations + forecast.kept_evaluations);
    println!("{axes:?}: {} pictures, together {together:?}, alone {apart:?}", cells.len());
}

#[test]
fn a_sheet_of_48_cells_takes_what_was_foretold_and_each_is_the_picture_alone() {
    let other = other_model();
    let base = Recipe { prompt: "a {red|blue|green|dark} lake".into(), guidance: 2.0, ..recipe() };
    let own = base.files.get(FileRole::Diffusion).unwrap().to_owned();
    let models = format!("model={},{}", own.display(), other.display());
    let base = Recipe { steps: 2, ..base };
    compare(&base, &["cfg=1..6/6", "{red|blue|green|dark}", &models], false);
    let seeds = cells(&base, &["seed=1..4", "{red|blue|green|dark}", "sampler=euler,heun,lcm"]);
    let forecast = Grid::forecast(&Grid::turns(&seeds, false), |_| None);
    assert_eq!((forecast.pictures, forecast.loads, forecast.encodings), (48, 1, 5));
}

#[test]
fn steps_are_shared_where_only_what_comes_after_them_differs() {
    let second = Hires { scale: 1.5, strength: 0.5, ..Hires::default() };
    compare(&Recipe { hires: Some(second), ..recipe() }, &["hires.strength=0,0.5", "hires.scale=1,2", "sampler=euler_a,heun"], false);
    compare(&recipe(), &["last_step=1,2,none", "seed=1,2"], false);
    // Not dpm++2s_a, which computes the first step of a flow model at once: it takes one less.
    compare(&recipe(), &["sampler=dpm2,res_2s,lcm", "last_step=2,none"], false);
}

#[test]
fn drafts_first_compute_no_step_twice_and_each_cell_is_the_picture_alone() {
    let base = Recipe { steps: 8, guidance: 2.0, ..recipe() };
    compare(&base, &["sampler=euler,heun", "seed=1,2"], true);
    let second = Hires { scale: 1.5, strength: 0.5, ..Hires::default() };
    compare(&Recipe { hires: Some(second), ..base }, &["hires.scale=1,1.5,2", "steps=4,8,12"], true);
}

#[test]
fn a_device_does_not_take_the_steps_of_another_and_a_step_cache_none() {
    let engine = Engine::start();
    let cached = "step_cache={\"mode\":\"ucache\"},none";
    let cells = cells(&recipe(), &[cached, "seed=1,1"]);
    for cell in &cells {
        let said = run(&engine, &cell.recipe, true);
        assert_eq!(said.pixels(), run(&Engine::start(), &cell.recipe, false).pixels(), "{:?}", cell.at);
    }
}

fn atelier(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).env(BUILTIN_VARIABLE, home.join("none")).stdin(Stdio::null());
    let files = files();
    command.arg("grid").args(["-W", "64", "-H", "64", "--cfg-scale", "1", "--seed", "7", "-t", "1", "-p", "a lake"]);
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files.get(role).unwrap());
    }
    command.args(args);
    command
}

#[test]
fn the_command_line_foretells_makes_and_draws_a_sheet() {
    let home = folder("command");
    let _ = std::fs::remove_dir_all(&home);
    let sheet = home.join("out/sheet.png");
    let axes = ["--x", "steps=1,2,3", "--y", "sampler=euler,heun", "--without", "3,2"];
    let output = atelier(&home, &[&axes[..], &["-o", sheet.to_str().unwrap()]].concat()).output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("5 pictures") && err.contains("1 text encoding, 1 model load"), "{err}");
    assert!(err.contains("steps 2, sampler heun"), "{err}");
    let paths: Vec<&Path> = out.lines().map(Path::new).collect();
    assert_eq!((paths.len(), paths.last().copied()), (6, Some(sheet.as_path())), "{out}");
    let drawn = read_image(&ImageSource::File(sheet)).unwrap();
    assert!(drawn.width() > 3 * 64 && drawn.height() > 2 * 64, "{} x {}", drawn.width(), drawn.height());
    // A cell's settings are those of the picture alone, and make it again.
    let cell = paths[3];
    let metadata = read_metadata(cell).unwrap();
    let alone = home.join("alone.png");
    let again = Command::new(env!("CARGO_BIN_EXE_atelier"))
        .env(HOME_VARIABLE, &home)
        .env(BUILTIN_VARIABLE, home.join("none"))
        .args(["generate", "-t", "1", "--like", cell.to_str().unwrap(), "-o", alone.to_str().unwrap()])
        .args(["--diffusion-model", files().get(FileRole::Diffusion).unwrap().to_str().unwrap()])
        .args(["--llm", files().get(FileRole::Llm).unwrap().to_str().unwrap()])
        .args(["--taesd", files().get(FileRole::Taesd).unwrap().to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    let pixels = |path: &Path| read_image(&ImageSource::File(path.to_owned())).unwrap();
    assert_eq!(pixels(&alone), pixels(cell), "{metadata:?}");
    let (database, _) = Database::open(&Paths::beneath(&home).gallery_file()).unwrap();
    let all = database.search(&Query::parse(""), Order::Newest).unwrap();
    let groups = database.groups(&all, Grouping::Batch).unwrap();
    assert_eq!(groups.iter().map(|group| group.pictures.len()).max(), Some(6), "the sheet and its pictures are one group: {groups:?}");
}

#[test]
fn a_dry_run_makes_nothing_and_what_makes_no_sense_is_exit_code_2() {
    let home = folder("dry");
    let output = atelier(&home, &["-x", "steps=4,8", "-y", "seed=1..3", "--dry-run"]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.starts_with("6 pictures") && !home.join("Pictures").exists(), "{told}");
    for axis in ["stepz=1", "steps=0", "words=sea,hill", "model=nowhere"] {
        let output = atelier(&home, &["-x", axis, "--dry-run"]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{axis}: {told}");
        assert!(told.starts_with("error: "), "{axis}: {told}");
    }
}
