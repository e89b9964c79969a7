//! Runs the test programs, two at a time where the machine has room for two, and prints what each
//! printed as a whole once it has ended.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::{fs, thread};

use crate::cargo::target_folder;
use crate::failure::Failure;
use crate::files::create_folder;
use crate::flaky::{self, FailedTest, MAX_FLAKY, Outcome};
use crate::options::Options;
use crate::stages::format_duration;
use crate::test_programs::{self, TestProgram};
use crate::test_times::TestTimes;

/// Most programs at a time where nobody says otherwise: each runs as many tests at a time as there
/// are cores.
const MAX_JOBS: usize = 2;
/// Memory that one program may take, in bytes.
const PROGRAM_BYTES: u64 = 4 << 30;

/// Programs that run one after the other once the others have ended, with the reason.
const ALONE: [(&str, &str); 3] = [
    ("atelier/cancel", "wants a cancelled job to end within three seconds"),
    ("atelier/rates", "measures how fast the processor computes"),
    ("atelier/window", "starts windows beside each other, which have three seconds to answer"),
];

/// What takes longest where no earlier run says so, longest first.
const LONGEST: [&str; 15] = [
    "atelier/layouts",
    "atelier/weights",
    "atelier/estimate",
    "atelier/adapters",
    "atelier/readers",
    "atelier/atelier",
    "atelier/features",
    "atelier/guides",
    "atelier/remote",
    "atelier/encoders",
    "atelier/prompts",
    "atelier/cpu_math",
    "atelier/settings",
    "atelier/family_settings",
    "atelier/stress",
];

/// Runs the programs of a `cargo test`, all of them even where one fails, and prints failures once
/// more at the end.
pub(crate) fn run(cargo_test: &mut Command, options: &Options) -> Result<(), Failure> {
    // Under `tmp`, which the next run empties, should this one be killed.
    let folder = target_folder().join("tmp").join(format!("output-{}", process::id()));
    create_folder(&folder)?;
    let programs = test_programs::list(cargo_test, &options.rest, &folder)?;
    let mut times = TestTimes::load(target_folder().join("test-times"));
    let (beside, alone) = schedule(programs, &times);
    let jobs = options.jobs.unwrap_or_else(default_jobs);
    eprintln!("{} test programs, {jobs} at a time; then {}, one at a time.", beside.len(), alone.len());
    let output = |program: &TestProgram| folder.join(program.file_stem()).with_extension("txt");
    let mut failed = Vec::new();
    for (programs, jobs) in [(&beside, jobs), (&alone, NonZeroUsize::MIN)] {
        let run = |program: &TestProgram| flaky::run(program, &output(program));
        run_programs(programs, jobs, run, |event| match event {
            Event::Started(program) => print(&started(program)),
            Event::Ended(program, outcome) => {
                print(&ended(program, &outcome));
                times.add(program.name(), outcome.duration);
                // Those of a few tests would mislead the next whole run.
                if options.rest.is_empty()
                    && let Err(error) = times.save()
                {
                    eprintln!("The time of {} is not kept for the next run: {error}", program.name());
                }
                failed.extend(outcome.failed.into_iter().map(|test| (program.clone(), test)));
            }
        });
    }
    let failures = Failures::sort(failed, |program, arguments| flaky::run_again(program, arguments, &output(program)));
    // Otherwise it stays until the next run.
    let _ = fs::remove_dir_all(&folder);
    print(&format!("\n{}{}", times.table(), failures.text()));
    failures.verdict()
}

/// Programs at a time that this machine has room for.
fn default_jobs() -> NonZeroUsize {
    jobs_for(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN), available_bytes())
}

fn jobs_for(cores: NonZeroUsize, available_bytes: Option<u64>) -> NonZeroUsize {
    let fitting = available_bytes.map_or(MAX_JOBS, |bytes| usize::try_from(bytes / PROGRAM_BYTES).unwrap_or(MAX_JOBS));
    NonZeroUsize::new(cores.get().min(MAX_JOBS).min(fitting)).unwrap_or(NonZeroUsize::MIN)
}

/// Memory that programs may still take, in bytes; `None` where the system has no `/proc/meminfo`.
fn available_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?.trim().strip_suffix("kB")?;
    Some(kibibytes.trim().parse::<u64>().ok()? << 10)
}

fn reason_alone(name: &str) -> Option<&'static str> {
    ALONE.iter().find(|(alone, _)| *alone == name).map(|(_, reason)| *reason)
}

/// Programs that run beside each other, longest first so that none is left over at the end, and
/// those that run alone.
fn schedule(mut programs: Vec<TestProgram>, times: &TestTimes) -> (Vec<TestProgram>, Vec<TestProgram>) {
    programs.sort_by_cached_key(|program| {
        let name = program.name();
        let place = LONGEST.iter().position(|it| *it == name).unwrap_or(LONGEST.len());
        (Reverse(times.last(&name)), place)
    });
    programs.into_iter().partition(|program| reason_alone(&program.name()).is_none())
}

