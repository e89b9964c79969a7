//! The queue's thread with the test in the engine's place.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use atelier_core::recipe::{FileRole, ImageSource, InitImage, PictureInfo, Recipe, Rgb8, Seed};
use atelier_engine::{Begin, Control, End, EngineEnd, Event, JobId, Picture, Request, Task, Timings, channel};
use atelier_gallery::Database;
use atelier_gallery::queue::{JobState, Lane, LastEnd, NewJob, PauseMode, QueuedJobId};

use super::*;

mod full_disk;

/// Longest wait for a thread to answer; a machine that is busy may need it.
const LONG: Duration = Duration::from_mins(1);

/// A queue, and the engine's end of its handle.
struct Bench {
    service: QueueService,
    engine: EngineEnd,
    snapshot: Arc<QueueSnapshot>,
    events: Vec<QueueEvent>,
    folder: Arc<tempfile::TempDir>,
}

impl Bench {
    fn open() -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), |options| options)
    }

    fn at(folder: Arc<tempfile::TempDir>, change: impl FnOnce(QueueOptions) -> QueueOptions) -> Self {
        let (handle, engine) = channel(|| {});
        let paths = atelier_core::paths::Paths::beneath(folder.path());
        let options = change(QueueOptions::of_window(Some(&paths)));
        let service = QueueService::start(options, Arc::new(handle), || {}).unwrap();
        Self { service, engine, snapshot: Arc::default(), events: Vec::new(), folder }
    }

    fn add(&mut self, prompt: &str, lane: Lane, pictures: u32) -> QueuedJobId {
        self.add_with(prompt, lane, pictures, |_| {})
    }

    fn add_with(&mut self, prompt: &str, lane: Lane, pictures: u32, change: impl FnOnce(&mut NewJob)) -> QueuedJobId {
        let known = |snapshot: &QueueSnapshot| snapshot.rows.iter().map(|row| row.job.id).max();
        let last = known(&self.snapshot);
        let mut recipe = Recipe { prompt: prompt.into(), batch_count: pictures, ..Recipe::default() };
        recipe.files.set(FileRole::Model, "/a.gguf");
        let folder = self.folder.path().join("Pictures");
        let mut job = NewJob::of_person(recipe, lane, folder, "a".into());
        change(&mut job);
        self.service.send(QueueRequest::Add(Box::new(job)));
        self.until("the new job", |snapshot| known(snapshot) > last);
        known(&self.snapshot).unwrap()
    }

    /// Reads events until a snapshot is so.
    fn until(&mut self, what: &str, holds: impl Fn(&QueueSnapshot) -> bool) {
        let deadline = Instant::now() + LONG;
        while !holds(&self.snapshot) {
            assert!(Instant::now() < deadline, "waited in vain for {what}: {:#?}", self.snapshot);
            match self.service.next_within(Duration::from_millis(100)) {
                Some(QueueEvent::Snapshot(snapshot)) => self.snapshot = snapshot,
                Some(event) => self.events.push(event),
                None => {}
            }
        }
    }

    fn until_state(&mut self, id: QueuedJobId, state: JobState) {
        self.until(state.key(), |snapshot| snapshot.row(id).is_some_and(|row| row.job.state == state));
    }

    /// The next job that the engine is asked for.
    fn take(&mut self) -> (JobId, Recipe, Arc<std::sync::atomic::AtomicBool>) {
        loop {
            match self.engine.next().unwrap() {
                Request::Job { job, task: Task::Generate { recipe, .. } } => {
                    // One that was given back meanwhile is over.
                    if let Some(cancel) = self.engine.start(job) {
                        return (job, *recipe, cancel);
                    }
                }
                Request::Control(Control::Cancel(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn begin(&mut self, job: JobId, seeds: &[u64]) {
        let begin = Begin { width: 64, height: 64, steps: 4, seeds: seeds.iter().copied().map(Seed).collect(), notes: Vec::new() };
        self.engine.send(Event::Begin { job, begin });
    }

    fn picture(&mut self, job: JobId, index: u32, seed: u64) {
        let image = Arc::new(Rgb8::new(64, 64, vec![seed as u8; 64 * 64 * 3]).unwrap());
        let info = PictureInfo { index, seed: Some(Seed(seed)), cpu_math: None, merged_loras: false };
        self.engine.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image } });
    }

    fn done(&mut self, job: JobId) {
        let timings = Timings { denoise_secs: 4.0, ..Timings::default() };
        self.engine.send(Event::End { job, end: End::Done { pictures: Vec::new(), timings, notes: Vec::new() } });
    }

    fn files(&self) -> usize {
        let entries = std::fs::read_dir(self.folder.path().join("Pictures")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|it| it == "png")).count()
    }

    fn reason(&self, id: QueuedJobId) -> String {
        self.snapshot.row(id).unwrap().reason.as_ref().map(WaitReason::sentence).unwrap_or_default()
    }
}

