//! `docs/json.md` against the program: each key that a command writes with `--json` stands in its
//! table with its type, and each key of a table is written.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atelier::cli::json::{
    Fit, Line, MeasuredDevice, OutOfMemory, Outcome, Peak, Plan, Predicted, PredictedPhaseTime, PredictedTime, Processor, StudioLine,
};
use atelier_core::canvas::PixelRect;
use atelier_core::module::Module;
use atelier_core::paths::HOME_VARIABLE;
use atelier_core::placement::{ModuleSet, Phase, PhaseKind};
use atelier_core::time::{ClassRate, DeviceRates, NodeSize, WeightType, WorkClass, WorkKind};
use atelier_engine::Copies;
use atelier_library::{BUILTIN_VARIABLE, Defaults, Sha256};
use serde_json::{Value, json};
use support::file_server::Server;
use support::{files, folder};
use testkit::pictures::tool_pictures;

/// Type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    /// Whose values are not described.
    List,
    Object,
    ListOf(Box<Self>),
    /// An object with a table of its own.
    Table(String),
}

impl Type {
    fn parse(text: &str) -> Self {
        if let Some(inner) = text.strip_prefix("list of ") {
            return Self::ListOf(Box::new(Self::parse(inner)));
        }
        if let Some((name, anchor)) = text.strip_prefix('[').and_then(|text| text.strip_suffix(')')?.split_once("](#")) {
            assert_eq!(name.to_lowercase(), anchor, "a link leads elsewhere");
            return Self::Table(name.to_owned());
        }
        match text {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "list" => Self::List,
            "object" => Self::Object,
            other => panic!("no type: {other}"),
        }
    }

    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::List | Self::ListOf(_) => value.is_array(),
            Self::Object | Self::Table(_) => value.is_object(),
        }
    }
}

/// A row of a table.
struct Key {
    types: Vec<Type>,
    is_optional: bool,
}

/// The tables of the document, and which of their keys were written.
struct Tables {
    /// Those of lines are `COMMAND EVENT`.
    by_heading: BTreeMap<String, BTreeMap<String, Key>>,
    written: BTreeSet<(String, String)>,
    faults: BTreeSet<String>,
}