/// What happens to a program.
enum Event<'a> {
    Started(&'a TestProgram),
    Ended(&'a TestProgram, Outcome),
}

/// Runs programs in their order, `jobs` at a time, each in a thread; the calling thread hears of
/// them one at a time.
fn run_programs(
    programs: &[TestProgram],
    jobs: NonZeroUsize,
    run: impl Fn(&TestProgram) -> Outcome + Sync,
    mut tell: impl FnMut(Event<'_>),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.get().min(programs.len()) {
            let (sender, next, run) = (sender.clone(), &next, &run);
            scope.spawn(move || {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // The receiver lives until every sender is gone.
                    let _ = sender.send(Event::Started(program));
                    let _ = sender.send(Event::Ended(program, run(program)));
                }
            });
        }
        drop(sender);
        receiver.into_iter().for_each(&mut tell);
    });
}

fn started(program: &TestProgram) -> String {
    let name = program.name();
    let alone = reason_alone(&name).map(|reason| format!(", alone: it {reason}")).unwrap_or_default();
    format!("     Running {name}{alone}\n")
}

/// All that a program printed, between the lines of others.
fn ended(program: &TestProgram, outcome: &Outcome) -> String {
    let failed = if outcome.failed.is_empty() { "" } else { ", failed" };
    format!("\n== {} ({}{failed})\n{}\n", program.name(), format_duration(outcome.duration), outcome.text.trim_end())
}

/// Prints in one piece. Where nobody listens any more, the tests still run.
fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Tests that failed in any program.
#[derive(Default)]
struct Failures {
    /// Failed once, then passed alone.
    flaky: Vec<FailedTest>,
    failed: Vec<FailedTest>,
}

impl Failures {
    /// Runs once more what failed, with nothing beside it.
    fn sort(failed: Vec<(TestProgram, FailedTest)>, run_again: impl Fn(&TestProgram, &[String]) -> (bool, String)) -> Self {
        let mut failures = Self::default();
        for (program, test) in failed {
            let passes = test.again.as_ref().is_some_and(|arguments| {
                print(&format!("     Running {} once more, alone\n", test.name));
                let (passes, text) = run_again(&program, arguments);
                print(&format!("{text}\n"));
                passes
            });
            if passes { failures.flaky.push(test) } else { failures.failed.push(test) }
        }
        failures
    }

    /// Each with what it printed.
    fn text(&self) -> String {
        let mut text = String::new();
        let lists = [
            ("FLAKY: failed once, then passed alone. Each is a defect to be mended before anything else.", &self.flaky),
            ("FAILED:", &self.failed),
        ];
        for (heading, tests) in lists.into_iter().filter(|(_, tests)| !tests.is_empty()) {
            let _ = writeln!(text, "\n{heading}");
            for FailedTest { name, failure, .. } in tests {
                let _ = writeln!(text, "\n== {name}\n    {}", failure.replace('\n', "\n    "));
            }
        }
        text
    }

