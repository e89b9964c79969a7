//! Tests that fail by chance: what fails is run once more, alone, and what then passes is named
//! instead of ending the run.
//!
//! A flaky test is a defect all the same: it is printed with its first failure, and [`MAX_FLAKY`]
//! of them are the most a run may have.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::test_programs::TestProgram;

/// Most flaky tests of a run that succeeds.
pub(crate) const MAX_FLAKY: usize = 2;
/// Most tests of one program that run again: where more fail, chance is not the cause.
const MAX_RERUNS: usize = 10;
/// Most characters of a first failure that are printed again.
const MAX_FAILURE_CHARACTERS: usize = 4000;
/// Words for the tests that also hold where one of them runs alone.
const KEPT_WORDS: [&str; 4] = ["--ignored", "--include-ignored", "--nocapture", "--show-output"];

/// A test, or a program as a whole, that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedTest {
    pub(crate) name: String,
    /// What it printed the first time; empty where more failed than are run again.
    pub(crate) failure: String,
    /// Words for its program by which it runs once more; `None` where it does not.
    pub(crate) again: Option<Vec<String>>,
}

/// How a test program ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// What it printed.
    pub(crate) text: String,
    pub(crate) duration: Duration,
    pub(crate) failed: Vec<FailedTest>,
}

/// Runs a test program. Its output waits in the file `output`.
pub(crate) fn run(program: &TestProgram, output: &Path) -> Outcome {
    let start = Instant::now();
    let Ending { status, text } = match run_once(program, &program.arguments, output) {
        Ok(ending) => ending,
        Err(error) => {
            let failed = FailedTest { name: program.name(), failure: unstarted(&error), again: None };
            return Outcome { failed: vec![failed], ..Outcome::default() };
        }
    };
    let duration = start.elapsed();
    let failed = if status.success() { Vec::new() } else { failures(program, status, &text) };
    Outcome { text, duration, failed }
}

/// Runs once more what failed in a program: whether it passes, and what it prints.
pub(crate) fn run_again(program: &TestProgram, arguments: &[String], output: &Path) -> (bool, String) {
    run_once(program, arguments, output).map_or_else(|error| (false, unstarted(&error)), |it| (it.status.success(), it.text))
}

fn unstarted(error: &io::Error) -> String {
    format!("It cannot be run: {error}")
}

/// What failed in a program that ended with `status` and printed `text`.
fn failures(program: &TestProgram, status: ExitStatus, text: &str) -> Vec<FailedTest> {
    let name = program.name();
    let tests = failed_tests(text);
    // A program that crashed, or has no tests of its own, runs again as a whole.
    if tests.is_empty() {
        return vec![FailedTest { name, failure: format!("{status}\n{}", tail(text)), again: Some(program.arguments.clone()) }];
    }
    let by_chance = tests.len() <= MAX_RERUNS;
    let failed = |test: &String| FailedTest {
        name: format!("{name}: {test}"),
        failure: if by_chance { failure_of(text, test) } else { String::new() },
        again: by_chance.then(|| alone(&program.arguments, test)),
    };
    tests.iter().map(failed).collect()
}

/// How a run ended, and what it printed.
struct Ending {
    status: ExitStatus,
    text: String,
}

/// Runs a test program to its end. By a file and not a pipe: a process that a test left behind would
/// hold a pipe open.
fn run_once(program: &TestProgram, arguments: &[String], output: &Path) -> io::Result<Ending> {
    let written = File::create(output)?;
    // The two share one position, so neither overwrites the other's lines.
    let errors = written.try_clone()?;
    let status = program.command(arguments).stdin(Stdio::null()).stdout(written).stderr(errors).spawn()?.wait()?;
    let text = String::from_utf8_lossy(&fs::read(output)?).into_owned();
    // A process that was left behind writes on into a file that nobody reads.
    let _ = fs::remove_file(output);
    Ok(Ending { status, text })
}

/// The tests that failed, as the last list of failures names them.
fn failed_tests(text: &str) -> Vec<String> {
    let Some((_, list)) = text.rsplit_once("\nfailures:\n") else { return Vec::new() };
    list.lines().map_while(|line| line.strip_prefix("    ")).map(str::to_owned).collect()
}

/// What a test printed before it failed.
fn failure_of(text: &str, test: &str) -> String {
    let Some((_, printed)) = text.split_once(&format!("\n---- {test} stdout ----\n")) else { return tail(text) };
    let end = [printed.find("\n---- "), printed.find("\nfailures:\n")].into_iter().flatten().min().unwrap_or(printed.len());
    tail(&printed[..end])
}

fn tail(text: &str) -> String {
    let text = text.trim_end();
    let skipped = text.chars().count().saturating_sub(MAX_FAILURE_CHARACTERS);
    text.chars().skip(skipped).collect()
}

