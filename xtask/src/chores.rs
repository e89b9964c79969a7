//! Implementation of the chores: the programs that run, in order.

use std::fs;
use std::process::Command;

use crate::cargo::{cargo, finish, root, target_folder};
use crate::display;
use crate::failure::Failure;
use crate::install::{ensure_components, ensure_installed};
use crate::installed::Installed;
use crate::options::Options;
use crate::requirements::{Os, Purpose};
use crate::stages::Stages;
use crate::stale_engine::remove_stale_engines;
use crate::test_run;
use crate::vulkan;

/// Everything is linted and tested with one set of features, so that it is built once. This one
/// lets the tests see into the window.
const TEST_FEATURES: &str = "inspection";

pub(crate) fn setup(options: &Options) -> Result<(), Failure> {
    ensure_installed(Purpose::Test, options)?;
    ensure_components(options)?;
    eprintln!("Everything is here.");
    Ok(())
}

/// Builds Atelier and starts it.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    display::ensure_available(options)?;
    ensure_installed(Purpose::Run, options)?;
    remove_stale_engines()?;
    let mut command = cargo("run");
    if options.release {
        command.arg("--release");
    }
    vulkan::prepare_build(&mut command, options)?;
    command.args(features(options)).arg("--").args(&options.rest);
    finish(&mut command)
}

/// Checks format, lints and documentation, and runs all tests, what failed once more; prints the
/// duration of each step.
pub(crate) fn test(options: &Options) -> Result<(), Failure> {
    ensure_installed(Purpose::Test, options)?;
    ensure_components(options)?;
    remove_stale_engines()?;
    remove_old_homes();
    let mut stages = Stages::default();
    let result = check(&mut stages)
        .and_then(|()| stages.run("documentation", &mut documentation()))
        .and_then(|()| stages.run("build the tests", tests().args(["--tests", "--no-run", "--quiet"])))
        .and_then(|()| {
            let programs = stages.measure("tests", || test_run::run(tests().arg("--tests"), options));
            let mut documented = tests();
            documented.args(["--doc", "--no-fail-fast", "--"]).args(&options.rest);
            programs.and(stages.run("tests in the documentation", &mut documented))
        });
    eprint!("\n{}", stages.table());
    result
}

/// Removes what earlier tests left behind, gigabytes in time. What the benchmark keeps takes minutes
/// to make.
fn remove_old_homes() {
    let folders = fs::read_dir(target_folder().join("tmp")).into_iter().flatten().flatten();
    for folder in folders.filter(|it| it.file_name() != "bench") {
        // One that cannot be removed harms no test: each makes its own anew.
        let _ = fs::remove_dir_all(folder.path());
    }
}

/// Checks format and lints, and the dependencies' licences and advisories.
pub(crate) fn lint(options: &Options) -> Result<(), Failure> {
    ensure_installed(Purpose::Build, options)?;
    ensure_components(options)?;
    remove_stale_engines()?;
    let mut stages = Stages::default();
    let documented = |stages: &mut Stages| stages.run("documentation", &mut documentation());
    let result = check(&mut stages).and_then(|()| documented(&mut stages)).and_then(|()| audit(&mut stages));
    eprint!("\n{}", stages.table());
    result
}

pub(crate) fn bench(options: &Options) -> Result<(), Failure> {
    ensure_installed(purpose_of_bench(options), options)?;
    remove_stale_engines()?;
    // The same selection twice, so that the second finds everything built: the benchmark starts the
    // example that it compares with.
    let all = ["--workspace", "--examples", "--benches", "--bins"];
    let mut build = cargo("build");
    vulkan::prepare_build(&mut build, options)?;
    finish(build.arg("--release").args(all).args(features(options)))?;
    finish(cargo("bench").args(["--workspace", "--bench", "pictures"]).args(features(options)).arg("--").args(&options.rest))
}

/// The real window needs a screen that nobody sees.
fn purpose_of_bench(options: &Options) -> Purpose {
    if options.rest.iter().any(|argument| argument == "--window") { Purpose::Test } else { Purpose::Build }
}

