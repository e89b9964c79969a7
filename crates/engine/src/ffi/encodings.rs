//! What text encoders made of texts, for models that come and go.

use std::ptr::NonNull;

/// Text encodings, 256 MiB at most, of which the least recently used go first. Contexts that were opened with it share it.
pub(crate) struct Encodings(Option<NonNull<ggml_sys::atelier_encodings>>);

// SAFETY: the shim lets any thread ask, and locks what it changes.
unsafe impl Send for Encodings {}
// SAFETY: as above.
unsafe impl Sync for Encodings {}

/// How often encodings were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EncodingCounts {
    pub(crate) found: u64,
    pub(crate) made: u64,
    /// Of those that are remembered now.
    pub(crate) bytes: u64,
}

impl Default for Encodings {
    fn default() -> Self {
        // SAFETY: takes nothing. Null, where there is no memory, means that nothing is remembered.
        Self(NonNull::new(unsafe { ggml_sys::atelier_encodings_new() }))
    }
}

impl Encodings {
    pub(crate) fn forget(&self) {
        // SAFETY: null or what the shim gave, which lives as long as this.
        unsafe { ggml_sys::atelier_encodings_forget(self.as_ptr()) };
    }

    pub(crate) fn counts(&self) -> EncodingCounts {
        // SAFETY: as above.
        let ggml_sys::atelier_encoding_counts { found, made, bytes } = unsafe { ggml_sys::atelier_encodings_counts(self.as_ptr()) };
        EncodingCounts { found, made, bytes }
    }

    pub(super) fn as_ptr(&self) -> *mut ggml_sys::atelier_encodings {
        self.0.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }
}

impl Drop for Encodings {
    fn drop(&mut self) {
        // SAFETY: null or what the shim gave, freed once; contexts keep what they use.
        unsafe { ggml_sys::atelier_encodings_free(self.as_ptr()) };
    }
}
