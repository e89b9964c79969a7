//! Texts in EXIF.

use ::exif::{Context, In, Reader, Tag, Value};

use super::texts::{Texts, USER_COMMENT};
use crate::png_text::latin1;

/// Bytes before the text of a `UserComment` that name its encoding.
const ENCODING: usize = 8;

/// Adds the texts of a TIFF structure; a damaged one is read as far as it goes.
///
/// `ComfyUI` writes `prompt:{...}` and `workflow:{...}` into whichever fields are free: they get those keys.
pub(super) fn read(block: Vec<u8>, texts: &mut Texts) {
    let exif = match Reader::new().continue_on_error(true).read_raw(block) {
        Ok(exif) => exif,
        Err(::exif::Error::PartialResult(partial)) => partial.into_inner().0,
        Err(_) => return,
    };
    let is_little_endian = exif.little_endian();
    for field in exif.fields().filter(|field| field.ifd_num == In::PRIMARY) {
        let bytes: &[u8] = match &field.value {
            Value::Ascii(parts) => parts.first().map_or(&[], Vec::as_slice),
            Value::Undefined(bytes, _) | Value::Byte(bytes) => bytes,
            _ => continue,
        };
        let key = match field.tag {
            Tag::UserComment => {
                texts.push(USER_COMMENT, user_comment(bytes, is_little_endian));
                continue;
            }
            Tag::MakerNote => "MakerNote",
            Tag::Software => "Software",
            Tag::ImageDescription => "ImageDescription",
            Tag::Make => "Make",
            Tag::Model => "Model",
            Tag(Context::Tiff, _) if matches!(field.value, Value::Ascii(_)) => "EXIF",
            _ => continue,
        };
        let text = latin1(bytes);
        let text = text.trim_end_matches('\0');
        let graph = ["prompt", "workflow"].into_iter().find_map(|name| {
            let json = strip_prefix_ignoring_case(text, name)?.strip_prefix(':')?.trim_start();
            json.starts_with('{').then_some((name, json))
        });
        let (key, text) = graph.unwrap_or((key, text));
        texts.push(key, text);
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The text of a `UserComment`. Programs do not agree on the byte order of UTF-16: the one that gives more ASCII is taken, then the file's own.
fn user_comment(bytes: &[u8], is_little_endian: bool) -> String {
    let Some((encoding, text)) = bytes.split_at_checked(ENCODING) else { return latin1(bytes) };
    let text = match encoding {
        b"UNICODE\0" => utf16(text, is_little_endian),
        b"ASCII\0\0\0" | b"\0\0\0\0\0\0\0\0" => latin1(text),
        _ => latin1(bytes),
    };
    text.trim_matches('\0').to_owned()
}

fn utf16(bytes: &[u8], is_little_endian: bool) -> String {
    let (bytes, marked) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, Some(true)),
        [0xfe, 0xff, rest @ ..] => (rest, Some(false)),
        _ => (bytes, None),
    };
    let zeros = |at: usize| bytes.chunks_exact(2).filter(|pair| pair.get(at) == Some(&0)).count();
    let (first, second) = (zeros(0), zeros(1));
    let is_little_endian = marked.unwrap_or(if first == second { is_little_endian } else { second > first });
    let unit = |pair: &[u8]| {
        let pair = [pair.first().copied().unwrap_or_default(), pair.get(1).copied().unwrap_or_default()];
        if is_little_endian { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    };
    let units: Vec<u16> = bytes.chunks_exact(2).map(unit).collect();
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_read_in_either_byte_order_whatever_the_file_says() {
        for text in ["a lake\nSteps: 4", "湖の写真\nSteps: 4, Sampler: Euler a"] {
            let units: Vec<u16> = text.encode_utf16().collect();
            let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            for bytes in [&little, &big] {
                for is_little_endian in [true, false] {
                    assert_eq!(user_comment(&[b"UNICODE\0", bytes.as_slice()].concat(), is_little_endian), text);
                }
            }
        }
    }

    #[test]
    fn a_comment_of_another_encoding_is_a_text_too() {
        assert_eq!(user_comment("ASCII\0\0\0a lake\0".as_bytes(), true), "a lake");
        assert_eq!(user_comment(b"{\"prompt\": \"a lake\"}", true), "{\"prompt\": \"a lake\"}");
        assert_eq!(user_comment(b"a", true), "a");
    }
}
