//! Writer of GGUF files, version 3: as much as tests require.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::tensor::{Kind, Tensor, Tensors};

/// Tensors start at multiples of this many bytes, the format's default.
const ALIGNMENT: usize = 32;
const STRING: u32 = 8;

fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(text.as_bytes())
}

fn type_id(kind: Kind) -> u32 {
    match kind {
        Kind::F32 => 0,
        Kind::F16 => 1,
        Kind::Q8 => 8,
    }
}

/// The header with the tensors' descriptions, padded to the alignment.
fn header(tensors: &[Tensor], metadata: &[(&str, &str)], rename: impl Fn(&str) -> String) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    out.write_all(b"GGUF")?;
    out.write_all(&3u32.to_le_bytes())?;
    out.write_all(&(tensors.len() as u64).to_le_bytes())?;
    out.write_all(&(metadata.len() as u64).to_le_bytes())?;
    for (key, value) in metadata {
        string(&mut out, key)?;
        out.write_all(&STRING.to_le_bytes())?;
        string(&mut out, value)?;
    }
    let mut offset = 0;
    for tensor in tensors {
        string(&mut out, &rename(&tensor.name))?;
        out.write_all(&(tensor.shape.len() as u32).to_le_bytes())?;
        // ggml's order: contiguous dimension first.
        for size in tensor.shape.iter().rev() {
            out.write_all(&(*size as u64).to_le_bytes())?;
        }
        out.write_all(&type_id(tensor.kind).to_le_bytes())?;
        out.write_all(&(offset as u64).to_le_bytes())?;
        offset += tensor.byte_len().next_multiple_of(ALIGNMENT);
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    Ok(out)
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
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&header(&tensors.0, metadata, rename)?)?;
    for tensor in &tensors.0 {
        let mut bytes = tensor.bytes(seed);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        out.write_all(&bytes)?;
    }
    out.flush()
}