fn is_set(cancel: &std::sync::atomic::AtomicBool) -> bool {
    let deadline = Instant::now() + LONG;
    while !cancel.load(Ordering::Relaxed) && Instant::now() < deadline {
        thread::yield_now();
    }
    cancel.load(Ordering::Relaxed)
}

#[test]
fn a_job_is_made_kept_and_done_and_its_seconds_predict_the_next_one() {
    let mut bench = Bench::open();
    let id = bench.add("a lake", Lane::Interactive, 2);
    let (job, recipe, _) = bench.take();
    assert_eq!((recipe.prompt.as_str(), recipe.batch_count), ("a lake", 2));
    bench.begin(job, &[7, 8]);
    for index in 0..2 {
        bench.picture(job, index, 7 + u64::from(index));
    }
    bench.done(job);
    bench.until_state(id, JobState::Done);
    let row = bench.snapshot.row(id).unwrap();
    assert_eq!((row.job.pictures.len(), row.job.first_seed, bench.files()), (2, Some(Seed(7)), 2));
    assert!(row.job.pictures.iter().all(|picture| picture.path.is_file()));
    let kept = bench.events.iter().filter(|event| matches!(event, QueueEvent::PictureKept { result: Ok(_), .. })).count();
    let ended = bench.events.iter().any(|event| matches!(event, QueueEvent::Ended(ended) if ended.is_last && ended.pictures == 2));
    assert!(kept == 2 && ended);

    let next = bench.add("a castle", Lane::Batch, 1);
    bench.until("the prediction", |snapshot| snapshot.row(next).unwrap().ends_in_secs.is_some());
}

#[test]
fn a_prompt_of_a_megabyte_is_queued_kept_over_a_restart_and_made() {
    let prompt = "word sky, (((".repeat(1_000_000 / 13);
    let mut bench = Bench::open();
    bench.service.send(QueueRequest::SetPause(PauseMode::AfterPicture));
    let id = bench.add(&prompt, Lane::Batch, 1);
    let folder = Arc::clone(&bench.folder);
    drop(bench);
    let mut bench = Bench::at(folder, |options| options);
    bench.until("the row", |snapshot| snapshot.row(id).is_some());
    let kept = bench.snapshot.row(id).unwrap().job.recipe.prompt.clone();
    let limit = atelier_core::recipe::ROWS.prompt.limits;
    assert!(kept.chars().count() >= limit && prompt.starts_with(&kept), "{} characters", kept.chars().count());
    bench.service.send(QueueRequest::SetPause(PauseMode::No));
    let (job, recipe, _) = bench.take();
    assert!(recipe.prompt.chars().count() >= limit);
    bench.begin(job, &[7]);
    bench.picture(job, 0, 7);
    bench.done(job);
    bench.until_state(id, JobState::Done);
    assert_eq!(bench.files(), 1);
}

#[test]
fn one_job_stands_at_the_engines_door_and_the_others_can_be_put_in_another_order() {
    let mut bench = Bench::open();
    let [first, second, third] = ["a", "b", "c"].map(|prompt| bench.add(prompt, Lane::Batch, 1));
    let (job, ..) = bench.take();
    bench.begin(job, &[1]);
    let (door, recipe, _) = bench.take();
    assert_eq!(recipe.prompt, "b");
    bench.until_state(second, JobState::Running);
    assert_eq!((bench.snapshot.waiting().count(), bench.reason(second)), (2, "Next".into()));

    bench.service.send(QueueRequest::Move(third, Some(second)));
    bench.until("the move", |snapshot| snapshot.row(third).unwrap().job.is_placed);
    // The engine gives the one back that it has not begun; here it had been taken, so its end is
    // ours to send.
    bench.engine.send(Event::End { job: door, end: End::Cancelled });
    let (_, recipe, _) = bench.take();
    assert_eq!(recipe.prompt, "c");
    bench.until_state(second, JobState::Waiting);
    assert_eq!(bench.snapshot.row(second).unwrap().job.attempts, 0);
    bench.picture(job, 0, 1);
    bench.done(job);
    bench.until_state(first, JobState::Done);
}

