//! The queue on disk: order, states, pictures, and what is left after the program was ended.

use std::fs;
use std::path::{Path, PathBuf};

use atelier_core::recipe::{FileRole, PictureInfo, Recipe, Rgb8, Seed};
use atelier_media::{Metadata, write_picture};
use proptest::prelude::*;

use super::*;
use crate::{Database, PictureId};

fn new_job(prompt: &str, lane: Lane) -> NewJob {
    let mut recipe = Recipe { prompt: prompt.into(), batch_count: 3, ..Recipe::default() };
    recipe.files.set(FileRole::Model, "/models/a.safetensors");
    let (folder, model) = (PathBuf::from("/pictures"), "a".to_owned());
    NewJob::of_person(recipe, lane, folder, model)
}

pub(super) fn add(database: &mut Database, prompt: &str) -> QueuedJobId {
    database.add_job(&new_job(prompt, Lane::Batch)).unwrap()
}

pub(super) fn prompts(database: &Database) -> Vec<String> {
    database.jobs().unwrap().into_iter().filter(|job| !job.state.is_ended()).map(|job| job.recipe.prompt.clone()).collect()
}

pub(super) fn job(database: &Database, id: QueuedJobId) -> QueuedJob {
    database.job(id).unwrap().unwrap()
}

/// Writes a picture of a job as the studio does, up to its row.
pub(super) fn written(database: &mut Database, folder: &Path, id: QueuedJobId, index: u32) -> PictureReservation {
    let image = Rgb8::new(8, 4, vec![index as u8; 96]).unwrap();
    let path = folder.join(format!("{id} {index}.png"));
    let made = folder.join("made.png");
    let info = PictureInfo { index, seed: Some(Seed(7)), cpu_math: None, merged_loras: false };
    write_picture(&made, &image, &Metadata::of(&Recipe::default(), None, info, &[], &image)).unwrap();
    let bytes = fs::read(&made).unwrap();
    let reservation = PictureReservation::new(id, index, path, &bytes);
    assert!(database.reserve_picture(&reservation).unwrap());
    fs::rename(made, &reservation.path).unwrap();
    reservation
}

#[test]
fn jobs_run_lane_by_lane_in_the_order_in_which_they_came_and_go_where_they_are_put() {
    let mut database = Database::in_memory().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|prompt| add(&mut database, prompt));
    database.add_job(&new_job("now", Lane::Interactive)).unwrap();
    assert_eq!(prompts(&database), ["now", "a", "b", "c"]);
    assert!(database.move_job(c, Some(a)).unwrap());
    assert_eq!(prompts(&database), ["now", "c", "a", "b"]);
    assert!(job(&database, c).is_placed && !job(&database, a).is_placed);
    assert!(database.move_job(c, None).unwrap());
    assert_eq!(prompts(&database), ["now", "a", "b", "c"]);
    // Into the gap before the same job again and again: keys are written anew where there is no
    // room between them.
    for _ in 0..60 {
        assert!(database.move_job(a, Some(c)).unwrap() && database.move_job(b, Some(c)).unwrap());
    }
    assert_eq!(prompts(&database), ["now", "a", "b", "c"]);
    assert!(database.start_job(a).unwrap());
    assert!(!database.move_job(a, None).unwrap(), "the engine has it");
    let copy = database.duplicate_job(b).unwrap().unwrap();
    assert_eq!(prompts(&database), ["now", "a", "b", "b", "c"]);
    assert_eq!(job(&database, copy).recipe, job(&database, b).recipe);
}

