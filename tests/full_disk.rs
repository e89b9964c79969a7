//! Commands on a disk that is full, protected against changes, or has a database of a newer or no
//! Atelier: each ends with a sentence, nothing is lost, and the same command does it once it can.
//! The window's side is in `studio/queue/tests/full_disk.rs`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::{FileRole, PictureInfo, Recipe, Rgb8, Seed};
use atelier_gallery::Database;
use atelier_gallery::queue::{JobState, Lane, NewJob, QueuedJob, QueuedJobId};
use atelier_library::BUILTIN_VARIABLE;
use atelier_media::{Metadata, write_picture};
use serde_json::Value;
use testkit::disk::SmallDisk;

/// Room for a database, its log and a few pictures.
const DISK: u64 = 3 << 20;
/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_mins(2);

/// How a command ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

fn start(home: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).env(BUILTIN_VARIABLE, home.join("none")).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of a command, which must come.
fn end(mut child: Child) -> Ended {
    let deadline = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() >= deadline {
            child.kill().unwrap();
            panic!("it does not end: {:?}", child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn run(home: &Path, args: &[&str]) -> Ended {
    end(start(home, args))
}

fn done(home: &Path, args: &[&str]) -> String {
    let ended = run(home, args);
    assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
    ended.out
}

/// Runs a command that must fail with a sentence of this content.
fn refused(home: &Path, args: &[&str], says: &str) -> Ended {
    let ended = run(home, args);
    let lines = ended.err.lines().filter(|line| line.starts_with("error: ")).count();
    assert!(ended.code == Some(1) && lines > 0 && ended.err.contains(says), "{args:?}: {ended:?}");
    ended
}

fn database(home: &Path) -> Database {
    Database::open(&Paths::beneath(home).gallery_file()).unwrap().0
}

fn add(home: &Path, prompt: &str, steps: u32) -> QueuedJobId {
    let recipe = Recipe { steps, prompt: prompt.into(), ..support::recipe() };
    let folder = Paths::beneath(home).pictures;
    let new = NewJob::of_person(recipe, Lane::Batch, folder, "tiny".into());
    database(home).add_job(&new).unwrap()
}

fn job(home: &Path, id: QueuedJobId) -> QueuedJob {
    database(home).job(id).unwrap().unwrap()
}

/// Waits until the engine is at a step of a job.
fn wait_for_step(home: &Path, id: QueuedJobId, child: &mut Child) -> QueuedJob {
    let database = database(home);
    let deadline = Instant::now() + LIMIT;
    loop {
        let job = database.job(id).unwrap().unwrap();
        if job.progress.is_some() {
            return job;
        }
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none(), "no step came: {job:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pictures(home: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(Paths::beneath(home).pictures).into_iter().flatten().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|it| it == "png")).collect()
}

/// Files that are no longer needed, or not yet whole.
fn left_overs(home: &Path) -> Vec<PathBuf> {
    let folders = [Paths::beneath(home).pictures, Paths::beneath(home).data];
    let files = folders.iter().flat_map(|it| fs::read_dir(it).into_iter().flatten()).map(|entry| entry.unwrap().path());
    files.filter(|path| path.to_string_lossy().ends_with(".part")).collect()
}

/// Flags of a recipe of the tiny model.
fn model_flags() -> Vec<String> {
    let files = support::files();
    let mut flags: Vec<String> =
        ["-W", "64", "-H", "64", "--cfg", "1", "--seed", "42", "-t", "1", "-p", "a lake"].map(str::to_owned).into();
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        flags.extend([flag.to_owned(), files.get(role).unwrap().to_str().unwrap().to_owned()]);
    }
    flags
}

fn with_model<'a>(command: &[&'a str], flags: &'a [String]) -> Vec<&'a str> {
    command.iter().copied().chain(flags.iter().map(String::as_str)).collect()
}

#[test]
fn a_job_is_added_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(DISK) else { return };
    let (home, flags) = (disk.path(), model_flags());
    done(home, &["queue", "list"]);
    disk.fill();
    refused(home, &with_model(&["queue", "add"], &flags), "disk is full");
    refused(home, &["queue", "list"], "disk is full");
    disk.make_room();
    assert!(done(home, &["queue", "list"]).contains("The queue is empty"));
    done(home, &with_model(&["queue", "add"], &flags));
    assert!(done(home, &["queue", "list"]).contains("a lake"));
}

#[test]
fn a_queue_whose_disk_is_full_at_the_start_or_becomes_full_at_a_step_ends_with_1_and_makes_the_rest_later() {
    let Some(disk) = SmallDisk::mount(DISK) else { return };
    let home = disk.path();
    let (id, next) = (add(home, "a lake", 60), add(home, "a forest", 1));
    disk.fill();
    refused(home, &["queue", "run"], "disk");
    disk.make_room();
    assert_eq!((job(home, id).state, job(home, id).crashes), (JobState::Waiting, 0));

    let mut running = start(home, &["queue", "run"]);
    wait_for_step(home, id, &mut running);
    disk.fill();
    let ended = end(running);
    assert!(ended.code == Some(1) && ended.err.contains("error: The queue cannot be written to disk"), "{ended:?}");
    let listed = done(home, &["queue", "list", "--json"]);
    let states: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(states.iter().filter(|it| it["event"] == "job").all(|it| it["state"] == "waiting" && it["crashes"] == 0), "{listed}");
    assert_eq!(pictures(home), [] as [PathBuf; 0]);
    disk.make_room();
    done(home, &["queue", "run"]);
    for id in [id, next] {
        let job = job(home, id);
        assert_eq!((job.state, job.crashes, job.pictures.len()), (JobState::Done, 0, 1));
        assert!(job.pictures[0].path.is_file());
    }
    assert_eq!((pictures(home).len(), left_overs(home)), (2, vec![]));
}

#[test]
fn a_mark_and_a_scan_and_a_picture_of_generate_are_refused_in_a_sentence_and_done_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(DISK) else { return };
    let home = disk.path();
    let image = Rgb8::new(8, 4, vec![9; 96]).unwrap();
    let write = |name: &str, seed: u64| {
        let (path, info) = (
            Paths::beneath(home).pictures.join(name),
            PictureInfo { index: 0, seed: Some(Seed(seed)), cpu_math: None, merged_loras: false },
        );
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_picture(&path, &image, &Metadata::of(&Recipe::default(), None, info, &[], &image)).unwrap();
        path
    };
    let picture = write("a.png", 1);
    let picture = picture.to_str().unwrap();
    done(home, &["gallery", "scan"]);
    write("b.png", 2);
    let output = disk.path().join("out.png");
    let flags = model_flags();
    let generate = with_model(&["generate", "--steps", "1", "-o", output.to_str().unwrap()], &flags);
    let rate = ["gallery", "rate", "4", picture];
    disk.fill();
    refused(home, &rate, "disk");
    refused(home, &["gallery", "scan"], "disk");
    refused(home, &generate, "space");
    assert!(!output.exists() && left_overs(home).is_empty());
    disk.make_room();
    done(home, &rate);
    done(home, &["gallery", "scan"]);
    done(home, &generate);
    assert!(image::open(&output).is_ok());
    assert_eq!(
        (done(home, &["gallery", "search", "rating:4"]).lines().count(), done(home, &["gallery", "search", ""]).lines().count()),
        (1, 3)
    );
}

