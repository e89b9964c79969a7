//! Writing of canvases.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

use atelier_core::canvas::DocumentContent;
use atelier_core::paths;

use super::layer_png::write_png;
use super::stored::{FORMAT, LIST_NAME, MOST_PIXEL_BYTES, StoredCanvas, StoredLayer, picture_name};
use crate::PictureError;

/// Writes a canvas whole, replacing the file there, or leaves everything as it was.
///
/// # Errors
/// If it cannot be written, or is too large.
pub fn write_canvas(path: &Path, content: &DocumentContent) -> Result<(), PictureError> {
    if content.bytes() as u64 > MOST_PIXEL_BYTES {
        let reason = "its layers take more than 4 GiB".into();
        return Err(PictureError::Encode { reason });
    }
    write_archive(path, |zip| {
        let stored = list(content);
        zip.start_file(LIST_NAME, options())?;
        zip.write_all(&serde_json::to_vec_pretty(&stored)?)?;
        for (index, (layer, stored)) in content.layers().iter().zip(&stored.layers).enumerate() {
            if !stored.frame.is_empty() {
                zip.start_file(picture_name(index), options())?;
                write_png(zip, stored.frame, |band| layer.pixels.read(band))?;
            }
        }
        Ok(())
    })
}

fn list(content: &DocumentContent) -> StoredCanvas {
    let layers = content.layers().iter().map(|layer| StoredLayer {
        kind: layer.kind.clone(),
        name: layer.name.clone(),
        visible: layer.visible,
        opacity: layer.opacity,
        locked: layer.locked,
        frame: layer.pixels.content_bounds(),
    });
    let current = content.layers().iter().position(|layer| layer.id == content.current()).unwrap_or(0);
    StoredCanvas { format: FORMAT, width: content.width(), height: content.height(), current, layers: layers.collect() }
}

/// Entries are stored as they are: pictures are packed already.
pub(super) fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true)
}

/// Writes an archive, reads it back, and gives it its name.
pub(super) fn write_archive(
    path: &Path,
    write: impl FnOnce(&mut ZipWriter<BufWriter<&mut File>>) -> io::Result<()>,
) -> Result<(), PictureError> {
    let written = paths::write_atomic(path, |file| {
        let mut zip = ZipWriter::new(BufWriter::new(&mut *file));
        write(&mut zip)?;
        zip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        verify(file)
    });
    written.map_err(|error| PictureError::write(path, error))
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
