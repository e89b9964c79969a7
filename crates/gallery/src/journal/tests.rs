use proptest::prelude::*;

use super::*;

fn entry(file: &str, hash: u8, rating: u8) -> JournalEntry {
    JournalEntry { file: file.into(), hash: FileHash([hash; 16]).to_string(), rating, ..JournalEntry::default() }
}

#[test]
fn the_last_line_holds_and_a_moved_file_is_known_by_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/marks.jsonl");
    append_lines(&path, &[entry("a.png", 1, 2), entry("b.png", 2, 3)], false).unwrap();
    append_lines(&path, &[entry("a.png", 1, 5)], false).unwrap();
    let journal = Journal::read(&path).unwrap();
    let rating = |name: &str, hash: u8| journal.entry(Path::new(name), FileHash([hash; 16])).map(|it| it.rating);
    assert_eq!((rating("a.png", 1), rating("b.png", 2)), (Some(5), Some(3)));
    assert_eq!(rating("other.png", 2), Some(3));
    assert_eq!(rating("a.png", 2), Some(3), "the hash says more than the name");
    assert_eq!(rating("a.png", 9), Some(5), "the file was changed");
    assert_eq!(rating("none.png", 9), None);
}

#[test]
fn a_line_that_was_cut_off_costs_itself_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marks.jsonl");
    append_lines(&path, &[entry("a.png", 1, 2), entry("b.png", 2, 3)], false).unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    append_lines(&path, &[entry("c.png", 3, 4)], false).unwrap();
    let mut files: Vec<_> = Journal::read(&path).unwrap().files().map(str::to_owned).collect();
    files.sort();
    assert_eq!(files, ["a.png", "c.png"]);
}

#[test]
fn a_journal_of_stale_lines_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marks.jsonl");
    for n in 0..60 {
        append_lines(&path, &vec![entry("a.png", 1, n % 6); 20], false).unwrap();
    }
    let journal = Journal::read(&path).unwrap();
    journal.compact(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    assert_eq!(Journal::read(&path).unwrap().entries, journal.entries);
}

#[test]
fn what_is_no_journal_is_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marks.jsonl");
    assert!(Journal::read(&path).unwrap().entries.is_empty());
    assert!(Journal::read(folder.path()).unwrap().entries.is_empty());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"file\":\"{}\"}}", "x".repeat(2 << 20));
    for text in ["[]", "{\"file\":7}", "{\"file\":\"\"}", "\0\0", &deep, &long, "{\"file\":\"a\",\"rating\":999}"] {
        fs::write(&path, text).unwrap();
        assert!(Journal::read(&path).unwrap().entries.is_empty(), "{}", &text[..text.len().min(40)]);
    }
    fs::write(&path, "{").unwrap();
    assert_eq!(Collections::read(&path).unwrap(), Collections::default());
}

#[test]
fn what_cannot_be_read_now_is_an_error_and_damaged_collections_are_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("collections.json");
    fs::write(&path, "{").unwrap();
    Collections::read(&path).unwrap();
    assert_eq!(fs::read(folder.path().join("collections.json.bad")).unwrap(), b"{");
    let mine = Collections { boards: vec!["mine".into()], ..Collections::default() };
    mine.write(&path).unwrap();
    assert_eq!(Collections::read(&path).unwrap(), mine);
    #[cfg(unix)]
    {
        // A name that leads to itself is there, and nobody can read it.
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert!(Collections::read(&path).is_err() && mine.write(&path).is_err() && Journal::read(&path).is_err());
        assert!(path.symlink_metadata().unwrap().is_symlink());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_fault(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0..100_usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks.jsonl");
        append_lines(&path, &[entry("a.png", 1, 2)], false).unwrap();
        let mut whole = fs::read(&path).unwrap();
        whole.truncate(cut);
        whole.extend(&bytes);
        fs::write(&path, &whole).unwrap();
        Journal::read(&path).unwrap();
        append_lines(&path, &[entry("z.png", 9, 1)], false).unwrap();
        prop_assert!(Journal::read(&path).unwrap().entry(Path::new("z.png"), FileHash([9; 16])).is_some());
    }
}