impl Tables {
    /// `## ` names commands, `### ` a line in backticks, or an object.
    fn read(text: &str) -> Self {
        let (mut commands, mut names) = (Vec::new(), Vec::new());
        let mut tables: BTreeMap<String, BTreeMap<String, Key>> = BTreeMap::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("### ") {
                names = match heading.strip_prefix('`').and_then(|it| it.strip_suffix('`')) {
                    Some(event) => commands.iter().map(|command| format!("{command} {event}")).collect(),
                    None => vec![heading.to_owned()],
                };
                for name in &names {
                    assert!(tables.insert(name.clone(), BTreeMap::new()).is_none(), "{name} has two tables");
                }
            } else if let Some(heading) = line.strip_prefix("## ") {
                commands = heading.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            } else if let Some(row) = line.strip_prefix("| `") {
                let cells: Vec<&str> = row.split(" | ").collect();
                let (key, of_type) = (cells[0].trim_end_matches('`'), cells[1]);
                let (types, is_optional) = of_type.strip_suffix(", optional").map_or((of_type, false), |types| (types, true));
                for name in &names {
                    let types = types.split(" or ").map(Type::parse).collect();
                    let row = Key { types, is_optional };
                    assert!(tables.get_mut(name).unwrap().insert(key.to_owned(), row).is_none(), "{name} has {key} twice");
                }
            }
        }
        Self { by_heading: tables, written: BTreeSet::new(), faults: BTreeSet::new() }
    }

    /// Compares a line of this command.
    fn line(&mut self, command: &str, line: &Value) {
        let table = format!("{command} {}", line["event"].as_str().unwrap_or_else(|| panic!("a line without an event: {line}")));
        self.object(&table, line);
    }

    fn object(&mut self, name: &str, object: &Value) {
        let Some(table) = self.by_heading.get(name) else {
            self.faults.insert(format!("{name} has no table: {object}"));
            return;
        };
        let mut inner = Vec::new();
        for (key, value) in object.as_object().unwrap() {
            self.written.insert((name.to_owned(), key.clone()));
            match table.get(key).map(|it| (it, it.types.iter().find(|of_type| of_type.fits(value)))) {
                None => drop(self.faults.insert(format!("{name}: `{key}` is written and is in no table: {value}"))),
                Some((key_, None)) => drop(self.faults.insert(format!("{name}: `{key}` is {value}, and not {:?}", key_.types))),
                Some((_, Some(of_type))) => inner.push((key.clone(), of_type.clone(), value)),
            }
        }
        for (key, _) in table.iter().filter(|(key, it)| !it.is_optional && object.get(key).is_none()) {
            self.faults.insert(format!("{name}: `{key}` is not written, and not optional: {object}"));
        }
        for (key, of_type, value) in inner {
            self.value(&format!("{name}.{key}"), &of_type, value);
        }
    }

    fn value(&mut self, place: &str, of_type: &Type, value: &Value) {
        match of_type {
            Type::Table(name) => self.object(name, value),
            Type::ListOf(inner) => {
                for value in value.as_array().unwrap() {
                    if inner.fits(value) {
                        self.value(place, inner, value);
                    } else {
                        self.faults.insert(format!("{place} has {value} in its list, and not {inner:?}"));
                    }
                }
            }
            _ => {}
        }
    }

    /// Keys of tables that nothing wrote. A table of several commands counts once.
    fn unwritten(&self) -> Vec<String> {
        let all = self.by_heading.iter().flat_map(|(name, table)| table.keys().map(move |key| (name.clone(), key.clone())));
        let upscaled = |name: &str| name.strip_prefix("upscale ").map(|event| format!("generate {event}"));
        let of_upscale = |name: &str| name.strip_prefix("generate ").map(|event| format!("upscale {event}"));
        let is_written = |name: &str, key: &str| self.written.contains(&(name.to_owned(), key.to_owned()));
        all.filter(|(name, key)| {
            let other = upscaled(name).or_else(|| of_upscale(name));
            !is_written(name, key) && !other.is_some_and(|other| is_written(&other, key))
        })
        .map(|(name, key)| format!("{name}: `{key}` is in the table and nothing wrote it"))
        .collect()
    }
}

/// A home, and a copy of the built-in model's stand-in.
struct World {
    home: PathBuf,
    builtin: PathBuf,
    tables: Tables,
}

impl World {
    /// Runs a command, compares its lines and its exit code, and returns the lines.
    fn run(&mut self, expected: i32, args: &[&str]) -> Vec<Value> {
        self.follow(expected, args, |_| ())
    }

    /// The same; hears each line as it comes.
    fn follow(&mut self, expected: i32, args: &[&str], mut hear: impl FnMut(&Value)) -> Vec<Value> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_atelier"))
            .env(HOME_VARIABLE, &self.home)
            .env(BUILTIN_VARIABLE, &self.builtin)
            .env("XDG_DATA_HOME", self.home.join("xdg"))
            .env("NO_PROXY", "127.0.0.1")
            .env_remove("HF_TOKEN")
            .args(args)
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(self.home.join("err.txt")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = serde_json::from_str(&line.unwrap()).unwrap();
            hear(&line);
            lines.push(line);
        }
        let code = child.wait().unwrap().code();
        let err = fs::read_to_string(self.home.join("err.txt")).unwrap();
        assert_eq!(code, Some(expected), "{args:?}: {err}");
        let command = args.iter().find(|it| COMMANDS.contains(*it)).unwrap();
        assert!(!lines.is_empty(), "{args:?} wrote nothing: {err}");
        for line in &lines {
            // The jobs of a sheet have the lines of `generate`.
            let is_of_job = *command == "grid" && line["event"].as_str().is_some_and(|event| !GRID_EVENTS.contains(&event));
            self.tables.line(if is_of_job { "generate" } else { command }, line);
        }
        lines
    }

    /// Compares what only some machines or failures write.
    fn made(&mut self, command: &str, line: &Line) {
        self.tables.line(command, &serde_json::to_value(line).unwrap());
    }

    fn at(&self, name: &str) -> String {
        self.home.join(name).to_str().unwrap().to_owned()
    }
}

