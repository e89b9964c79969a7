//! The canvas: the document that an artist paints on, and the area of a picture that is generated anew.
//!
//! Pure: no file, no engine, no interface, no threads. Pixels are eight-bit RGB or RGBA in rows from the top, sRGB, not premultiplied.

mod mask;
mod rect;

pub use mask::Mask;
pub use rect::PixelRect;
