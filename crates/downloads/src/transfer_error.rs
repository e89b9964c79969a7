//! Errors of a transfer, with advice.

use std::io;
use std::path::Path;

use super::failure::{Cause, Failure};
use super::part::PartError;
use super::task::FileTask;
use atelier_core::format::file_size;

/// Error of a transfer.
#[derive(Debug)]
pub(super) enum TransferError {
    /// Its job does not want it now.
    Stopped,
    /// The disk has no room.
    Full {
        needed: u64,
        free: u64,
    },
    Failed(Failure),
}

pub(super) fn lost() -> TransferError {
    TransferError::Failed(Failure::new(
        Cause::Disk,
        "Internal error while writing downloads.",
        "Try again; if it fails again, restart Atelier.",
    ))
}

pub(super) fn mismatch(name: &str) -> Failure {
    Failure::new(
        Cause::Mismatch,
        format!("The checksum of the server's {name} does not match. Nothing was kept."),
        "The file was changed or damaged on the server. Try again later, choose another variant, or add its link to accept it.",
    )
}

/// True where a disk has no room, or none for this person.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

pub(super) fn file_error(error: PartError, task: &FileTask) -> TransferError {
    let failed = |sentence: String, hint: &str| TransferError::Failed(Failure::new(Cause::Disk, sentence, hint));
    let folder: &Path = &task.folder;
    match error {
        PartError::Stopped => TransferError::Stopped,
        PartError::InUse => {
            failed(format!("{} is being downloaded by another Atelier.", task.name()), "Wait until that download has finished.")
        }
        PartError::Disk(error) if is_full(&error) => {
            let needed = task.counter.total().unwrap_or_default().saturating_sub(task.counter.bytes());
            TransferError::Full { needed, free: 0 }
        }
        PartError::Disk(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            let bytes = task.counter.total().map_or_else(|| "such".to_owned(), file_size);
            failed(
                format!("The disk cannot hold a file of {bytes} bytes."),
                "Choose a folder on a disk whose file system allows larger files.",
            )
        }
        PartError::Disk(error) => failed(
            format!("{} could not be written in {}: {error}.", task.name(), folder.display()),
            "Check that the folder exists and is writable, and try again.",
        ),
    }
}
