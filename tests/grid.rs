//! Sheets of pictures: each cell is the picture made alone, and what was foretold is what is done.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier_core::grid::{Axis, AxisFiles, Cell, DraftStep, Grid};
use atelier_core::module::Module;
use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::{FileRole, Hires, ImageSource, Recipe, Rgb8};
use atelier_engine::{Event, JobPhase, PreviewOptions, Task};
use atelier_gallery::{Database, Grouping, Order, Query};
use atelier_library::BUILTIN_VARIABLE;
use atelier_media::{read_image, read_metadata};
use serde_json::Value;
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
fn compare(base: &Recipe, axes: &[&str], draft_step: Option<DraftStep>) {
    let cells = cells(base, axes);
    let turns = Grid::turns(&cells, draft_step);
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
    assert_eq!(forecast.drafts > 0, draft_step.is_some(), "{axes:?}");
    let foretold = Counted { loads: forecast.loads, encodings: forecast.encodings as u64, evaluations: forecast.evaluations };
    assert_eq!(together, foretold, "{axes:?}");
    let mut single = Counted::default();
    for cell in &cells {
        let own = Grid::forecast(&Grid::turns(std::slice::from_ref(cell), None), |_| None);
        single.loads += own.loads;
        single.encodings += own.encodings as u64;
        single.evaluations += own.evaluations;
    }
    assert_eq!(apart, single, "{axes:?}, each alone");
    let drafts = turns.iter().filter(|turn| turn.is_draft);
    let drafts: u64 = drafts.map(|turn| Grid::forecast(std::slice::from_ref(turn), |_| None).evaluations).sum();
    assert_eq!(apart.evaluations + drafts, together.evaluations + forecast.kept_evaluations);
    println!("\n| {} pictures, {} | model loads | text encodings | steps |\n|---|---|---|---|", cells.len(), axes.join(", "));
    for (what, Counted { loads, encodings, evaluations }) in [("foretold", foretold), ("as a sheet", together), ("each alone", apart)] {
        println!("| {what} | {loads} | {encodings} | {evaluations} |");
    }
}

#[test]
fn a_sheet_of_48_cells_takes_what_was_foretold_and_each_is_the_picture_alone() {
    let other = other_model();
    let base = Recipe { prompt: "a {red|blue|green|dark} lake".into(), guidance: 2.0, ..recipe() };
    let own = base.files.get(FileRole::Diffusion).unwrap().to_owned();
    let models = format!("model={},{}", own.display(), other.display());
    let base = Recipe { steps: 2, ..base };
    compare(&base, &["cfg=1..6/6", "{red|blue|green|dark}", &models], None);
    let seeds = cells(&base, &["seed=1..4", "{red|blue|green|dark}", "sampler=euler,heun,lcm"]);
    let forecast = Grid::forecast(&Grid::turns(&seeds, None), |_| None);
    assert_eq!((forecast.pictures, forecast.loads, forecast.encodings), (48, 1, 5));
}

#[test]
fn steps_are_shared_where_only_what_comes_after_them_differs() {
    let second = Hires { scale: 1.5, strength: 0.5, ..Hires::default() };
    compare(&Recipe { hires: Some(second), ..recipe() }, &["hires.strength=0,0.5", "hires.scale=1,2", "sampler=euler_a,heun"], None);
    compare(&recipe(), &["last_step=1,2,none", "seed=1,2"], None);
    // Not dpm++2s_a, which computes the first step of a flow model at once: it takes one less.
    compare(&recipe(), &["sampler=dpm2,res_2s,lcm", "last_step=2,none"], None);
}

#[test]
fn drafts_first_compute_no_step_twice_and_each_cell_is_the_picture_alone() {
    let base = Recipe { steps: 8, guidance: 2.0, ..recipe() };
    compare(&base, &["sampler=euler,heun", "seed=1,2"], Some(DraftStep::Usual));
    let second = Hires { scale: 1.5, strength: 0.5, ..Hires::default() };
    compare(&Recipe { hires: Some(second), ..base.clone() }, &["hires.scale=1,1.5,2", "steps=4,8,12"], Some(DraftStep::Usual));
    compare(&base, &["sampler=euler,heun", "steps=3,4"], Some(DraftStep::After(3)));
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

const PICTURE: [&str; 10] = ["-W", "64", "-H", "64", "--cfg-scale", "1", "--seed", "7", "-p", "a lake"];

/// A command of the program that has the tiny model.
fn atelier(home: &Path, subcommand: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).env(BUILTIN_VARIABLE, home.join("none")).stdin(Stdio::null());
    let files = files();
    command.arg(subcommand).args(["-t", "1"]);
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files.get(role).unwrap());
    }
    command.args(args);
    command
}

fn grid(home: &Path, args: &[&str]) -> Command {
    atelier(home, "grid", &[&PICTURE[..], args].concat())
}

