use std::fs;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex};

use testkit::tiny::{self, Options};

use super::*;
use crate::manifest::Role;
use atelier_core::recipe::FileRole;

/// A state that does not come within this time never comes; no test waits so long where it passes.
const LIMIT: Duration = Duration::from_mins(1);

fn options(dir: &Path, added: &[&str], watch: bool) -> ScannerOptions {
    ScannerOptions {
        models_root: dir.join("models"),
        added: added.iter().map(|it| dir.join(it)).collect(),
        cache_file: dir.join("data/files.json"),
        marks: dir.join("data/reading"),
        watch,
    }
}

/// The first state that is as wanted.
fn wait(scanner: &Scanner, wanted: impl Fn(&ScanResult) -> bool) -> Arc<ScanResult> {
    let end = Instant::now() + LIMIT;
    let mut result = scanner.result();
    while !wanted(&result) {
        assert!(Instant::now() < end, "it never came: {result:?}");
        result = scanner.after(result.state, Duration::from_secs(1)).unwrap_or(result);
    }
    result
}

fn write(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "x").unwrap();
    path
}

#[test]
fn a_thousand_files_are_listed_before_any_header_is_read() {
    let dir = tempfile::tempdir().unwrap();
    for at in 0..1000 {
        write(dir.path(), &format!("loras/{at:04}.safetensors"));
    }
    // The reader does not begin before it is told to.
    let (begin, told) = mpsc::channel::<()>();
    let read = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&read);
    let look = move |_: &Path| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            told.recv().unwrap();
        }
        FileStatus::Pickle
    };
    let woken = Arc::new(AtomicUsize::new(0));
    let wakes = Arc::clone(&woken);
    let wake = move || {
        wakes.fetch_add(1, Ordering::SeqCst);
    };
    let scanner = Scanner::start_with(options(dir.path(), &["loras"], false), look, wake);
    let listed = wait(&scanner, |it| it.listed);
    assert_eq!(listed.files.len(), 1000);
    assert!(listed.files.iter().all(|it| it.status == FileStatus::Unread) && !listed.complete);
    assert!(read.load(Ordering::SeqCst) <= 1);
    begin.send(()).unwrap();
    let complete = wait(&scanner, |it| it.complete);
    assert!(complete.files.iter().all(|it| it.status == FileStatus::Pickle));
    assert_eq!(read.load(Ordering::SeqCst), 1000);
    assert!(woken.load(Ordering::SeqCst) >= 2 && complete.state <= 2 + 1 + 1000 / BATCH as u64);
}

#[test]
fn headers_are_read_once_for_each_size_and_time() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("plain")).unwrap();
    let files = tiny::zimage(&dir.path().join("plain"), &Options::default()).unwrap();
    let read = Arc::new(AtomicUsize::new(0));
    let start = || {
        let count = Arc::clone(&read);
        let look = move |path: &Path| {
            count.fetch_add(1, Ordering::SeqCst);
            inspect_file(path)
        };
        Scanner::start_with(options(dir.path(), &["plain"], false), look, || ())
    };
    let first = wait(&start(), |it| it.complete);
    assert_eq!((first.files.len(), read.load(Ordering::SeqCst)), (3, 3));
    let diffusion = first.at(&files.diffusion).unwrap();
    assert_eq!(diffusion.role(), Some(Role::Part(FileRole::Diffusion)));
    assert!(diffusion.is_main() && diffusion.facts().unwrap().name == "Z-Image diffusion module");
    let second = wait(&start(), |it| it.complete);
    assert_eq!((&second.files, read.load(Ordering::SeqCst)), (&first.files, 3));
    fs::write(&files.llm, "cut").unwrap();
    let third = wait(&start(), |it| it.complete);
    assert_eq!(read.load(Ordering::SeqCst), 4);
    assert!(matches!(third.at(&files.llm).unwrap().status, FileStatus::Faulty { .. }));
}

#[test]
fn a_file_that_breaks_its_reader_breaks_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "plain/a.gguf");
    write(dir.path(), "plain/b.gguf");
    let look = |path: &Path| if path.ends_with("a.gguf") { panic!("a hole in the reader") } else { FileStatus::Pickle };
    let scanner = Scanner::start_with(options(dir.path(), &["plain"], false), look, || ());
    let result = wait(&scanner, |it| it.complete);
    assert!(matches!(&result.files[0].status, FileStatus::Faulty { advice, .. } if advice.sentence.ends_with("a.gguf.")));
    assert_eq!(result.files[1].status, FileStatus::Pickle);
}

