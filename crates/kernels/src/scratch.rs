//! Working memory of a thread, kept from call to call.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::thread::LocalKey;

/// Alignment of every part: a cache line, and the widest register.
const ALIGN: usize = 64;

/// A buffer that grows and is freed with its thread.
pub(crate) struct Scratch {
    start: Cell<*mut u8>,
    bytes: Cell<usize>,
}

thread_local! {
    /// Of the packed blocks.
    pub(crate) static BLOCKS: Scratch = const { Scratch { start: Cell::new(std::ptr::null_mut()), bytes: Cell::new(0) } };
    /// Of the scores of attention, which outlive a product.
    pub(crate) static SCORES: Scratch = const { Scratch { start: Cell::new(std::ptr::null_mut()), bytes: Cell::new(0) } };
}

/// The thread's buffer of at least `words` words of 32 bits, uninitialised, aligned to a cache line. Valid until the next call with the same key.
pub(crate) fn words(key: &'static LocalKey<Scratch>, words: usize) -> *mut u32 {
    key.with(|scratch| scratch.at_least(words * 4)).cast()
}

impl Scratch {
    fn at_least(&self, bytes: usize) -> *mut u8 {
        if self.bytes.get() < bytes {
            self.free();
            let Ok(layout) = Layout::from_size_align(bytes, ALIGN) else { handle_alloc_error(Layout::new::<u8>()) };
            // SAFETY: the caller asks for more than zero bytes.
            let start = unsafe { alloc(layout) };
            if start.is_null() {
                handle_alloc_error(layout);
            }
            self.start.set(start);
            self.bytes.set(bytes);
        }
        self.start.get()
    }

    fn free(&self) {
        if let Ok(layout) = Layout::from_size_align(self.bytes.get(), ALIGN)
            && self.bytes.get() > 0
        {
            // SAFETY: allocated with this layout, by this type.
            unsafe { dealloc(self.start.get(), layout) };
        }
        self.bytes.set(0);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.free();
    }
}
