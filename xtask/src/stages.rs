//! Steps of a chore, run one after the other and timed.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use std::{io, process};

use crate::cargo::{target_folder, unstarted};
use crate::failure::Failure;

#[derive(Default)]
pub(crate) struct Stages {
    finished: Vec<Stage>,
}

struct Stage {
    name: &'static str,
    duration: Duration,
    succeeded: bool,
    /// Others ran at the same time, and it takes no time of its own.
    is_beside: bool,
}

/// A step that runs.
pub(crate) struct RunningStage {
    name: &'static str,
    start: Instant,
    pub(crate) child: Child,
    /// Where its output waits that runs beside others.
    output: Option<PathBuf>,
}

impl Stages {
    /// Runs one step. The first that fails ends the chore.
    pub(crate) fn run(&mut self, name: &'static str, command: &mut Command) -> Result<(), Failure> {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let status = command.status().map_err(|error| unstarted(command, &error));
        self.push(name, start, status, false)
    }

    /// Starts one step.
    pub(crate) fn start(name: &'static str, command: &mut Command) -> Result<RunningStage, Failure> {
        eprintln!("\n== {name}");
        let child = command.spawn().map_err(|error| unstarted(command, &error))?;
        Ok(RunningStage { name, start: Instant::now(), child, output: None })
    }

    /// Starts one step beside another, at the lowest priority. What it prints is held back until it
    /// is finished.
    pub(crate) fn start_beside(name: &'static str, command: &Command) -> Result<RunningStage, Failure> {
        let mut command = with_low_priority(command);
        let output = target_folder().join(format!("output-{}", process::id()));
        let held_back = || -> io::Result<(File, File)> {
            fs::create_dir_all(target_folder())?;
            let file = File::create(&output)?;
            Ok((file.try_clone()?, file))
        };
        let (out, errors) = held_back().map_err(|error| Failure::new(format!("{} cannot be written: {error}", output.display())))?;
        let child = command.stdout(out).stderr(errors).spawn().map_err(|error| unstarted(&command, &error))?;
        Ok(RunningStage { name, start: Instant::now(), child, output: Some(output) })
    }

    /// Waits for the end of a step.
    pub(crate) fn finish(&mut self, mut stage: RunningStage) -> Result<(), Failure> {
        let status = stage.child.wait().map_err(|error| Failure::new(format!("{} cannot be waited for: {error}", stage.name)));
        if let Some(output) = &stage.output {
            let text = fs::read(output).map_or_else(|error| error.to_string(), |text| String::from_utf8_lossy(&text).into_owned());
            eprintln!("\n== {}\n{text}", stage.name);
            // Otherwise it stays in the target folder, where it does no harm.
            let _ = fs::remove_file(output);
        }
        self.push(stage.name, stage.start, status, stage.output.is_some())
    }

    fn push(&mut self, name: &'static str, start: Instant, status: Result<ExitStatus, Failure>, is_beside: bool) -> Result<(), Failure> {
        let succeeded = status.as_ref().is_ok_and(ExitStatus::success);
        self.finished.push(Stage { name, duration: start.elapsed(), succeeded, is_beside });
        let status = status?;
        if succeeded { Ok(()) } else { Err(Failure::from_status(status.code())) }
    }

    /// Table of the steps and their durations.
    pub(crate) fn table(&self) -> String {
        let width = self.finished.iter().map(|stage| stage.name.len()).chain(["together".len()]).max().unwrap_or(0);
        let mut text = String::new();
        for stage in &self.finished {
            let beside = if stage.is_beside { "  beside" } else { "" };
            let failed = if stage.succeeded { "" } else { "  failed" };
            let _ = writeln!(text, "  {:width$} {:>9}{beside}{failed}", stage.name, format_duration(stage.duration));
        }
        let together = self.finished.iter().filter(|stage| !stage.is_beside).map(|stage| stage.duration).sum();
        let _ = writeln!(text, "  {:width$} {:>9}", "together", format_duration(together));
        text
    }
}

/// The same command, which gives way to others where the system has `nice`.
fn with_low_priority(command: &Command) -> Command {
    let mut low = if cfg!(unix) {
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).arg(command.get_program());
        nice
    } else {
        Command::new(command.get_program())
    };
    low.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => low.env(name, value),
            None => low.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        low.current_dir(folder);
    }
    low
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
        Stage { name, duration: Duration::from_secs_f64(secs), succeeded, is_beside: false }
    }

    #[test]
    fn the_table_says_what_took_how_long_and_what_failed() {
        let stages = Stages { finished: vec![stage("format", 1.25, true), stage("lint", 187.0, false)] };
        assert_eq!(stages.table(), "  format       1.2 s\n  lint          3:07  failed\n  together      3:08\n");
    }

    #[test]
    fn a_step_beside_another_takes_no_time_of_its_own_and_keeps_its_environment() {
        let mut stages = Stages { finished: vec![stage("tests", 2.0, true)] };
        let mut command = Command::new(crate::cargo::cargo_program());
        command.arg("--version").env("ATELIER_TEST", "1").env_remove("ATELIER_OTHER").current_dir("/");
        let low = with_low_priority(&command);
        assert!(low.get_envs().eq(command.get_envs()) && low.get_current_dir() == command.get_current_dir());
        assert!(low.get_args().last().is_some_and(|it| it == "--version"));
        let beside = Stages::start_beside("documentation", &command).unwrap();
        assert_eq!(stages.finish(beside), Ok(()));
        assert!(stages.table().contains("  beside\n") && stages.table().ends_with("  together          2.0 s\n"), "{}", stages.table());
        let failing = Stages::start("bad", Command::new(crate::cargo::cargo_program()).arg("no-such-subcommand")).unwrap();
        assert_eq!(stages.finish(failing), Err(Failure::from_status(Some(101))));
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
