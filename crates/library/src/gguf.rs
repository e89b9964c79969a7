//! Reads GGUF headers, versions 2 and 3.
//!
//! The engine has two readers: ggml's, and one of its own for files that ggml's refuses. The second
//! reads lists wrongly and checks nothing, so whatever ggml's refuses (`gguf.cpp`) is refused here,
//! except tensors of more than four dimensions in files without lists: those are what the second
//! one is for.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufReader, Read, Seek};

use atelier_language::tr;

use super::container::{Contents, Flaw, MAX_ENTRIES, MAX_HEADER_BYTES, MAX_METADATA_BYTES, MAX_TEXT_BYTES, TensorInfo, check_count, shown};
use super::dtype::Dtype;

/// Names of tensors (`GGML_MAX_NAME`, with its final zero).
const MAX_NAME_BYTES: u64 = 127;
const MAX_KEY_BYTES: u64 = 1024;
const GGML_DIMENSIONS: usize = 4;
/// The engine folds those beyond ggml's into the last.
const MAX_DIMENSIONS: u32 = 8;
/// The default alignment of GGUF.
const ALIGNMENT: u64 = 32;
/// The fewest bytes that describe an entry of the metadata.
const MIN_ENTRY_BYTES: u64 = 13;
/// The fewest bytes that describe a tensor.
const MIN_TENSOR_BYTES: u64 = 24;

/// The entry that sets another alignment; ggml takes an unsigned number of 32 bits alone.
const ALIGNMENT_KEY: &str = "general.alignment";
/// Before the name of a tensor: the shape of a kernel that was stored as a matrix 256 wide, so that
/// it could be quantised.
const SHAPE_KEY: &str = "comfy.gguf.orig_shape.";
const U32: u32 = 4;
const I32: u32 = 5;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

pub(crate) fn read(source: &mut (impl Read + Seek), file_bytes: u64) -> Result<Contents, Flaw> {
    let mut input = Input { source: BufReader::with_capacity(1 << 16, source), position: 0, file_bytes };
    input.skip(4)?;
    let version = input.u32()?;
    // A small number with its bytes in the other order.
    if version.trailing_zeros() >= 16 {
        return Err(Flaw::Unsupported(tr!("library-it-was-made-for").into()));
    }
    if !(2..=3).contains(&version) {
        return Err(Flaw::Unsupported(tr!("library-it-is-gguf-version", version)));
    }
    let tensor_count = input.u64()?;
    let entry_count = input.u64()?;
    // Counts are a stranger's promises: what the file has no room for is not made room for.
    let room = file_bytes.min(MAX_HEADER_BYTES);
    if tensor_count > room / MIN_TENSOR_BYTES || entry_count > (room / MIN_ENTRY_BYTES).min(MAX_ENTRIES as u64) {
        return Err(Flaw::Damaged(tr!("library-it-promises-tensors-and", tensor_count, entry_count)));
    }
    check_count(usize::try_from(tensor_count).unwrap_or(usize::MAX))?;
    let mut metadata = BTreeMap::new();
    let mut metadata_bytes = 0;
    let mut keys = HashSet::new();
    let mut alignment = ALIGNMENT;
    let mut has_lists = false;
    let mut shapes = HashMap::new();
    for _ in 0..entry_count {
        let key = input.name(MAX_KEY_BYTES)?;
        let kind = input.u32()?;
        let value = if let (ARRAY, Some(tensor)) = (kind, key.strip_prefix(SHAPE_KEY)) {
            shapes.extend(input.shape()?.map(|shape| (tensor.to_owned(), shape)));
            None
        } else {
            input.value(kind)?
        };
        has_lists |= kind == ARRAY;
        if key == ALIGNMENT_KEY {
            alignment = value
                .as_ref()
                .and_then(|it| it.parse().ok())
                .filter(|it: &u64| kind == U32 && it.is_power_of_two() && *it <= 1 << 20)
                .ok_or_else(|| Flaw::Damaged(tr!("library-its-tensors-have-an").into()))?;
        }
        if let Some(value) = value.filter(|it| metadata_bytes + it.len() <= MAX_METADATA_BYTES) {
            metadata_bytes += value.len();
            metadata.insert(key.clone(), value);
        }
        if let Some(key) = keys.replace(key) {
            return Err(Flaw::Damaged(tr!("library-it-has-two-entries", shown = shown(&key))));
        }
    }
    // Offsets count from the end of the header, which is not known yet.
    let mut tensors = Vec::new();
    let mut next = 0;
    for _ in 0..tensor_count {
        let mut tensor = input.tensor()?;
        // The engine's reader demands the same.
        if tensor.offset != next {
            return Err(Flaw::Damaged(tr!("library-does-not-follow-the", shown = shown(&tensor.name))));
        }
        if has_lists && tensor.shape.len() > GGML_DIMENSIONS {
            return Err(Flaw::Unsupported(tr!("library-has-more-dimensions-than", shown = shown(&tensor.name))));
        }
        next = tensor
            .bytes
            .checked_next_multiple_of(alignment)
            .and_then(|bytes| bytes.checked_add(next))
            .ok_or_else(|| Flaw::Damaged(tr!("library-the-place-of-is", shown = shown(&tensor.name))))?;
        if let Some(shape) = shapes.remove(&tensor.name) {
            let values = shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
            if values == Some(tensor.values()) {
                tensor.shape = shape;
            }
        }
        tensors.push(tensor);
    }
    let data = input.position.next_multiple_of(alignment);
    for tensor in &mut tensors {
        tensor.offset =
            tensor.offset.checked_add(data).ok_or_else(|| Flaw::Damaged(tr!("library-the-place-of-is", shown = shown(&tensor.name))))?;
    }
    Ok(Contents { tensors, metadata })
}

