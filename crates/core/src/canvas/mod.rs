//! The canvas: the document that an artist paints on, and the area of a picture that is generated anew.
//!
//! Pure: no file, no engine, no interface, no threads. Pixels are eight-bit RGB or RGBA in rows from the top, sRGB, not premultiplied.

mod area;
mod cut;
mod distance;
mod fill;
mod mask;
mod outpaint;
mod paste;
mod pyramid;
mod rect;
mod settings;

pub use area::{AreaPlan, ModelSizes, plan_area, plan_crop};
pub use cut::{crop_mask, crop_picture};
pub use fill::fill_area;
pub use mask::Mask;
pub use outpaint::{border_mask, extend_picture, plan_outpaint};
pub use paste::paste_area;
pub use rect::PixelRect;
pub use settings::{AreaFill, AreaSettings, Borders, StartFit};
