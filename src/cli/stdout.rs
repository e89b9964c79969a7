//! Standard output for what the command line says, and for nothing else.
//!
//! The C++ engine prints a line of its own now and then. A script that reads `--json` must never see it: so, where the system can, the
//! engine's standard output becomes standard error, and what the command line says goes to the real one.

use std::io::{self, Write};

/// The real standard output, for this program alone.
pub(super) fn own() -> Box<dyn Write + Send> {
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
