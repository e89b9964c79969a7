//! Steps of a chore, run one after the other and timed.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cargo::finish;
use crate::failure::Failure;

#[derive(Default)]
pub(crate) struct Stages {
    finished: Vec<Stage>,
}

struct Stage {
    name: &'static str,
    duration: Duration,
    succeeded: bool,
}

impl Stages {
    /// Runs one program as a step. The first that fails ends the chore.
    pub(crate) fn run(&mut self, name: &'static str, command: &mut Command) -> Result<(), Failure> {
        self.measure(name, || finish(command))
    }

    /// Runs one step.
    pub(crate) fn measure(&mut self, name: &'static str, step: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let result = step();
        self.finished.push(Stage { name, duration: start.elapsed(), succeeded: result.is_ok() });
        result
    }

    /// Table of the steps and their durations.
    pub(crate) fn table(&self) -> String {
        let width = self.finished.iter().map(|stage| stage.name.len()).chain(["together".len()]).max().unwrap_or(0);
        let mut text = String::new();
        for stage in &self.finished {
            let failed = if stage.succeeded { "" } else { "  failed" };
            let _ = writeln!(text, "  {:width$} {:>9}{failed}", stage.name, format_duration(stage.duration));
        }
        let together = self.finished.iter().map(|stage| stage.duration).sum();
        let _ = writeln!(text, "  {:width$} {:>9}", "together", format_duration(together));
        text
    }
}

/// `4.2 s` below a minute, `3:07` above.
pub(crate) fn format_duration(duration: Duration) -> String {
    if duration < Duration::from_mins(1) {
        return format!("{:.1} s", duration.as_secs_f64());
    }
    let secs = duration.as_secs();
    format!("{}:{:02}", secs / 60, secs % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &'static str, secs: f64, succeeded: bool) -> Stage {
        Stage { name, duration: Duration::from_secs_f64(secs), succeeded }
    }

    #[test]
    fn the_table_says_what_took_how_long_and_what_failed() {
        let stages = Stages { finished: vec![stage("format", 1.25, true), stage("lint", 187.0, false)] };
        assert_eq!(stages.table(), "  format       1.2 s\n  lint          3:07  failed\n  together      3:08\n");
    }

    #[test]
    fn a_step_that_fails_hands_its_status_on_and_is_remembered() {
        let mut stages = Stages::default();
        let cargo = crate::cargo::cargo_program();
        assert_eq!(stages.run("good", Command::new(&cargo).arg("--version")), Ok(()));
        assert_eq!(stages.run("bad", Command::new(&cargo).arg("no-such-subcommand")), Err(Failure::from_status(Some(101))));
        assert!(stages.run("absent", &mut Command::new("/no/such/program")).is_err_and(|failure| failure.message.is_some()));
        assert_eq!(stages.finished.iter().map(|stage| stage.succeeded).collect::<Vec<_>>(), [true, false, false]);
    }
}
