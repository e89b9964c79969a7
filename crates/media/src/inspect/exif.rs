//! Texts in EXIF, walked field by field: what a field names is looked at only where it is used, so
//! fields that name the same bytes again and again cost nothing.

use std::ops::ControlFlow;

use atelier_language::tr;

use super::fields::object;
use super::texts::{GRAPH, IMAGE_DESCRIPTION, Texts, USER_COMMENT, WINDOWS_COMMENT, WORKFLOW};
use crate::png_text::latin1;

/// Bytes before the text of a `UserComment` that name its encoding.
const ENCODING: usize = 8;
const UNICODE: &[u8] = b"UNICODE\0";
/// Those names, in whatever case they are written.
const ENCODINGS: [&[u8]; 4] = [UNICODE, b"ASCII\0\0\0", b"JIS\0\0\0\0\0", &[0; ENCODING]];
/// Fields of a file that are looked at; cameras write about a hundred.
const MAX_FIELDS: usize = 256;
/// Bytes of the texts that are read, of all fields of a file together.
const MAX_BYTES: usize = 4 << 20;
/// Bytes of a field in a list.
const FIELD_BYTES: usize = 12;

/// Numbers of the fields that are used.
const IMAGE_DESCRIPTION_TAG: u16 = 0x010e;
const MAKE: u16 = 0x010f;
const MODEL: u16 = 0x0110;
const SOFTWARE: u16 = 0x0131;
const EXIF_LIST: u16 = 0x8769;
const MAKER_NOTE: u16 = 0x927c;
const USER_COMMENT_TAG: u16 = 0x9286;
const WINDOWS_COMMENT_TAG: u16 = 0x9c9c;

/// What may still be read of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExifBudget {
    fields: usize,
    bytes: usize,
}

impl Default for ExifBudget {
    fn default() -> Self {
        Self { fields: MAX_FIELDS, bytes: MAX_BYTES }
    }
}

/// Adds the texts of a TIFF structure; a damaged one is read as far as it goes.
///
/// `ComfyUI` writes `prompt:{...}` and `workflow:{...}` into whichever fields are free: they get
/// those keys.
pub(super) fn read(block: &[u8], budget: &mut ExifBudget, texts: &mut Texts) {
    let Some(tiff) = Tiff::of(block) else { return };
    let Some(first) = tiff.u32(4) else { return };
    for field in tiff.fields(first) {
        if field.tag != EXIF_LIST {
            if tiff.add(field, false, budget, texts).is_break() {
                return;
            }
        } else if budget.take_field(texts).is_break()
            || tiff.number(field).is_some_and(|list| tiff.fields(list).any(|field| tiff.add(field, true, budget, texts).is_break()))
        {
            return;
        }
    }
}

impl ExifBudget {
    /// Takes a field; the reading ends where there are no more, or no more texts are kept.
    fn take_field(&mut self, texts: &mut Texts) -> ControlFlow<()> {
        let Some(fields) = self.fields.checked_sub(1) else {
            texts.pass_over("EXIF", tr!("media-it-has-too-many-fields"));
            return ControlFlow::Break(());
        };
        self.fields = fields;
        if texts.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A TIFF structure. Offsets count from its start.
#[derive(Clone, Copy)]
struct Tiff<'a> {
    block: &'a [u8],
    is_little_endian: bool,
}

/// A field in a list.
#[derive(Clone, Copy)]
struct Field {
    tag: u16,
    kind: FieldKind,
    count: u32,
    /// Where its value is, or where the offset of its value is.
    at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Byte,
    /// Texts, each with a zero at its end; the first one counts.
    Ascii,
    Short,
    Long,
    Undefined,
    Other,
}

impl<'a> Tiff<'a> {
    fn of(block: &'a [u8]) -> Option<Self> {
        let is_little_endian = match block.get(..2)? {
            b"II" => true,
            b"MM" => false,
            _ => return None,
        };
        let tiff = Self { block, is_little_endian };
        (tiff.u16(2)? == 42).then_some(tiff)
    }

