//! The program's standard output and standard error. Nobody else writes to them, so everything that
//! strangers wrote goes through one filter.

use std::io::{self, IsTerminal as _, Write};

use atelier_core::plain_text::PlainWriter;

/// Standard error, for people.
#[must_use]
pub fn stderr() -> PlainWriter<io::Stderr> {
    PlainWriter::new(io::stderr())
}

/// True where a person sees standard error.
#[must_use]
pub fn is_seen() -> bool {
    io::stderr().is_terminal()
}

/// Standard output for what the command line says, and for nothing else; unfiltered, since some of
/// it is for programs.
///
/// The C++ engine prints a line of its own now and then. A script that reads `--json` must never
/// see it: so, where the system can, the engine's standard output becomes standard error, and what
/// the command line says goes to the real one.
#[must_use]
pub fn own_stdout() -> Box<dyn Write + Send> {
    #[cfg(unix)]
    if let Ok(real) = divert() {
        return Box::new(real);
    }
    Box::new(io::stdout())
}

#[cfg(unix)]
fn divert() -> io::Result<std::fs::File> {
    let real = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(real.into())
}
