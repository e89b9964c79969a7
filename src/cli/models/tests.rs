use std::collections::BTreeMap;
use std::time::SystemTime;

use clap::Parser;
use serde_json::Value;
use testkit::tiny::{self, Options};

use super::*;
use crate::cli::flags::{Cli, Command};
use atelier_library::MANIFEST;

/// A home with a downloaded model and a person's ComfyUI folder.
struct World {
    home: tempfile::TempDir,
}

struct RunOutcome {
    exit: Exit,
    out: String,
    err: String,
}

impl RunOutcome {
    /// The lines of `--json`.
    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|it| serde_json::from_str(it).unwrap_or_else(|error| panic!("{error}: {it}"))).collect()
    }
}

impl World {
    fn new() -> Self {
        let world = Self { home: tempfile::tempdir().unwrap() };
        let comfy = world.at("comfy/models");
        for folder in ["checkpoints", "diffusion_models", "text_encoders", "vae_approx", "loras"] {
            fs::create_dir_all(comfy.join(folder)).unwrap();
        }
        let files = tiny::zimage(&comfy, &Options { vocabulary: 151_936, ..Options::default() }).unwrap();
        fs::rename(files.diffusion, comfy.join("diffusion_models/tiny-zimage.safetensors")).unwrap();
        fs::rename(files.llm, comfy.join("text_encoders/tiny-qwen3.safetensors")).unwrap();
        fs::rename(files.taesd, comfy.join("vae_approx/tiny-taesd.safetensors")).unwrap();
        tiny::lora(&comfy.join("loras"), &Options::default()).unwrap();
        fs::write(comfy.join("checkpoints/old.ckpt"), "a pickle").unwrap();
        fs::write(comfy.join("checkpoints/cut.safetensors"), "cut").unwrap();
        fs::write(world.at("comfy/models/notes.txt"), "mine").unwrap();
        let mine = world.at("models/mine");
        fs::create_dir_all(&mine).unwrap();
        fs::write(mine.join("up.pth"), "abc").unwrap();
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let manifest = format!(r#"{{"id":"mine","name":"Mine","files":[{{"role":"upscaler","filename":"up.pth","sha256":"{sum}"}}]}}"#);
        fs::write(mine.join(MANIFEST), manifest).unwrap();
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn run(&self, args: &[&str]) -> RunOutcome {
        let Some(Command::Models(flags)) = Cli::try_parse_from([&["atelier", "models"], args].concat()).unwrap().command else { panic!() };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let around = ModelsEnv {
            out: &mut out,
            err: &mut err,
            terminal: false,
            paths: Paths::beneath(self.home.path()),
            interrupt: Arc::default(),
            trash: |path| fs::rename(path, path.with_extension("trashed")).map_err(|error| error.to_string()),
        };
        let exit = run(*flags, around);
        RunOutcome { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
    }

    fn done(&self, args: &[&str]) -> RunOutcome {
        let ran = self.run(args);
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
        ran
    }

    fn add_comfy(&self) {
        self.done(&["add", self.at("comfy").to_str().unwrap()]);
    }
}

/// Everything in a folder: what it is, its bytes, its times.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime, Option<SystemTime>)> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::metadata(&path).unwrap();
            #[cfg(unix)]
            let changed = {
                use std::os::unix::fs::MetadataExt;
                SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::new(metadata.ctime() as u64, metadata.ctime_nsec() as u32))
            };
            #[cfg(not(unix))]
            let changed = None;
            let bytes = if metadata.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            tree.insert(path, (bytes, metadata.modified().unwrap(), changed));
        }
    }
    tree
}

#[test]
fn a_persons_folder_is_byte_for_byte_and_time_for_time_unchanged_by_everything() {
    let world = World::new();
    let before = tree(&world.at("comfy"));
    assert!(before.len() > 10);
    let comfy = world.at("comfy");
    let lora = comfy.join("models/loras/tiny-lora.safetensors");
    world.add_comfy();
    for args in [
        &["list"][..],
        &["list", "--here", "--json"],
        &["search", "z-image"],
        &["info", "tiny-zimage"],
        &["info", lora.to_str().unwrap()],
        &["du"],
        &["verify"],
    ] {
        world.done(args);
    }
    for args in [&["rm", "tiny-zimage"][..], &["rm", "z-image-turbo"], &["verify", "tiny-zimage"], &["rm", "gone"]] {
        assert_eq!(world.run(args).exit, Exit::Usage, "{args:?}");
    }
    // The folder as the one for downloads: nothing in it was downloaded.
    let root = comfy.join("models");
    assert_eq!(world.run(&["rm", "tiny-zimage", "--models-root", root.to_str().unwrap()]).exit, Exit::Usage);
    world.done(&["add", "--forget", comfy.to_str().unwrap()]);
    assert_eq!(tree(&comfy), before);
}

