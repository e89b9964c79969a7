//! Memory of this machine.

use std::time::Duration;

/// RAM in bytes, total and available. ggml reports all of it as free.
pub(super) fn ram() -> (u64, u64) {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    (system.total_memory(), system.available_memory())
}

/// Bytes that the engine keeps for the next compute buffers of the processor
/// (`shim/kept_buffers.h`). Whoever else needs RAM in this process gets them.
pub(crate) fn kept_bytes() -> u64 {
    // SAFETY: takes no argument; the shim locks its books.
    unsafe { ggml_sys::atelier_kept_bytes() }
}

/// Gives back to the system what is kept so and was not used for so long. Returns the bytes.
pub(crate) fn release_kept_buffers(unused_for: Duration) -> u64 {
    let unused_ms = u64::try_from(unused_for.as_millis()).unwrap_or(u64::from(u32::MAX));
    // SAFETY: takes a number; the shim frees only what no buffer uses.
    unsafe { ggml_sys::atelier_release_kept_buffers(unused_ms) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Recorder, context_params, lock_engine, picture, write_model};
    use super::super::{ConditioningCache, Context};
    use super::*;

    /// Not zero, as memory is that comes from the system: numbers that are none, large and tiny
    /// ones.
    #[test]
    fn what_lies_in_kept_buffers_changes_no_byte_of_a_picture() {
        let _lock = lock_engine();
        let dir = tempfile::tempdir().unwrap();
        let texts = ConditioningCache::default();
        let mut context = Context::new(&context_params(&write_model(dir.path())), &texts, "", &Recorder::default()).unwrap();
        // Beside the weights, which are read here.
        picture(&mut context, &Recorder::default()).unwrap();
        release_kept_buffers(Duration::ZERO);
        assert_eq!(kept_bytes(), 0);
        let mut made = |value: Option<u8>| {
            // The text encoder runs again.
            texts.clear();
            if let Some(value) = value {
                // SAFETY: takes a number; the shim writes only to what no buffer uses.
                unsafe { ggml_sys::atelier_fill_kept_buffers(value) };
            }
            picture(&mut context, &Recorder::default()).unwrap()
        };
        let fresh = made(None);
        let kept = kept_bytes();
        assert!(kept > 0);
        for value in [0xff, 0x7f, 0x01] {
            assert_eq!(made(Some(value)), fresh, "{value:#x}");
            assert_eq!(kept_bytes(), kept, "the same memory again");
        }
        assert_eq!(release_kept_buffers(Duration::from_hours(1)), 0, "used a moment ago");
        assert_eq!((release_kept_buffers(Duration::ZERO), kept_bytes()), (kept, 0));
    }
}
