//! What fits in a file of a canvas. Who writes and who reads ask the same functions, so that what
//! is written can be read.

use atelier_core::canvas::{LayerKind, MAX_DOCUMENT_SIDE, MAX_LAYERS, PixelRect, TILE_SIDE};
use atelier_language::tr;

use super::stored::{FORMAT, StoredCanvas, StoredLayer};

/// Most bytes of a file: more than the most pixels take that packing makes larger.
pub(super) const MAX_FILE_BYTES: u64 = 10 << 30;
/// Most bytes of the list: all names and words of all layers at their longest, and a rectangle for
/// each tile.
pub(super) const MAX_LIST_BYTES: u64 = 16 << 20;
/// Most bytes of pixels of all layers, unpacked.
pub(super) const MAX_PIXEL_BYTES: u64 = 4 << 30;
/// Most pictures of all layers: each holds a tile at least.
pub(super) const MAX_PICTURES: usize = (MAX_PIXEL_BYTES / (TILE_SIDE as u64 * TILE_SIDE as u64 * 4)) as usize;
/// Bytes that the archive's list of contents is read from: an entry of at most so many bytes for
/// each picture.
pub(super) const MAX_CONTENTS_BYTES: u64 = (1 << 20) + MAX_PICTURES as u64 * 160;
/// Most characters of a name and of a region's words.
pub(super) const MAX_TEXT: usize = LayerKind::MAX_WORDS;
/// Bytes of a picture beside its pixels.
const PICTURE_HEAD_BYTES: u64 = 1 << 20;

/// Checks the version of a list, before anything else of it is read.
///
/// # Errors
/// A clause that says that it is a newer one.
pub(super) fn check_format(format: u32) -> Result<(), String> {
    if format > FORMAT { Err(tr!("media-it-was-written-by").into()) } else { Ok(()) }
}

/// Checks every number of a list, before anything of its pictures is unpacked or packed.
///
/// # Errors
/// A clause that says what does not fit.
pub(super) fn check_list(stored: &StoredCanvas) -> Result<(), String> {
    let sides = 1..=MAX_DOCUMENT_SIDE;
    check_format(stored.format)?;
    if !(sides.contains(&stored.width) && sides.contains(&stored.height)) {
        return Err(tr!("media-x-pixels-is-not", width = stored.width, height = stored.height));
    }
    if !(1..=MAX_LAYERS).contains(&stored.layers.len()) {
        return Err(tr!("media-it-has-layers", layers = stored.layers.len()));
    }
    let is_long = |text: &str| text.chars().nth(MAX_TEXT).is_some();
    let has_long_text = |kind: &LayerKind| matches!(kind, LayerKind::Region { words } if is_long(words));
    if stored.layers.iter().any(|layer| is_long(&layer.name) || has_long_text(&layer.kind)) {
        return Err(tr!("media-a-layers-name-or", max_text = MAX_TEXT));
    }
    let bounds = PixelRect::of_size(stored.width, stored.height);
    let mut parts = stored.layers.iter().flat_map(StoredLayer::pictures);
    if parts.clone().nth(MAX_PICTURES).is_some() {
        return Err(tr!("media-its-layers-have-too").into());
    }
    if parts.any(|part| part.is_empty() || part.intersection(&bounds) != part) {
        return Err(tr!("media-a-layer-lies-outside").into());
    }
    let areas = stored.layers.iter().flat_map(StoredLayer::pictures).map(|part| part.area().saturating_mul(4));
    check_pixel_bytes(areas.fold(0, u64::saturating_add))
}

/// Checks the bytes that all layers take: of what is unpacked, and of the tiles that hold it.
///
/// # Errors
/// A clause that says that they are too many.
pub(super) fn check_pixel_bytes(bytes: u64) -> Result<(), String> {
    if bytes > MAX_PIXEL_BYTES { Err(tr!("media-its-layers-take-more", value = MAX_PIXEL_BYTES >> 30)) } else { Ok(()) }
}

/// Checks the bytes of the list.
///
/// # Errors
/// A clause that says that they are too many.
pub(super) fn check_list_bytes(bytes: u64) -> Result<(), String> {
    if bytes > MAX_LIST_BYTES { Err(tr!("media-its-list-of-layers").into()) } else { Ok(()) }
}

/// Most bytes of a picture of this size: packing makes noise larger, by half at most (codes of up
/// to 12 bits for 8).
pub(super) const fn max_picture_bytes(part: PixelRect) -> u64 {
    let raw = part.area() * 4 + part.height as u64;
    raw + raw / 2 + PICTURE_HEAD_BYTES
}
