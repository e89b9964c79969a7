//! `cargo xtask check --arm`: the tests of the kernels for 64-bit ARM, on a Linux machine that has
//! another processor: QEMU runs them with all of ARM's instructions, dot products among them.
//!
//! The engine of C++ is left out: the kernels know nothing of it.

use std::process::Command;

use crate::cargo::{cargo, finish, output, target_folder};
use crate::failure::Failure;
use crate::install::ensure;
use crate::options::Options;
use crate::requirements::{Requirement, linux, program};
use crate::windows_toolchain::ensure_library;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// QEMU for single programs: of the system's libraries, or whole in itself.
const EMULATORS: &[&str] = &["qemu-aarch64", "qemu-aarch64-static"];

const COMPILER: Requirement = Requirement {
    name: "GCC for 64-bit ARM",
    reason: "links the tests for ARM, and has its C library",
    probe: program(&[LINKER]),
    packages: linux("gcc-aarch64-linux-gnu", "", "aarch64-linux-gnu-gcc"),
    instruction: "Install GCC for aarch64-linux-gnu, with its C library.",
};

const EMULATOR: Requirement = Requirement {
    name: "QEMU for programs of ARM",
    reason: "runs the tests for ARM",
    probe: program(EMULATORS),
    packages: linux("qemu-user", "qemu-user", "qemu-user"),
    instruction: "Install QEMU's user mode emulation.",
};

/// Runs the tests in a target folder of its own.
pub(crate) fn check(options: &Options) -> Result<(), Failure> {
    ensure(&[COMPILER, EMULATOR], options)?;
    let sysroot = ensure_library(TARGET, "arm-std", options)?;
    let mut command = cargo("test");
    command.args(["--locked", "--package", "atelier-kernels", "--lib", "--tests", "--target", TARGET, "--target-dir"]);
    command.arg(target_folder().join("arm-check"));
    command.args(["--config", &format!("target.{TARGET}.linker={LINKER:?}")]);
    command.args(["--config", &format!("target.{TARGET}.runner={:?}", runner(emulator()?, &c_library()?))]);
    if let Some(sysroot) = sysroot {
        command.args(["--config", &format!("target.{TARGET}.rustflags=[\"--sysroot\", {:?}]", sysroot.display().to_string())]);
    }
    finish(command.arg("--").args(&options.rest))?;
    eprintln!("The kernels pass their tests on an emulated ARM processor. How fast they are needs a real one.");
    Ok(())
}

/// The program and arguments before those of a test; `library`: the folder with the C library.
fn runner<'a>(emulator: &'a str, library: &'a str) -> [&'a str; 5] {
    [emulator, "-cpu", "max", "-L", library]
}

fn emulator() -> Result<&'static str, Failure> {
    let found = EMULATORS.iter().copied().find(|name| output(Command::new(name).arg("--version")).is_ok());
    found.ok_or_else(|| Failure::new("QEMU's user mode emulation is not installed."))
}

/// The folder from which the compiler's own paths begin, as the emulated program would see them.
fn c_library() -> Result<String, Failure> {
    let told = output(Command::new(LINKER).arg("-print-sysroot"))?;
    // Debian's compiler tells the system's own, and keeps the library elsewhere.
    Ok(if matches!(told.trim(), "" | "/") { "/usr/aarch64-linux-gnu".to_owned() } else { told.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emulator_is_named_as_a_list_that_cargo_reads() {
        let list = format!("{:?}", runner("qemu-aarch64", "/opt/a folder"));
        assert_eq!(list, r#"["qemu-aarch64", "-cpu", "max", "-L", "/opt/a folder"]"#);
    }
}
