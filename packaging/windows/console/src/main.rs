//! `atelier.com`: Atelier's command line in a Windows console.
//!
//! A Windows program either has a console of its own or none. `atelier.exe` has none, so that none
//! opens beside the window; but a console does not wait for such a program. Where `atelier` is
//! typed, Windows takes `atelier.com` before `atelier.exe`: this program starts the other one with
//! its own arguments, streams and folder, waits for it, and ends with its exit code.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, exit};

fn main() {
    let code = match run() {
        // No code: the program was ended by a signal.
        Ok(status) => status.code().unwrap_or(1),
        Err(error) => {
            eprintln!("error: Atelier could not be started: {error}. Install it again.");
            1
        }
    };
    exit(code);
}

fn run() -> io::Result<ExitStatus> {
    // A console sends Ctrl-C to both programs. The other one cancels its job; this one must not end
    // before it.
    if let Err(error) = ctrlc::set_handler(|| ()) {
        eprintln!("warning: Ctrl-C ends this program at once: {error}");
    }
    Command::new(program()?).args(env::args_os().skip(1)).status()
}

/// `atelier.exe` beside this program; elsewhere than on Windows `atelier`, for tests.
fn program() -> io::Result<PathBuf> {
    Ok(env::current_exe()?.with_file_name(if cfg!(windows) { "atelier.exe" } else { "atelier" }))
}
