//! The library from end to end, by the program itself: a catalogue of one's own, a model pulled
//! from a server of this test, checked, painted with, and taken away to the trash.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::Ordering;

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::FileRole::{Diffusion, Llm, Taesd};
use atelier_library::{BUILTIN_VARIABLE, Sha256};
use serde_json::{Value, json};
use support::file_server::Server;
use support::{files, folder};

struct World {
    home: PathBuf,
    server: Server,
    catalogue: PathBuf,
}

impl World {
    /// A fresh home, and a server with the tiny model under two names that share their text
    /// encoder.
    fn new(test: &str) -> Self {
        let home = folder(&format!("models-{test}"));
        fs::remove_dir_all(&home).unwrap();
        fs::create_dir_all(&home).unwrap();
        let mut served = BTreeMap::new();
        let mut listed = Vec::new();
        for (role, path) in files().iter() {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let sum = Sha256::of(fs::File::open(path).unwrap()).unwrap().to_string();
            listed.push((role.key(), name.clone(), fs::metadata(path).unwrap().len(), sum));
            served.insert(name, path.to_owned());
        }
        let server = Server::start(served);
        let entry = |id: &str| {
            let files: Vec<Value> = listed
                .iter()
                .map(|(role, name, size, sum)| {
                    json!({"role": role, "filename": name, "size": size, "sha256": sum, "url": format!("{}/{name}", server.address)})
                })
                .collect();
            json!({"id": id, "name": id, "family": "Z-Image", "files": files, "defaults": {"steps": 2, "cfg": 1.0, "width": 64, "height": 64}})
        };
        let mut gated = entry("gated");
        gated["licence"] = json!({"name": "Own terms", "url": "https://example.org/terms", "gated": true});
        let mut gone = entry("gone");
        gone["files"][0]["url"] = json!(format!("{}/gone.gguf", server.address));
        let catalogue = home.join("catalogue.json");
        let entries = json!([entry("tiny"), {"id": "Wrong"}, entry("twin"), gated, gone]);
        fs::write(&catalogue, serde_json::to_string_pretty(&entries).unwrap()).unwrap();
        Self { home, server, catalogue }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
        command.env(HOME_VARIABLE, &self.home).env(BUILTIN_VARIABLE, self.home.join("none"));
        // The trash of this home, and no proxy between this test and itself.
        command.env("XDG_DATA_HOME", self.home.join("xdg")).env("NO_PROXY", "127.0.0.1").env_remove("HF_TOKEN");
        command.args(args).arg("--catalogue").arg(&self.catalogue).stdin(Stdio::null()).output().unwrap()
    }

