//! Errors of a transfer, with advice.

use std::io;
use std::path::Path;

use super::failure::{Cause, Failure};
use super::part::PartError;
use super::task::FileTask;
use atelier_core::format::file_size;
use atelier_language::tr;

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
    TransferError::Failed(Failure::new(Cause::Disk, tr!("downloads-internal-error-while-writing"), tr!("downloads-try-again-if-it")))
}

pub(super) fn mismatch(name: &str) -> Failure {
    Failure::new(Cause::Mismatch, tr!("downloads-the-checksum-of-the", name), tr!("downloads-the-file-was-changed"))
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
        PartError::InUse => failed(tr!("downloads-is-being-downloaded-by", name = task.name()), tr!("downloads-wait-until-that-download")),
        PartError::Disk(error) if is_full(&error) => {
            let needed = task.counter.total().unwrap_or_default().saturating_sub(task.counter.bytes());
            TransferError::Full { needed, free: 0 }
        }
        PartError::Disk(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            let sentence = match task.counter.total() {
                Some(bytes) => tr!("downloads-the-disk-cannot-hold", bytes = file_size(bytes)),
                None => tr!("downloads-the-disk-cannot-hold-it").to_owned(),
            };
            failed(sentence, tr!("downloads-choose-a-folder-on"))
        }
        PartError::Disk(error) => failed(
            tr!("downloads-could-not-be-written", name = task.name(), folder = folder.display(), error),
            tr!("downloads-check-that-the-folder"),
        ),
    }
}