/// The arguments by which one test runs alone.
fn alone(arguments: &[String], test: &str) -> Vec<String> {
    let kept = arguments.iter().filter(|word| KEPT_WORDS.contains(&word.as_str())).cloned();
    kept.chain(["--exact".to_owned(), "--test-threads=1".to_owned(), test.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::process::Command;

    use super::*;
    use crate::test_programs::tests::program;

    const OUTPUT: &str = "
running 3 tests
test a::passes ... ok
test a::fails ... FAILED
test b::fails - should panic ... FAILED

failures:

---- a::fails stdout ----

thread 'a::fails' panicked at x.rs:1:1:
left is not right

---- b::fails stdout ----
note: test did not panic as expected

failures:
    a::fails
    b::fails

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
";

    #[test]
    fn failures_are_read_from_the_last_list() {
        assert_eq!(failed_tests(OUTPUT), ["a::fails", "b::fails"]);
        assert!(failed_tests("\nrunning 1 test\ntest a ... ").is_empty());
        assert!(failure_of(OUTPUT, "a::fails").ends_with("left is not right"));
        assert_eq!(failure_of(OUTPUT, "b::fails"), "note: test did not panic as expected");
    }

    #[test]
    fn one_test_alone_keeps_only_words_that_are_about_it() {
        let words = ["--include-ignored", "some_filter", "--test-threads=8"].map(str::to_owned);
        assert_eq!(alone(&words, "a::b"), ["--include-ignored", "--exact", "--test-threads=1", "a::b"]);
    }

    /// A script that runs in its own folder.
    #[cfg(unix)]
    fn script(folder: &Path, text: &str) -> TestProgram {
        let [written, path] = ["text", "script-00ff"].map(|name| folder.join(name));
        fs::write(&written, format!("#!/bin/sh\n{text}\n")).unwrap();
        // Another process writes it: a file that is open for writing here cannot be run.
        let installed = Command::new("install").args(["-m", "755"]).args([&written, &path]).status();
        assert!(installed.unwrap().success());
        program(&path.display().to_string(), &[], folder, &[("CARGO_PKG_NAME", "own")])
    }

    #[test]
    #[cfg(unix)]
    fn a_program_without_a_list_of_failures_runs_again_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        let once = script(folder.path(), "echo out; test -e again && exit 0; touch again; exit 101");
        let Outcome { text, failed, .. } = run(&once, &output);
        assert_eq!(text, "out\n");
        let whole = FailedTest { name: "own/script".into(), failure: "exit status: 101\nout".into(), again: Some(Vec::new()) };
        assert_eq!(failed, [whole]);
        assert_eq!(run_again(&once, &[], &output), (true, "out\n".to_owned()));
        assert!(run(&once, &output).failed.is_empty() && !output.exists());
    }

    #[test]
    #[cfg(unix)]
    fn each_test_that_failed_runs_again_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        fs::write(folder.path().join("printed"), OUTPUT).unwrap();
        let program = script(folder.path(), "case \"$*\" in *--exact*a::fails) ;; *--exact*) exit 101;; *) cat printed; exit 101;; esac");
        let failed = run(&program, &output).failed;
        assert_eq!(failed.iter().map(|test| test.name.as_str()).collect::<Vec<_>>(), ["own/script: a::fails", "own/script: b::fails"]);
        assert!(failed[0].failure.ends_with("left is not right"));
        let passes = |test: &FailedTest| run_again(&program, test.again.as_ref().unwrap(), &output).0;
        assert_eq!(failed.iter().map(passes).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    #[cfg(unix)]
    fn where_more_fail_than_by_chance_none_runs_again() {
        let folder = tempfile::tempdir().unwrap();
        let list = "    a::fails\n".repeat(MAX_RERUNS + 1);
        fs::write(folder.path().join("printed"), format!("\nfailures:\n{list}\n")).unwrap();
        let failed = run(&script(folder.path(), "cat printed; exit 101"), &folder.path().join("output")).failed;
        assert!(failed.len() == MAX_RERUNS + 1 && failed.iter().all(|test| test.again.is_none()), "{failed:?}");
    }

    #[test]
    fn a_program_that_cannot_be_started_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(&program("/no/such/program", &[], folder.path(), &[]), &folder.path().join("output"));
        assert!(outcome.failed[0].failure.starts_with("It cannot be run") && outcome.failed[0].again.is_none(), "{outcome:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_process_that_a_test_left_behind_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let leaving = script(folder.path(), "echo out; echo err >&2; sleep 600 & echo $! > left");
        let ending = run_once(&leaving, &leaving.arguments, &folder.path().join("output")).unwrap();
        assert!(ending.status.success() && started.elapsed() < Duration::from_mins(5));
        assert_eq!(ending.text, "out\nerr\n");
        let left = fs::read_to_string(folder.path().join("left")).unwrap();
        assert!(Command::new("kill").arg(left.trim()).status().unwrap().success());
    }
}
