//! The folders of the workspace, and the cargo that started this program.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// Runs the last program of a chore, and passes its exit status on.
pub(crate) fn finish(command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::from_status(status.code())),
        Err(error) => Err(unstarted(command, &error)),
    }
}

/// The failure of a program that could not be started.
pub(crate) fn unstarted(command: &Command, error: &io::Error) -> Failure {
    Failure::new(format!("{} could not be started: {error}", command.get_program().display()))
}

/// Runs a program to its end and returns what it wrote to standard output; a failure says what it
/// wrote to standard error.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| unstarted(command, &error))?;
    let [text, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    if output.status.success() {
        Ok(text)
    } else {
        Err(Failure::new(format!("{program} did not succeed ({}).\n{text}{error}", output.status)))
    }
}

/// The cargo that started this program.
pub(crate) fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub(crate) fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(cargo_program());
    command.arg(subcommand).current_dir(root());
    leave_out_own_variables(&mut command);
    command
}

/// Leaves out cargo's variables about this package, which are wrong for the next build and would
/// trigger rebuilds.
pub(crate) fn leave_out_own_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if is_about_this_package(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
}

fn is_about_this_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_") || variable == "OUT_DIR"
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    // Two clones that share a target folder share this program too: where it runs now is what cargo
    // says now.
    let here = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map(Path::to_owned).unwrap_or(here)
}

/// Cargo's target folder.
pub(crate) fn target_folder() -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    std::path::absolute(&named).unwrap_or(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_says_of_this_program_is_not_passed_on() {
        assert!(is_about_this_package("CARGO_PKG_VERSION") && is_about_this_package("CARGO_MANIFEST_DIR"));
        assert!(
            !is_about_this_package("CARGO_TARGET_DIR")
                && !is_about_this_package("CARGO_HOME")
                && !is_about_this_package("CARGO_INCREMENTAL")
        );
    }

    #[test]
    fn the_root_is_where_the_lock_file_is() {
        assert!(root().join("Cargo.lock").is_file());
    }
}