    fn u16(self, at: usize) -> Option<u16> {
        let bytes = self.block.get(at..)?.first_chunk().copied()?;
        Some(if self.is_little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn u32(self, at: usize) -> Option<u32> {
        let bytes = self.block.get(at..)?.first_chunk().copied()?;
        Some(if self.is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// The fields of a list, as far as the list goes.
    fn fields(self, list: u32) -> impl Iterator<Item = Field> + use<'a> {
        let start = list as usize;
        let count = self.u16(start).unwrap_or_default();
        (0..usize::from(count)).map_while(move |index| {
            let at = start + 2 + index * FIELD_BYTES;
            let kind = match self.u16(at + 2)? {
                1 => FieldKind::Byte,
                // EXIF 3 has a kind of its own for UTF-8, in the same form.
                2 | 129 => FieldKind::Ascii,
                3 => FieldKind::Short,
                4 => FieldKind::Long,
                7 => FieldKind::Undefined,
                _ => FieldKind::Other,
            };
            Some(Field { tag: self.u16(at)?, kind, count: self.u32(at + 4)?, at: at + 8 })
        })
    }

    /// The number in a field of one.
    fn number(self, field: Field) -> Option<u32> {
        match field.kind {
            FieldKind::Short => self.u16(field.at).map(u32::from),
            FieldKind::Long => self.u32(field.at),
            _ => None,
        }
    }

    /// The bytes that a field names; of texts, the first one.
    fn bytes(self, field: Field) -> Option<&'a [u8]> {
        let count = field.count as usize;
        let at = if count <= 4 { field.at } else { self.u32(field.at)? as usize };
        let bytes = self.block.get(at..)?.get(..count)?;
        match field.kind {
            // Before a comment is its encoding, whatever kind the field says.
            FieldKind::Ascii if field.tag != USER_COMMENT_TAG => bytes.split(|byte| *byte == 0).next(),
            FieldKind::Ascii | FieldKind::Byte | FieldKind::Undefined => Some(bytes),
            FieldKind::Short | FieldKind::Long | FieldKind::Other => None,
        }
    }

    /// Adds the text of a field. `is_inner`: of the list of EXIF's own fields.
    fn add(self, field: Field, is_inner: bool, budget: &mut ExifBudget, texts: &mut Texts) -> ControlFlow<()> {
        budget.take_field(texts)?;
        if let Some(key) = Self::key(field, is_inner)
            && let Some(bytes) = self.bytes(field)
        {
            match budget.bytes.checked_sub(bytes.len()) {
                Some(left) => {
                    budget.bytes = left;
                    self.add_text(key, bytes, texts);
                }
                None => texts.pass_over("EXIF", tr!("media-it-has-too-many-fields")),
            }
        }
        ControlFlow::Continue(())
    }

    /// The key of a field's text; `None` where the field is not used.
    fn key(field: Field, is_inner: bool) -> Option<&'static str> {
        Some(match (is_inner, field.tag) {
            // Some programs write it into the first list.
            (_, USER_COMMENT_TAG) => USER_COMMENT,
            (true, MAKER_NOTE) => "MakerNote",
            (false, SOFTWARE) => "Software",
            (false, IMAGE_DESCRIPTION_TAG) => IMAGE_DESCRIPTION,
            (false, MAKE) => "Make",
            (false, MODEL) => "Model",
            (false, WINDOWS_COMMENT_TAG) => WINDOWS_COMMENT,
            (false, _) if field.kind == FieldKind::Ascii => "EXIF",
            _ => return None,
        })
    }

    fn add_text(self, key: &str, bytes: &[u8], texts: &mut Texts) {
        let text = match key {
            USER_COMMENT => user_comment(bytes, self.is_little_endian),
            WINDOWS_COMMENT => utf16(bytes, true),
            _ => plain(bytes),
        };
        let text = text.trim_end_matches('\0');
        let graph = [GRAPH, WORKFLOW].into_iter().find_map(|name| {
            let json = strip_prefix_ignoring_case(text, name)?.strip_prefix(':')?.trim_start();
            // Words in a comment may begin so too.
            let is_graph = json.starts_with('{') && (key != USER_COMMENT || object(json).is_some());
            is_graph.then_some((name, json))
        });
        let (key, text) = graph.unwrap_or((key, text));
        texts.push(key, text);
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The text of a `UserComment`. Programs do not agree on the byte order of UTF-16: the one that
/// gives more ASCII is taken, then the file's own.
fn user_comment(bytes: &[u8], is_little_endian: bool) -> String {
    let is_encoding = |name: &[u8]| ENCODINGS.iter().any(|it| name.eq_ignore_ascii_case(it));
    let (encoding, text) = bytes.split_at_checked(ENCODING).filter(|(name, _)| is_encoding(name)).unwrap_or_else(|| bytes.split_at(0));
    let text = if encoding.eq_ignore_ascii_case(UNICODE) {
        utf8(text).map_or_else(|| utf16(text, is_little_endian), str::to_owned)
    } else if is_utf16(text) {
        utf16(text, is_little_endian)
    } else {
        latin1(text)
    };
    text.trim_matches('\0').to_owned()
}

/// A text that says nothing of its encoding: some programs write UTF-16 where one byte a letter is
/// meant.
pub(super) fn plain(bytes: &[u8]) -> String {
    if is_utf16(bytes) { utf16(bytes, true) } else { latin1(bytes) }
}

/// True where bytes begin with the mark of UTF-16, or every second one of most pairs is zero, and
/// the other of few.
fn is_utf16(bytes: &[u8]) -> bool {
    let (pairs, (first, second)) = (bytes.len() / 2, zeros(bytes));
    let is_latin = first.max(second) * 2 > pairs && first.min(second) * 8 < pairs;
    is_latin || bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Pairs of bytes of which the first one is zero, and of which the second one is.
fn zeros(bytes: &[u8]) -> (usize, usize) {
    let count = |at: usize| bytes.chunks_exact(2).filter(|pair| pair.get(at) == Some(&0)).count();
    (count(0), count(1))
}

/// UTF-8, which EXIF 3 and some programs write behind the mark of UTF-16. Of UTF-16, Latin letters
/// have zeros between them, and other signs are hardly ever valid here, but for a few signs in a
/// row: these have no spaces of one byte, nor letters of several.
fn utf8(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim_matches('\0');
    let is_text = text.starts_with('\u{feff}') || text.contains([' ', '\n', '{']) || !text.is_ascii();
    (is_text && !text.contains('\0')).then(|| text.trim_start_matches('\u{feff}'))
}

fn utf16(bytes: &[u8], is_little_endian: bool) -> String {
    let (bytes, marked) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest, Some(true)),
        [0xfe, 0xff, rest @ ..] => (rest, Some(false)),
        _ => (bytes, None),
    };
    let (first, second) = zeros(bytes);
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

    /// A structure whose first list has these fields (number, kind, count, offset or value), with
    /// `rest` behind it.
    fn tiff(fields: &[(u16, u16, u32, u32)], rest: &[u8]) -> Vec<u8> {
        let mut block = b"II*\0\x08\0\0\0".to_vec();
        block.extend((fields.len() as u16).to_le_bytes());
        for (tag, kind, count, value) in fields {
            block.extend(tag.to_le_bytes());
            block.extend(kind.to_le_bytes());
            block.extend(count.to_le_bytes());
            block.extend(value.to_le_bytes());
        }
        block.extend([0; 4]);
        block.extend(rest);
        block
    }

    fn texts_of(block: &[u8]) -> Texts {
        let mut texts = Texts::default();
        read(block, &mut ExifBudget::default(), &mut texts);
        texts
    }

    #[test]
    fn fields_that_name_the_same_bytes_are_read_within_the_budget_and_the_rest_is_told() {
        let at = |fields: usize| 8 + 2 + fields as u32 * 12 + 4;
        let words = vec![b'a'; 1 << 20];
        // Each would be a megabyte; zeros are empty texts.
        for (rest, expected) in [(&words[..], 4), (&vec![0; 1 << 20][..], 0)] {
            let fields: Vec<_> = (0..100).map(|n| (0x9c00 + n, 2, 1 << 20, at(100))).collect();
            let texts = texts_of(&tiff(&fields, rest));
            assert_eq!(texts.iter().count(), expected);
            assert_eq!(texts.passed_over().len(), usize::from(expected > 0), "what was not read is told");
        }
        let many: Vec<_> = (0..60_000).map(|n| (n, 2, 5, at(60_000))).collect();
        let texts = texts_of(&tiff(&many, b"text\0"));
        assert_eq!((texts.iter().count(), texts.passed_over().len()), (64, 1));
        // Lists that name each other are gone through within the budget too.
        let lists = vec![(EXIF_LIST, 4, 1, 8); 60_000];
        assert_eq!(texts_of(&tiff(&lists, b"")).passed_over().len(), 1);
        // A list that names itself, and lists and values behind the end.
        assert_eq!(texts_of(&tiff(&[(EXIF_LIST, 4, 1, 8), (EXIF_LIST, 4, 1, u32::MAX), (MAKE, 2, u32::MAX, 8)], b"")).iter().count(), 0);
    }

    #[test]
    fn used_fields_are_read_in_either_order_of_bytes_and_graphs_get_their_keys() {
        let at: u32 = 8 + 2 + 4 * 12 + 4;
        let inner = [&1_u16.to_le_bytes()[..], &USER_COMMENT_TAG.to_le_bytes(), &7_u16.to_le_bytes(), &14_u32.to_le_bytes()].concat();
        let rest = [&b"Prompt: {\"a\": 1}\0more"[..], b"artist", &inner, &(at + 21 + 6 + 18).to_le_bytes(), &[0; 4], b"ASCII\0\0\0a lake"]
            .concat();
        let fields =
            [(MAKE, 2, 21, at), (SOFTWARE, 2, 3, u32::from_le_bytes(*b"abc\0")), (0x13b, 2, 6, at + 21), (EXIF_LIST, 4, 1, at + 27)];
        let block = tiff(&fields, &rest);
        let texts = texts_of(&block);
        let found: Vec<(&str, &str)> = texts.iter().collect();
        assert_eq!(found, [("prompt", "{\"a\": 1}"), ("Software", "abc"), ("EXIF", "artist"), (USER_COMMENT, "a lake")]);
        for length in 0..block.len() {
            texts_of(&block[..length]);
        }
    }

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
    fn utf_8_behind_the_mark_of_utf_16_is_read_as_it_is() {
        for text in ["ein größerer See\nSteps: 4", "湖", "a lake", "{\"a\":1}", "\u{feff}a lake"] {
            assert_eq!(user_comment(&[b"UNICODE\0", text.as_bytes()].concat(), true), text.trim_start_matches('\u{feff}'));
        }
    }

    #[test]
    fn a_comment_is_read_by_its_bytes_where_the_mark_says_something_else() {
        let text = "a lake, größer\nSteps: 4";
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marks = [&b"ASCII\0\0\0"[..], b"JIS\0\0\0\0\0", &[0; 8], b"Unicode\0", b"unicode\0", b""];
        for mark in marks {
            for bytes in [&utf16[..], text.as_bytes()] {
                assert_eq!(user_comment(&[mark, bytes].concat(), false), text, "{mark:?}");
            }
        }
        assert_eq!(plain(&utf16), text);
        // Room behind a text is no UTF-16.
        assert_eq!(user_comment(b"ASCII\0\0\0a lake\0\0\0\0\0\0\0\0", true), "a lake");
    }

    #[test]
    fn comments_of_a_wrong_kind_of_windows_and_with_a_graphs_name_are_read() {
        let at: u32 = 8 + 2 + 2 * 12 + 4;
        let read = |comment: &[u8], kind: u16| {
            let inner = [&1_u16.to_le_bytes()[..], &USER_COMMENT_TAG.to_le_bytes(), &kind.to_le_bytes()].concat();
            let size = (comment.len() as u32).to_le_bytes();
            let rest = [&b"l\0a\0k\0e\0\0\0"[..], &inner, &size, &(at + 10 + 18).to_le_bytes(), &[0; 4], comment].concat();
            let texts = texts_of(&tiff(&[(WINDOWS_COMMENT_TAG, 1, 10, at), (EXIF_LIST, 4, 1, at + 10)], &rest));
            assert_eq!(texts.get(WINDOWS_COMMENT), Some("lake"));
            texts.iter().nth(1).map(|(key, text)| (key.to_owned(), text.to_owned())).unwrap()
        };
        let named = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        assert_eq!(read(b"ASCII\0\0\0a lake\0", 2), named(USER_COMMENT, "a lake"));
        assert_eq!(read(b"ASCII\0\0\0Workflow:{\"a\": 1}", 7), named(WORKFLOW, "{\"a\": 1}"));
        assert_eq!(read(b"ASCII\0\0\0Prompt: {a|b} lake", 7), named(USER_COMMENT, "Prompt: {a|b} lake"));
    }

    #[test]
    fn a_comment_in_the_first_list_and_texts_of_exif_3_are_read() {
        let at: u32 = 8 + 2 + 2 * 12 + 4;
        let rest = ["größer\0".as_bytes(), b"ASCII\0\0\0a lake"].concat();
        let texts = texts_of(&tiff(&[(IMAGE_DESCRIPTION_TAG, 129, 9, at), (USER_COMMENT_TAG, 7, 14, at + 9)], &rest));
        assert_eq!((texts.get(IMAGE_DESCRIPTION), texts.get(USER_COMMENT)), (Some("größer"), Some("a lake")));
    }

    #[test]
    fn a_comment_of_another_encoding_is_a_text_too() {
        assert_eq!(user_comment("ASCII\0\0\0a lake\0".as_bytes(), true), "a lake");
        assert_eq!(user_comment(b"{\"prompt\": \"a lake\"}", true), "{\"prompt\": \"a lake\"}");
        assert_eq!(user_comment(b"a", true), "a");
    }
}