    fn done(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn lines(&self, args: &[&str]) -> Vec<Value> {
        self.done(args).lines().map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    fn state(&self, id: &str) -> String {
        let lines = self.lines(&["models", "info", id, "--json"]);
        lines.iter().find(|it| it["event"] == "model").unwrap()["state"].as_str().unwrap().to_owned()
    }

    fn models(&self) -> PathBuf {
        self.home.join("models")
    }
}

fn paint(world: &World, model: &str) -> Vec<u8> {
    let out = world.home.join("out.png");
    world.done(&["generate", "-m", model, "-p", "a lake", "--seed", "3", "-t", "1", "-o", out.to_str().unwrap()]);
    fs::read(out).unwrap()
}

#[test]
fn a_model_is_pulled_checked_painted_with_shared_and_taken_away() {
    let world = World::new("life");
    assert_eq!(world.state("tiny"), "catalogue");
    let events = world.lines(&["models", "pull", "tiny", "--json"]);
    assert_eq!(events.last().unwrap()["stage"], "done", "{events:?}");
    let bytes: u64 = files().iter().map(|(_, path)| fs::metadata(path).unwrap().len()).sum();
    assert_eq!(world.server.sent.load(Ordering::SeqCst) as u64, bytes);
    for (_, path) in files().iter() {
        let here = world.models().join("tiny").join(path.file_name().unwrap());
        assert_eq!(fs::read(here).unwrap(), fs::read(path).unwrap());
    }
    assert!(world.done(&["models", "verify", "tiny"]).lines().all(|it| it.starts_with("right ")));
    assert_eq!(world.lines(&["models", "pull", "tiny", "--json"]).last().unwrap()["stage"], "present");

    let picture = paint(&world, "tiny");
    let files = files();
    let path = |role| files.get(role).unwrap().to_str().unwrap();
    let out = world.home.join("by-files.png");
    let by_files = ["--diffusion-model", path(Diffusion), "--llm", path(Llm), "--taesd", path(Taesd), "--steps", "2", "--cfg", "1"];
    let rest = ["-W", "64", "-H", "64", "-p", "a lake", "--seed", "3", "-t", "1", "-o", out.to_str().unwrap()];
    world.done(&[&["generate"], &by_files[..], &rest].concat());
    let pixels = |bytes: &[u8]| image::load_from_memory(bytes).unwrap().into_rgb8();
    assert_eq!(pixels(&picture), pixels(&fs::read(out).unwrap()));

    // The second model has the same files: nothing is fetched again, and it is whole without the
    // first.
    world.done(&["models", "pull", "twin"]);
    assert_eq!(world.server.sent.load(Ordering::SeqCst) as u64, bytes);
    let usage = &world.lines(&["models", "du", "--json"])[1];
    assert_eq!((usage["event"].as_str(), usage["models"].as_array().map(Vec::len)), (Some("usage"), Some(2)), "{usage}");
    let dry = world.done(&["models", "rm", "tiny", "--dry-run"]);
    assert!(dry.contains("would go") && world.models().join("tiny").is_dir(), "{dry}");
    let before = paint(&world, "twin");
    world.done(&["models", "rm", "tiny"]);
    assert!(!world.models().join("tiny").exists());
    if cfg!(target_os = "linux") {
        assert!(world.home.join("xdg/Trash/files/tiny/manifest.json").is_file());
    }
    assert_eq!((world.state("tiny").as_str(), world.state("twin").as_str()), ("catalogue", "on_disk"));
    assert_eq!(pixels(&paint(&world, "twin")), pixels(&before));
}

#[test]
fn a_file_comes_by_its_link_is_checked_and_goes_by_its_path() {
    let world = World::new("link");
    let files = files();
    let name = files.get(Diffusion).unwrap().file_name().unwrap().to_str().unwrap();
    let link = format!("{}/{name}", world.server.address);
    let events = world.lines(&["models", "pull", &link, "--json"]);
    assert_eq!(events.last().unwrap()["stage"], "done", "{events:?}");
    let here = fs::read_dir(world.models()).unwrap().map(|it| it.unwrap().path().join(name)).find(|it| it.is_file()).unwrap();
    let path = here.to_str().unwrap();
    assert_eq!(world.done(&["models", "verify", path]), format!("right    {path}\n"));
    let id = events.last().unwrap()["id"].as_str().unwrap();
    assert_eq!(world.done(&["models", "verify", id]), format!("right    {path}\n"));
    assert_eq!(world.lines(&["models", "info", id, "--json"]), world.lines(&["models", "info", path, "--json"]));
    assert!(world.done(&["models", "verify"]).contains(path));
    world.done(&["models", "rm", path]);
    assert!(!here.parent().unwrap().exists());
    let page = world.run(&["models", "pull", &format!("{}/nowhere", world.server.address)]);
    assert!(String::from_utf8_lossy(&page.stderr).contains("was not found: the link is mistyped"), "{page:?}");
}

#[test]
fn what_cannot_be_pulled_is_explained_and_leaves_nothing() {
    let world = World::new("refused");
    let fails = |args: &[&str], code: i32, said: &str| {
        let output = world.run(args);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains(said), "{err}");
        assert!(err.contains("catalogue.json, line ") && err.contains("\"Wrong\" is not an id"), "the wrong entry is named: {err}");
    };
    fails(&["models", "pull", "gated"], 2, "--accept-licence");
    fails(&["models", "pull", "tinny"], 2, "Did you mean tiny?");
    fails(&["models", "pull", "gone"], 1, "gone");
    assert!(!world.models().join("gone/manifest.json").exists());
    // Accepted once, it is not asked again, and the manifest says so.
    world.done(&["models", "pull", "gated", "--accept-licence"]);
    let manifest = fs::read_to_string(world.models().join("gated/manifest.json")).unwrap();
    assert!(manifest.contains("\"accepted\": true"), "{manifest}");
    world.done(&["models", "rm", "gated"]);
    world.done(&["models", "pull", "gated"]);
}

#[test]
fn a_model_that_is_not_there_is_refused_with_what_to_do() {
    let world = World::new("unknown");
    let output = world.run(&["generate", "-m", "tiny", "-p", "x"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(err.contains("tiny is not on this disk. Download it with: atelier models pull tiny"), "{err}");
    assert!(!Path::new(&world.home).join("Pictures").exists());
}

#[test]
fn a_model_that_is_not_here_is_downloaded_for_its_picture_without_a_second_command() {
    let world = World::new("pull-first");
    let out = world.home.join("out.png");
    let out = out.to_str().unwrap();
    let wanted = ["generate", "-m", "tiny", "-p", "a lake", "--seed", "3", "-t", "1", "-o", out];
    let nobody = world.run(&wanted);
    assert_eq!((nobody.status.code(), world.server.sent.load(Ordering::SeqCst)), (Some(1), 0), "nobody is there to be asked");
    let gated = world.run(&["generate", "-m", "gated", "-p", "a lake", "--pull"]);
    assert_eq!(gated.status.code(), Some(2), "{}", String::from_utf8_lossy(&gated.stderr));
    assert_eq!(world.done(&[&wanted[..], &["--pull"]].concat()).trim_end(), out, "standard output carries the path alone");
    assert_eq!(world.state("tiny"), "on_disk");
    let sent = world.server.sent.load(Ordering::SeqCst);
    world.done(&[&wanted[..], &["--pull"]].concat());
    assert_eq!(world.server.sent.load(Ordering::SeqCst), sent, "nothing comes twice");
}

#[test]
fn a_job_waits_for_its_model_and_runs_once_it_has_come() {
    let world = World::new("queue-pull");
    let added = world.lines(&["queue", "add", "-m", "tiny", "-p", "a lake", "--seed", "3", "-t", "1", "--json"]);
    assert_eq!(added[0]["waits_for_model"], "tiny");
    let waits = world.run(&["queue", "run"]);
    assert_eq!(waits.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&waits.stderr).contains("waits for tiny"), "{}", String::from_utf8_lossy(&waits.stderr));
    let made = world.lines(&["queue", "run", "--pull", "--json"]);
    let picture = made.iter().find(|line| line["event"] == "picture").unwrap_or_else(|| panic!("{made:?}"));
    assert!(Path::new(picture["path"].as_str().unwrap()).is_file());
    assert!(made.iter().any(|line| line["event"] == "pull") && made.iter().any(|line| line["state"] == "done"), "{made:?}");
}
