//! Lists of tags that complete prompts, in the form that tag files of other programs have: a line
//! each with the tag, a category, how many pictures have it, and other names in quotes.
//!
//! What such a file holds is a stranger's: files, bytes and lines are bounded, and what cannot be
//! read is told.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use atelier_language::tr;

/// Folder of tag files in Atelier's own data.
pub const TAGS_FOLDER: &str = "tags";

const MAX_FILES: usize = 20;
const MAX_FILE_BYTES: u64 = 64 << 20;
const MAX_TAGS: usize = 1_000_000;
const MAX_NAME_CHARS: usize = 100;

/// A tag that begins with what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTag<'a> {
    /// Its name, with blanks between words.
    pub name: &'a str,
    /// The other name that was typed, where it is not its own.
    pub alias: Option<&'a str>,
    /// Pictures that have it, as its file says.
    pub count: u64,
}

/// All tags of a folder.
#[derive(Clone, Debug, Default)]
pub struct TagList {
    tags: Vec<Tag>,
    /// Names and other names in order, each with the index of its tag.
    names: Vec<(Box<str>, u32)>,
}

#[derive(Clone, Debug)]
struct Tag {
    name: Box<str>,
    count: u64,
}

impl TagList {
    /// Reads the CSV files of a folder, in the order of their names. Of a tag that two have, the
    /// first counts. Returns a sentence for each file that could not be read; none where there is no
    /// such folder. Blocks.
    #[must_use]
    pub fn read(folder: &Path) -> (Self, Vec<String>) {
        let is_csv = |path: &PathBuf| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("csv"));
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        // Of the entry itself: a link may lead out of the folder.
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path());
        let mut files: Vec<PathBuf> = files.filter(is_csv).collect();
        files.sort();
        let (mut list, mut notes) = (Self::default(), Vec::new());
        for path in files.iter().take(MAX_FILES) {
            let result = read_bytes(path).and_then(|bytes| list.add(&bytes));
            if let Err(sentence) = result {
                notes.push(format!("{}: {sentence}", path.display()));
            }
        }
        if files.len() > MAX_FILES {
            notes.push(tr!("studio-the-first-files-of", max_files = MAX_FILES));
        }
        // Of equal names the tag that was read first.
        list.names.sort();
        list.names.dedup_by(|later, earlier| later.0 == earlier.0);
        (list, notes)
    }

    /// Number of tags.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    /// True where there is no tag.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// The tags whose name, or another one of theirs, begins with these letters; those of most
    /// pictures first.
    #[must_use]
    pub fn find(&self, letters: &str, most: usize) -> Vec<FoundTag<'_>> {
        let letters = key_of(letters);
        let start = self.names.partition_point(|(name, _)| **name < *letters);
        let names = self.names.get(start..).unwrap_or_default();
        // Few of many: the rest is not sorted.
        let mut best: Vec<(std::cmp::Reverse<u64>, u32, &str)> = Vec::with_capacity(most + 1);
        for (name, index) in names.iter().take_while(|(name, _)| name.starts_with(&letters)) {
            let count = self.tags.get(*index as usize).map_or(0, |tag| tag.count);
            let place = (std::cmp::Reverse(count), *index, &**name);
            let is_behind = best.len() >= most && best.last().is_some_and(|last| *last <= place);
            // Names come in order, so of one tag the first is the shortest.
            if is_behind || best.iter().any(|it| it.1 == *index) {
                continue;
            }
            best.insert(best.partition_point(|it| *it < place), place);
            best.truncate(most);
        }
        let found = best.into_iter().filter_map(|(_, index, name)| {
            let tag = self.tags.get(index as usize)?;
            let alias = Some(name).filter(|name| *name != key_of(&tag.name));
            Some(FoundTag { name: &tag.name, alias, count: tag.count })
        });
        found.collect()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let mut record = csv::ByteRecord::new();
        let mut has_some = false;
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(error.to_string()),
            }
            let field = |at: usize| record.get(at).map(String::from_utf8_lossy);
            let Some(name) = field(0).and_then(|it| name_of(&it)) else { continue };
            // With two fields, the second is the number.
            let count = field(if record.len() == 2 { 1 } else { 2 }).and_then(|it| it.trim().parse::<u64>().ok());
            if count.is_none() && record.len() > 1 && !has_some {
                // The names of the columns.
                has_some = true;
                continue;
            }
            has_some = true;
            if self.names.len() >= MAX_TAGS {
                return Err(tr!("studio-the-first-names-are", max_tags = MAX_TAGS));
            }
            let index = u32::try_from(self.tags.len()).unwrap_or(u32::MAX);
            let aliases = field(3).unwrap_or_default();
            let keys = aliases.split(',').filter_map(name_of).map(|it| key_of(&it)).chain([key_of(&name)]);
            self.names.extend(keys.map(|key| (key.into_boxed_str(), index)));
            self.tags.push(Tag { name: name.into_boxed_str(), count: count.unwrap_or(0) });
        }
        Ok(())
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(tr!("studio-is-too-large-for").to_owned());
    }
    Ok(bytes)
}

