//! Text encodings that are shared by all contexts and survive them.

use std::ptr::NonNull;

/// Cache of text encodings: 256 MiB at most, least recently used evicted first. Shared by the
/// contexts that are opened with it.
pub(crate) struct ConditioningCache(Option<NonNull<ggml_sys::atelier_conditioning_cache>>);

// SAFETY: the shim's functions may be called on any thread; a mutex in the cache protects its
// entries.
unsafe impl Send for ConditioningCache {}
// SAFETY: as above.
unsafe impl Sync for ConditioningCache {}

/// Lookups since the process began, and the size of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConditioningCacheStats {
    pub(crate) hits: u64,
    /// Lookups that ran the text encoder.
    pub(crate) misses: u64,
    pub(crate) bytes: u64,
}

impl Default for ConditioningCache {
    fn default() -> Self {
        // SAFETY: takes no argument. Null (no memory) means that nothing is cached.
        Self(NonNull::new(unsafe { ggml_sys::atelier_conditioning_cache_new() }))
    }
}

impl ConditioningCache {
    pub(crate) fn clear(&self) {
        // SAFETY: null, which the shim checks, or a pointer that lives as long as `self`.
        unsafe { ggml_sys::atelier_conditioning_cache_clear(self.as_ptr()) };
    }

    pub(crate) fn stats(&self) -> ConditioningCacheStats {
        // SAFETY: as above.
        let ggml_sys::atelier_conditioning_stats { hits, misses, bytes } =
            unsafe { ggml_sys::atelier_conditioning_cache_stats(self.as_ptr()) };
        ConditioningCacheStats { hits, misses, bytes }
    }

    pub(super) fn as_ptr(&self) -> *mut ggml_sys::atelier_conditioning_cache {
        self.0.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }
}

impl Drop for ConditioningCache {
    fn drop(&mut self) {
        // SAFETY: null or a pointer of `atelier_conditioning_cache_new`, freed once; contexts hold
        // their own reference to the entries.
        unsafe { ggml_sys::atelier_conditioning_cache_free(self.as_ptr()) };
    }
}
