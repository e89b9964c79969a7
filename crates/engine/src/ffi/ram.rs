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
    #[cfg(target_os = "linux")]
    use testkit::tiny;

    use super::super::tests::{Recorder, context_params, lock_engine, picture, write_model};
    use super::super::{ConditioningCache, Context};
    use super::*;

    /// Bytes of this process' memory for which huge pages were asked.
    #[cfg(target_os = "linux")]
    fn wished_bytes() -> u64 {
        let (mut size, mut sum) = (0, 0);
        for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            if let Some(text) = line.strip_prefix("Size:") {
                size = text.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10;
            } else if line.strip_prefix("VmFlags:").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hg")) {
                sum += size;
            }
        }
        sum
    }

    /// A fault for each small page would take longer than reading them.
    #[cfg(target_os = "linux")]
    #[test]
    fn huge_pages_are_asked_for_weights_that_are_read() {
        const HUGE_PAGE_BYTES: u64 = 2 << 20;
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists() {
            return;
        }
        let _lock = lock_engine();
        let dir = tempfile::tempdir().unwrap();
        let options = tiny::Options { encoder_width: 128, ..tiny::Options::default() };
        let files = tiny::zimage(dir.path(), &options).unwrap();
        let encoder_bytes = files.llm.metadata().unwrap().len();
        let mut context = Context::new(&context_params(&files), &ConditioningCache::default(), "", &Recorder::default()).unwrap();
        picture(&mut context, &Recorder::default()).unwrap();
        // In huge pages too.
        release_kept_buffers(Duration::ZERO);
        // Its first and last page may be parts of such.
        assert!(wished_bytes() >= encoder_bytes - 2 * HUGE_PAGE_BYTES, "{} of {encoder_bytes}", wished_bytes());
    }

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
