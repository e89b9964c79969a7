//! Texts in IPTC, which JPEG files have among the resources of Photoshop.

use atelier_language::tr;

use super::exif::plain;
use super::texts::{CAPTION, INSTRUCTIONS, KEYWORDS, Texts};

/// Start of a resource.
pub(super) const RESOURCE: &[u8] = b"8BIM";
/// Number of the resource that is IPTC.
const IPTC: u16 = 0x0404;
/// Fields of a block that are looked at.
const MAX_FIELDS: usize = 4096;
/// The record that tells of the picture, and its fields that are used.
const PICTURE: u8 = 2;
const KEYWORD_FIELD: u8 = 25;
const INSTRUCTIONS_FIELD: u8 = 40;
const CAPTION_FIELD: u8 = 120;

/// Adds the texts of Photoshop's resources; what is damaged is read as far as it goes.
pub(super) fn read(resources: &[u8], texts: &mut Texts) {
    let mut rest = resources;
    while let Some(resource) = Resource::first(rest) {
        if resource.number == IPTC {
            read_fields(resource.data, texts);
        }
        rest = resource.behind;
    }
}

/// Adds the texts of IPTC itself.
fn read_fields(block: &[u8], texts: &mut Texts) {
    let mut keywords: Vec<String> = Vec::new();
    let (mut rest, mut fields) = (block, 0);
    while let Some(field) = Field::first(rest) {
        fields += 1;
        if fields > MAX_FIELDS || texts.is_full() {
            texts.pass_over("IPTC", tr!("media-it-has-more-fields"));
            break;
        }
        let text = |value: &[u8]| plain(value).trim_end_matches('\0').to_owned();
        match (field.record, field.number) {
            (PICTURE, KEYWORD_FIELD) => keywords.push(text(field.value)),
            (PICTURE, CAPTION_FIELD) => texts.push(CAPTION, text(field.value)),
            (PICTURE, INSTRUCTIONS_FIELD) => texts.push(INSTRUCTIONS, text(field.value)),
            _ => {}
        }
        rest = field.behind;
    }
    texts.push(KEYWORDS, keywords.join(", "));
}

/// One of Photoshop's resources.
struct Resource<'a> {
    number: u16,
    data: &'a [u8],
    behind: &'a [u8],
}

impl<'a> Resource<'a> {
    fn first(bytes: &'a [u8]) -> Option<Self> {
        let (number, rest) = bytes.strip_prefix(RESOURCE)?.split_first_chunk::<2>()?;
        // Its name and its data take an even number of bytes each, the length of the name included.
        let name = 1 + usize::from(*rest.first()?);
        let (length, rest) = rest.get(name + name % 2..)?.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        let data = rest.get(..length).unwrap_or(rest);
        let behind = rest.get(length.saturating_add(length % 2)..).unwrap_or_default();
        Some(Self { number: u16::from_be_bytes(*number), data, behind })
    }
}

/// A field of IPTC.
struct Field<'a> {
    record: u8,
    number: u8,
    value: &'a [u8],
    behind: &'a [u8],
}

impl<'a> Field<'a> {
    fn first(bytes: &'a [u8]) -> Option<Self> {
        let ([record, number], rest) = bytes.strip_prefix(&[0x1c])?.split_first_chunk::<2>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let length = u16::from_be_bytes(*length);
        // A long value has its length in as many bytes as are said here.
        let (length, rest) = if length & 0x8000 == 0 {
            (usize::from(length), rest)
        } else {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7fff)).filter(|(digits, _)| digits.len() <= 4)?;
            (digits.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), rest)
        };
        let (value, behind) = rest.split_at_checked(length)?;
        Some(Self { record: *record, number: *number, value, behind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(record: u8, number: u8, value: &[u8]) -> Vec<u8> {
        [&[0x1c, record, number][..], &(value.len() as u16).to_be_bytes(), value].concat()
    }

    fn resource(number: u16, name: &[u8], data: &[u8]) -> Vec<u8> {
        let even = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().next_multiple_of(2), 0);
            bytes
        };
        let name = even(&[&[name.len() as u8][..], name].concat());
        [RESOURCE, &number.to_be_bytes(), &name, &(data.len() as u32).to_be_bytes(), &even(data)].concat()
    }

    fn texts_of(resources: &[u8]) -> Vec<(String, String)> {
        let mut texts = Texts::default();
        read(resources, &mut texts);
        texts.iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn caption_and_keywords_are_read_among_other_resources_and_damage_ends_the_reading() {
        let long = [&[0x1c, 2, 120, 0x80, 4, 0, 0, 0, 6][..], b"a lake"].concat();
        let fields = [field(1, 90, b"\x1b%G"), field(2, 25, "größer".as_bytes()), long, field(2, 25, b"Steps: 4"), field(2, 5, b"x")];
        let all = [resource(0x03ed, b"odd", &[1, 2, 3]), resource(IPTC, b"", &fields.concat()), resource(IPTC, b"", b"no field")].concat();
        let expected = [(CAPTION, "a lake"), (KEYWORDS, "größer, Steps: 4")].map(|(key, text)| (key.to_owned(), text.to_owned()));
        assert_eq!(texts_of(&all), expected);
        for length in 0..all.len() {
            texts_of(&all[..length]);
        }
        // A length that lies, and one of too many digits.
        let lies = [field(2, 25, b"ink"), vec![0x1c, 2, 120, 0xff, 0xff, 1], vec![0x1c, 2, 120, 0x80, 5, 0, 0, 0, 0, 1, b'a']];
        assert_eq!(texts_of(&resource(IPTC, b"", &lies[..2].concat())).len(), 1);
        assert_eq!(texts_of(&resource(IPTC, b"", &[&lies[2][..], &field(2, 120, b"a")].concat())).len(), 0);
        let many = field(2, 120, b"a").repeat(60_000);
        assert!(texts_of(&resource(IPTC, b"", &many)).len() <= 64);
    }
}
