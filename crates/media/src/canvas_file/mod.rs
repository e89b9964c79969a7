//! Canvases as files: Atelier's own, `OpenRaster`, and PNG of the whole and of each layer.
//!
//! Atelier's own is a zip archive: `canvas.json`, then `layers/N.png` for each layer that has
//! pixels, cut to the tiles that hold them; a layer whose pixels lie far apart has a picture for
//! each part. What is written is read back by the reader and compared before it gets its name;
//! `limits` says what fits, to both. What is read is not trusted: counts, sizes and bytes are
//! bounded before anything is unpacked, and names in the archive are never used as paths. Blocks;
//! not for the window's thread.

mod export;
mod layer_png;
mod limits;
mod read;
mod stored;
#[cfg(test)]
mod tests;
mod write;

pub use export::{write_composition, write_layers, write_open_raster};
pub use read::{read_backup, read_canvas};
pub use stored::CanvasHome;
pub use write::{write_backup, write_canvas};

/// The ending of Atelier's own files.
pub const CANVAS_ENDING: &str = "atelier";
