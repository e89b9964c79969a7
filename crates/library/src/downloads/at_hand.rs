//! A file that need not be fetched: it is in its place, or another model has it.

use std::io;
use std::path::Path;

use super::event::{Cause, Failure};
use super::halt::{Halt, halt};
use super::part::{self, Note, PartError};
use super::shelf::{self, Kept};
use super::transfer::{Means, Order};

/// The file, where it is at hand, and whether it was brought to its place. `server` is what its server says of it, once it was asked.
pub(super) fn at_hand(means: &Means, order: &Order, server: Option<&Note>) -> Result<Option<(Kept, bool)>, Halt> {
    let (target, wanted) = (order.target(), &order.wanted);
    let failed = |error: PartError| halt(error, order);
    if !shelf::is_inside(&means.root, &target).map_err(|error| failed(error.into()))? {
        return Err(Halt::Failed(Failure {
            sentence: format!("{} would be written outside the folder of models.", order.name()),
            hint: "Look for a link in the folder of models that leads out of it, and remove it.".into(),
            cause: Cause::Job,
        }));
    }
    let sum = wanted.sha256.or_else(|| server.and_then(|note| note.linked));
    let total = wanted.size.or_else(|| server.and_then(|note| note.total));
    if let Ok(there) = std::fs::metadata(&target)
        && there.is_file()
        && total.is_none_or(|total| total == there.len())
        && (sum.is_some() || server.is_some() && total.is_some())
    {
        order.gauge.set_total(Some(there.len()));
        let found = shelf::sum_of(&target, &order.gauge, || order.stopped()).map_err(failed)?;
        if sum.is_none_or(|sum| sum == found) {
            part::remove_part(&target);
            let etag = server.and_then(Note::strong_etag).map(str::to_owned);
            return Kept::of(&target, &wanted.source, found, etag).map(|kept| Some((kept, false))).map_err(|error| failed(error.into()));
        }
        order.gauge.set_bytes(0);
    }
    let waited_for = order.waited.then(|| Note { source: Some(wanted.source.clone()), ..Note::default() });
    let twins = means.shelf().twins(sum, server.or(waited_for.as_ref()));
    for twin in twins.into_iter().filter(|it| it.path != target && wanted.size.is_none_or(|bytes| bytes == it.size)) {
        // Where it cannot be used it is fetched, which says what is wrong, if something is.
        make_room(means, &target).map_err(|error| failed(error.into()))?;
        match shelf::link_or_copy(&twin, &target, &order.gauge, || order.stopped()) {
            Ok(Some(kept)) => return Ok(Some((kept, true))),
            Err(PartError::Stopped) => return Err(Halt::Stopped),
            Ok(None) | Err(_) => order.gauge.set_bytes(0),
        }
    }
    Ok(None)
}

/// A file in the place of the new one is replaced only where Atelier downloaded it; anybody else's is put aside under another name.
pub(super) fn make_room(means: &Means, target: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(target).is_err() || means.shelf().holds(target) {
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
