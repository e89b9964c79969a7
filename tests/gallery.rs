//! `atelier gallery` as processes of its own: several at once, and the system's trash.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8};
use atelier_media::{Metadata, write_picture};

struct Home(tempfile::TempDir);

impl Home {
    fn new(pictures: i64) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for seed in 0..pictures {
            let recipe = Recipe { prompt: "a lake".into(), seed, ..Recipe::default() };
            let image = Rgb8::new(8, 4, (0..96).map(|n| (n + seed * 9) as u8).collect()).unwrap();
            let info = PictureInfo { index: 0, seed, cpu_math: None };
            fs::create_dir_all(home.pictures()).unwrap();
            write_picture(&home.picture(seed), &image, &Metadata::of(&recipe, None, info, &[], &image)).unwrap();
        }
        home
    }

    fn pictures(&self) -> PathBuf {
        self.0.path().join("Pictures/Atelier")
    }

    fn picture(&self, seed: i64) -> PathBuf {
        self.pictures().join(format!("{seed}.png"))
    }

    fn start(&self, args: &[&str], file: &Path) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
        command.env(HOME_VARIABLE, self.0.path()).env("XDG_DATA_HOME", self.0.path().join("xdg"));
        command.arg("gallery").args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !file.as_os_str().is_empty() {
            command.arg(file);
        }
        command.spawn().unwrap()
    }

    fn done(&self, args: &[&str], file: &Path) -> String {
        let Output { status, stdout, stderr } = self.start(args, file).wait_with_output().unwrap();
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    fn found(&self, query: &str) -> usize {
        self.done(&["search", query], Path::new("")).lines().count()
    }
}

#[test]
fn many_processes_mark_pictures_at_once_and_lose_nothing() {
    let home = Home::new(12);
    let running: Vec<Child> =
        (0..12).map(|seed| home.start(&["rate", if seed % 2 == 0 { "2" } else { "4" }], &home.picture(seed))).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!((home.found("rating:2"), home.found("rating:4"), home.found("lake")), (6, 6, 12));
    let journal = fs::read_to_string(home.pictures().join(".atelier-marks.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 12);
    for line in journal.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    fs::remove_dir_all(home.0.path().join("data")).unwrap();
    assert_eq!((home.found("rating:2"), home.found("rating:4")), (6, 6));
}

#[cfg(target_os = "linux")]
#[test]
fn the_systems_trash_takes_a_picture_and_gives_it_back() {
    let home = Home::new(2);
    let picture = home.picture(1);
    let bytes = fs::read(&picture).unwrap();
    for _ in 0..2 {
        home.done(&["rm"], &picture);
        assert!(!picture.exists());
        assert_eq!(fs::read(home.0.path().join("xdg/Trash/files/1.png")).unwrap(), bytes);
        assert_eq!((home.found(""), home.found("is:trashed")), (1, 1));
        home.done(&["rm", "--restore"], &picture);
        assert_eq!(fs::read(&picture).unwrap(), bytes);
        assert_eq!((home.found(""), home.found("is:trashed")), (2, 0));
    }
}
