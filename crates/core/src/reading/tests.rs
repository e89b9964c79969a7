use std::time::Instant;

use super::*;

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn marks(&self) -> ReadingMarks {
        ReadingMarks::open(&self.folder.path().join("data/reading"))
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Leaves everything as a process does that ends while it reads this file.
    fn end_while_reading(&self, path: &Path) {
        let marks = self.marks();
        let mut marked = marks.mark(&FileState::of(path).unwrap());
        // Its lock goes with it, its words stay.
        drop(marked.marker.take().unwrap().file);
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("data/reading")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn change_list(&self, change: impl Fn(&mut NamedFile)) {
        let folder = self.folder.path().join("data/reading");
        let mut named = read_list(&folder);
        named.values_mut().for_each(change);
        write_list(&folder, &mut named).unwrap();
    }
}

#[test]
fn what_ended_the_program_is_left_out_and_the_rest_is_read() {
    let home = Home::new();
    let (bad, good) = (home.file("a very long name of a picture.png", "bad"), home.file("b.png", "good"));
    drop(home.marks());
    assert!(!home.folder.path().join("data").exists(), "a start that reads nothing makes no folder");
    home.end_while_reading(&bad);
    let marks = home.marks();
    assert_eq!(marks.read(&bad, || panic!("it is not read")), Err(LeftOut { path: bad.clone() }));
    assert_eq!(marks.read(&good, || 7), Ok(7));
    assert_eq!(marks.left_out(), std::slice::from_ref(&bad));
    assert!(marks.is_left_out(&bad) && !marks.is_left_out(&good));
    drop(marks);
    assert_eq!(home.names(), [LEFT_OUT_NAME, LOCK_NAME], "no marker is left over");
    assert!(home.marks().is_left_out(&bad), "also at the start after the next");
    fs::write(&bad, "another").unwrap();
    assert_eq!(home.marks().read(&bad, || 8), Ok(8), "a changed file is tried again");
    assert!(home.marks().left_out().is_empty());
}

#[test]
fn what_another_process_reads_now_is_no_crash() {
    let home = Home::new();
    let (one, two) = (home.file("1.png", "1"), home.file("2.png", "2"));
    let marks = home.marks();
    let read = marks.read(&one, || {
        // Another process starts, and this one reads a second file on another thread.
        marks.read(&two, || (home.marks().left_out(), home.names().len())).unwrap()
    });
    assert_eq!(read, Ok((Vec::new(), 3)), "two markers and the lock");
    assert!(home.marks().left_out().is_empty());
}

#[test]
fn a_file_that_was_named_once_is_tried_again_after_a_day_and_named_twice_never() {
    let home = Home::new();
    let path = home.file("a.png", "killed by a person");
    home.end_while_reading(&path);
    assert!(home.marks().is_left_out(&path));
    home.change_list(|it| it.noticed_secs -= RETRY_SECS);
    let marks = home.marks();
    assert!(!marks.is_left_out(&path));
    assert_eq!(marks.read(&path, || 7), Ok(7));
    assert!(read_list(&home.folder.path().join("data/reading")).is_empty(), "it was read well");

    home.end_while_reading(&path);
    home.marks();
    home.change_list(|it| it.noticed_secs -= RETRY_SECS);
    home.end_while_reading(&path);
    home.marks();
    home.change_list(|it| it.noticed_secs -= 1000 * RETRY_SECS);
    assert!(home.marks().is_left_out(&path));
}

#[test]
fn a_reader_that_panics_ended_nothing_and_one_without_a_file_says_so_itself() {
    let home = Home::new();
    let path = home.file("a.png", "1");
    let marks = home.marks();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| marks.read(&path, || panic!("a fault"))));
    assert!(panicked.is_err());
    drop(marks);
    assert_eq!(home.marks().read(&path, || 1), Ok(1));
    assert_eq!(home.marks().read(&home.folder.path().join("gone"), || 2), Ok(2));
}

#[test]
fn a_folder_that_cannot_be_made_and_damaged_files_stop_no_reader() {
    let home = Home::new();
    let path = home.file("a.png", "1");
    assert_eq!(ReadingMarks::open(&path.join("no folder")).read(&path, || 1), Ok(1));
    home.end_while_reading(&path);
    let folder = home.folder.path().join("data/reading");
    fs::write(folder.join(LEFT_OUT_NAME), "{").unwrap();
    fs::write(folder.join("7-7.reading"), vec![0xff; 100_000]).unwrap();
    assert_eq!(home.marks().left_out(), [path]);
}

#[test]
fn at_most_a_thousand_files_are_left_out_the_newest_ones() {
    let home = Home::new();
    drop(home.marks());
    let mut named = HashMap::new();
    for n in 0..MAX_LEFT_OUT as u64 + 5 {
        note_end(&mut named, FileState { path: format!("/{n}"), bytes: n, modified_ns: n }, n);
    }
    fs::create_dir_all(home.folder.path().join("data/reading")).unwrap();
    write_list(&home.folder.path().join("data/reading"), &mut named).unwrap();
    assert_eq!(named.len(), MAX_LEFT_OUT);
    assert!(!named.contains_key("/4") && named.contains_key("/5"));
}

#[test]
fn marking_ten_thousand_files_takes_a_moment() {
    let home = Home::new();
    let path = home.file("a.png", "1");
    let marks = home.marks();
    let start = Instant::now();
    for _ in 0..10_000 {
        marks.read(&path, || ()).unwrap();
    }
    let took = start.elapsed();
    println!("10,000 files: {took:?}");
    assert!(took.as_secs() < 10, "{took:?}");
}
