//! Pictures to send, and to look at.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A PNG of this size.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let image = image::RgbImage::from_fn(width, height, |x, y| image::Rgb([(x * 3) as u8, (y * 3) as u8, 90]));
    image.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// The same in base64.
pub(crate) fn png_text(width: u32, height: u32) -> String {
    STANDARD.encode(png(width, height))
}

pub(crate) fn bytes_of(text: &serde_json::Value) -> Vec<u8> {
    STANDARD.decode(text.as_str().unwrap()).unwrap()
}
