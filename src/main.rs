//! The program: the window where no command is given, else the command line.

use std::process::ExitCode;

use atelier::cli::{self, Wake};
use atelier_engine::Handle;
use tracing_subscriber::EnvFilter;

/// What the program tells of itself on standard error: `warn`, `atelier=debug`...
const LOG_VARIABLE: &str = "ATELIER_LOG";

fn main() -> ExitCode {
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new("warn,winit=error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let invocation = match cli::parse(std::env::args_os()).and_then(|it| cli::add_simulated_devices(&it).map(|()| it)) {
        Ok(invocation) => invocation,
        Err(code) => return code,
    };
    match invocation.command {
        Some(command) => cli::run(command, start_engine),
        None => window(),
    }
}

fn start_engine(wake: Wake) -> Handle {
    // Without a home it works, and learns anew each time.
    match atelier_core::paths::Paths::find() {
        Ok(paths) => atelier_engine::start_remembering(wake, &paths.data.join("measured.json")),
        Err(_) => atelier_engine::start(wake),
    }
}

#[cfg(feature = "gui")]
fn window() -> ExitCode {
    match atelier::gui::run(&atelier::gui::Options::usual(), start_engine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(feature = "gui"))]
fn window() -> ExitCode {
    cli::help()
}
