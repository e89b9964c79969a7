//! Which models are in memory.
//!
//! One context stays loaded between jobs; another model takes its place. A later issue keeps several and evicts by need: callers only
//! ask for a context and say when one can no longer be trusted.

use std::path::PathBuf;
use std::time::SystemTime;

use super::ffi::{CallError, Context, Load, Sink};

/// The contexts in memory.
#[derive(Default)]
pub(super) struct Cache {
    resident: Option<Resident>,
}

struct Resident {
    load: Load,
    stamps: Vec<Stamp>,
    context: Context,
}

/// A file as it was when its header was read: one that was replaced since is another model.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Cache {
    /// The context for these files and settings, loaded now where it is not resident.
    pub(super) fn context(&mut self, load: &Load, sink: &dyn Sink) -> Result<&mut Context, CallError> {
        let stamps = stamps(load);
        if !self.resident.as_ref().is_some_and(|resident| resident.load == *load && resident.stamps == stamps) {
            // The old model goes first, so that both are never in memory.
            self.resident = None;
            let context = Context::new(load, sink)?;
            self.resident = Some(Resident { load: load.clone(), stamps, context });
        }
        match &mut self.resident {
            Some(resident) => Ok(&mut resident.context),
            None => unreachable!("a context was stored above"),
        }
    }

    /// Frees every context.
    pub(super) fn clear(&mut self) {
        self.resident = None;
    }
}

fn stamps(load: &Load) -> Vec<Stamp> {
    load.files
        .iter()
        .map(|(_, path)| {
            let metadata = path.metadata().ok();
            Stamp {
                path: path.to_owned(),
                bytes: metadata.as_ref().map_or(0, std::fs::Metadata::len),
                modified: metadata.and_then(|metadata| metadata.modified().ok()),
            }
        })
        .collect()
}
