//! Steps of a chore, run one after the other and timed.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Stop;

/// The steps done so far.
#[derive(Default)]
pub(crate) struct Stages {
    done: Vec<Stage>,
}

struct Stage {
    name: &'static str,
    took: Duration,
    good: bool,
}

impl Stages {
    /// Runs one step. The first that fails ends the chore.
    pub(crate) fn run(&mut self, name: &'static str, command: &mut Command) -> Result<(), Stop> {
        eprintln!("\n== {name}");
        let began = Instant::now();
        let status = command.status();
        let good = status.as_ref().is_ok_and(std::process::ExitStatus::success);
        self.done.push(Stage { name, took: began.elapsed(), good });
        match status {
            Ok(_) if good => Ok(()),
            Ok(status) => Err(Stop::with_code(status.code())),
            Err(error) => Err(Stop::because(format!("{} could not be started: {error}", command.get_program().display()))),
        }
    }

    /// What took how long, in lines.
    pub(crate) fn table(&self) -> String {
        let width = self.done.iter().map(|stage| stage.name.len()).chain(["together".len()]).max().unwrap_or(0);
        let mut text = String::new();
        for stage in &self.done {
            let failed = if stage.good { "" } else { "  failed" };
            let _ = writeln!(text, "  {:width$} {:>9}{failed}", stage.name, clock(stage.took));
        }
        let together = self.done.iter().map(|stage| stage.took).sum();
        let _ = writeln!(text, "  {:width$} {:>9}", "together", clock(together));
        text
    }
}

/// `4.2 s` below a minute, `3:07` above.
fn clock(took: Duration) -> String {
    if took < Duration::from_mins(1) {
        return format!("{:.1} s", took.as_secs_f64());
    }
    let secs = took.as_secs();
    format!("{}:{:02}", secs / 60, secs % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &'static str, secs: f64, good: bool) -> Stage {
        Stage { name, took: Duration::from_secs_f64(secs), good }
    }

    #[test]
    fn the_table_says_what_took_how_long_and_what_failed() {
        let stages = Stages { done: vec![stage("format", 1.25, true), stage("lint", 187.0, false)] };
        assert_eq!(stages.table(), "  format       1.2 s\n  lint          3:07  failed\n  together      3:08\n");
    }

    #[test]
    fn a_step_that_fails_hands_its_status_on_and_is_remembered() {
        let mut stages = Stages::default();
        let cargo = crate::chores::cargo_program();
        assert_eq!(stages.run("good", Command::new(&cargo).arg("--version")), Ok(()));
        assert_eq!(stages.run("bad", Command::new(&cargo).arg("no-such-subcommand")), Err(Stop::with_code(Some(101))));
        assert!(stages.run("absent", &mut Command::new("/no/such/program")).is_err_and(|stop| stop.sentence.is_some()));
        assert_eq!(stages.done.iter().map(|stage| stage.good).collect::<Vec<_>>(), [true, false, false]);
    }
}
