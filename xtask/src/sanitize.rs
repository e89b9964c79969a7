//! `cargo xtask sanitize`: the engine, the shim and the Rust around them, compiled with sanitizers
//! in a folder of its own, and the tests that go through the engine.
//!
//! C and C++ get flags by the variables that cmake and the crate `cc` read; Rust takes them from
//! its nightly toolchain, whose runtime serves both. The first finding ends the test program with a
//! report. What the engine itself does, and is known to, is listed with its reason in
//! `vendor/ggml-sys/sanitizers`.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::cargo::{leave_out_own_variables, root, target_folder};
use crate::failure::Failure;
use crate::install::ensure_installed;
use crate::options::Options;
use crate::requirements::{Os, Purpose};
use crate::stages::Stages;
use crate::stale_engine::remove_stale_engine;

const TOOLCHAIN: &str = "nightly";

/// Address and undefined behaviour. Types behind virtual calls are not compared: Rust's runtime
/// lacks what that needs of the C++ library.
const C_FLAGS: &str = "-fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer -g1";
const RUST_FLAGS: &str = "-Zsanitizer=address -Cforce-frame-pointers=yes";

/// Crates with `unsafe` code or around it, and the application, whose tests go through the engine.
const PACKAGES: [&str; 3] = ["atelier-kernels", "atelier-engine", "atelier"];
/// Not those that limit the address space of a process, most of which a sanitizer takes.
const TESTS: [&str; 13] = [
    "products",
    "attention",
    "convolutions",
    "engine",
    "features",
    "guidance",
    "cancel",
    "residency",
    "estimate",
    "device_limits",
    "remote",
    "hostile_peers",
    "hostile_graphs",
];

/// Builds the tests and runs them; arguments after `--` go to them.
pub(crate) fn sanitize(options: &Options) -> Result<(), Failure> {
    if Os::current() != Os::Linux {
        return Err(Failure::new("The sanitizers' runtimes are linked as Linux has them, so this runs on Linux only."));
    }
    ensure_installed(Purpose::Build, options)?;
    let compiler = Command::new("rustup").args(["run", TOOLCHAIN, "rustc", "--version"]).output();
    if !compiler.is_ok_and(|output| output.status.success()) {
        return Err(Failure::new("Rust's sanitizers need its nightly toolchain: `rustup toolchain install nightly --profile minimal`."));
    }
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let folder = target_folder().join("sanitize/address");
    remove_stale_engine(
        &folder.join(&target).join("debug"),
        &["--target-dir".as_ref(), folder.as_os_str(), "--target".as_ref(), target.as_ref()],
    )?;
    let mut stages = Stages::default();
    let result = stages.run("build the tests", tests(&folder, &target).arg("--no-run")).and_then(|()| {
        let mut command = tests(&folder, &target);
        stages.run("tests", command.arg("--no-fail-fast").arg("--").args(&options.rest))
    });
    eprint!("\n{}", stages.table());
    result
}

/// The tests, in one build: another selection of packages could mean other features, and the engine
/// a second time.
fn tests(folder: &Path, target: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", TOOLCHAIN, "cargo", "test", "--no-default-features", "--lib"]).current_dir(root());
    leave_out_own_variables(&mut command);
    command.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    command.args(TESTS.iter().flat_map(|test| ["--test", test]));
    // With a target, build programs and procedural macros stay as they are.
    command.args(["--target", target, "--target-dir"]).arg(folder);
    command.env("CFLAGS", C_FLAGS).env("CXXFLAGS", C_FLAGS).env("RUSTFLAGS", RUST_FLAGS);
    let known = |kind: &str| root().join("vendor/ggml-sys/sanitizers").join(kind).display().to_string();
    // Tests ask for more memory than there is, and are answered with null as without a sanitizer.
    command.env("ASAN_OPTIONS", "allocator_may_return_null=1:detect_odr_violation=1");
    command.env("UBSAN_OPTIONS", format!("halt_on_error=1:print_stacktrace=1:suppressions={}", known("undefined.supp")));
    command.env("LSAN_OPTIONS", format!("print_suppressions=0:suppressions={}", known("leaks.supp")));
    command
}
