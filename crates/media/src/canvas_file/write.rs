//! Writing of canvases.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

use atelier_core::canvas::DocumentContent;
use atelier_core::paths;

use super::layer_png::write_png;
use super::limits::{MAX_PIXEL_BYTES, check_list, check_list_bytes, check_pixel_bytes};
use super::read::compare;
use super::stored::{CanvasHome, FORMAT, FORMAT_OF_ONE_PICTURE, LIST_NAME, StoredCanvas, StoredLayer, picture_name};
use crate::PictureError;

/// A layer has one picture, also of what lies empty between its pixels, where all layers then take
/// at most so many times what they hold.
const MAX_EMPTY_FACTOR: u64 = 2;

/// A function that writes a file whole or not at all, as those of [`paths`] do.
type WriteWhole<'a> = dyn Fn(&Path, &mut dyn FnMut(&mut File) -> io::Result<()>) -> io::Result<()> + 'a;

/// Writes a canvas whole, replacing the file there, or leaves everything as it was. The file has
/// its name once it was read back and is what was to be written.
///
/// # Errors
/// If it cannot be written, or is too large.
pub fn write_canvas(path: &Path, content: &DocumentContent) -> Result<(), PictureError> {
    write_canvas_by(path, content, None, &|path, write| paths::write_atomic(path, write))
}

/// [`write_canvas`] for a file that nobody but its owner may read: it holds prompts and the name of
/// the person's own file, and the person did not choose its place.
///
/// # Errors
/// If it cannot be written, or is too large.
pub fn write_backup(path: &Path, content: &DocumentContent, home: Option<&CanvasHome>) -> Result<(), PictureError> {
    write_canvas_by(path, content, home, &|path, write| paths::write_private_with(path, write))
}

fn write_canvas_by(
    path: &Path,
    content: &DocumentContent,
    home: Option<&CanvasHome>,
    write_whole: &WriteWhole<'_>,
) -> Result<(), PictureError> {
    let list = StoredCanvas { home: home.cloned(), ..list(content) };
    let text = fitting(content, &list).map_err(|reason| PictureError::CanvasTooLarge { path: path.to_path_buf(), reason })?;
    let written = write_whole(path, &mut |file| {
        pack(file, |zip| {
            zip.start_file(LIST_NAME, options())?;
            zip.write_all(&text)?;
            for (index, (layer, stored)) in content.layers().iter().zip(&list.layers).enumerate() {
                for (picture, part) in stored.pictures().enumerate() {
                    zip.start_file(picture_name(index, picture), options())?;
                    write_png(zip, part, |band| layer.pixels.read(band))?;
                }
            }
            Ok(())
        })?;
        compare(file, &list, content).map_err(io::Error::other)?;
        file.seek(SeekFrom::End(0)).map(drop)
    });
    written.map_err(|error| PictureError::write(path, error))
}

/// The list of a canvas.
fn list(content: &DocumentContent) -> StoredCanvas {
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
    StoredCanvas { format, width: content.width(), height: content.height(), current, layers, home: None }
}

/// The list as text, where all of the canvas fits in a file.
fn fitting(content: &DocumentContent, list: &StoredCanvas) -> Result<Vec<u8>, String> {
    check_list(list)?;
    check_pixel_bytes(content.bytes() as u64)?;
    let text = serde_json::to_vec_pretty(list).map_err(|error| error.to_string())?;
    check_list_bytes(text.len() as u64)?;
    Ok(text)
}

/// Entries are stored as they are: pictures are packed already.
pub(super) fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true)
}

/// Writes an archive, reads its sums back, and gives it its name.
pub(super) fn write_archive(
    path: &Path,
    write: impl FnOnce(&mut ZipWriter<BufWriter<&mut File>>) -> io::Result<()>,
) -> Result<(), PictureError> {
    let written = paths::write_atomic(path, |file| {
        pack(file, write)?;
        verify(file)
    });
    written.map_err(|error| PictureError::write(path, error))
}

fn pack(file: &mut File, write: impl FnOnce(&mut ZipWriter<BufWriter<&mut File>>) -> io::Result<()>) -> io::Result<()> {
    let mut zip = ZipWriter::new(BufWriter::new(file));
    write(&mut zip)?;
    zip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

/// Reads every byte back and compares the sums.
fn verify(file: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut zip = ZipArchive::new(io::BufReader::new(&mut *file))?;
    for index in 0..zip.len() {
        io::copy(&mut zip.by_index(index)?, &mut io::sink())?;
    }
    file.seek(SeekFrom::End(0))?;
    Ok(())
}