#[test]
fn a_waiting_job_is_edited_pinned_cancelled_and_tried_again_and_a_running_one_is_not_changed() {
    let mut database = Database::in_memory().unwrap();
    let id = add(&mut database, "a");
    let other = Recipe { prompt: "b".into(), ..Recipe::clone(&job(&database, id).recipe) };
    assert!(database.edit_job(id, &other, "a").unwrap() && database.set_job_device(id, Some("CUDA1")).unwrap());
    assert_eq!((*job(&database, id).recipe == other, job(&database, id).device.as_deref()), (true, Some("CUDA1")));
    assert!(database.start_job(id).unwrap() && !database.start_job(id).unwrap());
    assert!(!database.edit_job(id, &other, "a").unwrap() && !database.set_job_device(id, None).unwrap());
    assert_eq!(database.cancel_job(id).unwrap(), Some(JobState::Running));
    assert!(job(&database, id).cancel_requested);
    assert_eq!(database.end_job(id, &JobOutcome::Cancelled).unwrap(), Some(JobState::Cancelled));
    assert_eq!(database.end_job(id, &JobOutcome::Done).unwrap(), Some(JobState::Cancelled), "it ends once");
    assert!(database.retry_job(id).unwrap());
    assert_eq!((job(&database, id).state, job(&database, id).ended_ms), (JobState::Waiting, None));
    assert_eq!(database.cancel_waiting_jobs().unwrap(), 1);
    assert_eq!(database.forget_ended_jobs().unwrap(), 1);
    assert_eq!(database.jobs().unwrap(), []);
}

#[test]
fn a_batch_goes_on_with_the_pictures_that_are_missing_and_their_own_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = Database::in_memory().unwrap();
    let id = add(&mut database, "a");
    assert!(database.start_job(id).unwrap());
    database.begin_job(id, Seed(100)).unwrap();
    let reservation = written(&mut database, folder.path(), id, 1);
    assert_eq!(job(&database, id).pictures, [], "it counts once it is recorded");
    let picture = database.record_job_picture(&reservation).unwrap();
    assert_eq!(job(&database, id).pictures, [JobPicture { index: 1, path: reservation.path, picture }]);
    assert_eq!(database.end_job(id, &JobOutcome::Suspended).unwrap(), Some(JobState::Waiting));
    assert_eq!(job(&database, id).missing_pictures(), Some(0..1));
    let rest = job(&database, id).recipe_of(&(2..3));
    assert_eq!((rest.seed, rest.batch_count), (Some(Seed(102)), 1));
    assert!(database.start_job(id).unwrap());
    database.begin_job(id, Seed(102)).unwrap();
    let resumed = job(&database, id);
    assert_eq!((resumed.first_seed, resumed.attempts, resumed.resumes), (Some(Seed(100)), 2, 1), "the first seed stays");
}

#[test]
fn every_first_seed_is_kept_and_the_next_pictures_follow_it() {
    let mut database = Database::in_memory().unwrap();
    for (first, third) in [(Seed(1 << 63), Seed((1 << 63) + 2)), (Seed::MAX, Seed(1))] {
        let id = add(&mut database, "a");
        assert!(database.start_job(id).unwrap());
        database.begin_job(id, first).unwrap();
        let begun = job(&database, id);
        assert_eq!((begun.first_seed, begun.recipe_of(&(2..3)).seed), (Some(first), Some(third)));
        assert_eq!(database.end_job(id, &JobOutcome::Suspended).unwrap(), Some(JobState::Waiting));
    }
    let asked = Recipe { seed: Some(Seed::MAX), ..new_job("b", Lane::Batch).recipe };
    let id = database.add_job(&NewJob { recipe: asked, ..new_job("b", Lane::Batch) }).unwrap();
    assert_eq!(job(&database, id).recipe.seed, Some(Seed::MAX));
}