/// A reader that knows how much is left, and takes no more.
struct Input<R: Read> {
    source: BufReader<R>,
    position: u64,
    file_bytes: u64,
}

impl<R: Read + Seek> Input<R> {
    /// Counts bytes before they are read or allocated.
    fn take(&mut self, bytes: u64) -> Result<(), Flaw> {
        let end = self.position.checked_add(bytes).ok_or_else(|| Flaw::Damaged(tr!("library-a-length-in-its").into()))?;
        if end > MAX_HEADER_BYTES {
            return Err(Flaw::Damaged(tr!("library-its-header-has-an").into()));
        }
        if end > self.file_bytes {
            return Err(Flaw::CutShort { promised_bytes: end });
        }
        self.position = end;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        self.take(N as u64)?;
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, Flaw> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Flaw> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Flaw> {
        self.take(bytes)?;
        // At most the length of a header, so it fits.
        self.source.seek_relative(bytes as i64)?;
        Ok(())
    }

    /// Reads a text whose length its caller has bounded.
    fn text(&mut self, length: u64) -> Result<Vec<u8>, Flaw> {
        self.take(length)?;
        let mut bytes = vec![0; length as usize];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn name(&mut self, max_bytes: u64) -> Result<String, Flaw> {
        let length = self.u64()?;
        if length > max_bytes {
            return Err(Flaw::Damaged(tr!("library-a-name-in-its").into()));
        }
        String::from_utf8(self.text(length)?).map_err(|_| Flaw::Damaged(tr!("library-a-name-is-no-text").into()))
    }

    /// Reads a value of the metadata; `None` for what is passed over: lists and long texts.
    fn value(&mut self, kind: u32) -> Result<Option<String>, Flaw> {
        Ok(Some(match kind {
            0 => u8::from_le_bytes(self.bytes()?).to_string(),
            1 => i8::from_le_bytes(self.bytes()?).to_string(),
            2 => u16::from_le_bytes(self.bytes()?).to_string(),
            3 => i16::from_le_bytes(self.bytes()?).to_string(),
            4 => self.u32()?.to_string(),
            5 => i32::from_le_bytes(self.bytes()?).to_string(),
            6 => f32::from_le_bytes(self.bytes()?).to_string(),
            7 => (self.bytes::<1>()? != [0]).to_string(),
            STRING => {
                let length = self.u64()?;
                if length > MAX_TEXT_BYTES {
                    self.skip(length)?;
                    return Ok(None);
                }
                String::from_utf8_lossy(&self.text(length)?).into_owned()
            }
            ARRAY => {
                let kind = self.u32()?;
                let count = self.u64()?;
                self.skip_list(kind, count)?;
                return Ok(None);
            }
            10 => self.u64()?.to_string(),
            11 => i64::from_le_bytes(self.bytes()?).to_string(),
            12 => f64::from_le_bytes(self.bytes()?).to_string(),
            _ => return Err(Flaw::Damaged(tr!("library-an-entry-of-its", kind))),
        }))
    }

    /// Reads a list that is a shape in PyTorch's order; `None` where it is none.
    fn shape(&mut self) -> Result<Option<Vec<u64>>, Flaw> {
        let (kind, count) = (self.u32()?, self.u64()?);
        if kind != I32 || count == 0 || count > GGML_DIMENSIONS as u64 {
            self.skip_list(kind, count)?;
            return Ok(None);
        }
        let sizes = (0..count).map(|_| self.u32()).collect::<Result<Vec<_>, _>>()?;
        Ok(sizes.into_iter().map(|size| i32::try_from(size).ok().and_then(|size| u64::try_from(size).ok())).collect())
    }

    fn skip_list(&mut self, kind: u32, count: u64) -> Result<(), Flaw> {
        let each = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            STRING => {
                // Each text takes at least the eight bytes of its length, so the header's bounds
                // end this.
                for _ in 0..count {
                    let length = self.u64()?;
                    self.skip(length)?;
                }
                return Ok(());
            }
            _ => return Err(Flaw::Damaged(tr!("library-a-list-of-its-header-has", kind))),
        };
        let bytes = count.checked_mul(each).ok_or_else(|| Flaw::Damaged(tr!("library-a-list-of-its").into()))?;
        self.skip(bytes)
    }

    /// Reads the description of a tensor, whose offset counts from the first one.
    fn tensor(&mut self) -> Result<TensorInfo, Flaw> {
        let name = self.name(MAX_NAME_BYTES)?;
        let dimensions = self.u32()?;
        if dimensions > MAX_DIMENSIONS {
            return Err(Flaw::Damaged(tr!("library-has-dimensions", shown = shown(&name), dimensions)));
        }
        let mut shape = (0..dimensions).map(|_| self.u64()).collect::<Result<Vec<_>, _>>()?;
        // ggml names the dimension that lies together in memory first.
        shape.reverse();
        let id = self.u32()?;
        let dtype = Dtype::from_gguf(id).ok_or_else(|| Flaw::Unsupported(tr!("library-it-has-the-number", id)))?;
        let bytes = dtype.bytes_of(&shape).ok_or_else(|| Flaw::Damaged(tr!("library-has-an-impossible-shape", shown = shown(&name))))?;
        let offset = self.u64()?;
        Ok(TensorInfo { name, dtype, shape, offset, bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn string(out: &mut Vec<u8>, text: &[u8]) {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text);
    }

    /// A header with one tensor and three entries.
    fn sample(version: u32, alignment: u32, offset: u64) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend_from_slice(&version.to_le_bytes());
        out.extend_from_slice(&1u64.to_le_bytes());
        out.extend_from_slice(&3u64.to_le_bytes());
        string(&mut out, b"general.alignment");
        out.extend_from_slice(&4u32.to_le_bytes());
        out.extend_from_slice(&alignment.to_le_bytes());
        string(&mut out, b"tokenizer.ggml.tokens");
        out.extend_from_slice(&ARRAY.to_le_bytes());
        out.extend_from_slice(&STRING.to_le_bytes());
        out.extend_from_slice(&2u64.to_le_bytes());
        string(&mut out, b"first");
        string(&mut out, b"second");
        string(&mut out, b"general.name");
        out.extend_from_slice(&STRING.to_le_bytes());
        string(&mut out, b"a na\xffme");
        string(&mut out, b"weight");
        out.extend_from_slice(&2u32.to_le_bytes());
        out.extend_from_slice(&64u64.to_le_bytes());
        out.extend_from_slice(&3u64.to_le_bytes());
        out.extend_from_slice(&8u32.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        out
    }

    fn read_all(bytes: &[u8]) -> Result<Contents, Flaw> {
        read(&mut Cursor::new(bytes), bytes.len() as u64)
    }

    #[test]
    fn lists_are_passed_over_and_places_follow_the_alignment() {
        for version in [2, 3] {
            let bytes = sample(version, 64, 0);
            let contents = read_all(&bytes).unwrap();
            assert_eq!(contents.metadata["general.name"], "a na\u{fffd}me");
            assert!(!contents.metadata.contains_key("tokenizer.ggml.tokens"));
            let tensor = &contents.tensors[0];
            assert_eq!((tensor.name.as_str(), tensor.shape.as_slice(), tensor.bytes), ("weight", &[3, 64][..], 3 * 2 * 34));
            assert_eq!(tensor.offset, (bytes.len() as u64).next_multiple_of(64));
        }
    }

    #[test]
    fn impossible_alignments_places_and_versions_are_refused() {
        assert!(matches!(read_all(&sample(3, 48, 0)), Err(Flaw::Damaged(_))));
        assert!(matches!(read_all(&sample(3, 0, 0)), Err(Flaw::Damaged(_))));
        assert!(matches!(read_all(&sample(3, 64, 32)), Err(Flaw::Damaged(_))));
        assert!(matches!(read_all(&sample(1, 64, 0)), Err(Flaw::Unsupported(_))));
        assert!(matches!(read_all(&sample(3u32.swap_bytes(), 64, 0)), Err(Flaw::Unsupported(_))));
    }

    /// A tensor's description: type F32, at this offset.
    fn tensor(out: &mut Vec<u8>, name: &str, shape: &[u64], offset: u64) {
        string(out, name.as_bytes());
        out.extend_from_slice(&(shape.len() as u32).to_le_bytes());
        for size in shape {
            out.extend_from_slice(&size.to_le_bytes());
        }
        out.extend_from_slice(&0u32.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
    }

    fn header(tensors: u64, entries: u64) -> Vec<u8> {
        let mut out = b"GGUF\x03\0\0\0".to_vec();
        out.extend_from_slice(&tensors.to_le_bytes());
        out.extend_from_slice(&entries.to_le_bytes());
        out
    }

    #[test]
    fn what_the_reader_of_ggml_refuses_is_refused() {
        let mut long_name = header(1, 0);
        tensor(&mut long_name, &"a".repeat(128), &[2], 0);
        let mut longest_name = header(1, 0);
        tensor(&mut longest_name, &"a".repeat(127), &[2], 0);
        let mut gap = header(2, 0);
        tensor(&mut gap, "a", &[2], 0);
        tensor(&mut gap, "b", &[2], 64);
        let mut whole = header(2, 0);
        tensor(&mut whole, "a", &[2], 0);
        tensor(&mut whole, "b", &[2], 32);
        let mut same_key = header(0, 2);
        for _ in 0..2 {
            string(&mut same_key, b"key");
            same_key.extend_from_slice(&U32.to_le_bytes());
            same_key.extend_from_slice(&7u32.to_le_bytes());
        }
        let mut text_alignment = header(0, 1);
        string(&mut text_alignment, ALIGNMENT_KEY.as_bytes());
        text_alignment.extend_from_slice(&STRING.to_le_bytes());
        string(&mut text_alignment, b"64");
        for (bytes, is_good) in
            [(long_name, false), (longest_name, true), (gap, false), (whole, true), (same_key, false), (text_alignment, false)]
        {
            assert_eq!(read_all(&bytes).is_ok(), is_good, "{:?}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn five_dimensions_are_read_where_the_engines_own_reader_reads_the_file_rightly() {
        let mut alone = header(1, 0);
        tensor(&mut alone, "a", &[1, 2, 2, 2, 2], 0);
        assert_eq!(read_all(&alone).unwrap().tensors[0].shape, [2, 2, 2, 2, 1]);
        let mut beside_a_list = header(1, 1);
        string(&mut beside_a_list, b"list");
        beside_a_list.extend_from_slice(&ARRAY.to_le_bytes());
        beside_a_list.extend_from_slice(&U32.to_le_bytes());
        beside_a_list.extend_from_slice(&0u64.to_le_bytes());
        tensor(&mut beside_a_list, "a", &[1, 2, 2, 2, 2], 0);
        assert!(matches!(read_all(&beside_a_list), Err(Flaw::Unsupported(_))));
    }

    #[test]
    fn a_kernel_that_was_stored_as_a_matrix_gets_back_its_shape() {
        let with_shape = |sizes: &[i32]| {
            let mut out = header(1, 1);
            string(&mut out, b"comfy.gguf.orig_shape.a");
            out.extend_from_slice(&ARRAY.to_le_bytes());
            out.extend_from_slice(&I32.to_le_bytes());
            out.extend_from_slice(&(sizes.len() as u64).to_le_bytes());
            for size in sizes {
                out.extend_from_slice(&size.to_le_bytes());
            }
            tensor(&mut out, "a", &[256, 9], 0);
            out.resize(out.len().next_multiple_of(32) + 256 * 9 * 4, 0);
            read_all(&out).unwrap().tensors[0].shape.clone()
        };
        assert_eq!(with_shape(&[16, 16, 3, 3]), [16, 16, 3, 3]);
        for wrong in [&[16, 16, 3, 4][..], &[-16, -16, 3, 3], &[0], &[1, 1, 1, 1, 2304], &[]] {
            assert_eq!(with_shape(wrong), [9, 256], "{wrong:?}");
        }
    }

    #[test]
    fn a_header_that_ends_anywhere_is_cut_short() {
        let bytes = sample(3, 64, 0);
        for length in 8..bytes.len() {
            assert!(read_all(&bytes[..length]).is_err(), "{length}");
        }
    }
}
