//! Bytes of bodies that are read or decoded: an owner has so many at a time.

use std::sync::Arc;

use atelier_core::format::memory_size;

use super::error::Failure;
use super::places::{Place, Places};
use atelier_gallery::queue::Owner;

/// Bytes of one owner's bodies that may be read or decoded at a time.
const MAX_UPLOADED: usize = 256 << 20;
/// Seconds after which an owner whose bodies are too many may send another.
const RETRY_SECS: u64 = 10;

/// True where an owner may have so much and no more: a script of the person at the machine may have
/// what the person may.
pub(super) fn is_limited(owner: &Owner) -> bool {
    !owner.is_person() && !owner.is_this_computer()
}

/// The bytes of a body among its owner's, for as long as they are read or decoded.
pub(crate) struct Upload {
    bytes: Place<Owner>,
    is_limited: bool,
}

impl Upload {
    /// A body of which nothing is announced or read yet.
    pub(super) fn new(uploads: &Arc<Places<Owner>>, owner: &Owner) -> Self {
        Self { bytes: uploads.none(owner), is_limited: is_limited(owner) }
    }

    /// Takes room for so many bytes more.
    ///
    /// # Errors
    /// Where the owner's bodies have too many already.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        let is_limited = self.is_limited;
        if self.bytes.grow(bytes, |own, _| !is_limited || own + bytes <= MAX_UPLOADED) {
            return Ok(());
        }
        let limit = memory_size(MAX_UPLOADED as u64);
        let sentence =
            format!("More than {limit} of your uploads would be read at a time. Wait until one of them is done, then try again.");
        Err(Failure::Busy { sentence, retry_secs: RETRY_SECS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_so_many_bytes_at_a_time_and_who_has_the_computer_any_number() {
        let uploads = Arc::new(Places::default());
        let (anna, ben) = (Owner::named("Anna"), Owner::sharing("guest", [10, 0, 0, 7].into()));
        let mut first = Upload::new(&uploads, &anna);
        first.grow(MAX_UPLOADED - 10).unwrap();
        let mut second = Upload::new(&uploads, &anna);
        second.grow(10).unwrap();
        assert!(matches!(second.grow(1), Err(Failure::Busy { .. })), "of a body that grows too");
        let mut third = Upload::new(&uploads, &anna);
        let Err(Failure::Busy { sentence, retry_secs }) = third.grow(1) else { panic!("it has no room") };
        assert!(sentence.contains("256 MiB") && retry_secs > 0, "{sentence}");
        Upload::new(&uploads, &ben).grow(MAX_UPLOADED).unwrap();
        drop(second);
        third.grow(10).unwrap();
        for free in [Owner::person(), Owner::this_computer()] {
            let mut upload = Upload::new(&uploads, &free);
            upload.grow(MAX_UPLOADED).unwrap();
            upload.grow(MAX_UPLOADED).unwrap();
        }
        drop((first, third));
        assert!(uploads.is_empty());
    }
}