/// Generates the contact sheet of the built-in model.
pub(crate) fn sheet(options: &Options) -> Result<(), Failure> {
    ensure_installed(Purpose::Build, options)?;
    remove_stale_engines()?;
    let mut command = cargo("run");
    vulkan::prepare_build(&mut command, options)?;
    finish(command.args(["--release", "--example", "sheet"]).args(features(options)).arg("--").args(&options.rest))
}

/// Takes screens of the program in real windows.
pub(crate) fn screenshots(options: &Options) -> Result<(), Failure> {
    ensure_installed(Purpose::Test, options)?;
    remove_stale_engines()?;
    let mut command = cargo("test");
    command.args(["--features", TEST_FEATURES, "--test", "screenshots", "--", "--ignored", "--test-threads=1"]);
    finish(command.args(&options.rest))?;
    if !options.rest.is_empty() {
        return Ok(());
    }
    // The library and the board are shown with the models and devices of their own tests.
    let folder = std::env::var_os("ATELIER_SHOTS").unwrap_or_else(|| root().join("docs/screenshots").into_os_string());
    let mut command = cargo("test");
    command.args(["--features", TEST_FEATURES, "--test", "models_view", "--test", "board", "--", "--test-threads=1"]);
    finish(command.env("ATELIER_SHOTS", folder))
}

/// Runs `test` and `run` in a new Debian, to show that these two commands are enough.
pub(crate) fn fresh(options: &Options) -> Result<(), Failure> {
    if Os::current() != Os::Linux {
        return Err(Failure::new("This makes a new Debian inside the one at hand, so it runs on Linux only."));
    }
    finish(Command::new(root().join("tools/fresh-machine.sh")).current_dir(root()).args(&options.rest))
}

/// Checks format and lints, quickest first.
fn check(stages: &mut Stages) -> Result<(), Failure> {
    stages.run("format", cargo("fmt").args(["--all", "--check"]))?;
    let deny = ["--quiet", "--", "-D", "warnings"];
    stages.run("lint", cargo("clippy").args(["--workspace", "--all-targets", "--features", TEST_FEATURES]).args(deny))?;
    stages.run("lint, command line alone", cargo("clippy").args(["--package", "atelier", "--no-default-features"]).args(deny))
}

fn documentation() -> Command {
    let mut command = cargo("doc");
    command.args(["--workspace", "--no-deps", "--quiet", "--features", TEST_FEATURES]).env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// Checks licences, origins and advisories of the dependencies, where cargo-deny is installed.
fn audit(stages: &mut Stages) -> Result<(), Failure> {
    if !Installed::inspect(Os::current()).has_program("cargo-deny") {
        eprintln!("\nThe dependencies were not audited: `cargo install cargo-deny` brings the program that does it.");
        return Ok(());
    }
    stages.run("licences and origins", cargo("deny").args(["--workspace", "check", "licenses", "bans", "sources"]))?;
    let fetched = cargo("deny").args(["--workspace", "fetch", "db"]).output();
    if fetched.is_ok_and(|output| output.status.success()) {
        return stages.run("known faults", cargo("deny").args(["--workspace", "check", "--disable-fetch", "advisories"]));
    }
    eprintln!("\nThe list of known faults could not be fetched, so the dependencies were not compared with it.");
    Ok(())
}

fn tests() -> Command {
    let mut command = cargo("test");
    command.args(["--workspace", "--features", TEST_FEATURES]);
    command
}

fn features(options: &Options) -> Vec<&str> {
    options.features.as_deref().map(|list| vec!["--features", list]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_installed_for_the_benchmark_of_the_window_alone() {
        let purpose = |line: &str| purpose_of_bench(&Options::parse(line.split_whitespace().map(str::to_owned)).unwrap());
        assert_eq!(purpose("bench -- --window --secs 5"), Purpose::Test);
        assert_eq!([purpose("bench"), purpose("bench -- --loading")], [Purpose::Build; 2]);
    }
}
