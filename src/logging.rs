//! Where the program's log goes: to standard error, and for the window into files too; and what is
//! said of a panic.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use std::path::Path;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use atelier_studio::log_text::LogWriter;
use atelier_studio::terminal;
use atelier_studio::{crash_report, logs, version};

/// Environment variable with the filter of standard error, as of `env_logger`: `warn`,
/// `atelier=debug`...
const LOG_VARIABLE: &str = "ATELIER_LOG";

/// Starts the log. `folder`: the log files' folder, for the window. Lines reach the files until the
/// guard is dropped.
#[must_use]
pub fn start(folder: Option<&Path>) -> Option<WorkerGuard> {
    let (file, guard) = match folder.map(logs::open) {
        Some(Ok((file, guard))) => (Some(file), Some(guard)),
        Some(Err(error)) => {
            // Nothing can be said where standard error is closed.
            let _ = writeln!(terminal::stderr(), "There is no log file this time: {error}.");
            (None, None)
        }
        None => (None, None),
    };
    // Without colours, which the writer would take for a stranger's.
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| LogWriter(terminal::stderr()));
    let filed = file.map(|file| tracing_subscriber::fmt::layer().with_ansi(false).with_writer(file).with_filter(logs::filter()));
    let filter = log_filter(std::env::var(LOG_VARIABLE).ok().as_deref());
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(filed).init();
    if guard.is_some() {
        tracing::info!("Atelier {} starts, with {}", version::FULL, atelier_engine::version());
    }
    guard
}

/// Tells panics on standard error as everything else is told there.
pub fn hook_panics() {
    std::panic::set_hook(Box::new(|info| {
        let mut err = terminal::stderr();
        // Nothing can be said where standard error is closed.
        let _ = writeln!(err, "{}", crash_report::panic_words(info, str::to_owned));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            let _ = writeln!(err, "{backtrace}");
        }
    }));
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
