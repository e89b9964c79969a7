//! Strings of the engine.

use std::ffi::{CStr, c_char};

/// Copy of a C string; empty for null. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `pointer` is null or a NUL-terminated string that lives during the call.
pub(super) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
