//! JPEG files in the strict form of their decoder.

use image::{DynamicImage, GrayImage, RgbImage};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::errors::DecodeErrors;

/// The pixels of a JPEG file; damage that the lenient decoder paints grey is an error. Its size has
/// been checked before.
pub(crate) fn decode_strictly(bytes: &[u8]) -> Result<DynamicImage, String> {
    let decode = |is_strict: bool| {
        let options = DecoderOptions::default().set_strict_mode(is_strict).set_max_width(usize::MAX).set_max_height(usize::MAX);
        let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        decoder.decode_headers()?;
        let colours = match decoder.input_colorspace() {
            Some(ColorSpace::Luma) => ColorSpace::Luma,
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
    let ((width, height), colours, pixels) = decoded.map_err(|error| error.to_string())?;
    let (width, height) = (width as u32, height as u32);
    let image = match colours {
        ColorSpace::Luma => GrayImage::from_raw(width, height, pixels).map(DynamicImage::ImageLuma8),
        _ => RgbImage::from_raw(width, height, pixels).map(DynamicImage::ImageRgb8),
    };
    image.ok_or_else(|| "it has another number of pixels than it says".to_owned())
}