#[test]
fn after_a_kill_the_running_job_is_held_first_in_line_and_a_written_picture_is_found_and_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let mut database = Database::open(&path).unwrap().0;
    let (first, second, third) = (add(&mut database, "first"), add(&mut database, "second"), add(&mut database, "third"));
    for id in [second, third] {
        assert!(database.start_job(id).unwrap());
    }
    database.begin_job(second, Seed(5)).unwrap();
    database.note_step(second, StepProgress { picture: 1, done: 9, total: 20 }).unwrap();
    let found = written(&mut database, folder.path(), second, 0);
    // The second picture was reserved, and its file half written.
    let lost = PictureReservation::new(second, 1, folder.path().join("lost.png"), b"bytes");
    assert!(database.reserve_picture(&lost).unwrap());
    fs::write(folder.path().join(lost.part_name()), b"by").unwrap();
    drop(database);

    let mut database = Database::open(&path).unwrap().0;
    let recovery = database.recover_queue(LastEnd::Killed).unwrap();
    assert_eq!(recovery, Recovery { held: vec![second], found: vec![found.path.clone()] });
    assert_eq!(prompts(&database), ["second", "first", "third"]);
    let held = job(&database, second);
    assert_eq!((held.state, held.crashes, held.missing_pictures()), (JobState::Held, 1, Some(1..3)));
    assert_eq!(held.progress, Some(StepProgress { picture: 1, done: 9, total: 20 }));
    let waiting = job(&database, third);
    assert_eq!((waiting.state, waiting.crashes, waiting.attempts), (JobState::Waiting, 0, 0), "the engine had not begun it");
    assert_eq!(job(&database, first).state, JobState::Waiting);
    assert!(found.path.is_file() && !folder.path().join(lost.part_name()).exists());
    assert_eq!(database.recover_queue(LastEnd::Killed).unwrap(), Recovery::default(), "nothing is left to do");

    assert!(database.retry_job(second).unwrap());
    assert_eq!(prompts(&database)[0], "second", "it stays first");
}

#[test]
fn a_job_that_ended_but_for_its_row_is_done_and_one_that_was_to_be_cancelled_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = Database::in_memory().unwrap();
    let (whole, unwanted) = (add(&mut database, "whole"), add(&mut database, "unwanted"));
    for id in [whole, unwanted] {
        assert!(database.start_job(id).unwrap());
        database.begin_job(id, Seed(1)).unwrap();
    }
    for index in 0..3 {
        written(&mut database, folder.path(), whole, index);
    }
    database.cancel_job(unwanted).unwrap();
    assert_eq!(database.recover_queue(LastEnd::Killed).unwrap().held, []);
    assert_eq!((job(&database, whole).state, job(&database, unwanted).state), (JobState::Done, JobState::Cancelled));
    assert_eq!(job(&database, whole).pictures.len(), 3);
}

#[test]
fn a_file_of_the_reserved_name_with_other_bytes_is_not_taken_for_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = Database::in_memory().unwrap();
    let id = add(&mut database, "a");
    assert!(database.start_job(id).unwrap());
    let reservation = written(&mut database, folder.path(), id, 0);
    fs::write(&reservation.path, b"a stranger's").unwrap();
    assert_eq!(database.recover_queue(LastEnd::Killed).unwrap().found, [] as [PathBuf; 0]);
    assert_eq!(fs::read(&reservation.path).unwrap(), b"a stranger's");
    let other = PictureReservation { index: 1, ..reservation.clone() };
    assert!(database.reserve_picture(&reservation).unwrap());
    assert!(!database.reserve_picture(&other).unwrap(), "a name is reserved once");
}

#[test]
fn the_state_of_the_whole_queue_is_kept_and_seen_by_other_connections() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gallery.sqlite");
    let (mut one, other) = (Database::open(&path).unwrap().0, Database::open(&path).unwrap().0);
    let before = other.data_version().unwrap();
    one.set_queue_pause(PauseMode::AfterPicture).unwrap();
    one.set_follows_model(false).unwrap();
    one.set_queue_wanted(true).unwrap();
    assert_ne!(other.data_version().unwrap(), before);
    let control = QueueControl { pause: PauseMode::AfterPicture, follows_model: false, is_wanted: true };
    assert_eq!(other.queue_control().unwrap(), control);
}

#[test]
fn the_newest_measurement_counts_most_and_the_end_is_predicted_from_it() {
    let mut database = Database::in_memory().unwrap();
    assert_eq!(database.pace("a", "").unwrap(), None);
    let pace = |step| Pace { step_secs_per_megapixel: step, decode_secs_per_megapixel: 2.0, start_secs: 3.0 };
    database.record_pace("a", "", &pace(1.0)).unwrap();
    database.record_pace("a", "", &pace(2.0)).unwrap();
    let measured = database.pace("a", "").unwrap().unwrap();
    assert!((measured.step_secs_per_megapixel - 1.4).abs() < 1e-9);
    assert!((measured.secs(2, 10, 1000, 1000) - (3.0 + 2.0 * (14.0 + 2.0))).abs() < 1e-9);
}