/// A name as a prompt has it: `blue_eyes` is `blue eyes`. Smileys keep their lines.
fn name_of(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches('\u{feff}');
    if text.is_empty() || text.chars().count() > MAX_NAME_CHARS || text.contains(char::is_control) {
        return None;
    }
    let has_words = text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
    Some(if has_words { text.replace('_', " ") } else { text.to_owned() })
}

fn key_of(text: &str) -> String {
    text.to_lowercase().replace('_', " ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    fn list(files: &[(&str, &str)]) -> (TagList, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        TagList::read(folder.path())
    }

    #[test]
    fn tags_are_found_by_count_and_by_their_other_names() {
        let text =
            "1girl,0,6008644,\"1girls,sole_female\"\nblue_eyes,0,1804220,\nblue_hair,0,900000,\"aqua_hair\"\nblush,0,3000000\n^_^,0,9000\n";
        let (tags, notes) = list(&[("danbooru.csv", text), ("notes.txt", "blue_none,0,1")]);
        assert_eq!((notes, tags.len()), (Vec::new(), 5));
        let names = |letters: &str| tags.find(letters, 9).into_iter().map(|it| it.name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names("bl"), ["blush", "blue eyes", "blue hair"]);
        assert_eq!(names("Blue_"), ["blue eyes", "blue hair"]);
        assert_eq!(tags.find("sole f", 9), [FoundTag { name: "1girl", alias: Some("sole female"), count: 6_008_644 }]);
        assert_eq!(tags.find("1girl", 9).len(), 1, "a tag and its other name are one");
        assert_eq!((names("^_"), names("green")), (vec!["^_^".to_owned()], Vec::new()));
        assert_eq!(tags.find("b", 1).len(), 1);
    }

    #[test]
    fn other_forms_of_files_are_read_and_broken_ones_told() {
        let (tags, notes) = list(&[
            ("a.csv", "\u{feff}name,category,count,aliases\nred fox,0,5,\n"),
            ("b.csv", "lake,12\nsea\n"),
            ("c.CSV", "red fox,0,1,\n"),
        ]);
        assert_eq!((notes, tags.len()), (Vec::new(), 4));
        assert_eq!(tags.find("red", 9), [FoundTag { name: "red fox", alias: None, count: 5 }], "of two files the first");
        assert_eq!(tags.find("la", 9)[0].count, 12);
        assert_eq!(tags.find("sea", 9)[0].count, 0);
        assert!(list(&[]).0.is_empty() && TagList::read(Path::new("/nowhere")).1.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("big.csv")).unwrap();
        file.set_len(MAX_FILE_BYTES + 1).unwrap();
        let (tags, notes) = TagList::read(folder.path());
        assert!(tags.is_empty() && notes.len() == 1 && notes[0].contains("too large"), "{notes:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400), letters in ".{0,6}") {
            let mut list = TagList::default();
            let _ = list.add(&bytes);
            list.names.sort();
            proptest::prop_assert!(list.find(&letters, 5).len() <= 5);
        }
    }
}
