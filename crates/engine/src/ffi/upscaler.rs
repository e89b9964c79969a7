//! Engine upscaler: an open ESRGAN model.

use std::path::Path;
use std::ptr::{NonNull, null_mut};

use super::callbacks::{JobCallbacks, RawCallbacks, take_pixels};
use super::direct_convolutions::direct_convolutions;
use super::error::CallError;
use super::params::{Strings, raw_image};
use atelier_core::placement::{Module, Placement};
use atelier_core::recipe::Rgb8;

/// Side of a tile in pixels: small enough for any device, large enough that overlaps cost little.
const TILE_SIDE: i32 = 128;

/// Side of a tile in pixels, where one may be chosen.
pub(super) fn tile_side(chosen: Option<u32>) -> i32 {
    chosen.and_then(|side| i32::try_from(side).ok()).unwrap_or(TILE_SIDE)
}

/// An open ESRGAN model.
pub(crate) struct Upscaler(NonNull<ggml_sys::atelier_upscaler>);

// SAFETY: the engine binds no upscaler to a thread, and every call needs `&mut self`.
unsafe impl Send for Upscaler {}

impl Upscaler {
    /// Opens a model: reads its header; weights are read at the first image. `limit`: maximum bytes
    /// of its device that a tile's graph may use, weights included; 0 is none. Where the placement
    /// streams layers, blocks that do not fit are copied piece by piece.
    pub(crate) fn new(
        path: &Path,
        threads: u32,
        tile_size: Option<u32>,
        placement: &Placement,
        limit: u64,
        callbacks: &dyn JobCallbacks,
    ) -> Result<Self, CallError> {
        let mut strings = Strings::default();
        let path = strings.path(Some(path))?;
        let is_direct = direct_convolutions(&placement.assignment(Module::Upscaler).runs_on).include(Module::Upscaler);
        let is_streaming = placement.streams_upscaler();
        let placement = placement.text();
        let backend = strings.text(&placement.backend)?;
        let params_backend = strings.text(&placement.params_backend)?;
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let threads = i32::try_from(threads).unwrap_or(1).max(1);
        let mut upscaler = null_mut();
        // SAFETY: `strings` outlives the call; `raw_callbacks` borrows `callbacks`; `upscaler` is a
        // local to be written.
        let status = unsafe {
            ggml_sys::atelier_upscaler_new(
                path,
                is_direct,
                threads,
                tile_side(tile_size),
                backend,
                params_backend,
                limit,
                is_streaming,
                raw_callbacks.as_ptr(),
                &raw mut upscaler,
            )
        };
        CallError::check(status)?;
        NonNull::new(upscaler).map(Self).ok_or_else(|| CallError::new("the engine returned no upscaler"))
    }

    /// Upscales an image by the model's factor.
    pub(crate) fn run(&mut self, image: &Rgb8, callbacks: &dyn JobCallbacks) -> Result<Rgb8, CallError> {
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let mut large = ggml_sys::sd_image_t { width: 0, height: 0, channel: 0, data: null_mut() };
        // SAFETY: a live upscaler, exclusive by `&mut self`; pixels and callbacks are borrowed for
        // longer than the call, and C only reads the pixels; `large` is a local to be written.
        let status = unsafe { ggml_sys::atelier_upscaler_run(self.0.as_ptr(), raw_image(image), raw_callbacks.as_ptr(), &raw mut large) };
        let result = CallError::check(status);
        // SAFETY: the shim filled it: after success `data` is null or has width x height x 3 bytes.
        let pixels = unsafe { take_pixels(result.is_ok(), &mut large) };
        result?;
        pixels.ok_or_else(|| CallError::new("the upscaler made an empty picture"))
    }
}

impl Drop for Upscaler {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_upscaler_new` and is freed once.
        unsafe { ggml_sys::atelier_upscaler_free(self.0.as_ptr()) };
    }
}
