//! JPEG in memory: for thumbnails and exports.

use std::io::Cursor;

use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, Limits};

use atelier_core::recipe::Rgb8;

use super::{MAX_SIDE, PictureError};

/// Most bytes of memory for decoding.
const MAX_MEMORY: u64 = 1 << 30;

/// A picture as JPEG. `quality` is 1 to 100.
///
/// # Errors
/// If the picture has no pixels, or a side of more than 65,535.
pub fn encode_jpeg(image: &Rgb8, quality: u8) -> Result<Vec<u8>, PictureError> {
    if image.width() == 0 || image.height() == 0 {
        return Err(PictureError::Empty);
    }
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality.clamp(1, 100))
        .write_image(image.pixels(), image.width(), image.height(), ExtendedColorType::Rgb8)
        .map_err(|error| PictureError::Encode { reason: error.to_string() })?;
    Ok(bytes)
}

/// The pixels of a JPEG in memory, within the limits of a file.
///
/// # Errors
/// If it is none, or too large.
pub fn decode_jpeg(bytes: &[u8]) -> Result<Rgb8, PictureError> {
    let refused = |error: image::ImageError| PictureError::Encode { reason: error.to_string() };
    let mut decoder = JpegDecoder::new(Cursor::new(bytes)).map_err(refused)?;
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height, limits.max_alloc) = (Some(MAX_SIDE), Some(MAX_SIDE), Some(MAX_MEMORY));
    decoder.set_limits(limits).map_err(refused)?;
    let image = DynamicImage::from_decoder(decoder).map_err(refused)?.into_rgb8();
    Rgb8::new(image.width(), image.height(), image.into_raw()).ok_or(PictureError::Empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_comes_back_nearly_the_same_and_quality_costs_bytes() {
        let image = Rgb8::new(64, 32, (0..64 * 32 * 3).map(|n| (n / 24) as u8).collect()).unwrap();
        let (good, bad) = (encode_jpeg(&image, 95).unwrap(), encode_jpeg(&image, 10).unwrap());
        assert!(bad.len() < good.len());
        let again = decode_jpeg(&good).unwrap();
        assert_eq!((again.width(), again.height()), (64, 32));
        let difference: u64 = again.pixels().iter().zip(image.pixels()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        assert!(difference / (64 * 32 * 3) < 12, "{difference}");
        assert!(encode_jpeg(&Rgb8::new(0, 0, Vec::new()).unwrap(), 90).is_err());
        assert!(decode_jpeg(b"\xff\xd8 no").is_err());
    }
}
