//! What `canvas.json` holds.

use serde::{Deserialize, Serialize};

use atelier_core::canvas::{DocumentContent, LayerKind, PixelRect};

use super::limits::MAX_PIXEL_BYTES;

/// Name of the list in the archive.
pub(super) const LIST_NAME: &str = "canvas.json";
/// Newest version of the format that this program reads: 2 has layers of several pictures.
pub(super) const FORMAT: u32 = 2;
/// The version that is written where each layer has one picture, which Atelier has always read.
const FORMAT_OF_ONE_PICTURE: u32 = 1;
/// A layer has one picture, also of what lies empty between its pixels, where all layers then take at most so many times what they hold.
const MAX_EMPTY_FACTOR: u64 = 2;

/// The list of layers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredLayer {
    pub(super) kind: LayerKind,
    pub(super) name: String,
    pub(super) visible: bool,
    pub(super) opacity: u8,
    pub(super) locked: bool,
    /// The part of the document that holds its pixels; empty where it has none.
    pub(super) frame: PixelRect,
    /// The parts of the frame that its pictures hold; none where one picture holds all of the frame.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<PixelRect>,
}

impl StoredLayer {
    /// The parts of the document that its pictures hold, in their order.
    pub(super) fn pictures(&self) -> impl Iterator<Item = PixelRect> + Clone {
        let whole = Some(self.frame).filter(|frame| self.parts.is_empty() && !frame.is_empty());
        whole.into_iter().chain(self.parts.iter().copied())
    }
}

/// Name of a layer's picture in the archive.
pub(super) fn picture_name(layer: usize, picture: usize) -> String {
    match picture {
        0 => format!("layers/{layer}.png"),
        _ => format!("layers/{layer}-{picture}.png"),
    }
}

/// The list of a canvas.
pub(super) fn list(content: &DocumentContent) -> StoredCanvas {
    let frame_bytes: u64 = content.layers().iter().map(|layer| layer.pixels.content_bounds().area() * 4).sum();
    let is_sparse = frame_bytes > MAX_PIXEL_BYTES.min(content.bytes() as u64 * MAX_EMPTY_FACTOR);
    let layers = content.layers().iter().map(|layer| StoredLayer {
        kind: layer.kind.clone(),
        name: layer.name.clone(),
        visible: layer.visible,
        opacity: layer.opacity,
        locked: layer.locked,
        frame: layer.pixels.content_bounds(),
        parts: if is_sparse { layer.pixels.content_parts() } else { Vec::new() },
    });
    let layers: Vec<StoredLayer> = layers.collect();
    let current = content.layers().iter().position(|layer| layer.id == content.current()).unwrap_or(0);
    let format = if is_sparse { FORMAT } else { FORMAT_OF_ONE_PICTURE };
    StoredCanvas { format, width: content.width(), height: content.height(), current, layers }
}