#[test]
fn a_batch_steps_aside_behind_its_picture_and_goes_on_with_the_rest() {
    let mut bench = Bench::open();
    let batch = bench.add("batch", Lane::Batch, 3);
    let (job, _, cancel) = bench.take();
    bench.begin(job, &[10, 11, 12]);
    let awaited = bench.add("now", Lane::Interactive, 1);
    let (now, recipe, _) = bench.take();
    assert_eq!(recipe.prompt, "now");
    assert!(!cancel.load(Ordering::Relaxed), "the forming picture is finished");
    bench.until_state(awaited, JobState::Running);
    bench.picture(job, 0, 10);
    assert!(is_set(&cancel));
    bench.engine.send(Event::End { job, end: End::Cancelled });
    bench.until_state(batch, JobState::Waiting);
    bench.begin(now, &[1]);
    let (rest, recipe, _) = bench.take();
    assert_eq!((recipe.seed, recipe.batch_count), (Some(Seed(11)), 2));
    bench.picture(now, 0, 1);
    bench.done(now);
    bench.until_state(awaited, JobState::Done);
    bench.begin(rest, &[11, 12]);
    bench.picture(rest, 0, 11);
    bench.picture(rest, 1, 12);
    bench.done(rest);
    bench.until_state(batch, JobState::Done);
    let job = &bench.snapshot.row(batch).unwrap().job;
    assert_eq!((job.pictures.len(), job.resumes, bench.files()), (3, 1, 4));
}

#[test]
fn a_pause_waits_for_the_picture_or_stops_it_and_nothing_is_lost() {
    let mut bench = Bench::open();
    let id = bench.add("a", Lane::Batch, 2);
    let (job, _, cancel) = bench.take();
    bench.begin(job, &[1, 2]);
    bench.service.send(QueueRequest::SetPause(PauseMode::AfterPicture));
    bench.until("the pause", |snapshot| snapshot.pause == PauseMode::AfterPicture);
    assert!(!cancel.load(Ordering::Relaxed));
    bench.picture(job, 0, 1);
    assert!(is_set(&cancel));
    bench.engine.send(Event::End { job, end: End::Cancelled });
    bench.until_state(id, JobState::Waiting);
    assert_eq!((bench.reason(id), bench.files()), ("The queue is paused".into(), 1));

    bench.service.send(QueueRequest::SetPause(PauseMode::No));
    let (job, recipe, cancel) = bench.take();
    assert_eq!((recipe.seed, recipe.batch_count), (Some(Seed(2)), 1));
    bench.begin(job, &[2]);
    bench.service.send(QueueRequest::SetPause(PauseMode::Now));
    assert!(is_set(&cancel), "at once");
    bench.engine.send(Event::End { job, end: End::Cancelled });
    bench.until_state(id, JobState::Waiting);
    assert_eq!(bench.snapshot.row(id).unwrap().job.pictures.len(), 1);
}

#[test]
fn jobs_are_cancelled_copied_edited_pinned_and_tried_again() {
    let mut bench = Bench::open();
    bench.service.send(QueueRequest::SetPause(PauseMode::AfterPicture));
    let (a, b) = (bench.add("a", Lane::Batch, 1), bench.add("b", Lane::Batch, 1));
    bench.service.send(QueueRequest::Duplicate(a));
    bench.until("the copy", |snapshot| snapshot.rows.len() == 3);
    let copy = bench.snapshot.rows[1].job.id;
    assert!(copy > b && bench.snapshot.rows[1].job.recipe.prompt == "a");
    let recipe = Recipe { prompt: "edited".into(), ..Recipe::clone(&bench.snapshot.row(b).unwrap().job.recipe) };
    bench.service.send(QueueRequest::Edit(b, Box::new(recipe), "a".into()));
    bench.service.send(QueueRequest::SetDevice(b, Some("CUDA1".into())));
    bench.service.send(QueueRequest::Cancel(a));
    bench.until_state(a, JobState::Cancelled);
    bench.service.send(QueueRequest::Retry(a));
    bench.until_state(a, JobState::Waiting);
    let order: Vec<_> = bench.snapshot.rows.iter().map(|row| row.job.recipe.prompt.clone()).collect();
    assert_eq!(order, ["a", "edited", "a"], "one that is tried again goes to the end");
    assert_eq!(bench.snapshot.row(a).unwrap().job.id, bench.snapshot.rows[2].job.id);
    bench.service.send(QueueRequest::CancelAll);
    bench.until("the end of all", |snapshot| snapshot.rows.iter().all(|row| row.job.state == JobState::Cancelled));
    bench.service.send(QueueRequest::ForgetEnded);
    bench.until("an empty queue", |snapshot| snapshot.rows.is_empty());

    bench.service.send(QueueRequest::SetPause(PauseMode::No));
    bench.add_with("pinned", Lane::Batch, 1, |job| job.device = Some("CUDA1".into()));
    assert_eq!(bench.take().1.placement.backend, "CUDA1");
}

