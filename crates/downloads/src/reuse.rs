//! A file that need not be fetched: it is in its place, or another model has it.

use std::io;
use std::path::Path;

use atelier_language::tr;

use super::failure::{Cause, Failure};
use super::index::{self, DownloadedFile};
use super::part::{self, PartError, PartMetadata};
use super::task::{Context, FileTask};
use super::transfer_error::{TransferError, file_error};

/// The file, where it is at hand, and whether it was brought to its place. `server` is what its
/// server says of it, once it was asked.
pub(super) fn find_reusable(
    context: &Context,
    task: &FileTask,
    server: Option<&PartMetadata>,
) -> Result<Option<(DownloadedFile, bool)>, TransferError> {
    let (target, wanted) = (task.target(), &task.wanted);
    let failed = |error: PartError| file_error(error, task);
    if !index::is_inside(&context.root, &target).map_err(|error| failed(error.into()))? {
        return Err(TransferError::Failed(Failure::new(
            Cause::Job,
            tr!("downloads-would-be-written-outside", name = task.name()),
            tr!("downloads-look-in-the-models"),
        )));
    }
    let sum = wanted.sha256.or_else(|| server.and_then(|metadata| metadata.linked));
    let total = wanted.size.or_else(|| server.and_then(|metadata| metadata.total));
    if let Ok(there) = std::fs::metadata(&target)
        && there.is_file()
        && total.is_none_or(|total| total == there.len())
        && (sum.is_some() || server.is_some() && total.is_some())
    {
        task.counter.set_total(Some(there.len()));
        let found = index::sum_of(&target, &task.counter, || task.stopped()).map_err(failed)?;
        if sum.is_none_or(|sum| sum == found) {
            part::remove_part(&target);
            let etag = server.and_then(PartMetadata::strong_etag).map(str::to_owned);
            return DownloadedFile::of(&target, &wanted.source, found, etag)
                .map(|kept| Some((kept, false)))
                .map_err(|error| failed(error.into()));
        }
        task.counter.set_bytes(0);
    }
    let waited_for = task.waited.then(|| PartMetadata { source: Some(wanted.source.clone()), ..PartMetadata::default() });
    let duplicates = context.index().duplicates(sum, server.or(waited_for.as_ref()));
    for duplicate in duplicates.into_iter().filter(|it| it.path != target && wanted.size.is_none_or(|bytes| bytes == it.size)) {
        // A duplicate that cannot be used is downloaded; that reports the fault, if there is one.
        make_room(context, &target).map_err(|error| failed(error.into()))?;
        match index::link_or_copy(&duplicate, &target, &task.counter, || task.stopped()) {
            Ok(Some(kept)) => return Ok(Some((kept, true))),
            Err(PartError::Stopped) => return Err(TransferError::Stopped),
            Ok(None) | Err(_) => task.counter.set_bytes(0),
        }
    }
    Ok(None)
}

/// A file in the place of the new one is replaced only where Atelier downloaded it; anybody else's
/// is put aside under another name.
pub(super) fn make_room(context: &Context, target: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(target).is_err() || context.index().holds(target) {
        return Ok(());
    }
    for number in 1..1000 {
        let aside = part::beside(target, &format!(".old{number}"));
        if std::fs::symlink_metadata(&aside).is_err() {
            return std::fs::rename(target, aside);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
