//! What `canvas.json` holds.

use serde::{Deserialize, Serialize};

use atelier_core::canvas::{LayerKind, PixelRect};

/// Name of the list in the archive.
pub(super) const LIST_NAME: &str = "canvas.json";
/// Newest version of the format that this program reads, and the one that it writes.
pub(super) const FORMAT: u32 = 1;
/// Most bytes of the list.
pub(super) const MOST_LIST_BYTES: u64 = 1 << 20;
/// Most bytes of pixels of all layers, unpacked.
pub(super) const MOST_PIXEL_BYTES: u64 = 4 << 30;
/// Most characters of a name and of a region's words that are read.
pub(super) const MOST_TEXT: usize = LayerKind::MAX_WORDS;

/// The list of layers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredCanvas {
    pub(super) format: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Index of the current layer.
    pub(super) current: usize,
    /// From the bottom.
    pub(super) layers: Vec<StoredLayer>,
}

/// A layer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredLayer {
    pub(super) kind: LayerKind,
    pub(super) name: String,
    pub(super) visible: bool,
    pub(super) opacity: u8,
    pub(super) locked: bool,
    /// The part of the document that its picture holds; empty where it has none.
    pub(super) frame: PixelRect,
}

/// Name of a layer's picture in the archive.
pub(super) fn picture_name(index: usize) -> String {
    format!("layers/{index}.png")
}
