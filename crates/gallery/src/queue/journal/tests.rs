use std::fs;
use std::path::{Path, PathBuf};

use super::super::tests::{add, job, prompts, written};
use super::super::{JobOutcome, LastEnd, NewJob, Owner, User};
use super::*;
use crate::DatabaseState;
use atelier_core::recipe::{Recipe, Seed};

struct Lost {
    home: tempfile::TempDir,
}

impl Lost {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.home.path().join("gallery.sqlite")
    }

    fn journals(&self) -> PathBuf {
        self.home.path().join("gallery-journals")
    }

    fn open(&self) -> Database {
        Database::open(&self.file()).unwrap().0
    }

    fn destroy(&self) -> Database {
        fs::write(self.file(), [3; 5000]).unwrap();
        let (database, state) = Database::open(&self.file()).unwrap();
        assert!(matches!(state, DatabaseState::PutAside(_)), "{state:?}");
        database
    }
}

fn finish(database: &mut Database, folder: &Path, id: QueuedJobId) {
    assert!(database.start_job(id).unwrap());
    database.begin_job(id, Seed::MAX).unwrap();
    for index in 0..3 {
        let reservation = written(database, folder, id, index);
        database.record_job_picture(&reservation).unwrap();
    }
    assert_eq!(database.end_job(id, &JobOutcome::Done).unwrap(), Some(JobState::Done));
}

#[test]
fn of_three_jobs_the_two_that_wait_come_back_in_their_order_and_the_one_that_is_done_does_not() {
    let it = Lost::new();
    let mut database = it.open();
    let [a, b, c] = ["a", "b", "c"].map(|prompt| add(&mut database, prompt));
    database.move_job(c, Some(b)).unwrap();
    database.set_job_device(b, Some("CUDA1")).unwrap();
    finish(&mut database, it.home.path(), a);
    let before = [c, b].map(|id| job(&database, id));
    drop(database);
    for lose in [Lost::destroy, |it: &Lost| {
        fs::remove_file(it.file()).unwrap();
        it.open()
    }] {
        let mut database = lose(&it);
        assert_eq!(prompts(&database), ["c", "b"]);
        assert_eq!([c, b].map(|id| job(&database, id)), before);
        assert_eq!(database.jobs().unwrap().len(), 2, "what is done is not made again");
        let next = add(&mut database, "d");
        assert!(next > c, "a number is not given twice");
        assert_eq!(database.cancel_job(next).unwrap(), Some(JobState::Cancelled));
    }
}

#[test]
fn a_job_that_was_half_made_keeps_its_pictures_and_its_seed() {
    let it = Lost::new();
    let mut database = it.open();
    let [half, whole] = ["half", "whole"].map(|prompt| add(&mut database, prompt));
    for (id, pictures) in [(half, 2), (whole, 3)] {
        assert!(database.start_job(id).unwrap());
        database.begin_job(id, Seed::MAX).unwrap();
        for index in 0..pictures {
            let reservation = written(&mut database, it.home.path(), id, index);
            database.record_job_picture(&reservation).unwrap();
        }
    }
    drop(database);
    let mut database = it.destroy();
    assert_eq!(database.recover_queue(LastEnd::Killed).unwrap().held, []);
    let back = job(&database, half);
    assert_eq!((back.state, back.missing_pictures(), back.first_seed), (JobState::Waiting, Some(2..3), Some(Seed::MAX)));
    assert_eq!(job(&database, whole).state, JobState::Done, "its last picture was kept before its end was");
    // A picture that was taken away is made again.
    fs::remove_file(&back.pictures[0].path).unwrap();
    drop(database);
    assert_eq!(job(&it.destroy(), half).missing_pictures(), Some(0..1));
}

#[test]
fn a_journal_that_cannot_be_written_holds_nothing_up_and_is_made_up_for() {
    let it = Lost::new();
    let mut database = it.open();
    fs::create_dir_all(it.journals().join("queue.jsonl")).unwrap();
    add(&mut database, "a");
    fs::remove_dir(it.journals().join("queue.jsonl")).unwrap();
    add(&mut database, "b");
    drop(database);
    assert_eq!(prompts(&it.destroy()), ["a", "b"]);
}

#[cfg(unix)]
#[test]
fn a_journal_that_cannot_be_read_now_is_read_at_the_next_opening() {
    let it = Lost::new();
    let mut database = it.open();
    add(&mut database, "a");
    database.create_board("mine").unwrap();
    database.write_journals().unwrap();
    drop(database);
    let (there, away) = (it.journals(), it.home.path().join("away"));
    fs::rename(&there, &away).unwrap();
    // A name that leads to itself is there, and nobody can read it.
    std::os::unix::fs::symlink(&there, &there).unwrap();
    let mut database = it.destroy();
    assert!(!database.is_restored().unwrap());
    database.write_journals().unwrap();
    add(&mut database, "b");
    drop(database);
    fs::remove_file(&there).unwrap();
    fs::rename(&away, &there).unwrap();
    let database = it.open();
    assert!(database.is_restored().unwrap() && database.boards().unwrap().len() == 1);
    // The new job took the number of the lost one; both wait.
    let mut waiting = prompts(&database);
    waiting.sort();
    assert_eq!(waiting, ["a", "b"]);
}

#[test]
fn any_line_is_read_without_fault_and_a_long_journal_is_written_anew() {
    let it = Lost::new();
    let mut database = it.open();
    let kept = add(&mut database, "kept");
    for n in 0..300 {
        let id = add(&mut database, &format!("job {n}"));
        database.cancel_job(id).unwrap();
    }
    let path = it.journals().join("queue.jsonl");
    let long = fs::metadata(&path).unwrap().len();
    database.compact_queue_journal().unwrap();
    assert!(fs::metadata(&path).unwrap().len() * 50 < long);
    for line in [
        "{}",
        "[]",
        "{\"id\":-4,\"job\":{}}",
        "{\"id\":7,\"job\":{\"recipe\":\"[\",\"pictures\":[{\"path\":\"/\",\"sha256\":\"x\"}]}}",
        "\u{0}",
    ] {
        append_lines(&path, &[serde_json::from_str::<serde_json::Value>(line).unwrap_or_default()], true).unwrap();
    }
    drop(database);
    let mut database = it.destroy();
    assert_eq!(job(&database, kept).recipe.prompt, "kept");
    assert!(add(&mut database, "next").0 > 301);
}

#[test]
fn a_job_that_comes_back_still_belongs_to_who_asked_for_it() {
    let it = Lost::new();
    let mut database = it.open();
    let recipe = Recipe { prompt: "b".into(), ..Recipe::default() };
    let (folder, model, preview) = (PathBuf::from("/pictures"), "a".to_owned(), String::new());
    let (wanted_model, device, group, owner, user) = (None, None, None, Owner::named("Anna"), User::named("anna@example.org"));
    let new = NewJob { recipe, lane: Lane::Batch, folder, model, wanted_model, device, preview, group, owner, user };
    let id = database.add_job(&new).unwrap();
    drop(database);
    let found = job(&it.destroy(), id);
    assert_eq!((found.owner, found.user), (Owner::named("Anna"), user));
}