#[test]
fn after_the_program_ended_without_a_word_one_question_is_asked_and_answered() {
    let mut bench = Bench::open();
    let id = bench.add("a", Lane::Batch, 1);
    let next = bench.add("b", Lane::Batch, 1);
    let (job, ..) = bench.take();
    bench.begin(job, &[5]);
    bench.until_state(next, JobState::Running);
    let folder = Arc::clone(&bench.folder);
    leave_as_after_a_kill(folder.path(), id);
    drop(bench);

    let mut bench = Bench::at(Arc::clone(&folder), |options| options);
    bench.until("the question", |snapshot| snapshot.is_owner && snapshot.questions().count() == 1);
    assert_eq!(bench.snapshot.rows[0].job.id, id);
    assert_eq!(bench.reason(next), "Waits for your answer about the job above");
    bench.service.send(QueueRequest::AnswerCrash(CrashAnswer::BeginAgain));
    let (job, recipe, _) = bench.take();
    assert_eq!((recipe.prompt.as_str(), recipe.seed), ("a", Some(Seed(5))), "with the seed that it had");
    bench.begin(job, &[5]);
    bench.until_state(next, JobState::Running);
    leave_as_after_a_kill(folder.path(), id);
    drop(bench);

    let mut bench = Bench::at(folder, |options| QueueOptions { crashed: CrashedJobs::BeginAgain, ..options });
    let (_, recipe, _) = bench.take();
    assert_eq!(recipe.prompt, "b", "one that ended the program twice waits until it is asked for");
    bench.until_state(id, JobState::Held);
    bench.service.send(QueueRequest::Retry(id));
    bench.until_state(id, JobState::Waiting);
}

/// Puts the queue as the process after a kill finds it, before the service here can mark what runs
/// as it ends.
fn leave_as_after_a_kill(folder: &Path, id: QueuedJobId) {
    let path = atelier_core::paths::Paths::beneath(folder).gallery_file();
    let (mut database, _) = Database::open(&path).unwrap();
    assert_eq!(database.job(id).unwrap().unwrap().state, JobState::Running);
    database.recover_queue(LastEnd::Killed).unwrap();
}

#[test]
fn when_the_program_ends_what_runs_waits_first_for_the_next_start_without_a_question() {
    let mut bench = Bench::open();
    let (id, next) = (bench.add("a", Lane::Batch, 1), bench.add("b", Lane::Batch, 1));
    let (job, _, cancel) = bench.take();
    bench.begin(job, &[5]);
    bench.service.send(QueueRequest::StopForEnd);
    assert!(is_set(&cancel));
    bench.engine.send(Event::End { job, end: End::Cancelled });
    bench.until_state(id, JobState::Waiting);
    let Bench { service, folder, .. } = bench;
    assert!(service.finish(LONG));
    let mut bench = Bench::at(folder, |options| options);
    let (_, recipe, _) = bench.take();
    assert_eq!((recipe.prompt.as_str(), recipe.seed), ("a", Some(Seed(5))));
    bench.until("the rows", |snapshot| snapshot.rows.len() == 2);
    assert_eq!((bench.snapshot.questions().count(), bench.snapshot.rows[1].job.id), (0, next));
}

