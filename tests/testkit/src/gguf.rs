//! Writer of GGUF files, version 3: as much as tests require.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::tensor::{Kind, Tensors};

/// Tensors start at multiples of this many bytes, the format's default.
const ALIGNMENT: usize = 32;
/// Numbers of tensors' types.
pub(crate) const F32: u32 = 0;
pub(crate) const F16: u32 = 1;
pub(crate) const Q8: u32 = 8;
pub(crate) const BF16: u32 = 30;

/// A value of the metadata.
pub(crate) enum Value<'a> {
    U16(u16),
    I32(i32),
    Text(&'a str),
    Sizes(&'a [usize]),
}

impl Value<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::U16(number) => {
                out.extend(2_u32.to_le_bytes());
                out.extend(number.to_le_bytes());
            }
            Self::I32(number) => {
                out.extend(5_u32.to_le_bytes());
                out.extend(number.to_le_bytes());
            }
            Self::Text(text) => {
                out.extend(8_u32.to_le_bytes());
                string(out, text);
            }
            Self::Sizes(sizes) => {
                // A list, of `I32`.
                out.extend(9_u32.to_le_bytes());
                out.extend(5_u32.to_le_bytes());
                out.extend((sizes.len() as u64).to_le_bytes());
                out.extend(sizes.iter().flat_map(|size| (*size as i32).to_le_bytes()));
            }
        }
    }
}

/// A tensor without its values.
pub(crate) struct Description {
    pub(crate) name: String,
    /// In PyTorch's order.
    pub(crate) shape: Vec<usize>,
    pub(crate) type_id: u32,
    pub(crate) bytes: usize,
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// The header with the tensors' descriptions, padded to the alignment.
pub(crate) fn header<'a>(tensors: impl ExactSizeIterator<Item = &'a Description>, metadata: &[(String, Value<'_>)]) -> Vec<u8> {
    let mut out = b"GGUF".to_vec();
    out.extend(3_u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        string(&mut out, key);
        value.write(&mut out);
    }
    let mut offset = 0;
    for tensor in tensors {
        string(&mut out, &tensor.name);
        out.extend((tensor.shape.len() as u32).to_le_bytes());
        // ggml's order: contiguous dimension first.
        out.extend(tensor.shape.iter().rev().flat_map(|size| (*size as u64).to_le_bytes()));
        out.extend(tensor.type_id.to_le_bytes());
        out.extend((offset as u64).to_le_bytes());
        offset += tensor.bytes.next_multiple_of(ALIGNMENT);
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    out
}

/// Writes a GGUF file; one tensor at a time is in memory. `rename` gives the names in the file; the
/// values depend on the first names.
pub(crate) fn write_gguf(
    path: &Path,
    tensors: &Tensors,
    metadata: &[(&str, &str)],
    seed: u64,
    rename: impl Fn(&str) -> String,
) -> io::Result<()> {
    let type_id = |kind| match kind {
        Kind::F32 => F32,
        Kind::F16 => F16,
        Kind::Q8 => Q8,
    };
    let described: Vec<Description> = tensors
        .0
        .iter()
        .map(|it| Description { name: rename(&it.name), shape: it.shape.clone(), type_id: type_id(it.kind), bytes: it.byte_len() })
        .collect();
    let metadata: Vec<_> = metadata.iter().map(|(key, value)| ((*key).to_owned(), Value::Text(value))).collect();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&header(described.iter(), &metadata))?;
    for tensor in &tensors.0 {
        write_padded(&mut out, tensor.bytes(seed))?;
    }
    out.flush()
}

/// Writes values up to where the next tensor may start.
pub(crate) fn write_padded(out: &mut impl Write, mut bytes: Vec<u8>) -> io::Result<()> {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    out.write_all(&bytes)
}
