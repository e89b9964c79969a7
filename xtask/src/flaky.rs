//! Tests that fail by chance: what fails is run once more, alone, and what then passes is named
//! instead of ending the run.
//!
//! Cargo starts every test program through this one (`runner` in its configuration), so a second
//! run has the first one's folder and environment. A flaky test is a defect all the same: it is
//! printed with its first failure, and [`MAX_FLAKY`] of them are the most a run may have.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, process};

use crate::cargo::target_folder;
use crate::failure::Failure;
use crate::test_times;

/// The first word of a command line by which cargo starts a test program through this one.
pub(crate) const RUN_TEST: &str = "run-test";
/// Most flaky tests of a run that succeeds.
const MAX_FLAKY: usize = 2;
/// Most tests of one program that run again: where more fail, chance is not the cause.
const MAX_RERUNS: usize = 10;
/// Most characters of a first failure that are printed again.
const MAX_FAILURE_CHARACTERS: usize = 4000;
/// Names the file to which flaky tests are appended.
const RECORD_VARIABLE: &str = "ATELIER_FLAKY_TESTS";
/// Time between two looks at what a test program has printed.
const PRINT_INTERVAL: Duration = Duration::from_millis(50);
/// Words for the tests that also hold where one of them runs alone.
const KEPT_WORDS: [&str; 4] = ["--ignored", "--include-ignored", "--nocapture", "--show-output"];

/// The flaky tests of one run of cargo.
pub(crate) struct FlakyTests {
    record: PathBuf,
}

impl FlakyTests {
    /// Lets cargo start its test programs through this one.
    pub(crate) fn record(cargo: &mut Command) -> Result<Self, Failure> {
        let record = target_folder().join(format!("flaky-{}", process::id()));
        let problem = |error: io::Error| Failure::new(format!("{} cannot be written: {error}", record.display()));
        fs::create_dir_all(target_folder()).map_err(problem)?;
        File::create(&record).map_err(problem)?;
        let program = env::current_exe().map_err(|error| Failure::new(format!("The path of this program is unknown: {error}")))?;
        // Quotes of TOML that know no escapes, for the backslashes of Windows.
        cargo.args(["--config", &format!("target.'cfg(all())'.runner = ['{}', '{RUN_TEST}']", program.display())]);
        cargo.env(RECORD_VARIABLE, &record);
        Ok(Self { record })
    }

    /// Waits until the first test program runs, or all of it is over: cargo holds the lock of the
    /// target folder until then.
    pub(crate) fn wait_for_first_program(&self, cargo: &mut Child) {
        let is_running = || self.record.with_extension("output").exists() || test_times::file_of(&self.record).exists();
        while !is_running() && cargo.try_wait().is_ok_and(|ended| ended.is_none()) {
            thread::sleep(PRINT_INTERVAL);
        }
    }

    /// Prints them, and the programs that took longest. Fails where there are more than
    /// [`MAX_FLAKY`] flaky tests.
    pub(crate) fn report(self) -> Result<(), Failure> {
        eprint!("\n{}", test_times::take(&self.record));
        let text = fs::read_to_string(&self.record).unwrap_or_default();
        // Otherwise it stays in the target folder, where it does no harm.
        let _ = fs::remove_file(&self.record);
        let count = text.lines().filter(|line| line.starts_with(ENTRY)).count();
        if count > 0 {
            eprint!("\nFLAKY: failed once, then passed alone. Each is a defect to be mended before anything else.\n\n{text}");
        }
        if count > MAX_FLAKY {
            return Err(Failure::new(format!("{count} tests are flaky; a run may have {MAX_FLAKY}.")));
        }
        Ok(())
    }
}

/// How a flaky test's entry begins.
const ENTRY: &str = "== ";

