//! JPEG files whose damage is an error.

use atelier_language::tr;
use image::{DynamicImage, GrayImage, RgbImage};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::errors::DecodeErrors;

use self::entropy::Findings;
use super::error::decoder_words;

mod entropy;

/// The pixels of a JPEG file.
#[derive(Debug, PartialEq)]
pub(crate) enum Jpeg {
    /// Grey, or red, green and blue.
    Light(DynamicImage),
    /// Cyan, magenta, yellow and black of each pixel; 255 is all of an ink.
    Inks { width: u32, height: u32, inks: Vec<u8> },
}

/// The pixels of a JPEG file; damage that decoders paint over is an error. Its size has been
/// checked before.
pub(crate) fn decode_strictly(bytes: &[u8]) -> Result<Jpeg, String> {
    let Findings { has_adobe_mark } = entropy::check(bytes)?;
    let decode = |is_strict: bool| {
        let options = DecoderOptions::default().set_strict_mode(is_strict).set_max_width(usize::MAX).set_max_height(usize::MAX);
        let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        decoder.decode_headers()?;
        let colours = match decoder.input_colorspace() {
            Some(own @ (ColorSpace::Luma | ColorSpace::CMYK | ColorSpace::YCCK)) => own,
            _ => ColorSpace::RGB,
        };
        decoder.set_options(decoder.options().jpeg_set_out_colorspace(colours));
        let pixels = decoder.decode()?;
        Ok((decoder.dimensions().unwrap_or_default(), colours, pixels))
    };
    // Bytes between the headers harm no pixel, but are refused before those are looked at.
    let decoded = decode(true).or_else(|error: DecodeErrors| match error {
        DecodeErrors::FormatStatic(reason) if reason.contains("between headers") => decode(false),
        error => Err(error),
    });
    let ((width, height), colours, mut pixels) = decoded.map_err(decoder_words)?;
    let (width, height) = (width as u32, height as u32);
    let jpeg = match colours {
        ColorSpace::Luma => GrayImage::from_raw(width, height, pixels).map(DynamicImage::ImageLuma8).map(Jpeg::Light),
        ColorSpace::CMYK | ColorSpace::YCCK => {
            if colours == ColorSpace::YCCK {
                pixels.chunks_exact_mut(4).for_each(inks_of_brightness);
            }
            if has_adobe_mark {
                for ink in &mut pixels {
                    *ink = 255 - *ink;
                }
            }
            let is_whole = pixels.len() as u64 == u64::from(width) * u64::from(height) * 4;
            is_whole.then_some(Jpeg::Inks { width, height, inks: pixels })
        }
        _ => RgbImage::from_raw(width, height, pixels).map(DynamicImage::ImageRgb8).map(Jpeg::Light),
    };
    jpeg.ok_or_else(|| tr!("media-it-has-another-number").to_owned())
}

/// Brightness and two differences of colour (JFIF) become what red, green and blue lack; black is
/// its own.
fn inks_of_brightness(pixel: &mut [u8]) {
    let [y, cb, cr] = [0, 1, 2].map(|at| f32::from(pixel.get(at).copied().unwrap_or_default()));
    let (cb, cr) = (cb - 128.0, cr - 128.0);
    let light = [y + 1.402 * cr, y - 0.344_136 * cb - 0.714_136 * cr, y + 1.772 * cb];
    for (ink, light) in pixel.iter_mut().zip(light) {
        *ink = 255 - light.round().clamp(0.0, 255.0) as u8;
    }
}

#[cfg(test)]
mod tests;