/// The picture of `generate` with these flags.
fn generate(home: &Path, args: &[&str]) -> Rgb8 {
    let alone = home.join("alone.png");
    let output = atelier(home, "generate", &[args, &["-o", alone.to_str().unwrap()]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    picture(&alone)
}

fn picture(path: &Path) -> Rgb8 {
    read_image(&ImageSource::File(path.to_owned())).unwrap()
}

#[test]
fn the_command_line_foretells_makes_and_draws_a_sheet() {
    let home = folder("command");
    let _ = std::fs::remove_dir_all(&home);
    let sheet = home.join("out/sheet.png");
    let axes = ["--x", "steps=1,2,3", "--y", "sampler=euler,heun", "--without", "3,2"];
    let output = grid(&home, &[&axes[..], &["-o", sheet.to_str().unwrap()]].concat()).output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("5 pictures") && err.contains("1 text encoding, 1 model load"), "{err}");
    assert!(err.contains("steps 2, sampler heun"), "{err}");
    let paths: Vec<&Path> = out.lines().map(Path::new).collect();
    assert_eq!((paths.len(), paths.last().copied()), (6, Some(sheet.as_path())), "{out}");
    let drawn = picture(&sheet);
    assert!(drawn.width() > 3 * 64 && drawn.height() > 2 * 64, "{} x {}", drawn.width(), drawn.height());
    // A cell's settings are those of the picture alone, and make it again.
    let cell = paths[3];
    let metadata = read_metadata(cell).unwrap();
    assert_eq!(generate(&home, &["--like", cell.to_str().unwrap()]), picture(cell), "{metadata:?}");
    let (database, _) = Database::open(&Paths::beneath(&home).gallery_file()).unwrap();
    let all = database.search(&Query::parse(""), Order::Newest).unwrap();
    let groups = database.groups(&all, Grouping::Batch).unwrap();
    assert_eq!(groups.iter().map(|group| group.pictures.len()).max(), Some(6), "the sheet and its pictures are one group: {groups:?}");
}

#[test]
fn drafts_of_the_command_line_come_first_and_each_cell_is_the_picture_alone() {
    let home = folder("drafts");
    let _ = std::fs::remove_dir_all(&home);
    let sheet = home.join("out/sheet.png");
    let axes = ["-x", "steps=2,4", "-y", "seed=1,2", "--drafts-first", "2"];
    let output = grid(&home, &[&axes[..], &["--json", "-o", sheet.to_str().unwrap()]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Two steps of each of two pictures are kept.
    let counts = ["pictures", "drafts", "kept_evaluations"].map(|key| lines[0][key].as_u64().unwrap());
    assert_eq!(counts, [4, 2, 4], "{}", lines[0]);
    let (mut cell, mut drafts, mut finished) = (&Value::Null, Vec::new(), Vec::new());
    for line in &lines {
        match line["event"].as_str().unwrap() {
            "cell" => cell = line,
            "picture" => {
                let [x, y] = [0_usize, 1].map(|axis| cell["at"][axis].as_u64().unwrap() as usize - 1);
                let path = PathBuf::from(line["path"].as_str().unwrap());
                if cell["draft"].as_bool().unwrap() {
                    assert!(finished.is_empty() && path.exists(), "drafts are first, and kept: {cell}");
                    drafts.push(([x, y], path));
                } else {
                    finished.push(([x, y], path));
                }
            }
            _ => {}
        }
    }
    assert_eq!(lines.last().unwrap()["path"].as_str(), sheet.to_str());
    assert_eq!((drafts.len(), finished.len()), (2, 4), "{lines:?}");
    for ([x, y], path) in &finished {
        let alone = generate(&home, &[&PICTURE[..], &["--steps", ["2", "4"][*x], "--seed", ["1", "2"][*y]]].concat());
        assert_eq!(picture(path), alone, "{x}, {y}");
        let Some((_, draft)) = drafts.iter().find(|(at, _)| *at == [*x, *y]) else {
            assert_eq!(*x, 0, "two steps have no draft that stops after the second");
            continue;
        };
        assert_ne!(picture(draft), alone, "{x}, {y}");
        assert_eq!(generate(&home, &["--like", draft.to_str().unwrap(), "--finish"]), alone, "{x}, {y}");
    }
    let dry = grid(&home, &[&axes[..], &["--dry-run"]].concat()).output().unwrap();
    let told = String::from_utf8(dry.stdout).unwrap();
    assert!(told.starts_with("4 pictures after 2 drafts") && told.contains("4 of 16 steps are kept"), "{told}");
}

#[test]
fn a_dry_run_makes_nothing_and_what_makes_no_sense_is_exit_code_2() {
    let home = folder("dry");
    let output = grid(&home, &["-x", "steps=4,8", "-y", "seed=1..3", "--dry-run"]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.starts_with("6 pictures") && !home.join("Pictures").exists(), "{told}");
    let wrong: [(&str, &[&str]); 7] = [
        ("stepz=1", &[]),
        ("steps=0", &[]),
        ("words=sea,hill", &[]),
        ("model=nowhere", &[]),
        ("steps=4,8", &["--drafts-first", "8"]),
        ("last_step=2,none", &["--drafts-first", "20", "--steps", "20"]),
        ("steps=4,8", &["--drafts-first", "2", "--last-step", "2"]),
    ];
    for (axis, others) in wrong {
        let output = grid(&home, &[&["-x", axis, "--dry-run"][..], others].concat()).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{axis}: {told}");
        assert!(told.starts_with("error: "), "{axis}: {told}");
    }
}
