//! What `canvas.json` holds.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use atelier_core::canvas::{LayerKind, PixelRect};

/// Name of the list in the archive.
pub(super) const LIST_NAME: &str = "canvas.json";
/// Newest version of the format that this program reads: 2 has layers of several pictures.
pub(super) const FORMAT: u32 = 2;
/// The version that is written where each layer has one picture, which Atelier has always read.
pub(super) const FORMAT_OF_ONE_PICTURE: u32 = 1;

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
    /// Of a backup: the person's own file of it. In no file that is the person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) home: Option<CanvasHome>,
}

/// The person's own file of a canvas, as its backup knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanvasHome {
    /// The file.
    pub file: PathBuf,
    /// The file holds the same as the backup.
    pub is_unchanged: bool,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredLayer {
    pub(super) kind: LayerKind,
    pub(super) name: String,
    pub(super) visible: bool,
    pub(super) opacity: u8,
    pub(super) locked: bool,
    /// The part of the document that holds its pixels; empty where it has none.
    pub(super) frame: PixelRect,
    /// The parts of the frame that its pictures hold; none where one picture holds all of the
    /// frame.
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