#[test]
fn changes_on_the_disk_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("models")).unwrap();
    write(dir.path(), "plain/a.gguf");
    let scanner = Scanner::start(options(dir.path(), &["plain"], true), || ());
    wait(&scanner, |it| it.complete && it.files.len() == 1);
    write(dir.path(), "plain/inner/b.gguf");
    wait(&scanner, |it| it.complete && it.files.len() == 2);
    fs::remove_file(dir.path().join("plain/a.gguf")).unwrap();
    wait(&scanner, |it| it.complete && it.files.len() == 1);
    write(dir.path(), "models/new/c.gguf");
    wait(&scanner, |it| it.complete && it.files.len() == 2);
}

#[test]
fn folders_are_exchanged_and_one_that_is_gone_is_told() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "one/a.gguf");
    write(dir.path(), "two/b.gguf");
    let scanner = Scanner::start(options(dir.path(), &["one", "one/../one"], false), || ());
    let result = wait(&scanner, |it| it.complete);
    assert_eq!((result.folders.len(), result.files.len(), result.problems.len()), (2, 1, 0), "one folder by two names is one");
    scanner.set_folders(dir.path().join("models"), vec![dir.path().join("two"), dir.path().join("gone")]);
    let result = wait(&scanner, |it| it.complete && it.folders.len() == 3);
    assert_eq!((result.files.len(), result.problems.len()), (1, 1));
    assert!(result.files[0].path.ends_with("b.gguf"));
}

#[test]
fn a_scanner_that_is_dropped_ends_its_thread_at_once() {
    let dir = tempfile::tempdir().unwrap();
    for at in 0..50 {
        write(dir.path(), &format!("plain/{at}.gguf"));
    }
    let read = Arc::new(AtomicUsize::new(0));
    let (sender, reading) = mpsc::channel();
    let count = Arc::clone(&read);
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = Arc::clone(&gate);
    let look = move |_: &Path| {
        count.fetch_add(1, Ordering::SeqCst);
        let _ = sender.send(());
        let open = theirs.0.lock().unwrap();
        drop(theirs.1.wait_while(open, |open| !*open).unwrap());
        FileStatus::Pickle
    };
    let scanner = Scanner::start_with(options(dir.path(), &["plain"], false), look, || ());
    reading.recv_timeout(LIMIT).unwrap();
    scanner.shared.stop.store(true, Ordering::SeqCst);
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    drop(scanner);
    assert_eq!(read.load(Ordering::SeqCst), 1, "the file in hand was the last");
}

#[test]
fn a_file_that_ended_the_program_is_left_out_and_named_and_the_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let (bad, good) = (write(dir.path(), "plain/bad.safetensors"), write(dir.path(), "plain/good.safetensors"));
    let metadata = fs::metadata(&bad).unwrap();
    let modified = metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let marker = serde_json::json!({ "path": bad, "bytes": metadata.len(), "modified_ns": modified });
    fs::create_dir_all(dir.path().join("data/reading")).unwrap();
    fs::write(dir.path().join("data/reading/1-1.reading"), format!("{marker}\n")).unwrap();
    for _ in 0..2 {
        let scan = Scanner::start_with(options(dir.path(), &["plain"], false), |_| FileStatus::Pickle, || ()).complete(&|| true);
        let FileStatus::Faulty { fault: Fault::Unreadable, advice } = &scan.at(&bad).unwrap().status else { panic!("{scan:?}") };
        assert!(advice.sentence.contains("bad.safetensors is skipped"), "{advice}");
        assert_eq!(scan.at(&good).unwrap().status, FileStatus::Pickle);
    }
    fs::write(&bad, "another").unwrap();
    let scan = Scanner::start_with(options(dir.path(), &["plain"], false), |_| FileStatus::Pickle, || ()).complete(&|| true);
    assert_eq!(scan.at(&bad).unwrap().status, FileStatus::Pickle, "a changed file is tried again");
}
