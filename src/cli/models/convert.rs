//! `atelier models convert`: a smaller copy of a model file.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use serde_json::json;

use super::{CommandError, CommandRunner, failed};
use crate::cli::exit::Exit;
use atelier_core::format::file_size;
use atelier_core::plain_text::quoted_path;
use atelier_library::file_name;
use atelier_studio::model_copy::{CopyError, ModelCopy};

impl CommandRunner<'_> {
    /// Makes a copy, or says what it would be.
    pub(super) fn convert(&mut self, copy: &ModelCopy, dry_run: bool) -> Result<Exit, CommandError> {
        let (path, name) = (copy.output.display().to_string(), file_name(&copy.output));
        if !dry_run {
            let interrupt = Arc::clone(&self.interrupt);
            let made = thread::scope(|scope| {
                let (progress, written) = channel();
                let making = scope.spawn(move || {
                    copy.make(&|done, all| {
                        // Nobody reads any more where the command has ended.
                        let _ = progress.send((done, all));
                        !interrupt.pressed()
                    })
                });
                for (done, all) in written {
                    self.report.reporter.bytes(&name, done, Some(all).filter(|all| *all > 0));
                }
                making.join().unwrap_or(Err(CopyError::Stopped))
            });
            self.report.reporter.finish();
            match made {
                Err(CopyError::Stopped) => return Err(CommandError::Cancelled),
                other => other.map_err(failed)?,
            }
        }
        self.report.printer.json(&json!({
            "event": "converted", "path": path, "bytes": copy.bytes, "original_bytes": copy.original_bytes, "dry_run": dry_run,
        }))?;
        let sizes = format!("{} instead of {}", file_size(copy.bytes), file_size(copy.original_bytes));
        let what = if dry_run { "would be written" } else { "written" };
        self.report.printer.text(&format!("{}: {sizes}, {what}", quoted_path(&copy.output)))?;
        Ok(Exit::Done)
    }
}
