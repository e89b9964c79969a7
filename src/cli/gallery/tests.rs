use std::fs;

use clap::Parser;
use serde_json::Value;

use super::*;
use crate::cli::flags::{Cli, Command};
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_gallery::FileHash;
use atelier_media::{Metadata, read_settings, write_picture};

/// A trash beside the files.
struct TestTrash;

impl Trash for TestTrash {
    fn put(&mut self, path: &Path) -> Result<(), String> {
        fs::rename(path, path.with_extension("trashed")).map_err(|error| error.to_string())
    }

    fn restore(&mut self, path: &Path, _: FileHash) -> Result<(), String> {
        fs::rename(path.with_extension("trashed"), path).map_err(|error| error.to_string())
    }
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

    fn names(&self) -> Vec<String> {
        self.out.lines().map(|it| Path::new(it).file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }
}

/// A home with pictures of Atelier, and a person's folder.
struct World {
    home: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { home: tempfile::tempdir().unwrap() };
        world.write("Pictures/Atelier/lake.png", "a red lake", 1);
        world.write("art/night.png", "a lake by night", 2);
        world.write("art/deep/bird.png", "a bird", 3);
        world
    }

    fn at(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, prompt: &str, seed: u64) {
        let recipe = Recipe { prompt: prompt.into(), seed: Some(Seed(seed)), ..Recipe::default() };
        let image = Rgb8::new(8, 4, (0..96).map(|n| (n + seed * 9) as u8).collect()).unwrap();
        let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
        fs::create_dir_all(Path::new(&self.at(name)).parent().unwrap()).unwrap();
        write_picture(Path::new(&self.at(name)), &image, &Metadata::of(&recipe, None, info, &[], &image)).unwrap();
    }