#[test]
fn a_job_that_has_its_pictures_when_the_program_ends_is_done_and_stands_in_nobodys_way() {
    let mut bench = Bench::open();
    let (first, second) = (bench.add("a", Lane::Batch, 1), bench.add("b", Lane::Batch, 1));
    let (job, ..) = bench.take();
    bench.begin(job, &[3]);
    bench.picture(job, 0, 3);
    bench.until("the picture", |snapshot| snapshot.row(first).is_some_and(|row| row.job.pictures.len() == 1));
    let folder = Arc::clone(&bench.folder);
    // The engine's end of the job is still to come.
    drop(bench);
    let mut bench = Bench::at(folder, |options| options);
    bench.until_state(first, JobState::Done);
    let (job, recipe, _) = bench.take();
    assert_eq!(recipe.prompt, "b", "the next one");
    bench.begin(job, &[4]);
    bench.picture(job, 0, 4);
    bench.done(job);
    bench.until_state(second, JobState::Done);
    assert_eq!(bench.files(), 2);
}

#[test]
fn a_cancelled_job_that_has_its_pictures_is_done_when_it_is_tried_again() {
    let mut bench = Bench::open();
    let id = bench.add("a", Lane::Batch, 1);
    let (job, _, cancel) = bench.take();
    bench.begin(job, &[3]);
    bench.service.send(QueueRequest::Cancel(id));
    assert!(is_set(&cancel));
    bench.picture(job, 0, 3);
    bench.engine.send(Event::End { job, end: End::Cancelled });
    bench.until_state(id, JobState::Cancelled);
    bench.service.send(QueueRequest::Retry(id));
    bench.until_state(id, JobState::Done);
    let next = bench.add("b", Lane::Batch, 1);
    assert_eq!(bench.take().1.prompt, "b");
    bench.until_state(next, JobState::Running);
}