#[derive(Clone, Debug)]
enum Action {
    Add,
    Start(usize),
    End(usize, JobOutcome),
    Cancel(usize),
    Retry(usize),
    Move(usize, usize),
    Recover,
}

fn action() -> impl Strategy<Value = Action> {
    let outcome = prop_oneof![
        Just(JobOutcome::Done),
        Just(JobOutcome::Cancelled),
        Just(JobOutcome::Failed("it broke".into())),
        Just(JobOutcome::Suspended),
        Just(JobOutcome::Withdrawn),
    ];
    prop_oneof![
        Just(Action::Add),
        (0..8_usize).prop_map(Action::Start),
        (0..8_usize, outcome).prop_map(|(at, outcome)| Action::End(at, outcome)),
        (0..8_usize).prop_map(Action::Cancel),
        (0..8_usize).prop_map(Action::Retry),
        (0..8_usize, 0..8_usize).prop_map(|(at, before)| Action::Move(at, before)),
        Just(Action::Recover),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_job_is_ever_lost_or_listed_twice(actions in proptest::collection::vec(action(), 1..60)) {
        let mut database = Database::in_memory().unwrap();
        let mut ids = vec![add(&mut database, "first")];
        for action in actions {
            let id = |at: usize| ids[at % ids.len()];
            match action {
                Action::Add => ids.push(add(&mut database, "next")),
                Action::Start(at) => { database.start_job(id(at)).unwrap(); }
                Action::End(at, outcome) => { database.end_job(id(at), &outcome).unwrap(); }
                Action::Cancel(at) => { database.cancel_job(id(at)).unwrap(); }
                Action::Retry(at) => { database.retry_job(id(at)).unwrap(); }
                Action::Move(at, before) => { database.move_job(id(at), Some(id(before))).unwrap(); }
                Action::Recover => { database.recover_queue(LastEnd::Killed).unwrap(); }
            }
            let mut listed: Vec<_> = database.jobs().unwrap().iter().map(|job| job.id).collect();
            listed.sort();
            prop_assert_eq!(&listed, &ids);
        }
    }
}

#[test]
fn a_recorded_picture_is_a_row_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = Database::in_memory().unwrap();
    let id = add(&mut database, "a");
    assert!(database.start_job(id).unwrap());
    let reservation = written(&mut database, folder.path(), id, 0);
    let picture = database.record_job_picture(&reservation).unwrap();
    let query = "SELECT id, width, height FROM picture WHERE batch_id = (SELECT created_ms FROM job WHERE id = ?1)";
    let row = database.connection().query_row(query, [id.0], |row| Ok((PictureId(row.get(0)?), row.get(1)?, row.get(2)?))).unwrap();
    assert_eq!(row, (picture, 8, 4));
}

#[test]
fn a_job_belongs_to_who_asked_for_it_and_so_do_a_copy_and_its_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = Database::in_memory().unwrap();
    let of_person = add(&mut database, "a");
    let user = User::named("anna@example.org");
    let of_anna = database.add_job(&NewJob { owner: Owner::named("Anna"), user, ..new_job("b", Lane::Batch) }).unwrap();
    let copy = database.duplicate_job(of_anna).unwrap().unwrap();
    let owners = [of_person, of_anna, copy].map(|id| job(&database, id).owner);
    assert_eq!(owners, [Owner::person(), Owner::named("Anna"), Owner::named("Anna")]);
    assert!(owners[0].is_person() && !owners[1].is_person());
    assert_eq!([of_person, of_anna, copy].map(|id| job(&database, id).user), [User::default(), user, user]);
    for (id, owner) in [of_person, of_anna].into_iter().zip(&owners) {
        let reservation = written(&mut database, folder.path(), id, 0);
        let picture = database.record_job_picture(&reservation).unwrap();
        assert_eq!(database.picture(picture).unwrap().unwrap().owner, *owner);
        let bytes = fs::read(&reservation.path).unwrap();
        assert!(!bytes.windows(4).any(|it| it == b"Anna"), "its file does not tell");
    }
}