    /// Fails where a test failed, or more than [`MAX_FLAKY`] are flaky.
    fn verdict(&self) -> Result<(), Failure> {
        let mut problems = Vec::new();
        if !self.failed.is_empty() {
            let names: Vec<&str> = self.failed.iter().map(|test| test.name.as_str()).collect();
            problems.push(format!("{} failed:\n  {}", names.len(), names.join("\n  ")));
        }
        if self.flaky.len() > MAX_FLAKY {
            problems.push(format!("{} tests are flaky; a run may have {MAX_FLAKY}.", self.flaky.len()));
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::new(problems.join("\n"))) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Barrier;
    use std::time::Duration;

    use super::*;
    use crate::cargo::root;
    use crate::test_programs::tests::program;

    fn programs(names: &[&str]) -> Vec<TestProgram> {
        let of = |name: &&str| {
            let (package, file) = name.split_once('/').unwrap();
            program(&format!("{file}-00ff"), &[], Path::new("/"), &[("CARGO_PKG_NAME", package)])
        };
        names.iter().map(of).collect()
    }

    fn names(programs: &[TestProgram]) -> Vec<String> {
        programs.iter().map(TestProgram::name).collect()
    }

    fn failed(name: &str) -> FailedTest {
        FailedTest { name: name.into(), failure: "left\nright".into(), again: Some(vec![name.into()]) }
    }

    #[test]
    fn the_longest_of_the_last_run_come_first_and_those_that_run_alone_last() {
        let mut times = TestTimes::load("/no/such/file".into());
        let listed = programs(&["atelier/cancel", "x/short", "atelier/prompts", "atelier/features", "x/long", "atelier/window"]);
        let (beside, alone) = schedule(listed.clone(), &times);
        assert_eq!(names(&beside), ["atelier/features", "atelier/prompts", "x/short", "x/long"]);
        assert_eq!(names(&alone), ["atelier/cancel", "atelier/window"]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("times");
        fs::write(&file, "900 x/long\n100 x/short\n500 atelier/features\n700 atelier/window\n").unwrap();
        times = TestTimes::load(file);
        let (beside, alone) = schedule(listed, &times);
        assert_eq!(names(&beside), ["x/long", "atelier/features", "x/short", "atelier/prompts"]);
        assert_eq!(names(&alone), ["atelier/window", "atelier/cancel"]);
    }

    #[test]
    fn two_run_at_a_time_and_none_beside_one_alone() {
        let all = programs(&["x/a", "x/b", "x/c", "x/d"]);
        let both = Barrier::new(2);
        let mut ended = 0;
        let pair = |_: &TestProgram| {
            both.wait();
            Outcome::default()
        };
        run_programs(&all, NonZeroUsize::new(2).unwrap(), pair, |event| ended += usize::from(matches!(event, Event::Ended(..))));
        assert_eq!(ended, 4);
        let mut events = Vec::new();
        run_programs(
            &all,
            NonZeroUsize::MIN,
            |_| Outcome::default(),
            |event| match event {
                Event::Started(program) => events.push(format!("{} starts", program.name())),
                Event::Ended(program, _) => events.push(format!("{} ends", program.name())),
            },
        );
        assert_eq!(events[..4], ["x/a starts", "x/a ends", "x/b starts", "x/b ends"]);
        run_programs(&[], NonZeroUsize::MIN, pair, |_| panic!("nothing runs"));
    }

    #[test]
    fn a_program_that_fails_keeps_no_other_from_running_and_fails_the_run() {
        let all = programs(&["x/a", "x/b", "x/c"]);
        let run = |program: &TestProgram| {
            let failed = if program.name() == "x/a" { vec![failed("x/a: t"), failed("x/a: flaky")] } else { Vec::new() };
            Outcome { text: program.name(), failed, ..Outcome::default() }
        };
        let (mut texts, mut failed) = (Vec::new(), Vec::new());
        run_programs(&all, NonZeroUsize::new(2).unwrap(), run, |event| {
            if let Event::Ended(program, outcome) = event {
                texts.push(outcome.text);
                failed.extend(outcome.failed.into_iter().map(|test| (program.clone(), test)));
            }
        });
        texts.sort();
        assert_eq!(texts, ["x/a", "x/b", "x/c"]);
        let failures = Failures::sort(failed, |program, arguments| (program == &all[0] && arguments == ["x/a: flaky"], String::new()));
        assert_eq!(failures.flaky.len(), 1);
        assert_eq!(failures.verdict(), Err(Failure::new("1 failed:\n  x/a: t")));
        assert!(failures.text().ends_with("\nFAILED:\n\n== x/a: t\n    left\n    right\n"), "{}", failures.text());
        assert_eq!(Failures::default().verdict(), Ok(()));
    }

    #[test]
    fn three_flaky_tests_fail_the_run() {
        let of = |count| Failures { flaky: vec![failed("x/a: t"); count], failed: Vec::new() };
        assert_eq!(of(2).verdict(), Ok(()));
        assert!(of(3).verdict().is_err());
        assert!(of(1).text().starts_with("\nFLAKY"));
    }

    #[test]
    fn what_a_program_printed_stands_in_one_piece_below_its_name_and_time() {
        let outcome = Outcome { text: "a\nb\n".into(), duration: Duration::from_secs(61), failed: vec![failed("t")] };
        assert_eq!(ended(&programs(&["x/a"])[0], &outcome), "\n== x/a (1:01, failed)\na\nb\n");
        assert_eq!(started(&programs(&["x/a"])[0]), "     Running x/a\n");
        assert!(started(&programs(&["atelier/rates"])[0]).contains("atelier/rates, alone: it "));
    }

    #[test]
    fn programs_at_a_time_fit_the_cores_and_the_memory() {
        let jobs = |cores, bytes| jobs_for(NonZeroUsize::new(cores).unwrap(), bytes).get();
        assert_eq!([jobs(1, None), jobs(2, None), jobs(16, None)], [1, 2, 2]);
        assert_eq!([jobs(16, Some(0)), jobs(16, Some(2 * PROGRAM_BYTES - 1)), jobs(2, Some(2 * PROGRAM_BYTES))], [1, 1, 2]);
        assert!(available_bytes().is_none_or(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn programs_that_are_named_exist() {
        for name in ALONE.iter().map(|(name, _)| *name).chain(LONGEST) {
            let file = name.strip_prefix("atelier/").unwrap();
            let is_there = file == "atelier" || root().join(format!("tests/{file}.rs")).is_file();
            assert!(is_there, "{name} is no test program");
        }
    }
}
