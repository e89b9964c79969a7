//! The canvas: the document that an artist paints on, and the area of a picture that is generated anew.
//!
//! Pure: no file, no engine, no interface, no threads. Pixels are eight-bit RGB or RGBA in rows from the top, sRGB, not premultiplied.

mod brush;
mod compose;
mod content;
mod coverage;
mod document;
mod edit;
mod history;
mod layer;
mod mask;
mod rect;
mod tile;

#[cfg(test)]
mod tests;

pub use brush::{BRUSH_SIZES, Brush, Stroke, StrokePoint};
pub use compose::LayerChoice;
pub use content::DocumentContent;
pub use coverage::{Coverage, Shape};
pub use document::Document;
pub use edit::{DocumentEdit, Ink};
pub use history::MAX_HISTORY_BYTES;
pub use layer::{Layer, LayerError, LayerId, LayerKind, MASK_COLOUR, MAX_DOCUMENT_SIDE, MAX_LAYERS};
pub use mask::Mask;
pub use rect::PixelRect;
pub use tile::{TILE_SIDE, TileImage};
