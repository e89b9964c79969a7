//! The canvas: the document that an artist paints on, and the area of a picture that is generated
//! anew.
//!
//! Pure: no file, no engine, no interface, no threads. Pixels are eight-bit RGB or RGBA in rows
//! from the top, sRGB, not premultiplied.

mod area;
mod blend;
mod brush;
mod compose;
mod content;
mod coverage;
mod cut;
mod distance;
mod document;
mod edit;
mod fill;
mod history;
mod layer;
mod mask;
mod outpaint;
mod paste;
mod pyramid;
mod rect;
mod selection;
mod settings;
mod tile;
mod tiles;
mod transform;
mod wrap;

#[cfg(test)]
mod tests;

pub use area::{AreaPlan, ModelSizes, plan_area, plan_crop, selection_bounds};
pub use blend::BlendMode;
pub use brush::{BRUSH_SIZES, Brush, Stroke, StrokePoint};
pub use compose::LayerChoice;
pub use content::DocumentContent;
pub use coverage::{Coverage, Shape};
pub use cut::{crop_mask, crop_picture};
pub use document::{Document, NewRegion};
pub use edit::{DocumentEdit, Ink};
pub use fill::fill_area;
pub use history::MAX_HISTORY_BYTES;
pub use layer::{Layer, LayerError, LayerId, LayerKind, LayerText, MASK_COLOUR, MAX_DOCUMENT_SIDE, MAX_LAYERS};
pub use mask::Mask;
pub use outpaint::{border_mask, borders_of, extend_picture, plan_outpaint};
pub use paste::paste_area;
pub use rect::PixelRect;
pub use selection::MAX_SELECTION_PX;
pub use settings::{AreaFill, AreaSettings, Borders, StartFit};
pub use tile::{TILE_SIDE, TileImage};
pub use tiles::{plan_tile, tile_rects, with_low_frequencies};
pub use transform::LayerTransform;
pub use wrap::{rolled_mask, rolled_picture, rolled_rect, wrap_shift};