/// Runs a test program, and once more what failed in it. `words`: the program and its arguments.
pub(crate) fn run_test(words: &[String]) -> ExitCode {
    let Some(record) = env::var_os(RECORD_VARIABLE) else {
        eprintln!("`{RUN_TEST}` is for `cargo xtask test` alone.");
        return ExitCode::from(2);
    };
    match run(words, Path::new(&record)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{} cannot be run: {error}", words.first().map_or("", String::as_str));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String], record: &Path) -> io::Result<u8> {
    let output = record.with_extension("output");
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let start = Instant::now();
    let Ending { status, text } = run_once(program, arguments, &output)?;
    test_times::add(record, &name, start.elapsed())?;
    if status.success() {
        return Ok(0);
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    let failed = failed_tests(&text);
    if failed.len() > MAX_RERUNS {
        return Ok(code);
    }
    // A program that crashed, or has no tests of its own, runs again as a whole.
    let reruns: Vec<(String, String, Vec<String>)> = if failed.is_empty() {
        vec![(name, format!("{status}\n{}", tail(&text)), arguments.to_vec())]
    } else {
        failed.iter().map(|test| (format!("{name}: {test}"), failure_of(&text, test), alone(arguments, test))).collect()
    };
    let mut still_fails = false;
    for (name, failure, arguments) in reruns {
        println!("\n{name} failed and runs once more, alone.");
        if run_once(program, &arguments, &output)?.status.success() {
            append(record, &name, &failure)?;
        } else {
            still_fails = true;
        }
    }
    Ok(if still_fails { code } else { 0 })
}

fn append(record: &Path, name: &str, failure: &str) -> io::Result<()> {
    // Lines of a failure are set in, so that none is taken for an entry.
    let failure = failure.replace('\n', "\n    ");
    OpenOptions::new().append(true).open(record)?.write_all(format!("{ENTRY}{name}\n    {failure}\n\n").as_bytes())
}

/// How a run ended, and what it printed.
struct Ending {
    status: ExitStatus,
    text: String,
}

/// Runs a test program and prints what it prints. By a file and not a pipe: a process that a test
/// left behind would hold a pipe open.
fn run_once(program: &str, arguments: &[String], output: &Path) -> io::Result<Ending> {
    let written = File::create(output)?;
    let mut read = File::open(output)?;
    // The two share one position, so neither overwrites the other's lines.
    let errors = written.try_clone()?;
    let mut child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(written).stderr(errors).spawn()?;
    let mut bytes = Vec::new();
    let status = loop {
        let ended = child.try_wait()?;
        let known = bytes.len();
        read.read_to_end(&mut bytes)?;
        let mut out = io::stdout().lock();
        out.write_all(&bytes[known..]).and_then(|()| out.flush())?;
        match ended {
            Some(status) => break status,
            None => thread::sleep(PRINT_INTERVAL),
        }
    };
    fs::remove_file(output)?;
    Ok(Ending { status, text: String::from_utf8_lossy(&bytes).into_owned() })
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
    use super::*;

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

    #[cfg(unix)]
    fn script(folder: &Path, text: &str) -> Vec<String> {
        let path = folder.join("script");
        fs::write(&path, text).unwrap();
        vec!["/bin/sh".to_owned(), path.display().to_string(), folder.display().to_string()]
    }

    #[test]
    #[cfg(unix)]
    fn what_passes_the_second_time_does_not_fail_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let once = script(folder.path(), "test -e \"$1/again\" && exit 0; touch \"$1/again\"; exit 101");
        let record = folder.path().join("record");
        fs::write(&record, "").unwrap();
        assert_eq!(run(&once, &record).unwrap(), 0);
        assert!(fs::read_to_string(&record).unwrap().starts_with("== sh\n    exit status: 101\n"));
        fs::write(&record, "").unwrap();
        let always = script(folder.path(), "exit 101");
        assert_eq!(run(&always, &record).unwrap(), 101);
        assert_eq!(fs::read_to_string(&record).unwrap(), "");
    }

    #[test]
    #[cfg(unix)]
    fn a_process_that_a_test_left_behind_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let words = script(folder.path(), "echo out; echo err >&2; sleep 600 & echo $! > \"$1/left\"");
        let ending = run_once("/bin/sh", &words[1..], &folder.path().join("output")).unwrap();
        assert!(ending.status.success() && started.elapsed() < Duration::from_mins(5));
        assert_eq!(ending.text, "out\nerr\n");
        let left = fs::read_to_string(folder.path().join("left")).unwrap();
        assert!(Command::new("kill").arg(left.trim()).status().unwrap().success());
    }

    #[test]
    fn three_flaky_tests_fail_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let record = |count: usize| {
            let record = folder.path().join("record");
            fs::write(&record, format!("{ENTRY}x: y\n    == text of the failure\n\n").repeat(count)).unwrap();
            FlakyTests { record }
        };
        assert_eq!(record(0).report(), Ok(()));
        assert_eq!(record(2).report(), Ok(()));
        assert!(record(3).report().is_err());
    }
}
