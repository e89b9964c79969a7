//! Reads safetensors headers: a length, then JSON.
//!
//! The `safetensors` crate wants the whole file in memory; here the header alone is read. Its rules
//! on names, sizes and places hold here too, save one: a hole between tensors is let pass, because
//! the engine does.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek};

use atelier_language::tr;
use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::container::{
    Contents, Flaw, LONG_TEXTS, MAX_ENTRIES, MAX_HEADER_BYTES, MAX_LONG_TEXT_BYTES, MAX_METADATA_BYTES, MAX_TENSORS, MAX_TEXT_BYTES,
    TensorInfo, check_count, shown,
};
use super::dtype::Dtype;

/// The engine reads five dimensions.
const MAX_DIMENSIONS: usize = 5;
/// Longest name of a tensor, in bytes.
const MAX_NAME_BYTES: usize = 1024;

pub(crate) fn read(source: &mut (impl Read + Seek), file_bytes: u64) -> Result<Contents, Flaw> {
    let mut length = [0; 8];
    if file_bytes < 8 {
        return Err(Flaw::CutShort { promised_bytes: 10 });
    }
    source.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_HEADER_BYTES {
        return Err(Flaw::Damaged(tr!("library-its-header-has-an").into()));
    }
    let data = 8 + length;
    if data > file_bytes {
        return Err(Flaw::CutShort { promised_bytes: data });
    }
    // Memory grows with what is there, even where the file's length is a hole.
    let mut json = Vec::new();
    source.take(length).read_to_end(&mut json)?;
    if (json.len() as u64) < length {
        return Err(Flaw::CutShort { promised_bytes: data });
    }
    let entries: Entries = serde_json::from_slice(&json).map_err(|error| Flaw::Damaged(tr!("library-its-header-is-invalid", error)))?;
    check_count(entries.tensors.len() + entries.more_tensors)?;
    if entries.notes > MAX_ENTRIES {
        return Err(Flaw::Unsupported(tr!("library-its-header-has-notes", notes = entries.notes)));
    }
    let tensors = entries.tensors.into_iter().map(|(name, entry)| tensor(name, entry, data)).collect::<Result<_, _>>()?;
    Ok(Contents { tensors, metadata: entries.metadata })
}

fn tensor(name: String, entry: Entry, data: u64) -> Result<TensorInfo, Flaw> {
    let dtype = Dtype::from_safetensors(&entry.dtype)
        .ok_or_else(|| Flaw::Unsupported(tr!("library-it-has-the-number-type-which", shown = shown(&entry.dtype))))?;
    if name.len() > MAX_NAME_BYTES {
        return Err(Flaw::Damaged(tr!("library-a-name-in-its").into()));
    }
    let Dimensions(shape) = entry.shape;
    if shape.len() > MAX_DIMENSIONS {
        return Err(Flaw::Unsupported(tr!("library-has-more-dimensions-than", shown = shown(&name))));
    }
    let (begin, end) = entry.data_offsets;
    let bytes = end.checked_sub(begin);
    if bytes.is_none() || bytes != dtype.bytes_of(&shape) {
        return Err(Flaw::Damaged(tr!("library-the-size-of-does", shown = shown(&name))));
    }
    let (Some(bytes), Some(offset)) = (bytes, data.checked_add(begin)) else {
        return Err(Flaw::Damaged(tr!("library-the-place-of-is", shown = shown(&name))));
    };
    Ok(TensorInfo { name, dtype, shape, offset, bytes })
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Dimensions,
    data_offsets: (u64, u64),
}

/// Dimensions, one more than the engine reads at most.
struct Dimensions(Vec<u64>);

impl<'de> Deserialize<'de> for Dimensions {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(DimensionsVisitor)
    }
}

struct DimensionsVisitor;

impl<'de> Visitor<'de> for DimensionsVisitor {
    type Value = Dimensions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of dimensions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Dimensions, A::Error> {
        let mut dimensions = Vec::new();
        while let Some(size) = list.next_element::<u64>()? {
            if dimensions.len() <= MAX_DIMENSIONS {
                dimensions.push(size);
            }
        }
        Ok(Dimensions(dimensions))
    }
}

/// The header's entries in the file's order; a name that comes twice is kept twice, and refused
/// later. What is beyond the limits is counted.
#[derive(Default)]
struct Entries {
    tensors: Vec<(String, Entry)>,
    more_tensors: usize,
    metadata: BTreeMap<String, String>,
    metadata_bytes: usize,
    /// Entries of the metadata, kept or not.
    notes: usize,
}

impl Entries {
    fn add_note(&mut self, key: String, text: Option<String>) {
        self.notes += 1;
        let Some(text) = text.filter(|text| text.len() as u64 <= MAX_TEXT_BYTES || LONG_TEXTS.contains(&key.as_str())) else { return };
        let bytes = key.len() + text.len();
        if self.notes <= MAX_ENTRIES && self.metadata_bytes + bytes <= MAX_METADATA_BYTES {
            self.metadata_bytes += bytes;
            self.metadata.insert(key, text);
        }
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Entries::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value_seed(Notes(&mut entries))?;
            } else if entries.tensors.len() < MAX_TENSORS {
                entries.tensors.push((name, map.next_value()?));
            } else {
                map.next_value::<IgnoredAny>()?;
                entries.more_tensors += 1;
            }
        }
        Ok(entries)
    }
}

/// Reads the metadata note by note: in memory, a header of nothing but short notes would take ten
/// times its bytes.
struct Notes<'a>(&'a mut Entries);

impl<'de> DeserializeSeed<'de> for Notes<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Notes<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of notes")
    }

    /// Some programs write that there are none.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, Text(text))) = map.next_entry::<String, Text>()? {
            self.0.add_note(key, text);
        }
        Ok(())
    }
}

/// A short text. The format asks for texts; other values are met in the wild, and are no reason to
/// refuse the model.
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text((text.len() as u64 <= MAX_LONG_TEXT_BYTES).then(|| text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
        Ok(Text(Some(number.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
        Ok(Text(Some(number.to_string())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
        Ok(Text(Some(number.to_string())))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }
}
