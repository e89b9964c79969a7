//! The queue: order, pausing, going on after a restart, sharing files, a full disk, archives.

use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atelier_downloads::{Cause, Downloads, Event, PauseReason, QueueError, Stage, StartError, Status, UnpackList};

use super::server::{Fault, Server};
use super::{Home, job, known, name, noise, sum, wanted};

const BYTES: usize = 300_000;

fn paused(home: &Home, id: &str) -> PauseReason {
    home.wait(|event| match event {
        Event::Paused { id: it, why } if it == id => Some(why.clone()),
        _ => None,
    })
}

#[test]
fn a_paused_job_waits_and_goes_on_where_it_was() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(1, BYTES);
    server.file("/f", &body, [Fault::Stall(123_456)]);
    home.queue().add(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    home.wait_for_bytes("a", 123_456);
    home.queue().pause("a").unwrap();
    assert_eq!(paused(&home, "a"), PauseReason::ByPerson);
    let entry = home.queue().snapshot().remove(0);
    assert_eq!(
        (entry.name.as_str(), entry.status, entry.progress.bytes, entry.progress.total),
        ("A", Status::Paused(PauseReason::ByPerson), 123_456, Some(BYTES as u64))
    );
    home.queue().resume("a").unwrap();
    home.end("a").unwrap();
    assert_eq!((home.read("a/f"), server.sent()), (body, BYTES as u64));
    assert_eq!(server.seen("/f").last().unwrap().from(), Some(123_456));
}

#[test]
fn quitting_keeps_the_queue_its_order_and_every_byte() {
    let server = Server::start();
    let mut home = Home::new(|options| options.at_once = 1);
    let body = noise(2, BYTES);
    server.file("/a", &body, [Fault::Stall(200_000), Fault::Stall(10_000)]);
    server.file("/b", &body, []);
    for id in ["c", "b", "a"] {
        home.queue().add(job(id, vec![wanted(server.at(if id == "a" { "/a" } else { "/b" }), "f")])).unwrap();
        home.queue().pause(id).unwrap();
        paused(&home, id);
    }
    home.queue().reorder("a", Some("c")).unwrap();
    home.queue().resume("a").unwrap();
    home.wait_for_bytes("a", 200_000);
    home.queue().pause("a").unwrap();
    paused(&home, "a");
    home.restart();
    // The progress is known without a request.
    home.wait(|event| (*event == Event::QueueChanged).then_some(()));
    let progress = home.queue().snapshot().remove(0).progress;
    assert_eq!((progress.bytes, progress.total), (200_000, Some(BYTES as u64)));
    home.queue().resume("a").unwrap();
    home.wait_for_bytes("a", 210_000);
    // One that ran goes on by itself.
    home.restart();
    home.end("a").unwrap();
    assert_eq!(home.read("a/f"), body);
    assert_eq!(server.seen("/a").last().unwrap().from(), Some(210_000));
    let order = |home: &Home| home.queue().snapshot().iter().map(|it| (it.id.clone(), it.status.clone())).collect::<Vec<_>>();
    let both = [("c".to_owned(), Status::Paused(PauseReason::ByPerson)), ("b".to_owned(), Status::Paused(PauseReason::ByPerson))];
    assert_eq!(order(&home), both);
    home.queue().reorder("c", None).unwrap();
    home.wait(|event| (*event == Event::QueueChanged && order(&home)[0].0 == "b").then_some(()));
}

#[test]
fn a_cancelled_job_leaves_nothing_of_its_own_and_everything_else() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(3, BYTES);
    server.file("/whole", &body, []);
    server.file("/half", &body, [Fault::Stall(50_000)]);
    fs::create_dir_all(home.path("a")).unwrap();
    fs::write(home.path("a/mine.txt"), "mine").unwrap();
    let files = vec![wanted(server.at("/whole"), "deep/whole"), wanted(server.at("/half"), "half")];
    home.queue().add(job("a", files)).unwrap();
    home.wait_for_bytes("a", BYTES as u64 + 50_000);
    home.queue().cancel("a").unwrap();
    home.wait(|event| (*event == Event::Cancelled { id: "a".into() }).then_some(()));
    assert_eq!(home.files(), ["a/mine.txt"]);
    assert!(!home.path("a/deep").exists() && home.queue().snapshot().is_empty());
}

