//! Downloads to disks that are really full: they go on by themselves once there is room.

use std::fs;
use std::time::Instant;

use atelier_downloads::{Event, PauseReason, downloaded_files};
use testkit::disk::SmallDisk;

use crate::server::Server;
use crate::{Home, LIMIT, job, known, noise, wanted};

const BYTES: usize = 1 << 20;

#[test]
fn a_download_to_a_full_disk_waits_and_goes_on_by_itself() {
    let Some(disk) = SmallDisk::mount(4 * BYTES as u64) else { return };
    let server = Server::start();
    let home = Home::new(|options| options.models_root = disk.path().join("models"));
    let bodies = [noise(1, BYTES), noise(2, BYTES)];
    server.file("/known", &bodies[0], []);
    server.file("/unknown", &bodies[1], []);
    let manifest = Some("{}".to_owned());
    fs::create_dir_all(disk.path().join("models")).unwrap();
    disk.fill();
    for (id, file) in [("a", known(server.at("/known"), "f", &bodies[0])), ("b", wanted(server.at("/unknown"), "f"))] {
        home.queue().add(atelier_downloads::DownloadJob { manifest: manifest.clone(), ..job(id, vec![file]) }).unwrap();
        home.wait(|event| match event {
            Event::Paused { id: it, why: PauseReason::DiskFull { .. } } if it == id => Some(()),
            Event::Done { .. } | Event::Failed { .. } => panic!("{event:?}"),
            _ => None,
        });
    }
    disk.make_room();
    let mut open = vec!["a", "b"];
    home.wait(|event| {
        assert!(!matches!(event, Event::Failed { .. }), "{event:?}");
        if let Event::Done { id } = event {
            open.retain(|it| it != id);
        }
        open.is_empty().then_some(())
    });
    for (id, body) in ["a", "b"].into_iter().zip(&bodies) {
        assert!(&fs::read(disk.path().join("models").join(id).join("f")).unwrap() == body);
    }
}

#[test]
fn a_list_that_finds_no_room_is_told_and_written_once_there_is_some() {
    let Some(disk) = SmallDisk::mount(BYTES as u64) else { return };
    let server = Server::start();
    let journal = disk.path().join("journal");
    let home = Home::new(|options| options.journal.clone_from(&journal));
    let body = noise(3, BYTES);
    server.file("/f", &body, []);
    disk.fill();
    home.queue().add(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    let (mut notices, mut is_done) = (0, false);
    home.wait(|event| {
        if let Event::Notice(sentence) = event {
            assert!(sentence.contains("cannot be written"), "{sentence}");
            notices += 1;
        }
        is_done |= matches!(event, Event::Done { .. });
        (is_done && notices > 0).then_some(())
    });
    assert_eq!((notices, downloaded_files(&journal).len()), (1, 0));
    disk.make_room();
    let deadline = Instant::now() + LIMIT;
    while downloaded_files(&journal).len() != 1 {
        assert!(Instant::now() < deadline, "it was not written");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
