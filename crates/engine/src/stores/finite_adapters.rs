//! Adapters (LoRAs) whose values are all numbers. One value that is none spreads over the whole
//! picture, so it is looked for before anything is computed.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use parking_lot::Mutex;

use crate::fingerprint::Fingerprint;
use atelier_language::tr;
use atelier_library::{Dtype, HeaderCache, Problem, TensorInfo, file_name};

/// Bytes that are read at once; a multiple of the bytes of every number.
const CHUNK_BYTES: usize = 1 << 18;
/// Files that are remembered; the oldest is forgotten first.
const MAX_FILES: usize = 256;

/// Files that were read and are whole.
#[derive(Default)]
pub(crate) struct FiniteAdapters(Mutex<VecDeque<Fingerprint>>);

impl FiniteAdapters {
    /// Reads the values of an adapter, unless they are known; returns a problem where one is no
    /// number. Blocks for the time of one reading of the file.
    ///
    /// # Errors
    /// If the file cannot be read, or a value is infinite or not a number.
    pub(crate) fn check(&self, headers: &mut HeaderCache, path: &Path) -> Result<(), Problem> {
        // Taken before it is read: a file that is replaced meanwhile is another.
        let fingerprint = Fingerprint::of(path);
        if self.0.lock().contains(&fingerprint) {
            return Ok(());
        }
        let name = file_name(path);
        let known = headers.get(path)?;
        let found = first_of_no_number(path, &known.header.tensors)
            .map_err(|error| Problem::new(tr!("engine-cannot-be-read", name, error), tr!("engine-check-the-file-or-remove-it")))?;
        if let Some(tensor) = found {
            return Err(Problem::new(
                tr!("engine-is-damaged-some-of-its-values", name, name_2 = tensor.name),
                tr!("engine-download-the-file-again-or-remove"),
            ));
        }
        let mut files = self.0.lock();
        files.push_back(fingerprint);
        if files.len() > MAX_FILES {
            files.pop_front();
        }
        Ok(())
    }
}

/// The first tensor of a file that has a value that is no number.
fn first_of_no_number<'a>(path: &Path, tensors: &'a [TensorInfo]) -> io::Result<Option<&'a TensorInfo>> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    for tensor in tensors {
        let Some(is_finite) = finite(tensor.dtype) else { continue };
        file.seek(SeekFrom::Start(tensor.offset))?;
        let mut left = tensor.bytes;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let bytes = chunk.get_mut(..count).unwrap_or_default();
            file.read_exact(bytes)?;
            if !is_finite(bytes) {
                return Ok(Some(tensor));
            }
            left -= count as u64;
        }
    }
    Ok(None)
}

/// Whether all values of bytes of this type are numbers; `None` where each is one.
fn finite(dtype: Dtype) -> Option<fn(&[u8]) -> bool> {
    // An exponent of ones alone is what makes a value infinite or not a number.
    Some(match dtype.name() {
        "F64" => |bytes| bytes.as_chunks().0.iter().all(|it| f64::from_le_bytes(*it).is_finite()),
        "F32" => |bytes| bytes.as_chunks().0.iter().all(|it| f32::from_le_bytes(*it).is_finite()),
        "F16" => |bytes| bytes.as_chunks().0.iter().all(|it| u16::from_le_bytes(*it) & 0x7c00 != 0x7c00),
        "BF16" => |bytes| bytes.as_chunks().0.iter().all(|it| u16::from_le_bytes(*it) & 0x7f80 != 0x7f80),
        // It has no infinity, and one pattern for what is no number.
        "F8_E4M3" => |bytes| bytes.iter().all(|it| it & 0x7f != 0x7f),
        "F8_E5M2" => |bytes| bytes.iter().all(|it| it & 0x7c != 0x7c),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_own_numbers() {
        for (name, numbers, others) in
            [("F8_E4M3", &[0x7e_u8, 0xfe, 0x78, 0][..], &[0x7f_u8, 0xff][..]), ("F8_E5M2", &[0x7b, 0xfb, 0], &[0x7c, 0x7d, 0x7f, 0xfc])]
        {
            let is_finite = finite(Dtype::from_safetensors(name).unwrap()).unwrap();
            assert!(is_finite(numbers), "{name}");
            assert!(others.iter().all(|it| !is_finite(&[*it])), "{name}");
        }
        let of = |name: &str| finite(Dtype::from_safetensors(name).unwrap());
        assert!(of("F16").unwrap()(&0x7bff_u16.to_le_bytes()) && of("BF16").unwrap()(&0x7f7f_u16.to_le_bytes()));
        for bits in [0x7c00_u16, 0x7e01, 0xfc00] {
            assert!(!of("F16").unwrap()(&bits.to_le_bytes()));
        }
        for bits in [0x7f80_u16, 0x7fc0, 0xff80] {
            assert!(!of("BF16").unwrap()(&bits.to_le_bytes()));
        }
        assert!(!of("F64").unwrap()(&f64::NAN.to_le_bytes()) && !of("F32").unwrap()(&f32::NEG_INFINITY.to_le_bytes()));
        assert!(of("I64").is_none() && of("U8").is_none());
    }
}
