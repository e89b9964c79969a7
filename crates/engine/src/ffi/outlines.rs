//! Outlines of a picture, as the engine draws them.

use super::error::CallError;
use atelier_core::recipe::Rgb8;

/// Draws the outlines (Canny) of a picture, white on black. Takes about 40 bytes of memory a pixel.
pub(crate) fn outlines(image: &Rgb8) -> Result<Rgb8, CallError> {
    let (width, height) = (image.width(), image.height());
    let mut pixels = image.pixels().to_vec();
    let raw = ggml_sys::sd_image_t { width, height, channel: 3, data: pixels.as_mut_ptr() };
    // SAFETY: the vector has width x height x 3 bytes, which C reads and writes in this call alone.
    CallError::check(unsafe { ggml_sys::atelier_draw_outlines(raw) })?;
    Rgb8::new(width, height, pixels).ok_or_else(|| CallError::new("the engine drew no outlines"))
}
