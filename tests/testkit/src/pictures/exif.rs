//! EXIF: a TIFF structure with text fields.

/// Type codes of TIFF.
const ASCII: u16 = 2;
const LONG: u16 = 4;
const UNDEFINED: u16 = 7;
const EXIF_POINTER: u16 = 0x8769;

/// Fields of an EXIF block, in either byte order.
#[derive(Clone, Debug, Default)]
pub struct Exif {
    is_little_endian: bool,
    main: Vec<(u16, u16, Vec<u8>)>,
    details: Vec<(u16, u16, Vec<u8>)>,
}

/// A text in UTF-16.
#[must_use]
pub fn utf16(text: &str, is_little_endian: bool) -> Vec<u8> {
    text.encode_utf16().flat_map(|unit| if is_little_endian { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
}

impl Exif {
    /// Without fields; numbers are little-endian.
    #[must_use]
    pub fn little_endian() -> Self {
        Self { is_little_endian: true, ..Self::default() }
    }

    /// Without fields; numbers are big-endian.
    #[must_use]
    pub fn big_endian() -> Self {
        Self::default()
    }

    /// With a text in the first directory, such as `Model` (0x0110).
    #[must_use]
    pub fn with(mut self, tag: u16, text: &str) -> Self {
        self.main.push((tag, ASCII, [text.as_bytes(), &[0]].concat()));
        self
    }

    /// With bytes in the EXIF directory, such as `UserComment` (0x9286).
    #[must_use]
    pub fn with_bytes(mut self, tag: u16, bytes: &[u8]) -> Self {
        self.details.push((tag, UNDEFINED, bytes.to_vec()));
        self
    }

    /// With a `UserComment` in UTF-16 of this byte order.
    #[must_use]
    pub fn with_comment(self, text: &str, is_little_endian: bool) -> Self {
        self.with_bytes(0x9286, &[b"UNICODE\0".as_slice(), &utf16(text, is_little_endian)].concat())
    }

    fn number(&self, value: u32, bytes: usize) -> Vec<u8> {
        if self.is_little_endian { value.to_le_bytes()[..bytes].to_vec() } else { value.to_be_bytes()[4 - bytes..].to_vec() }
    }

    /// A directory that stands at `at`, with its values behind it.
    fn directory(&self, at: usize, fields: &[(u16, u16, Vec<u8>)]) -> Vec<u8> {
        let mut fields = fields.to_vec();
        fields.sort_by_key(|(tag, ..)| *tag);
        let mut entries = self.number(fields.len() as u32, 2);
        let mut values: Vec<u8> = Vec::new();
        let values_at = at + 2 + 12 * fields.len() + 4;
        for (tag, kind, bytes) in &fields {
            let count = if *kind == LONG { 1 } else { bytes.len() as u32 };
            entries.extend(self.number(u32::from(*tag), 2));
            entries.extend(self.number(u32::from(*kind), 2));
            entries.extend(self.number(count, 4));
            if bytes.len() <= 4 {
                entries.extend([bytes.as_slice(), &[0; 4]].concat().get(..4).unwrap_or_default());
            } else {
                entries.extend(self.number((values_at + values.len()) as u32, 4));
                values.extend(bytes);
            }
        }
        entries.extend([0; 4]);
        [entries, values].concat()
    }

    /// The block, from its byte order on.
    #[must_use]
    pub fn block(&self) -> Vec<u8> {
        let mark: &[u8] = if self.is_little_endian { b"II" } else { b"MM" };
        let header = [mark, &self.number(42, 2), &self.number(8, 4)].concat();
        let mut main = self.main.clone();
        if !self.details.is_empty() {
            main.push((EXIF_POINTER, LONG, self.number(0, 4)));
        }
        // The pointer takes the same room whatever it says.
        let details_at = 8 + self.directory(8, &main).len();
        if let Some((_, _, bytes)) = main.iter_mut().find(|(tag, ..)| *tag == EXIF_POINTER) {
            *bytes = self.number(details_at as u32, 4);
        }
        let details = if self.details.is_empty() { Vec::new() } else { self.directory(details_at, &self.details) };
        [header, self.directory(8, &main), details].concat()
    }
}
