//! The thread that writes and hashes what comes in, while the next bytes are on their way.

use std::io;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::options::FreeSpace;
use super::part::{Part, PartMetadata};
use super::progress_counter::ProgressCounter;
use super::task::FileTask;
use super::transfer_error::{TransferError, file_error, is_full};

/// After so many bytes the free space is looked at again.
const SPACE_EVERY: u64 = 64 << 20;

/// Start of the writer.
pub(super) enum Start {
    Anew(PartMetadata),
    /// So many bytes of the answer are there already, and left out.
    GoOn {
        skip: u64,
    },
}

/// Writes and hashes what comes in.
pub(super) fn write(
    mut part: Part,
    start: Start,
    mut chunks: mpsc::Receiver<Bytes>,
    total: Option<u64>,
    free_space: &FreeSpace,
    counter: &ProgressCounter,
) -> (Part, Result<(), WriteError>) {
    let mut skip = 0;
    let begun = match start {
        Start::Anew(metadata) => part.begin(metadata),
        Start::GoOn { skip: bytes } => {
            skip = bytes;
            Ok(())
        }
    };
    let left = |part: &Part| total.map_or(0, |total| total.saturating_sub(part.bytes()));
    let free = |part: &Part| free_space(part.folder()).unwrap_or(0);
    if let Err(error) = begun {
        let (needed, free) = (left(&part), free(&part));
        return (part, Err(WriteError { error, needed, free }));
    }
    counter.set_bytes(part.bytes());
    let mut look_at = part.bytes() + SPACE_EVERY;
    while let Some(chunk) = chunks.blocking_recv() {
        let leave = skip.min(chunk.len() as u64);
        skip -= leave;
        let chunk = chunk.slice(leave as usize..);
        let mut written = part.append(&chunk);
        counter.set_bytes(part.bytes());
        if written.is_ok() && part.bytes() >= look_at {
            look_at += SPACE_EVERY;
            if free_space(part.folder()).is_ok_and(|free| free < left(&part)) {
                written = Err(io::ErrorKind::StorageFull.into());
            }
        }
        if let Err(error) = written {
            let (needed, free) = (left(&part), free(&part));
            return (part, Err(WriteError { error, needed, free }));
        }
    }
    (part, Ok(()))
}

pub(super) struct WriteError {
    error: io::Error,
    needed: u64,
    free: u64,
}

impl WriteError {
    pub(super) fn file_error(self, task: &FileTask) -> TransferError {
        if is_full(&self.error) {
            return TransferError::Full { needed: self.needed, free: self.free };
        }
        file_error(self.error.into(), task)
    }
}