const GRID_EVENTS: [&str; 3] = ["forecast", "cell", "sheet"];
const COMMANDS: [&str; 12] =
    ["generate", "grid", "upscale", "devices", "plan", "inspect", "queue", "models", "gallery", "doctor", "serve", "studios"];

#[test]
fn every_key_is_written_and_documented() {
    let home = folder("home");
    fs::remove_dir_all(&home).unwrap();
    let builtin = folder("builtin");
    testkit::tiny::builtin(&builtin, &testkit::tiny::Options::default()).unwrap();
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md")).unwrap();
    fs::create_dir_all(&home).unwrap();
    let mut world = World { home, builtin, tables: Tables::read(&text) };
    let picture = pictures(&mut world);
    sheet(&mut world);
    placements(&mut world);
    settings(&mut world, &picture);
    queue(&mut world);
    models(&mut world);
    gallery(&mut world, &picture);
    world.run(0, &["doctor"]);
    access(&mut world);
    studios(&mut world);
    let Tables { faults, .. } = &world.tables;
    let all: Vec<String> = faults.iter().cloned().chain(world.tables.unwritten()).collect();
    assert!(all.is_empty(), "docs/json.md and the program differ:\n{}", all.join("\n"));
}

/// `generate` and `upscale`; returns a picture.
fn pictures(world: &mut World) -> String {
    let previews = world.at("previews");
    let lines = world.run(0, &["generate", "-p", "a lake", "-s", "7", "-t", "1", "-W", "64", "-H", "64", "--preview", &previews]);
    let picture = lines.iter().find(|it| it["event"] == "picture").unwrap()["path"].as_str().unwrap().to_owned();
    let upscaler = testkit::tiny::upscaler(&world.home, 2, 1).unwrap();
    let large = world.at("large.png");
    world.run(0, &["upscale", "-m", upscaler.to_str().unwrap(), "-i", &picture, "-o", &large, "-t", "1"]);
    let failed = Outcome::Failed {
        message: "No.".into(),
        hint: String::new(),
        log: vec!["a line".into()],
        out_of_memory: Some(OutOfMemory { device: "GPU0".into(), phase: "denoising".into(), bytes_wanted: 2, bytes_free: 1 }),
    };
    world.made("generate", &Line::End { job: 1, outcome: failed });
    world.made("generate", &Line::End { job: 1, outcome: Outcome::Cancelled });
    let peak = Peak { device: "CPU".into(), phase: Phase::Load, bytes: 2, predicted_bytes: Some(1) };
    let copies = Copies { module: Module::T5, bytes: 3, count: 2, waited_secs: 0.5, hidden_secs: 0.25 };
    world.made("generate", &Line::Measured { job: 1, peaks: vec![peak], copies: vec![copies] });
    let place = Some(PixelRect { left: 1, top: 2, width: 3, height: 4 });
    world.made("generate", &Line::Preview { job: 1, picture: 0, step: 1, width: 8, height: 8, place, path: "a.png".into() });
    picture
}

