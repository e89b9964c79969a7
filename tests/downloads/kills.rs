//! A process that downloads is killed again and again, at any moment: what it had is gone on with,
//! and every file ends whole.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use atelier_downloads::{Downloads, Event};

use super::server::{Fault, Server};
use super::{LIMIT, job, known, noise, options, wanted};

/// Names the folder and the server to the process that is killed.
const FOLDER: &str = "ATELIER_TEST_KILLS_FOLDER";
const SERVER: &str = "ATELIER_TEST_KILLS_SERVER";
/// Environment variable with the number of kills.
const KILLS: &str = "ATELIER_TEST_KILLS";

const BYTES: usize = 6 << 20;

/// Not a test: what the killed process does. It ends when both files are there.
#[test]
#[ignore = "it is a part of the test below, which runs it in processes of its own"]
fn a_process_that_is_killed() {
    let (Ok(folder), Ok(server)) = (std::env::var(FOLDER), std::env::var(SERVER)) else { return };
    let downloads = Downloads::start(options(Path::new(&folder)), || {}).unwrap();
    let bodies = [noise(1, BYTES), noise(2, BYTES)];
    downloads.add(job("a", vec![known(format!("{server}/a"), "f", &bodies[0])])).unwrap();
    downloads.add(job("b", vec![wanted(format!("{server}/b"), "f")])).unwrap();
    // A job that had all but its end is done once from the journal, and once more as the new one.
    let mut done = BTreeSet::new();
    while done.len() < 2 {
        match downloads.next_within(LIMIT).unwrap() {
            Event::Done { id } => done.extend([id]),
            Event::Failed { failure, .. } => panic!("{failure:?}"),
            _ => {}
        }
    }
}

fn spawn(folder: &Path, server: &Server) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::a_process_that_is_killed", "--ignored", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(SERVER, &server.url)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_process_that_is_killed_loses_nothing_that_was_on_the_disk() {
    let kills: u64 = std::env::var(KILLS).ok().and_then(|it| it.parse().ok()).unwrap_or(8);
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let bodies = [noise(1, BYTES), noise(2, BYTES)];
    for (path, body) in ["/a", "/b"].iter().zip(&bodies) {
        server.put(
            path,
            super::server::Served {
                body: body.clone().into(),
                etag: Some("\"one\"".into()),
                always: Some(Fault::Drip),
                ..Default::default()
            },
        );
    }
    let places = ["a", "b"].map(|id| folder.path().join("models").join(id).join("f"));
    let parts = ["a", "b"].map(|id| folder.path().join("models").join(id).join("f.part"));
    let on_disk = || parts.each_ref().map(|part| std::fs::metadata(part).map_or(0, |it| it.len()));
    let mut state = 0x0009_e377_9b97_f4a7_u64;
    let mut killed = 0;
    for _ in 0..kills {
        let before = on_disk();
        let asked = server.seen("/").len();
        let mut child = spawn(folder.path(), &server);
        // Somewhere in its share of the bytes, so that the last one still has something to do.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let share = 2 * BYTES as u64 / (kills + 2);
        let until = server.sent() + state % share;
        server.wait_for(until, || child.try_wait().unwrap().is_some());
        killed += u64::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        for (place, body) in places.iter().zip(&bodies) {
            assert!(!place.exists() || std::fs::read(place).unwrap() == *body, "a file that is there is whole");
        }
        // The next process resumes from the bytes on disk; of complete files it asks at most.
        for (path, had) in ["/a", "/b"].iter().zip(before).filter(|it| it.1 < BYTES as u64) {
            let first = server.seen("/").into_iter().skip(asked).find(|it| it.path == *path);
            assert_eq!(first.map_or(had, |it| it.from().unwrap_or(0)), had, "{path}");
        }
    }
    assert!(spawn(folder.path(), &server).wait().unwrap().success());
    for (place, body) in places.iter().zip(&bodies) {
        assert!(std::fs::read(place).unwrap() == *body);
    }
    assert_eq!(on_disk(), [0, 0]);
    let needed = 2 * BYTES as u64;
    println!(
        "{killed} kills: {} bytes were sent for {needed}: {:.2} % more",
        server.sent(),
        (server.sent() as f64 / needed as f64 - 1.0) * 100.0
    );
}
