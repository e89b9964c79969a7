//! A loaded upscaler.

use std::path::Path;
use std::ptr::{NonNull, null_mut};

use super::callbacks::{Callbacks, Sink, copy_rgb};
use super::error::CallError;
use super::params::{Strings, raw_image};
use atelier_core::recipe::Rgb8;

/// Side of a tile in pixels; small enough for any device, large enough that seams cost little.
const TILE: i32 = 128;

/// An ESRGAN model in the engine.
pub(crate) struct Upscaler(NonNull<ggml_sys::atelier_upscaler>);

impl Upscaler {
    /// Reads the model's header; weights are read when they are first needed.
    pub(crate) fn new(path: &Path, threads: u32, backend: &str, params_backend: &str, sink: &dyn Sink) -> Result<Self, CallError> {
        let mut strings = Strings::default();
        let path = strings.path(Some(path))?;
        let backend = strings.text(backend)?;
        let params_backend = strings.text(params_backend)?;
        let callbacks = Callbacks::new(&sink);
        let threads = i32::try_from(threads).unwrap_or(1).max(1);
        let mut upscaler = null_mut();
        // SAFETY: `strings` keeps the texts past the call; `callbacks` borrows `sink`; `upscaler` is ours to be written.
        let status =
            unsafe { ggml_sys::atelier_upscaler_new(path, threads, TILE, backend, params_backend, callbacks.as_ptr(), &raw mut upscaler) };
        CallError::check(status)?;
        NonNull::new(upscaler).map(Self).ok_or_else(|| CallError::new("the engine gave no upscaler"))
    }

    /// Enlarges a picture.
    pub(crate) fn run(&mut self, image: &Rgb8, sink: &dyn Sink) -> Result<Rgb8, CallError> {
        let callbacks = Callbacks::new(&sink);
        let mut large = ggml_sys::sd_image_t { width: 0, height: 0, channel: 0, data: null_mut() };
        // SAFETY: a live upscaler that only this value holds; the pixels and the sink are borrowed for longer than the call, and C only reads
        // the pixels; `large` is ours to be written.
        let status = unsafe { ggml_sys::atelier_upscaler_run(self.0.as_ptr(), raw_image(image), callbacks.as_ptr(), &raw mut large) };
        let made = CallError::check(status);
        // SAFETY: the shim sets `data` to null or to width x height x 3 bytes, which it gives to us to free.
        let pixels = unsafe {
            let pixels = copy_rgb(large.width, large.height, large.data);
            ggml_sys::atelier_image_free(&raw mut large);
            pixels
        };
        made?;
        pixels.ok_or_else(|| CallError::new("the upscaler made an empty picture"))
    }
}

impl Drop for Upscaler {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_upscaler_new` and is freed once.
        unsafe { ggml_sys::atelier_upscaler_free(self.0.as_ptr()) };
    }
}