/// `grid`: its own lines, round those of its jobs.
fn sheet(world: &mut World) {
    let sheet = world.at("sheets/sheet.png");
    let flags = ["grid", "-p", "a lake", "-s", "7", "-t", "1", "-W", "64", "-H", "64", "-x", "steps=1,2"];
    let lines = world.run(0, &[&flags[..], &["-o", &sheet]].concat());
    let events: Vec<&str> = lines.iter().filter_map(|it| it["event"].as_str()).filter(|it| GRID_EVENTS.contains(it)).collect();
    assert_eq!(events, ["forecast", "cell", "cell", "sheet"]);
    assert_eq!((lines.last().unwrap()["path"].as_str(), lines[1]["at"].clone()), (Some(sheet.as_str()), json!([1, 1, 1])));
    assert!(lines.iter().filter(|it| it["event"] == "cell").all(|it| it["draft"] == json!(false)));
    let lines = world.run(0, &[&flags[..], &["--drafts-first", "1", "-o", &sheet]].concat());
    assert_eq!(lines[0]["drafts"], json!(1));
    let cells: Vec<_> = lines.iter().filter(|it| it["event"] == "cell").map(|it| (it["at"].clone(), it["draft"].clone())).collect();
    assert_eq!(cells, [([2, 1, 1], true), ([1, 1, 1], false), ([2, 1, 1], false)].map(|(at, draft)| (json!(at), json!(draft))));
    let dry = world.run(0, &[&flags[..], &["--dry-run"]].concat());
    assert_eq!((dry.len(), dry[0]["pictures"].as_u64()), (1, Some(2)));
}

/// `devices` and `plan`.
fn placements(world: &mut World) {
    world.run(0, &["--simulate-devices", "GPU0:8@0000:01:00.0", "devices"]);
    let class = WorkClass { kind: WorkKind::Product, weights: WeightType::F16, size: NodeSize::Large };
    let rates = DeviceRates { classes: vec![ClassRate { class, per_sec: 1e9 }], ..DeviceRates::default() };
    let known = MeasuredDevice { device: "CPU".into(), rates: Some(rates), samples: 9, unsteady_samples: 1, secs: 2.0, error: None };
    let unknown = MeasuredDevice {
        device: "RPC0".into(),
        rates: None,
        samples: 0,
        unsteady_samples: 0,
        secs: 0.0,
        error: Some("It is gone.".into()),
    };
    world.made("devices", &Line::Rates { devices: vec![known, unknown] });
    // Too small for the model, so that something would help.
    world.run(
        1,
        &[
            "--simulate-devices",
            "GPU0:1,GPU1:0.016",
            "plan",
            "-W",
            "64",
            "-H",
            "64",
            "-p",
            "a lake",
            "--backend",
            "GPU1",
            "--params-backend",
            "GPU1",
        ],
    );
    let phase = PredictedPhaseTime { module: Module::Vae, phase: PhaseKind::Decoding, device: "CPU".into(), secs: 1.5 };
    let time = PredictedTime {
        load_secs: 1.0,
        encode_secs: 1.0,
        step_secs: 1.0,
        denoise_secs: 1.0,
        decode_secs: 1.0,
        upscale_secs: 1.0,
        first_preview_secs: 1.0,
        total_secs: 1.0,
        next_picture_secs: 1.0,
        phases: vec![phase],
    };
    let predicted = Predicted {
        backend: "CPU".into(),
        params_backend: String::new(),
        max_vram: String::new(),
        stream_layers: ModuleSet::NONE,
        fits: true,
        missing_bytes: 0,
        devices: Vec::new(),
        modules: Vec::new(),
        time: Some(time),
        unmeasured_devices: Vec::new(),
    };
    let suggested = Fit { predicted: predicted.clone(), reasons: Vec::new(), message: None, fixes: Vec::new() };
    let plan =
        Plan { width: 64, height: 64, devices: Vec::new(), requested: predicted, notes: Vec::new(), suggested, streaming: Vec::new() };
    world.made("plan", &Line::Plan(Box::new(plan)));
    world.made(
        "devices",
        &Line::Devices {
            devices: Vec::new(),
            processor: Processor { engine: "avx2".into(), detected: "avx2".into(), allowed: "avx2".into() },
        },
    );
}

/// `inspect`.
fn settings(world: &mut World, picture: &str) {
    let strange = tool_pictures().into_iter().find(|it| it.name == "a1111.png").unwrap().write(&world.home).unwrap();
    let stranger = tool_pictures().into_iter().find(|it| it.name == "invokeai 5.png").unwrap().write(&world.home).unwrap();
    world.run(0, &["inspect", picture, strange.to_str().unwrap(), stranger.to_str().unwrap()]);
}

