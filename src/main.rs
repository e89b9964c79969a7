//! The program: the window where no command is given, else the command line.

use std::process::ExitCode;

use atelier::cli;
use atelier::studio::start_engine;
use tracing_subscriber::EnvFilter;

/// Environment variable with the log filter, as of `env_logger`: `warn`, `atelier=debug`... Lines go to standard error.
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
