//! The program: the window where no command is given, else the command line.

// No console opens beside the window. A development build keeps its console, for the log.
#![cfg_attr(all(windows, not(debug_assertions)), windows_subsystem = "windows")]

#[cfg(feature = "gui")]
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use atelier::{cli, logging};
use atelier_core::paths::Paths;
use atelier_studio::{logs, start_engine, terminal, vision};

fn main() -> ExitCode {
    #[cfg(windows)]
    attach_to_console();
    logging::hook_panics();
    // First: everything below may run the engine.
    if let Err((text, code)) = cli::choose_processor() {
        show_error(&text);
        return code;
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == vision::WORKER_ARGUMENT) {
        let served = vision::serve(&mut std::io::stdin().lock(), &mut terminal::own_stdout());
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let invocation = match cli::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(code) => return code,
    };
    // Only the window has log files: a command's lines are read where it was started.
    let logs = Paths::find().ok().filter(|_| invocation.command.is_none()).map(|paths| logs::folder(&paths));
    let _log = logging::start(logs.as_deref());
    if let Err(code) = cli::add_simulated_devices(&invocation) {
        return code;
    }
    cli::choose_cpu_math(&invocation);
    match invocation.command {
        Some(command) => cli::run(command, start_engine),
        None => window(&invocation.files),
    }
}

/// Shows an error in a dialog to a person who started the program by a click: without a command,
/// and without a terminal.
#[cfg(feature = "gui")]
fn show_error(text: &str) {
    if std::env::args_os().len() == 1 && !terminal::is_seen() {
        rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("Atelier").set_description(text).show();
    }
}

#[cfg(not(feature = "gui"))]
fn show_error(_text: &str) {}

/// Connects this program, which has no console of its own, to the one that it was started from, so
/// that a command can print there. Without one, or where output goes to a file, nothing changes.
#[cfg(windows)]
fn attach_to_console() {
    /// The system's number for the process that started this one.
    const PARENT: u32 = u32::MAX;
    if std::env::args_os().len() > 1 {
        // Fails where there is none: nobody reads then.
        let _ = win32console::console::WinConsole::attach_console(PARENT);
    }
}

#[cfg(feature = "gui")]
fn window(files: &[PathBuf]) -> ExitCode {
    match atelier::gui::run(&atelier::gui::Options::usual(), files, start_engine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing can be said where standard error is closed.
            let _ = writeln!(terminal::stderr(), "{error}");
            // Nobody sees the line above where there is no console.
            #[cfg(windows)]
            rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("Atelier").set_description(error.to_string()).show();
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(feature = "gui"))]
fn window(_: &[PathBuf]) -> ExitCode {
    cli::help()
}