#[test]
fn so_many_files_come_at_once_and_no_more() {
    let server = Server::start();
    let home = Home::new(|options| options.at_once = 2);
    for at in 0..5 {
        server.file(&format!("/{at}"), &noise(at, 1000), [Fault::Hold(500)]);
        home.queue().add(job(&at.to_string(), vec![wanted(server.at(&format!("/{at}")), "f")])).unwrap();
    }
    server.wait_for(1000, || false);
    // Five progress reports on, there is still nothing else under way.
    for _ in 0..5 {
        home.wait(|event| (*event == Event::QueueChanged).then_some(()));
    }
    assert_eq!(server.seen("/").len(), 2);
    let running = home.queue().snapshot().iter().filter(|it| it.status == Status::Running).count();
    assert_eq!(running, 2);
    server.release();
    let mut left = 5;
    home.wait(|event| {
        left -= u32::from(matches!(event, Event::Done { .. }));
        (left == 0).then_some(())
    });
    assert_eq!(home.files().len(), 5);
}

#[test]
fn a_file_that_two_jobs_want_comes_once() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(4, BYTES);
    server.file("/vae", &body, [Fault::Hold(10_000)]);
    // By its address alone, and by its hash from another address.
    home.queue().add(job("a", vec![wanted(server.at("/vae"), "vae")])).unwrap();
    home.queue().add(job("b", vec![wanted(server.at("/vae"), "deep/vae")])).unwrap();
    let shared = |home: &Home| home.queue().snapshot().iter().any(|it| it.progress.files[0].stage == Stage::Shared);
    home.wait(|_| shared(&home).then_some(()));
    server.release();
    let mut left = 2;
    home.wait(|event| {
        left -= i32::from(matches!(event, Event::Done { .. }));
        (left == 0).then_some(())
    });
    assert_eq!(server.sent(), BYTES as u64);
    // A third one, later, by the hash: the server is not even asked.
    let asked = server.seen("/").len();
    home.run(job("c", vec![known(server.at("/elsewhere"), "vae", &body)])).unwrap();
    assert_eq!(server.seen("/").len(), asked);
    assert_eq!((home.read("a/vae"), home.read("b/deep/vae"), home.read("c/vae")), (body.clone(), body.clone(), body));
    assert_eq!(home.files(), ["a/vae", "b/deep/vae", "c/vae"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(home.path("c/vae")).unwrap().nlink(), 3, "one copy on the disk");
    }
}

#[test]
fn a_file_that_is_there_is_not_fetched_and_one_that_is_not_ours_is_put_aside() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(5, BYTES);
    server.file("/f", &body, []);
    fs::create_dir_all(home.path("a")).unwrap();
    fs::write(home.path("a/f"), &body).unwrap();
    home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    assert_eq!(server.seen("/f").len(), 0);
    fs::write(home.path("a/f"), "my own model").unwrap();
    home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    assert_eq!((home.read("a/f"), home.read("a/f.old1")), (body.clone(), b"my own model".to_vec()));
    // A download that a fault damaged is replaced.
    fs::write(home.path("a/f"), "damaged").unwrap();
    home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    assert_eq!((home.read("a/f"), home.files()), (body, vec!["a/f".to_owned(), "a/f.old1".into()]));
}

