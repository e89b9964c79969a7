//! What the commands of `atelier queue` share: the system that they run on, their errors, the
//! database.

use std::io::{self, Write};
use std::sync::Arc;

use atelier_core::paths::Paths;
use atelier_gallery::queue::QueuedJobId;
use atelier_gallery::{Database, DatabaseState, GalleryError};
use atelier_library::{Builtin, BuiltinError};

use crate::cli::exit::Exit;
use crate::cli::interrupt::Interrupt;
use crate::cli::usage_error::UsageError;

/// System that a command runs on; tests give their own.
pub(in crate::cli) struct QueueEnv<'a> {
    pub(in crate::cli) out: &'a mut (dyn Write + Send),
    pub(in crate::cli) err: Box<dyn Write + Send>,
    /// Standard error is a terminal, which can show a bar.
    pub(in crate::cli) terminal: bool,
    pub(in crate::cli) paths: Paths,
    pub(in crate::cli) builtin: fn() -> Result<Builtin, BuiltinError>,
    pub(in crate::cli) interrupt: Arc<Interrupt>,
    pub(in crate::cli) listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
}

/// Reason for which a command ends early.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    Database(#[from] GalleryError),
    #[error(transparent)]
    Output(#[from] io::Error),
    /// There is no such job, or it cannot be changed so.
    #[error("job {0} {1}")]
    Job(QueuedJobId, &'static str),
}

impl CommandError {
    pub(super) fn exit(&self) -> Exit {
        match self {
            // Nobody reads standard output any more.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Usage(error) if !error.is_missing_resource() => Exit::Usage,
            Self::Job(..) => Exit::Usage,
            Self::Usage(_) | Self::Database(_) | Self::Output(_) => Exit::Failed,
        }
    }
}

/// Opens the database of jobs, and warns where it was damaged.
pub(super) fn open(paths: &Paths, err: &mut (dyn Write + Send)) -> Result<Database, CommandError> {
    let (database, state) = Database::open(&paths.gallery_file())?;
    warn(&state, err);
    Ok(database)
}

/// Says what a person is to know of the database as it was found.
pub(super) fn warn(state: &DatabaseState, err: &mut (dyn Write + Send)) {
    if let Some(warning) = state.warning() {
        // Nobody reads standard error where this fails; the file that was put aside is there all
        // the same.
        let _ = writeln!(err, "warning: {warning}");
    }
}
