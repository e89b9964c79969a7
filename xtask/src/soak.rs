//! `cargo xtask test --soak`: a real server that ten people use for minutes, and that is killed in
//! the middle. It needs Python and Linux, and takes long, so no other test runs it.

use std::process::Command;

use crate::cargo::{cargo, finish, root, target_folder};
use crate::failure::Failure;
use crate::install::ensure_installed;
use crate::options::Options;
use crate::requirements::{Os, Purpose};

/// Builds the program where none is given, and runs the script. What follows `--` goes to it.
pub(crate) fn test(options: &Options) -> Result<(), Failure> {
    if Os::current() != Os::Linux {
        return Err(Failure::new("It reads what /proc tells of the server, which only Linux has."));
    }
    let program = if let Some(program) = &options.program {
        program.clone()
    } else {
        ensure_installed(Purpose::Build, options)?;
        finish(cargo("build").args(["--package", "atelier", "--bin", "atelier"]))?;
        target_folder().join("debug/atelier")
    };
    finish(Command::new("python3").arg(root().join("tests/http/clients/soak.py")).arg(program).args(&options.rest))
}
