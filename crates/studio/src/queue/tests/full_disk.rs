//! The queue on a disk that becomes full at each moment, and on one with a database of a newer
//! Atelier.

use testkit::disk::SmallDisk;

use super::*;

/// Room for a database, its log and a few pictures.
const DISK: u64 = 3 << 20;

/// A home on a small disk.
fn small() -> Option<(SmallDisk, Arc<tempfile::TempDir>)> {
    let disk = SmallDisk::mount(DISK)?;
    let folder = Arc::new(tempfile::tempdir_in(disk.path()).unwrap());
    Some((disk, folder))
}

fn problems(bench: &Bench) -> Vec<String> {
    bench
        .events
        .iter()
        .filter_map(|event| if let QueueEvent::Problem(advice) = event { Some(advice.sentence.clone()) } else { None })
        .collect()
}

fn job_in(folder: &Path, id: QueuedJobId) -> atelier_gallery::queue::QueuedJob {
    let path = atelier_core::paths::Paths::beneath(folder).gallery_file();
    Database::open(&path).unwrap().0.job(id).unwrap().unwrap()
}

#[test]
fn a_picture_that_finds_no_room_is_kept_once_there_is_some_and_everything_goes_on_by_itself() {
    let Some((disk, folder)) = small() else { return };
    let mut bench = Bench::at(folder, |options| options);
    let id = bench.add("a", Lane::Batch, 2);
    let (next, unwanted) = (bench.add("b", Lane::Batch, 1), bench.add("c", Lane::Batch, 1));
    let (job, _, cancel) = bench.take();
    bench.begin(job, &[1, 2]);
    bench.until("the beginning", |snapshot| snapshot.row(id).is_some_and(|row| row.job.began_ms.is_some()));
    disk.fill();
    bench.picture(job, 0, 1);
    assert!(is_set(&cancel), "it stops behind the picture that is in memory");
    bench.engine.send(Event::End { job, end: End::Cancelled });
    bench.until_state(id, JobState::Waiting);
    assert!(bench.snapshot.is_blocked);
    assert_eq!(bench.reason(id), "Waits for free disk space");
    bench.until_state(next, JobState::Waiting);
    bench.service.send(QueueRequest::Cancel(unwanted));
    bench.until_state(unwanted, JobState::Cancelled);
    let recipe = bench.snapshot.row(next).unwrap().job.recipe.clone();
    let late = NewJob::of_person(
        Recipe { prompt: "late".into(), ..Recipe::clone(&recipe) },
        Lane::Batch,
        bench.folder.path().join("Pictures"),
        "a".into(),
    );
    bench.service.send(QueueRequest::Add(Box::new(late)));
    assert_eq!(bench.files(), 0);

    disk.make_room();
    bench.until("room", |snapshot| !snapshot.is_blocked && snapshot.rows.iter().any(|row| row.job.recipe.prompt == "late"));
    let problems_shown = problems(&bench);
    assert!(problems_shown.len() == 1 && problems_shown[0].starts_with("The queue cannot be written to disk"), "{problems_shown:?}");
    let kept: Vec<bool> = bench
        .events
        .iter()
        .filter_map(|event| if let QueueEvent::PictureKept { result, .. } = event { Some(result.is_ok()) } else { None })
        .collect();
    assert_eq!(kept, [false, true], "it was told twice: that it waits, and where it is");
    let (job, recipe, _) = bench.take();
    assert_eq!((recipe.prompt.as_str(), recipe.seed, recipe.batch_count), ("a", Some(Seed(2)), 1), "the first picture is not made again");
    bench.begin(job, &[2]);
    bench.picture(job, 0, 2);
    bench.done(job);
    bench.until_state(id, JobState::Done);
    assert_eq!((bench.snapshot.row(id).unwrap().job.pictures.len(), bench.files()), (2, 2));
    assert_eq!(bench.take().1.prompt, "b");
    assert_eq!(bench.snapshot.row(unwanted).unwrap().job.state, JobState::Cancelled);
}

