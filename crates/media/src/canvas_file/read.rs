//! Reading of canvases, which may come from anywhere.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use atelier_core::bounded_reader::BoundedReader;
use atelier_core::canvas::{DocumentContent, Layer, LayerId, LayerKind, MAX_DOCUMENT_SIDE, MAX_LAYERS, PixelRect};

use super::layer_png::read_png;
use super::stored::{FORMAT, LIST_NAME, MOST_LIST_BYTES, MOST_PIXEL_BYTES, MOST_TEXT, StoredCanvas, picture_name};
use crate::PictureError;

/// Most bytes of a file.
const MOST_FILE_BYTES: u64 = 8 << 30;
/// Bytes that a PNG may take beside its pixels, which noise does not make smaller.
const PNG_ROOM: u64 = 1 << 20;

/// Bytes that the archive's list of contents is read from: a canvas has a list and a picture a layer.
const MAX_CONTENTS_BYTES: u64 = 1 << 20;

type Archive = ZipArchive<BufReader<BoundedReader<File>>>;

/// Reads a canvas.
///
/// # Errors
/// If the file cannot be read, is no canvas, or a damaged one.
pub fn read_canvas(path: &Path) -> Result<DocumentContent, PictureError> {
    let file = fs::metadata(path).map_err(|error| PictureError::read(path, error))?;
    let refused = |reason: String| PictureError::NotACanvas { path: path.to_path_buf(), reason };
    if !file.is_file() {
        return Err(refused("it is not a file".into()));
    }
    if file.len() > MOST_FILE_BYTES {
        return Err(refused("it is too large".into()));
    }
    let file = File::open(path).map_err(|error| PictureError::read(path, error))?;
    read_archive(file).map_err(refused)
}

fn read_archive(file: File) -> Result<DocumentContent, String> {
    let (file, bound) = BoundedReader::new(file, MAX_CONTENTS_BYTES);
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| error.to_string())?;
    bound.lift();
    let list = entry(&mut zip, LIST_NAME, MOST_LIST_BYTES)?;
    let stored: StoredCanvas = serde_json::from_slice(&list).map_err(|error| format!("its list cannot be read: {error}"))?;
    check(&stored)?;
    let (width, height) = (stored.width, stored.height);
    let mut layers = Vec::with_capacity(stored.layers.len());
    for (index, it) in stored.layers.into_iter().enumerate() {
        let pixels = if it.frame.is_empty() {
            atelier_core::canvas::TileImage::new(width, height)
        } else {
            let most = it.frame.area() * 4 + u64::from(it.frame.height) + it.frame.area() / 8 + PNG_ROOM;
            read_png(&entry(&mut zip, &picture_name(index), most)?, width, height, it.frame)?
        };
        let kind = match it.kind {
            LayerKind::Region { words } => LayerKind::Region { words: bounded(&words) },
            kind => kind,
        };
        let layer = Layer::new(LayerId(0), kind, bounded(&it.name), pixels);
        layers.push(Layer { visible: it.visible, opacity: it.opacity, locked: it.locked, ..layer });
    }
    DocumentContent::of_layers(layers, stored.current).map_err(|error| error.to_string())
}

/// Checks all numbers before anything is unpacked.
fn check(stored: &StoredCanvas) -> Result<(), String> {
    let sides = 1..=MAX_DOCUMENT_SIDE;
    if stored.format > FORMAT {
        return Err("it was written by a newer Atelier".into());
    }
    if !(sides.contains(&stored.width) && sides.contains(&stored.height)) {
        return Err(format!("{} x {} pixels is no size of a canvas", stored.width, stored.height));
    }
    if !(1..=MAX_LAYERS).contains(&stored.layers.len()) {
        return Err(format!("it has {} layers", stored.layers.len()));
    }
    let bounds = PixelRect::of_size(stored.width, stored.height);
    if stored.layers.iter().any(|layer| !layer.frame.is_empty() && layer.frame.intersection(&bounds) != layer.frame) {
        return Err("a layer lies outside the canvas".into());
    }
    let bytes: u64 = stored.layers.iter().map(|layer| layer.frame.area() * 4).sum();
    if bytes > MOST_PIXEL_BYTES {
        return Err("its layers take more than 4 GiB".into());
    }
    Ok(())
}

/// The bytes of an entry, unpacked, `most` at most.
fn entry(zip: &mut Archive, name: &str, most: u64) -> Result<Vec<u8>, String> {
    let entry = zip.by_name(name).map_err(|error| match error {
        ZipError::FileNotFound => format!("{name} is missing"),
        error => format!("{name}: {error}"),
    })?;
    if entry.size() > most {
        return Err(format!("{name} is too large"));
    }
    let mut bytes = Vec::new();
    // What an entry says of its size may be a lie.
    entry.take(most + 1).read_to_end(&mut bytes).map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() as u64 > most { Err(format!("{name} is too large")) } else { Ok(bytes) }
}

fn bounded(text: &str) -> String {
    text.chars().take(MOST_TEXT).collect()
}