#[test]
fn models_are_listed_with_their_states_for_people_and_for_programs() {
    let world = World::new();
    let added = world.done(&["add", world.at("comfy").to_str().unwrap()]);
    assert!(added.out.contains("(ComfyUI) is used in place: 1 diffusion, 1 llm, 1 lora, 2 model, 1 tae."), "{}", added.out);
    let table = world.done(&["list", "--here"]).out;
    let rows: Vec<Vec<&str>> = table.lines().map(|it| it.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["MODEL", "STATE", "SIZE", "FAMILY", "NAME"]);
    assert_eq!(rows[1], ["mine", "on", "disk", "3", "bytes", "Mine"]);
    assert_eq!(rows[2][..3], ["tiny-zimage", "in", "place"]);
    assert_eq!(rows[3], ["KIND", "STATE", "SIZE", "FAMILY", "FILE"]);
    let mut files: Vec<(&str, &str)> = rows[4..].iter().map(|it| (it[0], it.last().unwrap().rsplit('/').next().unwrap())).collect();
    files.sort_unstable();
    let expected = [
        ("LoRA", "tiny-lora.safetensors"),
        ("Model", "cut.safetensors"),
        ("Model", "old.ckpt"),
        ("Part", "tiny-qwen3.safetensors"),
        ("Part", "tiny-taesd.safetensors"),
    ];
    assert_eq!(files, expected);
    let lines = world.done(&["list", "--json"]).lines();
    let state = |name: &str| lines.iter().find(|it| it["id"].as_str().unwrap().ends_with(name)).unwrap()["state"].clone();
    assert_eq!((state("tiny-lora.safetensors"), state("old.ckpt")), ("in_place".into(), "listed".into()));
    assert!(lines.len() > 25 && lines.iter().all(|it| it["event"] == "model"));
    let found = world.done(&["search", "turbo", "Z-IMAGE", "--json"]).lines();
    assert_eq!((found.len(), found[0]["id"].as_str(), found[0]["state"].as_str()), (1, Some("z-image-turbo"), Some("catalogue")));
    assert_eq!(found[0]["variants"][0]["name"], "Q8_0");
}

#[test]
fn a_model_and_a_file_are_described() {
    let world = World::new();
    world.add_comfy();
    let model = world.done(&["info", "tiny-zimage"]).out;
    for part in ["state:    in place", "family:   Z-Image", "Diffusion: ", "Text encoder (LLM): "] {
        assert!(model.contains(part), "{part}: {model}");
    }
    let lora = world.at("comfy/models/loras/tiny-lora.safetensors");
    assert!(world.done(&["info", lora.to_str().unwrap()]).out.contains("kind:     Z-Image LoRA"));
    let pickle = world.done(&["info", world.at("comfy/models/checkpoints/old.ckpt").to_str().unwrap(), "--json"]).lines();
    assert!(pickle[0]["problem"].as_str().unwrap().contains("Pickle"));
    let unknown = world.run(&["info", "tiny-zimag"]);
    assert_eq!(
        (unknown.exit, unknown.err.as_str()),
        (Exit::Usage, "error: There is no model or file named tiny-zimag. Did you mean tiny-zimage?\n")
    );
}

#[test]
fn a_wrong_entry_of_a_catalogue_is_told_and_the_others_are_listed() {
    let world = World::new();
    let file = world.at("own.json");
    fs::write(&file, "[\n{\"id\":\"x\",\"name\":\"X\",\"files\":[]},\n{\"id\":\"Y\"}\n]").unwrap();
    let ran = world.done(&["list", "--catalogue", file.to_str().unwrap()]);
    assert!(ran.err.starts_with("warning: ") && ran.err.contains("own.json, line 3: \"Y\" is not an id"), "{}", ran.err);
    assert!(ran.out.lines().any(|it| it.starts_with("x ")));
    fs::create_dir_all(world.at("catalogues")).unwrap();
    fs::rename(&file, world.at("catalogues/own.json")).unwrap();
    assert!(world.done(&["list"]).out.lines().any(|it| it.starts_with("x ")));
}

#[test]
fn every_byte_of_a_download_is_verified() {
    let world = World::new();
    let ran = world.done(&["verify"]);
    assert!(ran.out.starts_with("right    ") && ran.out.trim_end().ends_with("up.pth"), "{}", ran.out);
    fs::write(world.at("models/mine/up.pth"), "abd").unwrap();
    let ran = world.run(&["verify", "mine", "--json"]);
    assert_eq!((ran.exit, ran.lines()[0]["verdict"].as_str()), (Exit::Failed, Some("mismatch")));
}

#[test]
fn what_was_not_downloaded_is_not_taken_away() {
    let world = World::new();
    let ran = world.run(&["rm", "mine"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("mine was not downloaded by Atelier, so nothing is deleted."), "{}", ran.err);
    assert!(world.at("models/mine/up.pth").is_file());
}

#[test]
fn use_of_the_disk_is_told_by_model_and_by_folder() {
    let world = World::new();
    world.add_comfy();
    let lines = world.done(&["du", "--json"]).lines();
    let models: Vec<&str> = lines[0]["models"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(models, ["tiny-zimage", "mine"]);
    let folders: Vec<(u64, &str)> =
        lines[0]["folders"].as_array().unwrap().iter().map(|it| (it["files"].as_u64().unwrap(), it["layout"].as_str().unwrap())).collect();
    assert_eq!(folders, [(1, "atelier"), (6, "comfyui")]);
    assert!(world.done(&["du"]).out.contains(" in all"));
}

#[test]
fn a_folder_is_added_once_and_forgotten_once() {
    let world = World::new();
    world.add_comfy();
    let again = world.run(&["add", world.at("comfy").to_str().unwrap()]);
    assert!(again.exit == Exit::Failed && again.err.contains("is already in use"), "{}", again.err);
    assert_eq!(world.run(&["add", world.at("none").to_str().unwrap()]).exit, Exit::Failed);
    world.done(&["add", "--forget", world.at("comfy").to_str().unwrap()]);
    assert_eq!(world.run(&["add", "--forget", world.at("comfy").to_str().unwrap()]).exit, Exit::Usage);
}
