//! How long each test program took, so that the next run starts with the longest, and what makes a
//! run long is seen.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use crate::stages::format_duration;

/// Programs that are named.
const MAX_SHOWN: usize = 15;

/// Times of test programs by their names, of this run and the last.
pub(crate) struct TestTimes {
    file: PathBuf,
    last: BTreeMap<String, Duration>,
    now: BTreeMap<String, Duration>,
}

impl TestTimes {
    /// Reads those of the last run. What cannot be read only costs the order.
    pub(crate) fn load(file: PathBuf) -> Self {
        let entry = |line: &str| {
            let (millis, name) = line.split_once(' ')?;
            Some((name.to_owned(), Duration::from_millis(millis.parse().ok()?)))
        };
        let last = fs::read_to_string(&file).unwrap_or_default().lines().filter_map(entry).collect();
        Self { file, last, now: BTreeMap::new() }
    }

    /// Time of a program in the last run.
    pub(crate) fn last(&self, name: &str) -> Option<Duration> {
        self.last.get(name).copied()
    }

    /// Adds a time of this run. Of two programs with one name the longer counts.
    pub(crate) fn add(&mut self, name: String, duration: Duration) {
        let known = self.now.entry(name).or_default();
        *known = duration.max(*known);
    }

    /// Keeps what is known for the next run.
    pub(crate) fn save(&self) -> io::Result<()> {
        let mut all = self.last.clone();
        all.extend(self.now.clone());
        let mut lines = String::new();
        for (name, duration) in all {
            let _ = writeln!(lines, "{} {name}", duration.as_millis());
        }
        fs::write(&self.file, lines)
    }

    /// Table of the slowest programs of this run.
    pub(crate) fn table(&self) -> String {
        let mut all: Vec<_> = self.now.iter().map(|(name, duration)| (*duration, name)).collect();
        all.sort_by(|one, other| other.cmp(one));
        all.truncate(MAX_SHOWN);
        let mut table = String::from("Slowest test programs:\n");
        for (duration, name) in all {
            let _ = writeln!(table, "  {:>9}  {name}", format_duration(duration));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first() {
        let mut times = TestTimes::load("/no/such/file".into());
        times.add("atelier/stress".into(), Duration::from_secs(5));
        times.add("atelier/queue_kills".into(), Duration::from_secs(61));
        times.add("atelier/queue_kills".into(), Duration::from_secs(1));
        assert_eq!(times.table(), "Slowest test programs:\n       1:01  atelier/queue_kills\n      5.0 s  atelier/stress\n");
        assert_eq!(times.last("atelier/stress"), None);
    }

    #[test]
    fn the_next_run_knows_the_times_of_this_one_and_of_what_it_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("times");
        fs::write(&file, "7000 atelier/a\nnonsense\n1 atelier/b\n").unwrap();
        let mut times = TestTimes::load(file.clone());
        times.add("atelier/b".into(), Duration::from_secs(2));
        times.save().unwrap();
        let next = TestTimes::load(file);
        assert_eq!(next.last("atelier/a"), Some(Duration::from_secs(7)));
        assert_eq!(next.last("atelier/b"), Some(Duration::from_secs(2)));
    }
}
