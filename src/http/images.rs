//! Pictures in requests and answers: base64 with a prefix or without, decoded within limits that
//! suit many clients at a time. No file and no address is ever opened by a client's word.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use atelier_core::recipe::Rgb8;
use atelier_media::{
    CopyForm, ExportFormat, ExportLoss, ExportedBytes, MAX_RECEIVED_PIXELS, ReceivedError, ReceivedPicture, RgbaPixels, export_bytes,
    export_pixels,
};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::error::Failure;
use super::fields::Fields;

/// Header that names what a picture's format could not keep; absent where it kept all.
const LOSSES: &str = "x-atelier-losses";

/// Most pictures in a request.
pub(crate) const MAX_IMAGES: usize = 16;

/// Padding may be missing.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&ALPHABET, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// The bytes of a picture in a field: base64, with `data:image/...;base64,` before it or without.
pub(crate) fn bytes_of(field: &str, value: &Value) -> Result<Vec<u8>, Failure> {
    let Some(text) = value.as_str() else { return Err(Failure::invalid(field, "It is not a picture in base64.")) };
    let text = text.trim();
    let data = match text.split_once(',') {
        Some((head, data)) if head.starts_with("data:image/") && head.ends_with(";base64") => data,
        Some(_) => return Err(Failure::invalid(field, "It is not a picture in base64.")),
        None => text,
    };
    let is_address = |scheme: &str| text.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
    if ["http:", "https:", "file:", "ftp:"].into_iter().any(is_address) {
        return Err(Failure::Unreadable(format!("{field}: pictures are not fetched from addresses. Send the picture itself in base64.")));
    }
    let data: Vec<u8> = data.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    LENIENT.decode(data).map_err(|_| Failure::invalid(field, "It is not a picture in base64."))
}

/// A picture of a request, whose pixels are not unpacked yet. Blocks.
fn receive(field: &str, bytes: &[u8]) -> Result<ReceivedPicture, Failure> {
    ReceivedPicture::new(bytes).map_err(|error| refused(field, &error))
}

fn refused(field: &str, error: &ReceivedError) -> Failure {
    match error {
        ReceivedError::NotKept(error) => Failure::Failed(atelier_core::advice::Advice::new(
            format!("A picture of the request could not be kept: {error}."),
            "Free some disk space, then try again.",
        )),
        ReceivedError::TooManyPixels { width, height } => {
            let sentence = format!("It has {width}x{height} pixels; at most {} million are taken.", MAX_RECEIVED_PIXELS / 1_000_000);
            Failure::invalid(field, sentence)
        }
        ReceivedError::NotAPicture(reason) => Failure::invalid(field, format!("It is not a picture: {reason}.")),
    }
}

/// Decodes a picture; transparent pixels become white. Blocks.
pub(crate) fn decode(field: &str, bytes: &[u8]) -> Result<Rgb8, Failure> {
    receive(field, bytes)?.image().map_err(|error| refused(field, &error))
}

/// As [`decode`], with the colours of the file where they are more than that: what is generated
/// from a part keeps them beside it. Blocks.
pub(crate) fn decode_fine(field: &str, bytes: &[u8]) -> Result<Rgb8, Failure> {
    receive(field, bytes)?.fine_image().map_err(|error| refused(field, &error))
}

/// How a mask says what is regenerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaskSense {
    /// White is, as far as it is opaque.
    White,
    /// Black is.
    Black,
    /// What is transparent is; of a mask without transparent pixels, white.
    Transparent,
}

/// Decodes a mask to white where the picture is regenerated. Blocks.
pub(crate) fn decode_mask(field: &str, bytes: &[u8], sense: MaskSense) -> Result<Rgb8, Failure> {
    let pixels = receive(field, bytes)?.rgba().map_err(|error| refused(field, &error))?;
    mask_of(&pixels, sense).ok_or_else(|| Failure::invalid(field, "It is empty."))
}

