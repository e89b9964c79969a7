//! Canvases for other programs.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use atelier_core::canvas::{DocumentContent, LayerChoice};
use atelier_core::paths;

use super::layer_png::write_png;
use super::write::{options, write_archive};
use crate::{PictureError, thumbnail};

/// Longest side of the thumbnail in an `OpenRaster` file, in pixels.
const THUMBNAIL_SIDE: u32 = 256;

/// Writes the canvas as an `OpenRaster` file, which Krita, GIMP and others open, replacing the file
/// there. Layers that are no part of the picture are hidden in it.
///
/// # Errors
/// If it cannot be written.
pub fn write_open_raster(path: &Path, content: &DocumentContent) -> Result<(), PictureError> {
    write_archive(path, |zip| {
        // The first entry tells what the file is, and is not packed.
        zip.start_file("mimetype", options().large_file(false))?;
        zip.write_all(b"image/openraster")?;
        zip.start_file("stack.xml", options())?;
        zip.write_all(stack(content).as_bytes())?;
        for (index, layer) in content.layers().iter().enumerate() {
            zip.start_file(format!("data/layer{index}.png"), options())?;
            write_png(zip, content.bounds(), |band| layer.pixels.read(band))?;
        }
        zip.start_file("mergedimage.png", options())?;
        write_png(zip, content.bounds(), |band| content.compose(band, LayerChoice::Picture))?;
        let small = thumbnail(&content.picture(), THUMBNAIL_SIDE);
        zip.start_file("Thumbnails/thumbnail.png", options())?;
        let mut encoder = png::Encoder::new(&mut *zip, small.width(), small.height());
        encoder.set_color(png::ColorType::Rgb);
        encoder.write_header()?.write_image_data(small.pixels())?;
        Ok(())
    })
}

fn stack(content: &DocumentContent) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<image version=\"0.0.3\" w=\"{}\" h=\"{}\">\n <stack>\n",
        content.width(),
        content.height()
    );
    for (index, layer) in content.layers().iter().enumerate().rev() {
        let visibility = if layer.visible && layer.kind.is_picture() { "visible" } else { "hidden" };
        let _ = writeln!(
            text,
            "  <layer name=\"{}\" src=\"data/layer{index}.png\" x=\"0\" y=\"0\" opacity=\"{:.4}\" visibility=\"{visibility}\" composite-op=\"{}\"/>",
            escaped(&layer.name),
            f32::from(layer.opacity) / 255.0,
            layer.blend.composite_op(),
        );
    }
    text.push_str(" </stack>\n</image>\n");
    text
}

/// Text as it is written into an attribute of XML.
fn escaped(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).fold(String::new(), |mut all, c| {
        match c {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '"' => all.push_str("&quot;"),
            c => all.push(c),
        }
        all
    })
}

/// Writes the picture, as its visible layers make it, as a PNG with opacity, replacing the file
/// there.
///
/// # Errors
/// If it cannot be written.
pub fn write_composition(path: &Path, content: &DocumentContent) -> Result<(), PictureError> {
    let written = paths::write_atomic(path, |file| {
        let mut file = BufWriter::new(file);
        write_png(&mut file, content.bounds(), |band| content.compose(band, LayerChoice::Picture))?;
        file.flush()
    });
    written.map_err(|error| PictureError::write(path, error))
}

/// Writes each layer as a PNG with opacity into a folder, under names that are free, and returns
/// their paths, from the bottom.
///
/// # Errors
/// If one cannot be written; those before it stay.
pub fn write_layers(folder: &Path, content: &DocumentContent) -> Result<Vec<PathBuf>, PictureError> {
    let write = |(index, layer): (usize, &atelier_core::canvas::Layer)| {
        let name: String = layer.name.chars().map(|c| if c.is_alphanumeric() || " -_".contains(c) { c } else { ' ' }).take(60).collect();
        let stem = format!("{:02} {}", index + 1, name.trim());
        let names = (1..10_000).map(|n| if n == 1 { format!("{stem}.png") } else { format!("{stem} ({n}).png") });
        paths::write_new(folder, names, |file| {
            let mut file = BufWriter::new(file);
            write_png(&mut file, content.bounds(), |band| layer.pixels.read(band))?;
            file.flush()
        })
    };
    content.layers().iter().enumerate().map(|it| write(it).map_err(|error| PictureError::write(folder, error))).collect()
}
