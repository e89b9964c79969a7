//! A loaded model.

use std::ptr::{NonNull, null_mut};

use super::callbacks::{Callbacks, Sink, copy_rgb};
use super::error::CallError;
use super::params::{Limits, Load, PreviewMode, RawLoad, RawShot, Shot};
use crate::recipe::Rgb8;

/// A model in the engine. Weights are read when they are first needed and stay until this is dropped.
pub(in crate::engine) struct Context(NonNull<ggml_sys::atelier_context>);

impl Context {
    /// Reads the headers of the model's files and prepares its modules.
    pub(in crate::engine) fn new(load: &Load, sink: &dyn Sink) -> Result<Self, CallError> {
        let raw = RawLoad::new(load)?;
        let callbacks = Callbacks::new(&sink);
        let mut context = null_mut();
        // SAFETY: `raw` owns its strings and lives past the call; `callbacks` borrows `sink`; `context` is ours to be written.
        let status = unsafe { ggml_sys::atelier_context_new(&raw const raw.raw, callbacks.as_ptr(), &raw mut context) };
        CallError::check(status)?;
        NonNull::new(context).map(Self).ok_or_else(|| CallError::new("the engine gave no context"))
    }

    /// Sets what each module may use of its device, for the pictures that follow.
    pub(in crate::engine) fn limit(&mut self, limits: &Limits) -> Result<(), CallError> {
        let raw = limits.raw();
        // SAFETY: a live context that only this value holds, and a whole struct of ours.
        CallError::check(unsafe { ggml_sys::atelier_context_limit(self.0.as_ptr(), &raw const raw) })
    }

    /// Makes one picture.
    pub(in crate::engine) fn generate(
        &mut self,
        shot: &Shot<'_>,
        preview: Option<(PreviewMode, u32)>,
        sink: &dyn Sink,
    ) -> Result<Rgb8, CallError> {
        let raw = RawShot::new(shot)?;
        let callbacks = Callbacks::new(&sink);
        let (mode, every) = preview.map_or((ggml_sys::preview_t::PREVIEW_NONE, 0), |(mode, every)| {
            let every = i32::try_from(every).unwrap_or(i32::MAX).max(1);
            match mode {
                PreviewMode::Projection => (ggml_sys::preview_t::PREVIEW_PROJ, every),
                PreviewMode::TinyAutoencoder => (ggml_sys::preview_t::PREVIEW_TAE, every),
                PreviewMode::Thrifty => (ggml_sys::preview_t::PREVIEW_TAE, ggml_sys::ATELIER_PREVIEW_THRIFTY),
            }
        });
        let mut image = ggml_sys::sd_image_t { width: 0, height: 0, channel: 0, data: null_mut() };
        // SAFETY: the pointer is a live context that only this value holds; `raw` owns what it points to, except pixels, which `shot` borrows
        // for longer than this call; `callbacks` borrows `sink`; `image` is ours to be written.
        let status = unsafe {
            ggml_sys::atelier_context_generate(
                self.0.as_ptr(),
                &raw const raw.raw,
                raw.lora_key,
                mode,
                every,
                callbacks.as_ptr(),
                &raw mut image,
            )
        };
        let made = CallError::check(status);
        // SAFETY: the shim sets `data` to null or to width x height x 3 bytes, which it gives to us to free.
        let pixels = unsafe {
            let pixels = copy_rgb(image.width, image.height, image.data);
            ggml_sys::atelier_image_free(&raw mut image);
            pixels
        };
        made?;
        pixels.ok_or_else(|| CallError::new("the engine made an empty picture"))
    }

    /// How many text encodings were remembered, and how many had to be made.
    #[cfg(test)]
    pub(in crate::engine) fn encodings(&self) -> (u64, u64) {
        let (mut hits, mut misses) = (0, 0);
        // SAFETY: a live context, and two numbers of ours.
        unsafe { ggml_sys::atelier_context_encodings(self.0.as_ptr(), &raw mut hits, &raw mut misses) };
        (hits, misses)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_context_new` and is freed once.
        unsafe { ggml_sys::atelier_context_free(self.0.as_ptr()) };
    }
}