fn mask_of(pixels: &RgbaPixels, sense: MaskSense) -> Option<Rgb8> {
    let has_alpha = pixels.samples.iter().skip(3).step_by(4).any(|alpha| *alpha < 255);
    let luma = |rgba: &[u8]| (u32::from(rgba[0]) * 299 + u32::from(rgba[1]) * 587 + u32::from(rgba[2]) * 114 + 500) / 1000;
    let shade = |rgba: &[u8]| match sense {
        MaskSense::Transparent if has_alpha => 255 - rgba[3],
        MaskSense::White | MaskSense::Transparent => (luma(rgba) * u32::from(rgba[3]) / 255) as u8,
        MaskSense::Black => 255 - (luma(rgba) * u32::from(rgba[3]) / 255) as u8,
    };
    let grey = pixels.samples.chunks_exact(4).flat_map(|rgba| [shade(rgba); 3]).collect();
    Rgb8::new(pixels.width, pixels.height, grey)
}

/// The text of A1111 in a picture, and how many pixels it has. Blocks.
pub(crate) fn parameters(field: &str, bytes: &[u8]) -> Result<String, Failure> {
    let sent = receive(field, bytes)?;
    let settings = atelier_media::read_settings(sent.path()).map_err(|error| refused(field, &sent.refused(&error)))?;
    let own = atelier_media::read_metadata(sent.path()).ok().and_then(|it| it.parameters);
    Ok(own.or_else(|| settings.raw_texts.into_iter().map(|(_, text)| text).find(|text| text.contains("Steps: "))).unwrap_or_default())
}

/// Reads in which format a client wants its pictures.
pub(crate) fn read_format(fields: &mut Fields, key: &str, quality: u8) -> ExportFormat {
    match fields.named_or(key, &["png", "jpeg", "jpg", "webp"], "png").as_str() {
        "png" => return ExportFormat::Png,
        "jpeg" | "jpg" => return ExportFormat::Jpeg { quality },
        "webp" => return ExportFormat::WebP,
        _ => fields.fault(key, "Choose png, jpeg or webp."),
    }
    ExportFormat::Png
}

/// The word and the type of a format.
pub(crate) const fn names_of(format: ExportFormat) -> (&'static str, &'static str) {
    match format {
        ExportFormat::Png => ("png", "image/png"),
        ExportFormat::Jpeg { .. } => ("jpeg", "image/jpeg"),
        ExportFormat::WebP => ("webp", "image/webp"),
    }
}

/// A kept picture in this format, with its settings. Blocks.
pub(crate) fn file_bytes(path: &std::path::Path, format: ExportFormat) -> Result<ExportedBytes, Failure> {
    export_bytes(path, CopyForm::whole(format)).map_err(|error| {
        tracing::warn!("a picture could not be answered: {error}");
        Failure::Failed(atelier_core::advice::Advice::new(
            "The picture was made, and its file cannot be read.",
            "Look for it in the gallery.",
        ))
    })
}

/// The names of what a picture's format could not keep.
pub(crate) fn loss_names(losses: &[ExportLoss]) -> Vec<&'static str> {
    losses.iter().map(|loss| loss.name()).collect()
}

/// A picture as the body of an answer, with what its format could not keep in a header.
pub(crate) fn file_answer(picture: ExportedBytes, format: ExportFormat) -> Response {
    let losses = loss_names(&picture.losses).join(", ");
    let mut answer = ([(header::CONTENT_TYPE, names_of(format).1)], picture.bytes).into_response();
    if !losses.is_empty()
        && let Ok(losses) = HeaderValue::try_from(losses)
    {
        answer.headers_mut().insert(LOSSES, losses);
    }
    answer
}

/// A picture as a field of JSON, with what its format could not keep in `losses`.
pub(crate) fn file_json(picture: &ExportedBytes) -> Value {
    let mut value = json!({"b64_json": base64_text(&picture.bytes)});
    if !picture.losses.is_empty() {
        value["losses"] = json!(loss_names(&picture.losses));
    }
    value
}

/// A preview in base64. Blocks.
pub(crate) fn preview_text(image: &Rgb8, format: ExportFormat) -> Option<String> {
    export_pixels(image, format).ok().map(|bytes| STANDARD.encode(bytes))
}

