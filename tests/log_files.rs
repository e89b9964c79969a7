//! Logs and crash reports hold no word of a prompt, and are their owner's alone: a process makes a
//! picture, finds one that another process left, panics over a prompt, and is followed by one that
//! reports its end; then every file is searched for a word of the prompt.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier::logging;
use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::{PictureInfo, Recipe, Rgb8, Seed};
use atelier_engine::{Event, LogLevel};
use atelier_gallery::Database;
use atelier_gallery::queue::{JobState, Lane, NewJob, PictureReservation};
use atelier_media::{Metadata, encode_picture, picture_file_names};
use atelier_studio::crash_report::{self, Watch};
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::queue::{QueueEvent, QueueOptions, QueueRequest, QueueService};
use atelier_studio::{logs, start_engine};

/// A word that stands in the prompt, and in nothing of ours.
const RARE: &str = "quagga";
/// The home of the process whose files are searched; set in it alone.
const HOME: &str = "ATELIER_TEST_LOG_HOME";
/// Longer than anything here takes on the slowest machine.
const LIMIT: Duration = Duration::from_mins(5);

fn prompt() -> String {
    format!("{RARE}s größer than \"{RARE}\"")
}

fn job(paths: &Paths) -> NewJob {
    let recipe = Recipe { prompt: prompt(), steps: 1, ..support::recipe() };
    NewJob::of_person(recipe, Lane::Interactive, paths.pictures.clone(), "tiny".into())
}

/// Leaves a picture as a process does that is killed between writing and recording it.
fn leave_a_written_picture(paths: &Paths) {
    let (mut database, _) = Database::open(&paths.gallery_file()).unwrap();
    let id = database.add_job(&job(paths)).unwrap();
    assert!(database.start_job(id).unwrap());
    let image = Rgb8::new(8, 8, vec![7; 192]).unwrap();
    let info = PictureInfo { index: 0, seed: Some(Seed(7)), cpu_math: None, merged_loras: false };
    let bytes = encode_picture(&image, &Metadata::of(&Recipe::default(), None, info, &[], &image)).unwrap();
    let path = paths.pictures.join(picture_file_names(&prompt(), info.seed).next().unwrap());
    assert!(path.to_str().unwrap().contains(RARE));
    let reservation = PictureReservation::new(id, 0, path, &bytes);
    assert!(database.reserve_picture(&reservation).unwrap());
    fs::create_dir_all(&paths.pictures).unwrap();
    fs::write(&reservation.path, bytes).unwrap();
}

/// What the process does.
fn work(home: &Path) {
    let paths = Paths::beneath(home);
    logging::hook_panics();
    let log = logging::start(Some(&logs::folder(&paths)));
    let watch = Watch::new(&paths);
    assert_eq!(watch.begin(), None);
    leave_a_written_picture(&paths);

    let engine = Arc::new(start_engine(Box::new(|| {})));
    let queue = QueueService::start(QueueOptions::of_window(Some(&paths)), Arc::clone(&engine), || {}).unwrap();
    queue.send(QueueRequest::Add(Box::new(job(&paths))));
    let deadline = Instant::now() + LIMIT;
    loop {
        assert!(Instant::now() < deadline, "the job never ended");
        while let Some(event) = engine.try_next() {
            // As the window does it.
            if let Event::Log { level: LogLevel::Warn | LogLevel::Error, text, .. } = event {
                tracing::warn!(target: "engine", "{text}");
            }
        }
        if let Some(QueueEvent::Ended(ended)) = queue.next_within(Duration::from_millis(20)) {
            assert_eq!(ended.state, JobState::Done, "{:?}", ended.reason);
            break;
        }
    }
    // A picture that cannot be added is named.
    let missing = paths.pictures.join(format!("{RARE} that is not there.png"));
    assert!(PictureIndex::new(Some(paths.clone())).add(&missing, None, None, None).is_err());

    watch.hook_panics();
    let text = prompt();
    let inside = text.find('ö').unwrap() + 1;
    assert!(catch_unwind(AssertUnwindSafe(|| text[inside..].len())).is_err());
    assert!(queue.finish(LIMIT));
    drop(log);
}

/// All files beneath a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn no_log_and_no_crash_report_holds_a_word_of_a_prompt() {
    if let Some(home) = std::env::var_os(HOME) {
        return work(Path::new(&home));
    }
    let home = tempfile::tempdir().unwrap();
    // Made before the process, so that its time is not in the limit.
    support::files();
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "no_log_and_no_crash_report_holds_a_word_of_a_prompt", "--nocapture"])
        .env(HOME, home.path())
        .env(HOME_VARIABLE, home.path())
        .env("ATELIER_LOG", "trace")
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{said}");
    let paths = Paths::beneath(home.path());
    // The panic wrote one; an end without a word writes another.
    let watch = Watch::new(&paths);
    assert!(watch.begin().is_some());
    drop(watch);
    assert!(Watch::new(&paths).begin().is_some());

    let log = fs::read_to_string(logs::folder(&paths).join("atelier.log")).unwrap();
    for words in ["written before the program ended", "was not added to the gallery", "panicked at", "picture-"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    let reports = files(&crash_report::folder(&paths));
    assert_eq!(reports.len(), 2, "{reports:?}");
    for file in files(&logs::folder(&paths)).into_iter().chain(reports) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.to_lowercase().contains(RARE), "{}:\n{text}", file.display());
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions()) & 0o777, 0o600);
    }
    // The picture itself is there, and has its name.
    assert!(files(&paths.pictures).iter().filter(|path| path.to_str().unwrap().contains(RARE)).count() >= 2);
}
