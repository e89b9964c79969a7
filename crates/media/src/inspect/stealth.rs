//! Text in the lowest bits of a picture's pixels, as Forge and `NovelAI` hide it where a site
//! removes metadata.
//!
//! Column by column: a signature, the number of bits (32, big-endian), the text, packed with gzip
//! where the signature ends in `comp`.

use std::io::Read;

use flate2::read::GzDecoder;
use image::RgbaImage;

use super::fields::{object, shown};
use super::texts::Texts;
use crate::png::PARAMETERS;
use crate::png_text::MAX_TEXT;

/// Signatures: in alpha and in the three colours, as it is and packed.
const SIGNATURES: [(&[u8], Channels, bool); 4] = [
    (b"stealth_pnginfo", Channels::Alpha, false),
    (b"stealth_pngcomp", Channels::Alpha, true),
    (b"stealth_rgbinfo", Channels::Colours, false),
    (b"stealth_rgbcomp", Channels::Colours, true),
];

#[derive(Clone, Copy)]
enum Channels {
    Alpha,
    Colours,
}

/// What is hidden in a picture, by key.
pub(super) fn read(image: &RgbaImage) -> Option<Texts> {
    let text = SIGNATURES.iter().find_map(|(signature, channels, is_packed)| hidden(image, signature, *channels, *is_packed))?;
    let mut texts = Texts::default();
    // NovelAI hides all its keys as one object.
    match object(&text).filter(|map| map.contains_key("Comment")) {
        Some(map) => map.iter().for_each(|(key, value)| texts.push(key.as_str(), shown(value))),
        None => texts.push(PARAMETERS, text),
    }
    Some(texts)
}

fn hidden(image: &RgbaImage, signature: &[u8], channels: Channels, is_packed: bool) -> Option<String> {
    let columns = (0..image.width()).flat_map(|x| (0..image.height()).map(move |y| image.get_pixel(x, y)));
    let bits = columns.flat_map(|pixel| match channels {
        Channels::Alpha => [Some(pixel.0[3]), None, None],
        Channels::Colours => [Some(pixel.0[0]), Some(pixel.0[1]), Some(pixel.0[2])],
    });
    let mut bits = bits.flatten().map(|value| value & 1);
    let mut byte = || -> Option<u8> { (0..8).try_fold(0, |byte, _| Some(byte << 1 | bits.next()?)) };
    for expected in signature {
        if byte()? != *expected {
            return None;
        }
    }
    let length = u32::from_be_bytes([byte()?, byte()?, byte()?, byte()?]) / 8;
    if u64::from(length) > MAX_TEXT {
        return None;
    }
    let data: Vec<u8> = (0..length).map(|_| byte()).collect::<Option<_>>()?;
    let mut text = Vec::new();
    if is_packed {
        GzDecoder::new(data.as_slice()).take(MAX_TEXT + 1).read_to_end(&mut text).ok()?;
    } else {
        text = data;
    }
    if text.len() as u64 > MAX_TEXT { None } else { String::from_utf8(text).ok() }
}
