//! `atelier gallery` as processes of its own: several at once, and the system's trash.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use atelier_core::paths::HOME_VARIABLE;
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_media::{Metadata, write_picture};

struct Home(tempfile::TempDir);

impl Home {
    fn new(pictures: u64) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for seed in 0..pictures {
            let recipe = Recipe { prompt: "a lake".into(), seed: Some(Seed(seed)), ..Recipe::default() };
            let image = Rgb8::new(8, 4, (0..96).map(|n| (n + seed * 9) as u8).collect()).unwrap();
            let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None, merged_loras: false };
            fs::create_dir_all(home.pictures()).unwrap();
            write_picture(&home.picture(seed), &image, &Metadata::of(&recipe, None, info, &[], &image)).unwrap();
        }
        home
    }

    fn pictures(&self) -> PathBuf {
        self.0.path().join("Pictures/Atelier")
    }

    fn picture(&self, seed: u64) -> PathBuf {
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

/// A PNG whose colour profile unpacks to so many bytes.
#[cfg(target_os = "linux")]
fn with_profile(path: &Path, bytes: usize) {
    use std::io::Write as _;

    let chunk = |kind: &[u8; 4], data: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(kind);
        crc.update(data);
        [&(data.len() as u32).to_be_bytes()[..], kind, data, &crc.sum().to_be_bytes()].concat()
    };
    let mut packed = flate2::write::ZlibEncoder::new(b"a\0\0".to_vec(), flate2::Compression::fast());
    packed.write_all(&vec![0; bytes]).unwrap();
    let plain = fs::read(path).unwrap();
    // Behind the signature and the header.
    let (start, rest) = plain.split_at(8 + 12 + 13);
    fs::write(path, [start, &chunk(b"iCCP", &packed.finish().unwrap()), rest].concat()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_picture_that_ends_the_program_is_left_out_at_the_next_start_and_tried_again_once_it_changes() {
    use std::os::unix::process::ExitStatusExt as _;

    /// Address space in which the program starts and scans, found in steps of so many KiB.
    const STEP_KIB: u64 = 16 << 10;
    let scan = |home: &Home, kib: u64| {
        let limits = format!("ulimit -v {kib}; ulimit -c 0; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limits, "sh", env!("CARGO_BIN_EXE_atelier"), "gallery", "scan"]);
        command.env(HOME_VARIABLE, home.0.path()).env("MALLOC_ARENA_MAX", "1").output().unwrap()
    };
    let room = (1..64).map(|steps| steps * STEP_KIB).find(|kib| scan(&Home::new(8), *kib).status.success()).unwrap();

    let home = Home::new(8);
    let plain = fs::read(home.picture(3)).unwrap();
    // Less than the decoder takes at most, and more than there is room for.
    with_profile(&home.picture(3), 60 << 20);
    let crashed = scan(&home, room + STEP_KIB);
    assert!(crashed.status.signal().is_some(), "it did not crash: {}", String::from_utf8_lossy(&crashed.stderr));
    // Within the same bounds.
    let next = scan(&home, room + STEP_KIB);
    let output = String::from_utf8_lossy(&next.stderr);
    assert!(next.status.success() && output.contains("3.png") && output.contains("skipped"), "{}: {output}", next.status);
    assert_eq!((home.found("lake"), home.found("is:damaged")), (7, 1));
    assert!(home.done(&["search", "is:damaged"], Path::new("")).contains("3.png"));

    fs::write(home.picture(3), plain).unwrap();
    home.done(&["scan"], Path::new(""));
    assert_eq!((home.found("lake"), home.found("is:damaged")), (8, 0));
}