#[test]
fn a_second_process_adds_rows_and_a_window_takes_the_engine_over_behind_the_picture() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let mut command = Bench::at(Arc::clone(&folder), |options| QueueOptions { is_window: false, ..options });
    let id = command.add("a", Lane::Batch, 2);
    let (job, _, cancel) = command.take();
    command.begin(job, &[1, 2]);
    let mut window = Bench::at(folder, |options| options);
    window.until("the command's job", |snapshot| snapshot.row(id).is_some() && !snapshot.is_owner);
    let mine = window.add("mine", Lane::Interactive, 1);
    assert_eq!(window.reason(mine), "Another Atelier runs the queue");
    command.until("the window's job", |snapshot| snapshot.row(mine).is_some());
    assert!(!cancel.load(Ordering::Relaxed));
    command.picture(job, 0, 1);
    assert!(is_set(&cancel), "it stops behind its picture");
    command.engine.send(Event::End { job, end: End::Cancelled });
    let (_, recipe, _) = window.take();
    assert_eq!(recipe.prompt, "mine");
    window.until("the right", |snapshot| snapshot.is_owner);
    command.until("the other right", |snapshot| !snapshot.is_owner);
    // The models went first: the window wants their memory.
    loop {
        match command.engine.next().unwrap() {
            Request::Control(Control::UnloadAll) => break,
            Request::Control(Control::Cancel(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_queue_that_nobody_changed_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = QueueOptions::of_window(Some(&atelier_core::paths::Paths::beneath(folder.path())));
    let (mut other, _) = Database::open(options.database.as_deref().unwrap()).unwrap();
    let recipe = Recipe { prompt: "a".into(), ..Recipe::default() };
    let job = NewJob::of_person(recipe, Lane::Batch, folder.path().join("Pictures"), "a".into());
    other.add_job(&job).unwrap();
    let (handle, _engine) = channel(|| {});
    let mut worker = Worker::open(options, Arc::new(handle), Arc::new(Publisher::new(|| {})));
    assert_eq!(worker.jobs.len(), 1);
    worker.jobs.clear();
    worker.refresh();
    assert!(worker.jobs.is_empty(), "it was read again");
    other.add_job(&job).unwrap();
    worker.refresh();
    assert_eq!(worker.jobs.len(), 2, "what another process adds is read");
    worker.jobs.clear();
    worker.changes.push_back(change::Change::Pause(PauseMode::Now));
    worker.refresh();
    assert_eq!(worker.control.pause, PauseMode::Now, "what is not written yet is shown");
    worker.changes.clear();
    worker.refresh();
    assert_eq!((worker.jobs.len(), worker.control.pause), (2, PauseMode::No), "and no longer once it has gone");
}

#[test]
fn a_folder_that_cannot_be_written_holds_the_job_and_pauses_the_queue() {
    let mut bench = Bench::open();
    let blocked = bench.folder.path().join("file");
    std::fs::write(&blocked, "no folder").unwrap();
    let id = bench.add_with("a", Lane::Batch, 1, |job| job.folder = blocked.join("Pictures"));
    let other = bench.add("b", Lane::Batch, 1);
    let (job, _, cancel) = bench.take();
    bench.begin(job, &[1]);
    bench.picture(job, 0, 1);
    assert!(is_set(&cancel));
    bench.done(job);
    bench.until_state(id, JobState::Held);
    assert!(bench.reason(id).contains("could not be saved"), "{}", bench.reason(id));
    bench.until("the pause", |snapshot| snapshot.pause != PauseMode::No);
    bench.until_state(other, JobState::Waiting);
}

#[test]
fn pixels_that_a_job_starts_from_are_written_and_reach_the_engine_as_a_file() {
    let mut bench = Bench::open();
    let pixels = Rgb8::new(1, 1, vec![1, 2, 3]).unwrap();
    bench.add_with("a", Lane::Interactive, 1, |job| {
        job.recipe.init = Some(InitImage { image: ImageSource::Pixels(pixels.clone()), strength: 0.5 });
    });
    let (_, recipe, _) = bench.take();
    let source = recipe.init.unwrap().image;
    assert!(matches!(source, ImageSource::File(_)));
    assert_eq!(atelier_media::read_image(&source).unwrap(), pixels);
}

#[test]
fn what_a_picture_was_made_from_goes_once_no_picture_and_no_job_names_it() {
    use crate::made_from;
    use atelier_gallery::{Database, FolderKind};

    let home = tempfile::tempdir().unwrap();
    let pictures = home.path().join("Pictures");
    let sources = home.path().join("sources");
    std::fs::create_dir_all(&sources).unwrap();
    let keep = |shade: u8| {
        let pixels = Rgb8::new(8, 8, vec![shade; 192]).unwrap();
        let path = sources.join(made_from::file_name(&pixels));
        atelier_media::write_picture(&path, &pixels, &atelier_media::Metadata::default()).unwrap();
        let init = InitImage { image: ImageSource::File(path.clone()), strength: 0.5 };
        let recipe = Recipe { prompt: "a".into(), init: Some(init), width: 8, height: 8, ..Recipe::default() };
        made_from::keep(&recipe, &sources, &pictures).unwrap();
        (recipe, pictures.join(".made-from").join(path.file_name().unwrap()))
    };
    let (of_picture, used) = keep(1);
    let (of_job, waited_for) = keep(2);
    let (_, unused) = keep(3);
    let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
    let image = Rgb8::new(8, 8, vec![9; 192]).unwrap();
    crate::results::store_picture(&pictures, &of_picture, info, &[], &image).unwrap();
    let (mut database, _) = Database::open(&home.path().join("gallery.db")).unwrap();
    let folder = database.add_folder(&pictures, FolderKind::Own).unwrap();
    let there = || [&used, &waited_for, &unused].map(|path| path.is_file());
    worker::clean_made_from(&database, &[&of_job], Duration::ZERO).unwrap();
    assert_eq!(there(), [true; 3], "nobody looked through the folder yet");
    let marks = atelier_core::reading::ReadingMarks::open(&home.path().join("reading"));
    database.scan(folder.id, &marks, &mut |_| {}, &|| false).unwrap();
    worker::clean_made_from(&database, &[&of_job], Duration::from_hours(1)).unwrap();
    assert_eq!(there(), [true; 3], "they are new");
    worker::clean_made_from(&database, &[&of_job], Duration::ZERO).unwrap();
    assert_eq!(there(), [true, true, false]);
    worker::clean_made_from(&database, &[], Duration::ZERO).unwrap();
    assert_eq!(there(), [true, false, false]);
}

#[test]
fn a_second_face_knows_its_job_by_the_ticket_and_follows_it_to_the_end() {
    let mut bench = Bench::open();
    let face = bench.service.connect();
    let mut recipe = Recipe { prompt: "asked elsewhere".into(), batch_count: 1, ..Recipe::default() };
    recipe.files.set(FileRole::Model, "/a.gguf");
    let folder = bench.folder.path().join("Pictures");
    let lane = Lane::Interactive;
    let job = NewJob::of_person(recipe, lane, folder, "a".into());
    let ticket = Ticket::draw();
    face.send(QueueRequest::AddFor(ticket, Box::new(job)));
    let (engine_job, recipe, _) = bench.take();
    assert_eq!(recipe.prompt, "asked elsewhere");
    bench.begin(engine_job, &[7]);
    let image = Arc::new(Rgb8::new(8, 8, vec![1; 8 * 8 * 3]).unwrap());
    let preview = atelier_engine::Preview { picture: 0, step: 1, place: None, image };
    bench.engine.send(Event::Preview { job: engine_job, preview });
    bench.picture(engine_job, 0, 7);
    bench.done(engine_job);
    let (mut added, mut said, mut pictures) = (None, Vec::new(), 0);
    let deadline = Instant::now() + LONG;
    while pictures == 0 {
        assert!(Instant::now() < deadline, "waited in vain: {added:?} {said:?}");
        match face.next_within(Duration::from_millis(100)) {
            Some(QueueEvent::Added { ticket: of, job }) => added = (of == ticket).then(|| job.unwrap()),
            Some(QueueEvent::Progress { job, progress }) => {
                assert_eq!(Some(job), added, "the number is known before anything else");
                said.push(match progress {
                    JobProgress::Begin(begin) => format!("begin {:?}", begin.seeds),
                    JobProgress::Step(step) => format!("step {}", step.done),
                    JobProgress::Preview(preview) => format!("preview {}", preview.step),
                    JobProgress::Failed(failure) => format!("failed: {}", failure.advice),
                });
            }
            Some(QueueEvent::Snapshot(snapshot)) => {
                let row = added.and_then(|id| snapshot.row(id)).filter(|row| row.job.state == JobState::Done);
                pictures = row.map_or(0, |row| row.job.pictures.len());
            }
            _ => {}
        }
    }
    assert_eq!(said, ["begin [7]", "preview 1"]);
    let seen_by_the_window = std::iter::from_fn(|| bench.service.try_next()).any(|event| matches!(event, QueueEvent::Progress { .. }));
    assert!(!seen_by_the_window, "the window has the engine's own events");
}

#[test]
fn who_follows_a_job_hears_why_it_failed_with_its_hint_before_the_queue_says_so() {
    let mut bench = Bench::open();
    let face = bench.service.connect();
    let id = bench.add("a lake", Lane::Interactive, 1);
    let (engine_job, _, _) = bench.take();
    bench.begin(engine_job, &[7]);
    bench.engine.send(Event::End { job: engine_job, end: End::Failed(atelier_engine::Failure::new("No memory.", "Close something.")) });
    let (mut told, deadline) = (None, Instant::now() + LONG);
    loop {
        assert!(Instant::now() < deadline, "waited in vain: {told:?}");
        match face.next_within(Duration::from_millis(100)) {
            Some(QueueEvent::Progress { job, progress: JobProgress::Failed(failure) }) => told = Some((job, failure.advice.to_string())),
            Some(QueueEvent::Snapshot(snapshot)) if snapshot.row(id).is_some_and(|row| row.job.state == JobState::Failed) => break,
            _ => {}
        }
    }
    assert_eq!(told, Some((id, "No memory. Close something.".to_owned())));
}

#[test]
fn a_job_of_a_studio_that_is_kept_no_more_fails_with_its_name_and_the_engine_never_hears_of_it() {
    let mut bench = Bench::open();
    let of_studio = crate::studio_model::StudioModel { studio: "Studio of Anna".into(), model: "a".into() };
    let id = bench.add_with("a lake", Lane::Interactive, 1, |job| job.device = Some(of_studio.device()));
    bench.until_state(id, JobState::Failed);
    let reason = bench.snapshot.row(id).unwrap().job.reason.clone().unwrap();
    assert!(reason.contains("Studio of Anna is no longer among"), "{reason}");
    let local = bench.add("a hill", Lane::Interactive, 1);
    let (job, recipe, _) = bench.take();
    assert_eq!(recipe.prompt, "a hill");
    bench.begin(job, &[5]);
    bench.picture(job, 0, 5);
    bench.done(job);
    bench.until_state(local, JobState::Done);
}