fn queue(world: &mut World) {
    let shape = ["-t", "1", "-W", "64", "-H", "64", "-s", "3"];
    world.run(0, &[&["queue", "add", "-p", "a lake"], &shape[..]].concat());
    world.run(0, &[&["queue", "add", "-p", "a hill", "-m", "z-image-turbo"], &shape[..]].concat());
    world.run(0, &["queue", "list"]);
    world.run(0, &["queue", "pause"]);
    world.run(0, &["queue", "resume"]);
    world.run(0, &["queue", "clear", "2"]);
    world.run(0, &["queue", "run"]);
    world.run(0, &["queue", "resume", "2"]);
    world.run(0, &["queue", "clear"]);
}

fn models(world: &mut World) {
    let mut served = BTreeMap::new();
    for (_, path) in files().iter() {
        served.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), path.to_owned());
    }
    let (server, release) = Server::start_held(served.clone());
    let entry = |id: &str| {
        let files: Vec<Value> = files()
            .iter()
            .map(|(role, path)| {
                let name = path.file_name().unwrap().to_str().unwrap();
                let sum = Sha256::of(fs::File::open(path).unwrap()).unwrap().to_string();
                let size = fs::metadata(path).unwrap().len();
                json!({"role": role.key(), "filename": name, "size": size, "sha256": sum, "url": format!("{}/{name}", server.address)})
            })
            .collect();
        json!({"id": id, "name": id, "family": "Z-Image", "files": files})
    };
    let mut own = entry("own");
    own["licence"] = json!({"name": "Own terms", "url": "https://example.org/terms"});
    own["defaults"] = json!({"steps": 2, "cfg": 1.0, "distilled_guidance": 3.5, "width": 64, "height": 64, "sampler": "euler",
        "scheduler": "simple", "flow_shift": 3.0, "eta": 0.5, "clip_skip": 2, "negative_in_prompt": true, "preview": "tae"});
    let mut gone = entry("gone");
    gone["files"][0]["url"] = json!(format!("{}/gone.gguf", server.address));
    gone["files"][0]["sha256"] = json!("0".repeat(64));
    let catalogue = world.home.join("catalogue.json");
    fs::write(&catalogue, json!([own, gone, {"id": "Wrong"}]).to_string()).unwrap();
    let catalogue = ["--catalogue", catalogue.to_str().unwrap()];
    let with = |args: &[&'static str]| [&["models"], args, &catalogue].concat();

    let mut release = Some(release);
    let pulled = world.follow(0, &with(&["pull", "own", "--accept-licence"]), |line| {
        if line["stage"] == "downloading" {
            release.take();
        }
    });
    assert!(pulled.iter().any(|it| it["stage"] == "done"), "{pulled:?}");
    world.run(0, &with(&["pull", "own"]));
    world.run(1, &with(&["pull", "gone"]));
    world.run(0, &with(&["list"]));
    world.run(0, &with(&["verify", "own"]));
    // Written anew by somebody else, so that it stays.
    let (_, changed) = files().iter().last().map(|(role, path)| (role, path.file_name().unwrap().to_owned())).unwrap();
    let changed = world.home.join("models/own").join(changed);
    fs::write(&changed, fs::read(&changed).unwrap()).unwrap();
    world.run(0, &with(&["rm", "own", "--dry-run"]));
    let folder = world.home.join("pickles");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("old.ckpt"), "old").unwrap();
    world.run(0, &["models", "add", folder.to_str().unwrap()]);
    world.run(0, &["models", "info", folder.join("old.ckpt").to_str().unwrap()]);
    let (_, diffusion) = files().iter().next().map(|(role, path)| (role, path.to_owned())).unwrap();
    world.run(0, &["models", "info", diffusion.to_str().unwrap()]);
    let copy = folder.join("copy.gguf");
    let convert = ["models", "convert", diffusion.to_str().unwrap(), "--type", "q8_0", "-o", copy.to_str().unwrap()];
    world.run(0, &[&convert[..], &["--dry-run"]].concat());
    world.run(0, &convert);
    world.run(0, &["models", "du"]);
}

