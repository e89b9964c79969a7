//! How long each test program took, so that what makes a run long is seen.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::stages::format_duration;

/// Programs that are named.
const MAX_SHOWN: usize = 15;

/// The file beside a run's record.
pub(crate) fn file_of(record: &Path) -> PathBuf {
    record.with_extension("times")
}

/// Appends the time of a program to the file beside a run's record.
pub(crate) fn add(record: &Path, program: &str, duration: Duration) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(file_of(record))?;
    writeln!(file, "{} {program}", duration.as_millis())
}

/// Removes the file beside a run's record; a table of the slowest programs in it.
pub(crate) fn take(record: &Path) -> String {
    let path = file_of(record);
    let text = fs::read_to_string(&path).unwrap_or_default();
    // Otherwise it stays in the target folder, where it does no harm.
    let _ = fs::remove_file(&path);
    table(&text)
}

fn table(text: &str) -> String {
    let entry = |line: &str| {
        let (millis, program) = line.split_once(' ')?;
        // Cargo ends its names in a hash.
        let name = program.rsplit_once('-').map_or(program, |(name, _)| name);
        Some((Duration::from_millis(millis.parse().ok()?), name.to_owned()))
    };
    let mut all: Vec<(Duration, String)> = text.lines().filter_map(entry).collect();
    all.sort_by(|one, other| other.cmp(one));
    all.truncate(MAX_SHOWN);
    let mut table = String::from("Slowest test programs:\n");
    for (duration, name) in all {
        let _ = writeln!(table, "  {:>9}  {name}", format_duration(duration));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first_by_the_name_of_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("flaky-7");
        add(&record, "stress-00ff", Duration::from_secs(5)).unwrap();
        add(&record, "queue_kills-11ff", Duration::from_secs(61)).unwrap();
        assert_eq!(take(&record), "Slowest test programs:\n       1:01  queue_kills\n      5.0 s  stress\n");
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    }
}