/// Bytes in base64, without a prefix.
pub(crate) fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, rgba: Option<[u8; 4]>) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let colour = rgba.unwrap_or([10, 20, 30, 255]);
        image::RgbaImage::from_pixel(width, height, image::Rgba(colour)).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn what_a_format_cannot_keep_is_in_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let jpeg = ExportFormat::Jpeg { quality: 90 };
        for (colour, losses) in [([1, 2, 3, 0], Some("transparency")), ([1, 2, 3, 255], None)] {
            let pixels = image::RgbaImage::from_pixel(4, 4, image::Rgba(colour));
            if losses.is_some() {
                pixels.save(&path).unwrap();
            } else {
                image::DynamicImage::ImageRgba8(pixels).to_rgb8().save(&path).unwrap();
            }
            let picture = file_bytes(&path, jpeg).unwrap();
            assert_eq!(file_json(&picture)["losses"].as_array().map(Vec::len), losses.map(|_| 1));
            let answer = file_answer(picture, jpeg);
            assert_eq!(answer.headers().get(LOSSES).map(|it| it.to_str().unwrap()), losses);
            assert!(file_answer(file_bytes(&path, ExportFormat::Png).unwrap(), ExportFormat::Png).headers().get(LOSSES).is_none());
        }
    }

    #[test]
    fn a_picture_comes_as_base64_in_every_form_and_never_as_a_path() {
        let bytes = png(2, 3, None);
        let text = base64_text(&bytes);
        let broken = text.as_bytes().chunks(7).map(|it| std::str::from_utf8(it).unwrap()).collect::<Vec<_>>().join("\n");
        for form in [text.clone(), format!("data:image/png;base64,{text}"), broken, text.trim_end_matches('=').to_owned()] {
            let got = bytes_of("image", &Value::String(form.clone())).unwrap();
            assert_eq!(decode("image", &got).unwrap().pixels().len(), 18, "{form}");
        }
        for form in
            ["http://127.0.0.1/x.png", "HTTPS://x", "file:///etc/passwd", "/etc/passwd", "../../x.png", "data:text/html;base64,AAAA"]
        {
            let read = bytes_of("image", &Value::String(form.into())).and_then(|bytes| decode("image", &bytes));
            assert!(read.is_err(), "{form}");
        }
    }

    #[test]
    fn what_a_start_picture_has_beyond_eight_bits_of_srgb_comes_along() {
        let pixels = image::RgbaImage::from_pixel(3, 2, image::Rgba([200, 90, 30, 128]));
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::DynamicImage::ImageRgba8(pixels).write_to(&mut bytes, image::ImageFormat::WebP).unwrap();
        let bytes = bytes.into_inner();
        let start = decode_fine("init_images", &bytes).unwrap();
        assert!(start.fine().is_some_and(|fine| fine.has_alpha));
        assert_eq!(start.without_fine(), decode("init_images", &bytes).unwrap());
        assert!(decode_fine("init_images", &png(3, 2, None)).unwrap().fine().is_none());
    }

    #[test]
    fn a_bomb_is_refused_before_its_pixels_are_unpacked() {
        // 9000 x 9000 of one colour: a few kilobytes.
        let bytes = png(9000, 9000, None);
        let refused = decode("init_images", &bytes).unwrap_err();
        assert!(refused.sentence().contains("9000x9000"), "{}", refused.sentence());
        let half = &bytes[..bytes.len() / 2];
        let refused = decode("init_images", &png(64, 64, None)[..60]).unwrap_err().sentence();
        assert!(!refused.contains("/tmp") && !half.is_empty(), "{refused}");
    }

    #[test]
    fn a_mask_is_white_where_the_picture_is_regenerated() {
        let shade = |colour: [u8; 4], sense| decode_mask("mask", &png(1, 1, Some(colour)), sense).unwrap().pixels()[0];
        assert_eq!(shade([255, 255, 255, 255], MaskSense::White), 255);
        assert_eq!(shade([255, 255, 255, 0], MaskSense::White), 0, "what is not there is kept");
        assert_eq!(shade([0, 0, 0, 255], MaskSense::Black), 255);
        assert_eq!(shade([0, 0, 0, 0], MaskSense::Transparent), 255);
        assert_eq!(shade([255, 255, 255, 255], MaskSense::Transparent), 255, "without transparent pixels white counts");
        assert_eq!(shade([0, 0, 0, 255], MaskSense::Transparent), 0);
    }
}