    fn run(&self, args: &[&str]) -> RunOutcome {
        let Some(Command::Gallery(flags)) = Cli::try_parse_from([&["atelier", "gallery"], args].concat()).unwrap().command else {
            panic!()
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let paths = Paths::beneath(self.home.path());
        let env = GalleryEnv { out: &mut out, err: &mut err, terminal: false, paths, interrupt: Arc::default(), trash: &mut TestTrash };
        let exit = run(*flags, env);
        RunOutcome { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
    }

    fn done(&self, args: &[&str]) -> RunOutcome {
        let ran = self.run(args);
        assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
        ran
    }
}

#[test]
fn ateliers_own_pictures_are_found_at_once_and_a_folder_once_it_is_added() {
    let world = World::new();
    assert_eq!(world.done(&["search", "lake"]).names(), ["lake.png"]);
    let scan = world.done(&["scan", &world.at("art"), "--json"]);
    let lines = scan.lines();
    assert_eq!((lines[0]["event"].as_str(), lines[0]["added"].as_u64()), (Some("scan"), Some(2)));
    assert_eq!(world.done(&["search", "lake -night"]).names(), ["lake.png"]);
    assert_eq!(world.done(&["search", "lake -red", "--order", "name"]).names(), ["night.png"]);
    assert_eq!(world.done(&["search", "--", "-lake", "seed:1..9"]).names(), ["bird.png"]);
    assert_eq!(world.done(&["search", "--limit", "1"]).names().len(), 1);
    let json = world.done(&["search", "seed:3", "--json"]).lines();
    assert_eq!((json[0]["prompt"].as_str(), json[0]["kind"].as_str()), (Some("a bird"), Some("import")));
    assert!(world.done(&["scan"]).err.contains("art: 2 pictures."));
    world.done(&["scan", &world.at("art"), "--forget"]);
    assert_eq!(world.done(&["search"]).names(), ["lake.png"]);
}

#[test]
fn a_search_or_file_that_means_nothing_is_said_with_what_to_do() {
    let world = World::new();
    for (args, sentence) in [
        (&["search", "colour:red"][..], "\"colour\" is not a search field"),
        (&["search", "rating>=x"], "not a whole number"),
        (&["info", "gone.png"], "atelier gallery scan \".\""),
        (&["scan", "/no/such/folder"], "is not a folder"),
        (&["export", "a.png", "-o", "out", "--format", "webp", "--quality", "80"], "lossless"),
        (&["tag", " ", &world.at("Pictures/Atelier/lake.png")], "1 to 100 characters"),
    ] {
        let ran = world.run(args);
        assert_eq!(ran.exit, Exit::Usage, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(sentence) && ran.out.is_empty(), "{args:?}: {}", ran.err);
    }
}

#[test]
fn marks_are_kept_and_told() {
    let world = World::new();
    let (lake, night) = (world.at("Pictures/Atelier/lake.png"), world.at("art/night.png"));
    world.done(&["scan", &world.at("art")]);
    world.done(&["rate", "4", &lake, &night]);
    world.done(&["rate", "pick", &lake]);
    world.done(&["tag", "water", &lake, &night]);
    world.done(&["tag", "water", &night, "--remove"]);
    assert_eq!(world.done(&["search", "rating>=4", "tag:water", "flag:pick"]).names(), ["lake.png"]);
    let info = world.done(&["info", &lake]).out;
    for line in ["prompt:    a red lake", "rating:    4", "flag:      pick", "tags:      water", "seed:      1", "made with: Atelier"] {
        assert!(info.contains(line), "{line} in {info}");
    }
    let json = &world.done(&["info", &lake, "--json"]).lines()[0];
    assert_eq!((json["tags"][0].as_str(), json["recipe"]["seed"].as_i64(), json["parent"].is_null()), (Some("water"), Some(1), true));
    // A lost index is made again by the next command.
    fs::remove_file(world.at("data/gallery.sqlite")).unwrap();
    assert_eq!(world.done(&["search", "rating>=4"]).names().len(), 2);
    fs::write(world.at("data/gallery.sqlite"), [1; 4096]).unwrap();
    let again = world.done(&["search", "flag:pick"]);
    assert!(again.err.contains("was damaged") && again.names() == ["lake.png"], "{}", again.err);
}

#[test]
fn pictures_go_to_the_trash_and_come_back() {
    let world = World::new();
    let lake = world.at("Pictures/Atelier/lake.png");
    world.done(&["rm", &lake]);
    assert!(!Path::new(&lake).exists());
    assert_eq!(world.done(&["search"]).out, "");
    assert_eq!(world.done(&["search", "is:trashed"]).names(), ["lake.png"]);
    world.done(&["rm", "--restore", &lake]);
    assert_eq!(world.done(&["search"]).names(), ["lake.png"]);
    fs::remove_file(&lake).unwrap();
    world.done(&["rm", &lake]);
    let failed = world.run(&["rm", "--restore", &lake]);
    assert_eq!(failed.exit, Exit::Failed, "{}", failed.err);
}

#[test]
fn copies_are_exported_with_their_settings_or_without() {
    let world = World::new();
    let (lake, out) = (world.at("Pictures/Atelier/lake.png"), world.at("out"));
    for (args, name, has_prompt) in [
        (&["--format", "jpeg", "--quality", "80"][..], "lake.jpg", true),
        (&["--format", "webp", "--strip"], "lake.webp", false),
        (&["--strip"], "lake.png", false),
        (&[], "lake (2).png", true),
    ] {
        let ran = world.done(&[&["export", &lake, "-o", &out], args].concat());
        assert_eq!(ran.names(), [name]);
        let settings = read_settings(Path::new(ran.out.trim())).unwrap();
        assert_eq!(settings.prompt.as_deref(), has_prompt.then_some("a red lake"), "{name}");
    }
    let ran = world.done(&["export", &lake, &world.at("art/night.png"), "-o", &out, "--max-side", "4", "--name", "postcard"]);
    assert_eq!(ran.names(), ["postcard.png", "postcard (2).png"]);
    for copy in ran.out.lines() {
        let settings = read_settings(Path::new(copy)).unwrap();
        assert_eq!((settings.width, settings.height, settings.prompt.is_some()), (4, 2, true), "{copy}");
    }
    let failed = world.run(&["export", &world.at("gone.png"), &lake, "-o", &out]);
    assert_eq!((failed.exit, failed.names().len()), (Exit::Failed, 1));
}
