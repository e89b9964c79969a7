//! Check for a display, before a build of many minutes ends in a window that cannot open.

use std::env;

use crate::failure::Failure;
use crate::options::Options;
use crate::requirements::Os;

/// Variables by which programs on Linux find a display server; winit reads the same.
const DISPLAY_VARIABLES: [&str; 3] = ["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"];

const NO_DISPLAY: &str = "\
There is no display to open Atelier's window on: DISPLAY and WAYLAND_DISPLAY are not set, so nothing was built.
Start this in a desktop session, or log in with `ssh -X`. On a machine without a screen, use the command line:
  cargo xtask run -- generate --prompt \"a lake at dawn\"
  cargo xtask run -- help
`cargo xtask run --no-check` builds all the same.";

/// Fails where the window would open and this session has no display.
pub(crate) fn ensure_available(options: &Options) -> Result<(), Failure> {
    let has_display = DISPLAY_VARIABLES.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    check(options, Os::current(), has_display)
}

fn check(options: &Options, os: Os, has_display: bool) -> Result<(), Failure> {
    if options.check && os == Os::Linux && !has_display && opens_window(&options.rest) { Err(Failure::new(NO_DISPLAY)) } else { Ok(()) }
}

/// True for arguments without a subcommand; the only other option that opens the window is
/// `--simulate-devices`.
fn opens_window(arguments: &[String]) -> bool {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--simulate-devices" {
            arguments.next();
        } else if !argument.starts_with("--simulate-devices=") {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::parse(line.split_whitespace().map(str::to_owned)).unwrap()
    }

    #[test]
    fn a_window_without_a_display_is_refused_before_anything_is_built() {
        let failure = check(&options("run --release"), Os::Linux, false).unwrap_err();
        assert_eq!(failure.code, 1);
        assert!(failure.message.is_some_and(|it| it.contains("DISPLAY") && it.contains("cargo xtask run -- ")));
        assert!(check(&options("run -- --simulate-devices GPU:8"), Os::Linux, false).is_err());
        assert!(check(&options("run -- --simulate-devices=GPU:8"), Os::Linux, false).is_err());
    }

    #[test]
    fn a_display_a_subcommand_another_system_or_the_option_lets_it_be_built() {
        assert!(check(&options("run"), Os::Linux, true).is_ok());
        for line in ["run -- generate -p x", "run -- --simulate-devices GPU:8 devices", "run -- --help", "run -- -V", "run --no-check"] {
            assert!(check(&options(line), Os::Linux, false).is_ok(), "{line}");
        }
        for os in [Os::Macos, Os::Windows] {
            assert!(check(&options("run"), os, false).is_ok());
        }
    }
}