#[test]
fn an_end_that_finds_no_room_is_told_and_is_no_crash_at_the_next_start() {
    let Some((disk, folder)) = small() else { return };
    let mut bench = Bench::at(Arc::clone(&folder), |options| options);
    let (done, running) = (bench.add("a", Lane::Batch, 1), bench.add("b", Lane::Batch, 1));
    let (job, ..) = bench.take();
    bench.begin(job, &[1]);
    bench.picture(job, 0, 1);
    bench.until("the picture", |snapshot| snapshot.row(done).is_some_and(|row| row.job.pictures.len() == 1));
    let (second, _, cancel) = bench.take();
    bench.begin(second, &[2]);
    bench.until("the beginning", |snapshot| snapshot.row(running).is_some_and(|row| row.job.began_ms.is_some()));
    disk.fill();
    bench.done(job);
    bench.until_state(done, JobState::Done);
    let ended = bench.events.iter().filter(|event| matches!(event, QueueEvent::Ended(ended) if ended.job == done)).count();
    assert_eq!(ended, 1, "it is told though it is not written");
    bench.service.send(QueueRequest::Cancel(running));
    assert!(is_set(&cancel), "a cancel needs no disk");
    bench.engine.send(Event::End { job: second, end: End::Cancelled });
    bench.until_state(running, JobState::Cancelled);
    let Bench { service, .. } = bench;
    assert!(service.finish(LONG));

    disk.make_room();
    for id in [done, running] {
        assert_eq!(job_in(folder.path(), id).state, JobState::Running, "nothing could be written");
    }
    let mut bench = Bench::at(Arc::clone(&folder), |options| options);
    bench.until_state(done, JobState::Done);
    let (_, recipe, _) = bench.take();
    assert_eq!((recipe.prompt.as_str(), recipe.seed), ("b", Some(Seed(2))), "it goes on with its seed, without a question");
    bench.until_state(running, JobState::Running);
    assert_eq!(bench.snapshot.row(running).unwrap().job.crashes, 0);
}

#[test]
fn a_job_that_cannot_be_begun_on_the_disk_begins_once_it_can() {
    let Some((disk, folder)) = small() else { return };
    let mut bench = Bench::at(folder, |options| options);
    bench.service.send(QueueRequest::SetPause(PauseMode::AfterPicture));
    let id = bench.add("a", Lane::Batch, 1);
    disk.fill();
    bench.service.send(QueueRequest::SetPause(PauseMode::No));
    bench.until("the trouble", |snapshot| snapshot.is_blocked && snapshot.pause == PauseMode::No);
    assert_eq!((bench.snapshot.row(id).unwrap().job.state, bench.reason(id)), (JobState::Waiting, "Waits for free disk space".into()));
    disk.make_room();
    assert_eq!(bench.take().1.prompt, "a");
    bench.until_state(id, JobState::Running);
}

#[test]
fn a_queue_that_starts_on_a_full_disk_works_in_memory_and_is_written_once_there_is_room() {
    let Some((disk, folder)) = small() else { return };
    disk.fill();
    let mut bench = Bench::at(folder, |options| options);
    bench.service.send(QueueRequest::SetPause(PauseMode::AfterPicture));
    bench.until("the pause", |snapshot| snapshot.pause == PauseMode::AfterPicture);
    assert!(problems(&bench)[0].starts_with("The queue cannot be saved to disk"), "{:?}", problems(&bench));
    let id = bench.add("a", Lane::Batch, 1);
    assert_eq!(bench.reason(id), "The queue is paused");
    disk.make_room();
    // The queue on the disk is not paused.
    assert_eq!(bench.take().1.prompt, "a");
    bench.until("the queue on the disk", |snapshot| snapshot.pause == PauseMode::No && snapshot.rows.len() == 1);
    assert_eq!(job_in(bench.folder.path(), bench.snapshot.rows[0].job.id).recipe.prompt, "a");
}

#[test]
fn beside_a_database_of_a_newer_version_the_queue_works_in_memory_and_writes_nothing() {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let data = atelier_core::paths::Paths::beneath(folder.path()).data;
    let mut bench = Bench::at(Arc::clone(&folder), |options| options);
    bench.add("theirs", Lane::Batch, 1);
    let Bench { service, .. } = bench;
    assert!(service.finish(LONG));
    let path = data.join("gallery.sqlite");
    // `user_version` in the head of the file: what the newer one wrote.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&1000_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let listing = || {
        let files = |path: &Path| std::fs::read_dir(path).into_iter().flatten().map(|it| it.unwrap().path()).collect::<Vec<_>>();
        let mut all: Vec<_> = files(&data).into_iter().chain(files(&data.join("queue"))).collect();
        all.sort();
        all
    };
    let before = listing();
    let mut bench = Bench::at(Arc::clone(&folder), |options| options);
    let pixels = Rgb8::new(1, 1, vec![1, 2, 3]).unwrap();
    let id = bench.add_with("mine", Lane::Interactive, 1, |job| {
        job.recipe.init = Some(InitImage { image: ImageSource::Pixels(pixels.clone()), strength: 0.5 });
    });
    let problems_shown = problems(&bench);
    assert!(problems_shown.len() == 1 && problems_shown[0].contains("newer version of Atelier"), "{problems_shown:?}");
    assert_eq!(bench.snapshot.rows.len(), 1);
    let (job, ..) = bench.take();
    bench.begin(job, &[1]);
    bench.picture(job, 0, 1);
    bench.done(job);
    bench.until_state(id, JobState::Done);
    assert_eq!(bench.files(), 1);
    let Bench { service, .. } = bench;
    assert!(service.finish(LONG));
    assert!(std::fs::read(&path).unwrap() == bytes, "the database of the newer one was changed");
    assert_eq!(listing(), before);
}
