//! Every reader over a stored corpus, as it is and with random damage, and over bombs: none of it
//! may end in a panic, and none may take more memory and time than a reader has.
//!
//! On Linux the bodies run in a process of their own, with the address space and the processor time
//! of a reader. `ATELIER_FUZZ_MUTATIONS` sets how many damaged files each reader gets (400),
//! `ATELIER_FUZZ_SEED` their seed. The bodies are those of the targets in `fuzz/`, which search
//! without end. `ATELIER_BOMBS` names a folder that keeps the bombs, to measure another build with
//! them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "the fuzz targets call them from outside")]
mod bodies;
#[cfg(target_os = "linux")]
#[path = "support/bombs.rs"]
#[allow(unreachable_pub, reason = "a module of one test")]
mod bombs;

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

fn style_list(bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("styles.csv");
    fs::write(&path, bytes).unwrap();
    atelier_studio::styles::read_style_list(&path).is_ok_and(|styles| !styles.is_empty())
}

fn style(bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("style.json"), bytes).unwrap();
    !atelier_studio::styles::read_styles(folder.path()).styles.is_empty()
}

fn readers() -> Vec<Reader> {
    let mut all = READERS.to_vec();
    all.extend([("style_list", style_list as fn(&[u8]) -> bool), ("style", style)]);
    #[cfg(feature = "gui")]
    all.push(("settings", settings));
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

/// Lets a reader read damaged files of its corpus; fails where one ends in a panic.
fn read_damaged(name: &str, read: fn(&[u8]) -> bool) {
    let (mutations, seed) = (number("ATELIER_FUZZ_MUTATIONS", DEFAULT_MUTATIONS), number("ATELIER_FUZZ_SEED", 1));
    let corpus = corpus(name);
    let mut taken = 0;
    for index in 0..mutations {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(index));
        let (path, bytes) = &corpus[random.below(corpus.len())];
        let mut bytes = bytes.clone();
        random.damage(&mut bytes);
        // Where the process ends, this is the last line of it.
        println!("{name}, seed {seed}, change {index} of {}", path.display());
        let result = panic::catch_unwind(|| read(&bytes));
        let is_taken = result.unwrap_or_else(|_| panic!("{name}, seed {seed}, change {index} of {}", path.display()));
        taken += u64::from(is_taken);
    }
    println!("{name}: {mutations} damaged files, seed {seed}, {taken} taken");
}

#[cfg(not(target_os = "linux"))]
#[test]
fn damaged_files_are_taken_or_refused() {
    for (name, read) in readers() {
        read_damaged(name, read);
    }
}

/// Readers in a process of their own.
#[cfg(target_os = "linux")]
mod bounded {
    use std::process::{Command, Output};

    use super::*;

    /// Address space of a reader, in KiB: 512 MiB for all that the process maps, its program
    /// included.
    const ADDRESS_SPACE_KIB: u64 = 512 << 10;
    /// Processor time for one file, in seconds; the slowest bomb takes a few in a debug build. It
    /// does not count while others compute.
    const BOMB_SECS: u64 = 30;
    /// Processor time for all damaged files of a reader, for each thousand of them.
    const DAMAGED_SECS_PER_THOUSAND: u64 = 300;

    /// The reader of this process, and the file that it reads; without a file, it reads damaged
    /// ones.
    const READER: &str = "ATELIER_TEST_READER";
    const FILE: &str = "ATELIER_TEST_FILE";

    /// Runs a reader within its bounds.
    fn run(reader: &str, file: Option<&Path>, secs: u64) -> Output {
        let program = env::current_exe().unwrap();
        let mut command = Command::new("sh");
        let limits = format!("ulimit -v {ADDRESS_SPACE_KIB}; ulimit -t {secs}; ulimit -c 0; exec \"$@\"");
        command.args(["-c", &limits, "sh"]).arg(program);
        command.args(["--exact", "bounded::a_reader_in_a_process_of_its_own", "--ignored", "--nocapture", "--test-threads=1"]);
        // Each arena of the allocator would take 64 MiB of address space.
        command.env(READER, reader).env("MALLOC_ARENA_MAX", "1");
        if let Some(file) = file {
            command.env(FILE, file);
        }
        command.output().unwrap()
    }

    /// What a process said of the file that it read.
    fn told(output: &Output) -> String {
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().find_map(|line| line.split_once(MARK)).map_or_else(String::new, |(_, told)| told.to_owned())
    }

    /// What stands before the words about a file that was read.
    const MARK: &str = "read: ";

    #[test]
    #[ignore = "the other tests run it"]
    fn a_reader_in_a_process_of_its_own() {
        let Ok(name) = env::var(READER) else { return };
        let (_, read) = readers().into_iter().find(|(it, _)| *it == name).unwrap();
        let Some(file) = env::var_os(FILE) else { return read_damaged(&name, read) };
        let bytes = fs::read(file).unwrap();
        let before = peak_mib();
        let is_taken = read(&bytes);
        let word = if is_taken { "taken" } else { "refused" };
        println!("{MARK}{word:<8} {:6.2} s {:5} MiB at most, {before} before", processor_secs(), peak_mib());
    }

    /// The most memory that this process has taken, in MiB.
    fn peak_mib() -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
    }

    /// Processor time of this thread, in seconds.
    fn processor_secs() -> f64 {
        let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        times.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
    }

    #[test]
    fn damaged_files_are_taken_or_refused() {
        let mutations = number("ATELIER_FUZZ_MUTATIONS", DEFAULT_MUTATIONS);
        for (name, _) in readers() {
            let output = run(name, None, mutations * DAMAGED_SECS_PER_THOUSAND / 1000 + BOMB_SECS);
            let text = String::from_utf8_lossy(&output.stdout);
            let last = text.lines().rfind(|line| line.starts_with(name)).unwrap_or_default();
            assert!(output.status.success(), "{name}: {}; {last}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
            println!("{last}");
        }
    }

    #[test]
    fn bombs_are_refused_or_read_within_the_memory_and_time_of_a_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb");
        let mut failed = Vec::new();
        for (name, _) in readers() {
            for (bomb, bytes) in bombs::bombs(name) {
                if let Some(kept) = env::var_os("ATELIER_BOMBS") {
                    let plain = bomb.replace(|c: char| !c.is_alphanumeric(), "_");
                    fs::write(Path::new(&kept).join(format!("{name}.{plain}")), &bytes).unwrap();
                }
                fs::write(&path, &bytes).unwrap();
                let output = run(name, Some(&path), BOMB_SECS);
                let line = told(&output);
                println!("{name:<17} {bomb:<60} {:>10} bytes {line}", bytes.len());
                if !output.status.success() {
                    failed.push(format!("{name}, {bomb}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
                }
            }
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}