#[test]
fn a_full_disk_pauses_before_and_during_and_loses_nothing() {
    // Stands for a disk that does not tell how much is free.
    const UNKNOWN: u64 = u64::MAX;
    let server = Server::start();
    let free = Arc::new(AtomicU64::new(BYTES as u64 - 1));
    let told = Arc::clone(&free);
    let home = Home::new(|options| {
        options.free_space = Arc::new(move |_| match told.load(Ordering::SeqCst) {
            UNKNOWN => Err(io::ErrorKind::Unsupported.into()),
            bytes => Ok(bytes),
        });
    });
    let body = noise(6, BYTES);
    server.file("/f", &body, []);
    home.queue().add(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    let why = paused(&home, "a");
    assert_eq!(why, PauseReason::DiskFull { needed: BYTES as u64, free: BYTES as u64 - 1 });
    assert!(why.sentence().contains("Free some space"), "{}", why.sentence());
    // Once there is room it goes on by itself, so its end is waited for before another job's
    // events are.
    free.store(1 << 40, Ordering::SeqCst);
    home.end("a").unwrap();
    assert_eq!(home.read("a/f"), body);
    // Room for the beginning of a large file; a look at the disk on the way stops it.
    let large = noise(7, 80 << 20);
    server.file("/large", &large, [Fault::Hold(30 << 20)]);
    home.queue().add(job("large", vec![known(server.at("/large"), "f", &large)])).unwrap();
    home.wait_for_bytes("large", 1 << 20);
    // The file is past the look at its start, and cannot be past the next one.
    free.store(1 << 20, Ordering::SeqCst);
    server.release();
    assert!(matches!(paused(&home, "large"), PauseReason::DiskFull { needed, free } if needed <= 16 << 20 && free == 1 << 20));
    // A disk that does not tell is never found to have room: a person lets the job go on.
    free.store(UNKNOWN, Ordering::SeqCst);
    home.queue().resume("large").unwrap();
    home.end("large").unwrap();
    assert!(home.read("large/f") == large);
    let resumed = server.seen("/large").last().unwrap().from().unwrap();
    assert!(resumed >= 64 << 20, "{resumed}");
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn an_archive_is_unpacked_by_its_list_and_not_kept() {
    let (server, home) = (Server::start(), Home::plain());
    let model = noise(9, BYTES);
    let archive = zip(&[("pack/model.bin", &model), ("pack/readme.txt", b"words"), ("../../evil", b"evil")]);
    server.file("/a.zip", &archive, [Fault::Drop(1000)]);
    let mut wanted = known(server.at("/a.zip"), "a.zip", &archive);
    wanted.unpack = Some(UnpackList { names: vec![name("pack/model.bin")], flat: true });
    home.run(job("a", vec![wanted.clone()])).unwrap();
    assert_eq!((home.files(), home.read("a/model.bin")), (vec!["a/model.bin".to_owned()], model.clone()));
    // It is known as Atelier's, so that it can be checked and taken away.
    let kept = atelier_downloads::downloaded_files(&home.options.journal);
    let kept: Vec<_> = kept.iter().map(|it| (it.path.clone(), it.sha256, it.unpacked)).collect();
    assert_eq!(kept, [(home.path("a/model.bin"), sum(&model), true)]);
    // Another model that wants the archive itself gets the archive.
    home.run(job("c", vec![known(server.at("/a.zip"), "a.zip", &archive)])).unwrap();
    assert_eq!(home.read("c/a.zip"), archive);
    fs::remove_dir_all(home.path("c")).unwrap();
    // A name that is not in it: nothing stays.
    wanted.unpack = Some(UnpackList { names: vec![name("pack/model.bin"), name("missing")], flat: false });
    let failure = home.run(job("b", vec![wanted])).unwrap_err();
    assert_eq!(failure.cause, Cause::Archive);
    assert!(failure.advice.sentence.contains("\"missing\" in it is missing"), "{failure:?}");
    assert_eq!(home.files(), ["a/model.bin"]);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_outside_the_folder_of_models() {
    let (server, home) = (Server::start(), Home::plain());
    server.file("/f", b"evil", []);
    let outside = home.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(home.path("")).unwrap();
    std::os::unix::fs::symlink(&outside, home.path("link")).unwrap();
    for folder in ["link", "../outside", "a/../../outside", outside.to_str().unwrap()] {
        let mut job = job("a", vec![wanted(server.at("/f"), "f")]);
        job.folder = folder.into();
        job.manifest = Some("{}".into());
        assert_eq!(home.run(job).unwrap_err().cause, Cause::Job, "{folder}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn one_process_downloads_at_a_time() {
    let home = Home::plain();
    assert!(matches!(Downloads::start(home.options.clone(), || {}), Err(StartError::InUse)));
    let two = vec![wanted("http://127.0.0.1:9/f".into(), "f"), wanted("http://127.0.0.1:9/g".into(), "F")];
    assert!(matches!(home.queue().add(job("a", two)), Err(QueueError::Job(_))));
}

#[test]
fn a_job_that_is_added_again_takes_the_new_files() {
    let (server, home) = (Server::start(), Home::plain());
    let (old, new) = (noise(10, BYTES), noise(11, 1000));
    server.file("/old", &old, [Fault::Stall(5000)]);
    server.file("/new", &new, []);
    home.queue().add(job("a", vec![wanted(server.at("/old"), "f")])).unwrap();
    home.wait_for_bytes("a", 5000);
    home.run(job("a", vec![wanted(server.at("/new"), "f")])).unwrap();
    assert_eq!((home.read("a/f"), home.files()), (new, vec!["a/f".to_owned()]));
}

#[cfg(unix)]
#[test]
fn what_remembers_links_is_private_for_some_have_a_key_in_them() {
    use std::os::unix::fs::PermissionsExt as _;

    let (server, mut home) = (Server::start(), Home::plain());
    server.file("/f", &noise(3, BYTES), [Fault::Hold(100_000)]);
    home.queue().add(job("a", vec![wanted(server.at("/f?token=secret"), "f")])).unwrap();
    home.wait_for_bytes("a", 100_000);
    home.queue().pause("a").unwrap();
    paused(&home, "a");
    home.restart();
    let journal = home.options.journal.join("downloads.json");
    for path in [journal, home.path("a/f.part.json")] {
        assert!(fs::read_to_string(&path).unwrap().contains("token=secret"), "{path:?}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
    }
}
