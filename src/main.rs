//! The program: the window where no command is given, else the command line.

// No console opens beside the window. A development build keeps its console, for the log.
#![cfg_attr(all(windows, not(debug_assertions)), windows_subsystem = "windows")]

#[cfg(feature = "gui")]
use std::io::IsTerminal as _;
use std::process::ExitCode;

use atelier::cli;
use atelier::studio::start_engine;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Environment variable with the log filter, as of `env_logger`: `warn`, `atelier=debug`... Lines go to standard error.
const LOG_VARIABLE: &str = "ATELIER_LOG";

fn main() -> ExitCode {
    #[cfg(windows)]
    attach_to_console();
    // First: everything below may run the engine.
    if let Err((text, code)) = cli::choose_processor() {
        show_error(&text);
        return code;
    }
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines).with(log_filter(std::env::var(LOG_VARIABLE).ok().as_deref())).init();
    let invocation = match cli::parse(std::env::args_os()).and_then(|it| cli::add_simulated_devices(&it).map(|()| it)) {
        Ok(invocation) => invocation,
        Err(code) => return code,
    };
    match invocation.command {
        Some(command) => cli::run(command, start_engine),
        None => window(),
    }
}

/// Shows an error in a dialog to a person who started the program by a click: without a command, and without a terminal.
#[cfg(feature = "gui")]
fn show_error(text: &str) {
    if std::env::args_os().len() == 1 && !std::io::stderr().is_terminal() {
        rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("Atelier").set_description(text).show();
    }
}

#[cfg(not(feature = "gui"))]
fn show_error(_text: &str) {}

/// Connects this program, which has no console of its own, to the one that it was started from, so that a command can print there. Without
/// one, or where output goes to a file, nothing changes.
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
fn window() -> ExitCode {
    match atelier::gui::run(&atelier::gui::Options::usual(), start_engine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            // Nobody sees the line above where there is no console.
            #[cfg(windows)]
            rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("Atelier").set_description(error.to_string()).show();
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(feature = "gui"))]
fn window() -> ExitCode {
    cli::help()
}

/// Levels by target prefix; the default where the variable is not set or not a list of them.
fn log_filter(variable: Option<&str>) -> Targets {
    let default = || Targets::new().with_default(LevelFilter::WARN).with_target("winit", LevelFilter::ERROR);
    variable.filter(|it| !it.trim().is_empty()).and_then(|it| it.parse().ok()).unwrap_or_else(default)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn the_log_shows_warnings_unless_the_variable_names_levels() {
        for variable in [None, Some(""), Some("no such=level")] {
            let filter = log_filter(variable);
            assert!(filter.would_enable("atelier_engine", &Level::WARN) && !filter.would_enable("atelier_engine", &Level::INFO));
            assert!(filter.would_enable("winit::platform", &Level::ERROR) && !filter.would_enable("winit::platform", &Level::WARN));
        }
        let filter = log_filter(Some("warn,atelier=debug"));
        assert!(filter.would_enable("atelier_engine::run", &Level::DEBUG) && !filter.would_enable("zbus", &Level::INFO));
    }
}
