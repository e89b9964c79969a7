//! Reading of canvases, which may come from anywhere.

use std::fs::{self, File};
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use atelier_core::bounded_reader::BoundedReader;
use atelier_core::canvas::{DocumentContent, Layer, LayerId, LayerKind, LayerText, PixelRect, TileImage};
use atelier_language::tr;

use super::layer_png::{put_row, read_png};
use super::limits::{
    MAX_CONTENTS_BYTES, MAX_FILE_BYTES, MAX_LIST_BYTES, MAX_TEXT, check_format, check_list, check_pixel_bytes, max_picture_bytes,
};
use super::stored::{CanvasHome, LIST_NAME, StoredCanvas, StoredFormat, picture_name};
use crate::PictureError;

/// Reads a canvas.
///
/// # Errors
/// If the file cannot be read, is no canvas, or a damaged one.
pub fn read_canvas(path: &Path) -> Result<DocumentContent, PictureError> {
    read(path).map(|(content, _)| content)
}

/// Reads a backup of a canvas, with the person's own file of it.
///
/// # Errors
/// If the file cannot be read, is no canvas, or a damaged one.
pub fn read_backup(path: &Path) -> Result<(DocumentContent, Option<CanvasHome>), PictureError> {
    read(path)
}

fn read(path: &Path) -> Result<(DocumentContent, Option<CanvasHome>), PictureError> {
    let file = fs::metadata(path).map_err(|error| PictureError::read(path, error))?;
    let refused = |reason: String| PictureError::NotACanvas { path: path.to_path_buf(), reason };
    if !file.is_file() {
        return Err(refused(tr!("media-it-is-not-a").into()));
    }
    let mut file = File::open(path).map_err(|error| PictureError::read(path, error))?;
    read_archive(&mut file).map_err(refused)
}

fn read_archive(file: &mut File) -> Result<(DocumentContent, Option<CanvasHome>), String> {
    let mut archive = Archive::open(file)?;
    let (width, height) = (archive.list.width, archive.list.height);
    let mut layers = Vec::with_capacity(archive.list.layers.len());
    let mut bytes = 0;
    for index in 0..archive.list.layers.len() {
        let mut pixels = TileImage::new(width, height);
        archive.read_layer(index, |row, bytes| {
            put_row(&mut pixels, row, bytes);
            Ok(())
        })?;
        bytes += pixels.bytes() as u64;
        check_pixel_bytes(bytes)?;
        let it = &archive.list.layers[index];
        let layer = Layer::new(LayerId(0), it.kind.clone(), it.name.as_str(), pixels);
        let (visible, opacity, locked, blend, alpha_locked) = (it.visible, it.opacity, it.locked, it.blend, it.alpha_locked);
        layers.push(Layer { visible, opacity, locked, blend, alpha_locked, text: it.text.clone(), ..layer });
    }
    let content = DocumentContent::of_layers(layers, archive.list.current).map_err(|error| error.to_string())?;
    Ok((content, archive.list.home))
}

/// Reads the canvas in a file with every check of [`read_canvas`] and compares it with what was to
/// be written, row by row, so that it is never in memory as a whole.
///
/// # Errors
/// A clause that says what is not as it was.
pub(super) fn compare(file: &mut File, list: &StoredCanvas, content: &DocumentContent) -> Result<(), String> {
    let mut archive = Archive::open(file)?;
    if archive.list != *list {
        return Err(tr!("media-its-list-of-layers-came-back").into());
    }
    check_pixel_bytes(content.bytes() as u64)?;
    for (index, layer) in content.layers().iter().enumerate() {
        archive.read_layer(index, |row, bytes| {
            if layer.pixels.read(row) == bytes { Ok(()) } else { Err(tr!("media-layer-came-back-with", index = index + 1)) }
        })?;
    }
    Ok(())
}

/// A file of a canvas whose list was read and checked.
struct Archive<'a> {
    zip: ZipArchive<BufReader<BoundedReader<&'a mut File>>>,
    list: StoredCanvas,
}

impl<'a> Archive<'a> {
    fn open(file: &'a mut File) -> Result<Self, String> {
        let broken = |error: std::io::Error| error.to_string();
        if file.metadata().map_err(broken)?.len() > MAX_FILE_BYTES {
            return Err(tr!("media-it-is-too-large").into());
        }
        file.rewind().map_err(broken)?;
        let (file, bound) = BoundedReader::new(file, MAX_CONTENTS_BYTES);
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| tr!("media-it-is-damaged", error))?;
        bound.lift();
        let list = entry(&mut zip, LIST_NAME, MAX_LIST_BYTES)?;
        let unreadable = |error: serde_json::Error| tr!("media-its-list-cannot-be", error);
        // A list of a newer version may say what this one does not understand.
        check_format(serde_json::from_slice::<StoredFormat>(&list).map_err(unreadable)?.format)?;
        let mut list: StoredCanvas = serde_json::from_slice(&list).map_err(unreadable)?;
        for layer in &mut list.layers {
            // Names of strangers are no reason to refuse what they painted.
            layer.name = bounded(&layer.name);
            if let LayerKind::Region { words } = &mut layer.kind {
                *words = bounded(words);
            }
            layer.text = layer.text.take().map(LayerText::checked);
        }
        check_list(&list)?;
        Ok(Self { zip, list })
    }

    /// Reads the pictures of a layer; `take` gets each row with its place in the document.
    fn read_layer(&mut self, index: usize, mut take: impl FnMut(PixelRect, &[u8]) -> Result<(), String>) -> Result<(), String> {
        for (picture, part) in self.list.layers[index].pictures().enumerate() {
            let png = entry(&mut self.zip, &picture_name(index, picture), max_picture_bytes(part))?;
            read_png(&png, part, &mut take)?;
        }
        Ok(())
    }
}

/// The bytes of an entry, unpacked, `most` at most.
fn entry<R: Read + Seek>(zip: &mut ZipArchive<R>, name: &str, most: u64) -> Result<Vec<u8>, String> {
    let entry = zip.by_name(name).map_err(|error| match error {
        ZipError::FileNotFound => tr!("media-is-missing", name),
        error => format!("{name}: {error}"),
    })?;
    if entry.size() > most {
        return Err(tr!("media-is-too-large", name));
    }
    let mut bytes = Vec::new();
    // What an entry says of its size may be a lie.
    entry.take(most + 1).read_to_end(&mut bytes).map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() as u64 > most { Err(tr!("media-is-too-large", name)) } else { Ok(bytes) }
}

fn bounded(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