/// `studios`: what one of another person says, without asking the network.
fn access(world: &mut World) {
    let data = atelier_core::paths::Paths::beneath(&world.home).data;
    fs::create_dir_all(&data).unwrap();
    let tokens = r#"{"Anna": "0123456789abcdef", "Ben": {"token": "fedcba9876543210", "since": 1000, "until": 4000000000}}"#;
    fs::write(data.join("serve-tokens.json"), tokens).unwrap();
    fs::write(data.join("serve-approvals.json"), r#"{"192.168.1.23": {"here": "192.168.1.5", "since": 4000000000, "program": "Blender"}}"#)
        .unwrap();
    fs::write(data.join("serve-uses.json"), r#"{"tokens": {"Ben": 2000}}"#).unwrap();
    let listed = world.run(0, &["serve", "access"]);
    let told: Vec<Value> = listed.iter().map(|it| json!([it["name"], it["by"], it["since_ms"], it["last_used_ms"]])).collect();
    let expected = [
        json!(["Anna", "token", null, null]),
        json!(["Ben", "token", 1_000_000, 2_000_000]),
        json!(["192.168.1.23", "address", 4_000_000_000_000_i64, null]),
    ];
    assert_eq!(told, expected);
    assert_eq!(listed[1]["until_ms"], 4_000_000_000_000_i64);
    assert_eq!((&listed[1]["program"], &listed[2]["program"]), (&Value::Null, &json!("Blender")));
}

fn studios(world: &mut World) {
    let found = StudioLine::Studio {
        name: "Studio of Anna".into(),
        url: "http://192.168.1.5:7860".into(),
        is_found: true,
        is_kept: false,
        needs_token: Some(true),
        has_token: false,
    };
    let defaults = Defaults { steps: Some(8), ..Defaults::default() };
    let model = StudioLine::Model { studio: "Studio of Anna".into(), name: "Dream".into(), defaults };
    for line in [found, model] {
        world.tables.line("studios", &serde_json::to_value(line).unwrap());
    }
    let kept = r#"{"version": 1, "studios": [{"name": "Ben", "address": "http://192.168.1.6:7860"}]}"#;
    let data = atelier_core::paths::Paths::beneath(&world.home).studios_file();
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    fs::write(data, kept).unwrap();
    let listed = world.run(0, &["studios", "--seconds", "0"]);
    assert_eq!((listed.len(), &listed[0]["kept"], &listed[0]["needs_token"]), (1, &json!(true), &Value::Null));
}

fn gallery(world: &mut World, picture: &str) {
    let (folder, copies) = (world.home.join("art"), world.at("copies"));
    fs::create_dir_all(&folder).unwrap();
    tool_pictures().into_iter().find(|it| it.name == "a1111.png").unwrap().write(&folder).unwrap();
    // A LoRA with a strength of its own in the text encoder, in the steps in the middle.
    let text = "a lake [[<lora:ink:0.25:0.5>::0.75]:0.25]\nSteps: 4, Sampler: Euler, Seed: 7, Size: 8x8, Version: Atelier 0.1.0";
    let two_strengths = world.at("two strengths.png");
    fs::write(&two_strengths, testkit::pictures::png(&[("parameters", text)])).unwrap();
    world.run(0, &["inspect", &two_strengths]);
    let art = folder.to_str().unwrap();
    world.run(0, &["gallery", "scan", art]);
    let found = world.run(0, &["gallery", "search", "lora:ink"]);
    let path = found[0]["path"].as_str().unwrap().to_owned();
    for args in [&["rate", "pick"][..], &["rate", "4"], &["tag", "lake"], &["info"]] {
        world.run(0, &[&["gallery"], args, &[&path]].concat());
    }
    world.run(0, &["gallery", "info", picture]);
    world.run(1, &["gallery", "export", &path, "/nowhere/a.png", "-o", &copies]);
    world.run(0, &["gallery", "scan", art, "--forget"]);
}
