//! `atelier queue run` is killed again and again, at any moment: every job ends done, every picture
//! is made once, and is in the folder and in the index.
//!
//! `ATELIER_TEST_QUEUE_KILLS` and `ATELIER_TEST_QUEUE_SEED` change the number and the moments.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::{Recipe, Seed};
use atelier_gallery::Database;
use atelier_gallery::queue::{JobState, Lane, NewJob, QueuedJob};
use atelier_library::BUILTIN_VARIABLE;
use atelier_media::read_metadata;

/// Lines of a process before it is killed.
const MAX_LINES: u64 = 9;
/// Jobs that wait before each start: more than a process has lines before it is killed, so that a
/// kill always meets one.
const MIN_WAITING: usize = MAX_LINES as usize + 3;

/// How long this machine takes for what comes before a process's first line, and from one line to
/// the next: a kill falls between two of them.
struct Pace {
    first_line: Duration,
    next_line: Duration,
}

impl Pace {
    /// Reads so many lines of a process that began just now, and returns how many there were.
    fn read(&mut self, child: &mut Child, lines: usize) -> usize {
        let began = Instant::now();
        let times: Vec<_> = BufReader::new(child.stdout.take().unwrap()).lines().take(lines).map(|_| Instant::now()).collect();
        if let [first, .., last] = times[..] {
            (self.first_line, self.next_line) = (first.duration_since(began), last.duration_since(first) / (times.len() as u32 - 1));
        }
        times.len()
    }

    /// The longest delay before a kill after so many lines.
    fn longest_delay(&self, lines: usize) -> Duration {
        if lines == 0 { self.first_line } else { self.next_line }
    }
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A random number from 0 to `below` (xorshift).
fn next(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % below
}

fn run(home: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_atelier"))
        .args(["queue", "run", "--json"])
        .env(HOME_VARIABLE, home)
        .env(BUILTIN_VARIABLE, home.join("none"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn pictures_in(folder: &Path) -> BTreeSet<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    // The gallery's journal is beside them.
    files.filter(|path| path.extension().is_some_and(|it| it == "png")).collect()
}

fn pictures_of(jobs: &[QueuedJob]) -> BTreeSet<PathBuf> {
    jobs.iter().flat_map(|job| job.pictures.iter().map(|picture| picture.path.clone())).collect()
}

#[test]
fn fifty_kills_lose_no_job_and_make_no_picture_twice() {
    let kills = number("ATELIER_TEST_QUEUE_KILLS", 50);
    let seed = number("ATELIER_TEST_QUEUE_SEED", 0x9e37_79b9_7f4a_7c15);
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::beneath(home.path());
    let (mut database, _) = Database::open(&paths.gallery_file()).unwrap();
    let (mut state, mut ids, mut killed) = (seed | 1, Vec::new(), 0);
    let mut pace = Pace { first_line: Duration::from_millis(200), next_line: Duration::from_millis(20) };
    // Jobs that ended are listed for a while only, so they are looked at as they end.
    let job = |database: &Database, id| database.job(id).unwrap().unwrap();
    for _ in 0..kills {
        let waiting = ids.iter().filter(|id| !job(&database, **id).state.is_ended()).count();
        for _ in waiting..MIN_WAITING {
            let batch_count = 1 + next(&mut state, 3) as u32;
            let seed = Some(Seed(ids.len() as u64 * 100));
            let recipe = Recipe { steps: 1, seed, batch_count, prompt: format!("picture {}", ids.len()), ..support::recipe() };
            let (folder, lane) = (paths.pictures.clone(), if next(&mut state, 4) == 0 { Lane::Interactive } else { Lane::Batch });
            let new = NewJob::of_person(recipe, lane, folder, "tiny".into());
            ids.push(database.add_job(&new).unwrap());
        }
        let mut child = run(home.path());
        let lines = next(&mut state, MAX_LINES + 1) as usize;
        let read = pace.read(&mut child, lines);
        std::thread::sleep(pace.longest_delay(lines).mul_f64(next(&mut state, 1000) as f64 / 1000.0));
        killed += u64::from(read == lines && child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();

        for id in &ids {
            let job = job(&database, *id);
            assert_ne!(job.state, JobState::Failed, "{:?}", job.reason);
            assert!(job.state != JobState::Done || job.missing_pictures().is_none(), "done, and not all of it made: {job:?}");
            assert!(job.pictures.iter().all(|picture| picture.path.is_file()), "a recorded picture has no file: {job:?}");
            // One that was met twice waits until it is asked for: here it is.
            if job.state == JobState::Held && job.crashes > 1 {
                assert!(database.retry_job(*id).unwrap());
            }
        }
    }
    for id in &ids {
        database.retry_job(*id).unwrap();
    }
    // A job that was met for the second time by the very last kill is held by the process after it.
    for _ in 0..2 {
        assert!(run(home.path()).wait_with_output().unwrap().status.success());
        for id in &ids {
            database.retry_job(*id).unwrap();
        }
    }

    let jobs: Vec<_> = ids.iter().map(|id| job(&database, *id)).collect();
    assert!(jobs.iter().all(|job| job.state == JobState::Done), "{:#?}", jobs.iter().find(|job| job.state != JobState::Done));
    let wanted: usize = jobs.iter().map(|job| job.picture_count() as usize).sum();
    let made = pictures_in(&paths.pictures);
    assert_eq!(pictures_of(&jobs), made, "every file is a job's, and every picture of a job has its file");
    assert_eq!(made.len(), wanted, "each picture once");
    let rows: BTreeSet<_> = jobs.iter().flat_map(|job| job.pictures.iter().map(|picture| picture.picture)).collect();
    assert_eq!(rows.len(), wanted, "each has a row of its own in the index");
    for job in &jobs {
        for picture in &job.pictures {
            let parameters = read_metadata(&picture.path).unwrap().parameters.unwrap();
            let seed = format!("Seed: {},", job.recipe.seed.unwrap().after(u64::from(picture.index)));
            assert!(parameters.contains(&seed) && parameters.starts_with(&job.recipe.prompt), "{seed} {parameters}");
        }
    }
    let crashes: u32 = jobs.iter().map(|job| job.crashes).sum();
    let resumes: u32 = jobs.iter().map(|job| job.resumes).sum();
    println!(
        "{killed} of {kills} kills met a process (seed {seed}): {} jobs, {wanted} pictures, each made once; {crashes} jobs were met while they ran, {resumes} went on",
        jobs.len()
    );
    assert!(killed > kills / 2 && crashes > 0, "the kills meet something");
}