#[test]
fn on_a_protected_disk_each_command_says_so_and_changes_nothing() {
    let Some(disk) = SmallDisk::mount(DISK) else { return };
    let (home, flags) = (disk.path(), model_flags());
    let id = add(home, "a lake", 1);
    done(home, &["gallery", "scan"]);
    let output = disk.path().join("out.png");
    let generate = with_model(&["generate", "--steps", "1", "-o", output.to_str().unwrap()], &flags);
    disk.protect(true);
    refused(home, &with_model(&["queue", "add"], &flags), "");
    refused(home, &["queue", "run"], "");
    refused(home, &["queue", "clear"], "");
    refused(home, &generate, "Read-only");
    disk.protect(false);
    assert_eq!((job(home, id).state, job(home, id).crashes, pictures(home).len()), (JobState::Waiting, 0, 0));
    done(home, &["queue", "run"]);
    done(home, &generate);
    assert_eq!((job(home, id).state, pictures(home).len()), (JobState::Done, 1));
}

#[test]
fn after_a_kill_the_list_tells_what_had_begun_and_what_is_cleared_is_not_made() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (id, next) = (add(home, "a lake", 400), add(home, "a forest", 400));
    let mut running = start(home, &["queue", "run"]);
    wait_for_step(home, id, &mut running);
    running.kill().unwrap();
    running.wait().unwrap();
    let listed = done(home, &["queue", "list"]);
    assert!(!listed.contains("  running  ") && listed.contains("Atelier stopped at step ") && listed.contains(" of 400"), "{listed}");
    assert!(listed.contains("These jobs are not running."), "{listed}");
    let json = done(home, &["queue", "list", "--json"]);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> = lines.iter().filter_map(|it| it["state"].as_str()).collect();
    assert_eq!(states, ["held", "waiting"], "{json}");
    assert!(lines[0]["reason"].as_str().unwrap().starts_with("Atelier stopped at step "), "{json}");

    assert!(done(home, &["queue", "clear"]).contains("2 jobs cancelled."));
    done(home, &["queue", "run"]);
    for id in [id, next] {
        assert_eq!(job(home, id).state, JobState::Cancelled);
    }
    assert_eq!(pictures(home), [] as [PathBuf; 0], "what was cleared is not made");

    // The same by its number.
    assert!(done(home, &["queue", "resume", &id.to_string()]).contains("waits for its turn"));
    let mut running = start(home, &["queue", "run"]);
    while job(home, id).began_ms.is_none() || job(home, id).state != JobState::Running {
        assert!(running.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(done(home, &["queue", "clear", &id.to_string()]).contains("is cancelled."));
    assert_eq!(job(home, id).state, JobState::Cancelled);
}

#[test]
fn a_database_of_a_newer_version_is_refused_by_every_command_and_stays_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let flags = model_flags();
    add(home, "a lake", 1);
    let path = Paths::beneath(home).gallery_file();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 1000).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    for args in [
        &["queue", "list"][..],
        &["queue", "run"],
        &["queue", "clear"],
        &["queue", "pause"],
        &["gallery", "search", "x"],
        &["gallery", "scan"],
    ] {
        refused(home, args, "newer version of Atelier");
    }
    refused(home, &with_model(&["queue", "add"], &flags), "newer version of Atelier");
    let output = home.join("out.png");
    let made = run(home, &with_model(&["generate", "--steps", "1", "-o", output.to_str().unwrap()], &flags));
    assert!(made.code == Some(0) && output.is_file() && made.err.contains("warning: ") && made.err.contains("newer version"), "{made:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!path.with_extension("sqlite.bad").exists());
}

#[test]
fn a_damaged_database_is_told_and_costs_no_waiting_job() {
    for command in [&["queue", "list"][..], &["queue", "run"]] {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let ids = [add(home, "a lake", 1), add(home, "a forest", 1)];
        database(home).cancel_job(ids[1]).unwrap();
        let path = Paths::beneath(home).gallery_file();
        fs::write(&path, [7; 9000]).unwrap();
        let ended = run(home, command);
        assert!(ended.code == Some(0) && ended.err.contains("warning: The index of your pictures was damaged"), "{ended:?}");
        assert_eq!(fs::read(path.with_extension("sqlite.bad")).unwrap(), [7; 9000]);
        let state = if command[1] == "run" { JobState::Done } else { JobState::Waiting };
        assert_eq!((job(home, ids[0]).state, database(home).job(ids[1]).unwrap()), (state, None));
    }
}
