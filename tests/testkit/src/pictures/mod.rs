//! Small pictures with metadata as image generators write it, from the formats that they document.

#![allow(clippy::expect_used, clippy::missing_panics_doc, reason = "encoders that write to memory do not fail")]

mod exif;
mod tools;

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{ExtendedColorType, ImageEncoder, Rgba, RgbaImage};

pub use exif::{Exif, utf16};
pub use tools::{ToolPicture, tool_pictures};

/// Width and height of every picture, in pixels.
pub const SIZE: (u32, u32) = (32, 16);

fn pixels() -> Vec<u8> {
    (0..SIZE.0 * SIZE.1).flat_map(|n| [n as u8, (n / 3) as u8, (n / 7) as u8]).collect()
}

/// A PNG file with texts by keyword: Latin-1 in `tEXt`, all else in `iTXt`.
#[must_use]
pub fn png(texts: &[(&str, &str)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    for (keyword, text) in texts {
        let (keyword, text) = ((*keyword).to_owned(), (*text).to_owned());
        let added = if text.is_ascii() { encoder.add_text_chunk(keyword, text) } else { encoder.add_itxt_chunk(keyword, text) };
        added.expect("a keyword of PNG");
    }
    let mut writer = encoder.write_header().expect("memory");
    writer.write_image_data(&pixels()).expect("memory");
    writer.finish().expect("memory");
    file
}

/// A JPEG file with EXIF.
#[must_use]
pub fn jpeg(exif: &Exif) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = JpegEncoder::new(&mut file);
    encoder.set_exif_metadata(exif.block()).expect("JPEG has EXIF");
    encoder.write_image(&pixels(), SIZE.0, SIZE.1, ExtendedColorType::Rgb8).expect("memory");
    file
}

/// A lossless WebP file with EXIF.
#[must_use]
pub fn webp(exif: &Exif) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = WebPEncoder::new_lossless(&mut file);
    encoder.set_exif_metadata(exif.block()).expect("WebP has EXIF");
    encoder.write_image(&pixels(), SIZE.0, SIZE.1, ExtendedColorType::Rgb8).expect("memory");
    file
}

/// The channels that hide a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stealth {
    /// The lowest bit of alpha.
    Alpha,
    /// The lowest bits of red, green and blue.
    Colours,
}

/// A PNG file with a text in the lowest bits of its pixels, packed or as it is, column by column.
#[must_use]
pub fn stealth_png(text: &str, channels: Stealth, is_packed: bool) -> Vec<u8> {
    let mut data = text.as_bytes().to_vec();
    if is_packed {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&data).expect("memory");
        data = encoder.finish().expect("memory");
    }
    let signature = match (channels, is_packed) {
        (Stealth::Alpha, false) => "stealth_pnginfo",
        (Stealth::Alpha, true) => "stealth_pngcomp",
        (Stealth::Colours, false) => "stealth_rgbinfo",
        (Stealth::Colours, true) => "stealth_rgbcomp",
    };
    let bits_of_text = (data.len() as u32 * 8).to_be_bytes();
    let bytes = [signature.as_bytes(), &bits_of_text, &data].concat();
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1));
    let (width, height) = (64, 64.max(bytes.len() as u32 / 8));
    let mut image = RgbaImage::from_pixel(width, height, Rgba([120, 90, 60, 254]));
    for x in 0..width {
        for y in 0..height {
            let channels = match channels {
                Stealth::Alpha => 3..4,
                Stealth::Colours => 0..3,
            };
            for channel in image.get_pixel_mut(x, y).0.get_mut(channels).into_iter().flatten() {
                *channel = *channel & 0xfe | bits.next().unwrap_or(0);
            }
        }
    }
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, image::ImageFormat::Png).expect("memory");
    file.into_inner()
}
