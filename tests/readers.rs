//! Every reader over a stored corpus, as it is and with random damage: none of it may end in a panic.
//!
//! `ATELIER_FUZZ_MUTATIONS` sets how many damaged files each reader gets (400), `ATELIER_FUZZ_SEED` their seed. The bodies are those of the
//! targets in `fuzz/`, which search without end.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets call them from outside")]
mod bodies;

use std::env;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use bodies::{READERS, Reader};
use testkit::draft::Random;

const DEFAULT_MUTATIONS: u64 = 400;

fn number(name: &str, otherwise: u64) -> u64 {
    env::var(name).map_or(otherwise, |text| text.parse().expect(name))
}

/// The files that are stored for a reader, by name.
fn corpus(reader: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(reader);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[cfg(feature = "gui")]
fn settings(bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, bytes).unwrap();
    let _ = atelier::settings::load(&path);
    // A file that is no settings was put aside.
    path.exists()
}

fn readers() -> Vec<Reader> {
    let all = READERS.to_vec();
    #[cfg(feature = "gui")]
    let all = [all, vec![("settings", settings as fn(&[u8]) -> bool)]].concat();
    all
}

#[test]
fn every_stored_file_is_taken_by_its_reader() {
    // Without a recipe of Atelier's in it.
    const NOT_TAKEN: [&str; 1] = ["a1111.txt"];
    for (name, read) in readers() {
        for (path, bytes) in corpus(name) {
            let is_taken = !NOT_TAKEN.iter().any(|it| path.ends_with(it));
            assert_eq!(read(&bytes), is_taken, "{}", path.display());
        }
    }
}

#[test]
fn damaged_files_are_taken_or_refused() {
    let (mutations, seed) = (number("ATELIER_FUZZ_MUTATIONS", DEFAULT_MUTATIONS), number("ATELIER_FUZZ_SEED", 1));
    for (name, read) in readers() {
        let corpus = corpus(name);
        let mut taken = 0;
        for index in 0..mutations {
            let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(index));
            let (path, bytes) = &corpus[random.below(corpus.len())];
            let mut bytes = bytes.clone();
            random.damage(&mut bytes);
            let result = panic::catch_unwind(|| read(&bytes));
            let is_taken = result.unwrap_or_else(|_| panic!("{name}, seed {seed}, change {index} of {}", path.display()));
            taken += u64::from(is_taken);
        }
        println!("{name}: {mutations} damaged files, seed {seed}, {taken} taken");
    }
}
