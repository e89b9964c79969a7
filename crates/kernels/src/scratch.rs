//! Working memory of a thread, kept from call to call.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};
use std::thread::LocalKey;

/// Alignment of every part: a cache line, and the widest register.
const ALIGN: usize = 64;

/// Buffers of threads that have ended. ggml starts threads for each graph: without this each would
/// ask the system for memory, from an arena of its own.
static UNUSED: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());

/// What a kernel unwinds with where the system gives it no working memory; its caller says so.
#[derive(Clone, Copy, Debug)]
pub struct NoMemory;

/// Uninitialised memory, aligned to a cache line.
pub(crate) struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a buffer belongs to whoever holds the value.
unsafe impl Send for Buffer {}
// SAFETY: nobody writes to what several threads hold.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `None` without memory.
    pub(crate) fn allocate(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { start, layout })
    }

    fn new(bytes: usize) -> Self {
        Self::allocate(bytes).unwrap_or_else(|| resume_unwind(Box::new(NoMemory)))
    }

    pub(crate) const fn words(&self) -> *mut u32 {
        self.start.as_ptr().cast()
    }

    /// One of at least `bytes` bytes: an unused one where there is one.
    fn take(bytes: usize) -> Self {
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        match unused.iter().position(|buffer| buffer.layout.size() >= bytes) {
            Some(at) => unused.swap_remove(at),
            None => Self::new(bytes),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// A thread's buffer, which others may use once the thread has ended.
pub(crate) struct Scratch(RefCell<Option<Buffer>>);

thread_local! {
    /// Of the packed blocks.
    pub(crate) static BLOCKS: Scratch = const { Scratch(RefCell::new(None)) };
    /// Of the scores of attention, which outlive a product.
    pub(crate) static SCORES: Scratch = const { Scratch(RefCell::new(None)) };
}

/// The thread's buffer of at least `words` words of 32 bits, uninitialised, aligned to a cache
/// line. Valid until the next call with the same key.
pub(crate) fn words(key: &'static LocalKey<Scratch>, words: usize) -> *mut u32 {
    let bytes = words * 4;
    key.with(|scratch| {
        let mut kept = scratch.0.borrow_mut();
        if kept.as_ref().is_none_or(|buffer| buffer.layout.size() < bytes) {
            // The smaller one is freed first.
            *kept = None;
            *kept = Some(Buffer::take(bytes));
        }
        kept.as_ref().map_or(std::ptr::null_mut(), Buffer::words)
    })
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(buffer) = self.0.get_mut().take() {
            UNUSED.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
        }
    }
}
