//! Writer of PyTorch checkpoints (`.pth`): a zip archive with a pickle, which describes the
//! tensors, and their bytes.

use std::fs;
use std::io;
use std::path::Path;

use crate::tensor::{Kind, Tensors};

/// The archive's inner folder.
const FOLDER: &str = "tiny";

/// Writes a state dictionary.
pub(crate) fn write_pth(path: &Path, tensors: &Tensors, seed: u64) -> io::Result<()> {
    let mut archive = Archive::default();
    archive.add(&format!("{FOLDER}/data.pkl"), &state_dict(tensors)?);
    for (key, tensor) in tensors.0.iter().enumerate() {
        archive.add(&format!("{FOLDER}/data/{key}"), &tensor.bytes(seed));
    }
    fs::write(path, archive.finish())
}

/// The pickle, protocol 2: an ordered dictionary of tensors, each rebuilt from a storage of its
/// own.
fn state_dict(tensors: &Tensors) -> io::Result<Vec<u8>> {
    const DICTIONARY: &[u8] = b"ccollections\nOrderedDict\n)R";
    let mut out = vec![0x80, 2];
    out.extend_from_slice(DICTIONARY);
    out.push(b'(');
    for (key, tensor) in tensors.0.iter().enumerate() {
        let storage: &[u8] = match tensor.kind {
            Kind::F32 => b"ctorch\nFloatStorage\n",
            Kind::F16 => b"ctorch\nHalfStorage\n",
            Kind::Q8 => return Err(io::Error::new(io::ErrorKind::InvalidInput, "PyTorch has no such blocks")),
        };
        text(&mut out, &tensor.name);
        out.extend_from_slice(b"ctorch._utils\n_rebuild_tensor_v2\n((");
        text(&mut out, "storage");
        out.extend_from_slice(storage);
        text(&mut out, &key.to_string());
        text(&mut out, "cpu");
        integer(&mut out, tensor.elements());
        out.extend_from_slice(b"tQK\0");
        tuple(&mut out, &tensor.shape);
        let strides: Vec<usize> = (0..tensor.shape.len()).map(|at| tensor.shape[at + 1..].iter().product()).collect();
        tuple(&mut out, &strides);
        out.push(0x89);
        out.extend_from_slice(DICTIONARY);
        out.extend_from_slice(b"tR");
    }
    out.extend_from_slice(b"u.");
    Ok(out)
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'X');
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn integer(out: &mut Vec<u8>, value: usize) {
    out.push(b'J');
    out.extend_from_slice(&(value as u32).to_le_bytes());
}

fn tuple(out: &mut Vec<u8>, values: &[usize]) {
    out.push(b'(');
    for value in values {
        integer(out, *value);
    }
    out.push(b't');
}

/// A zip archive without compression.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    entries: u16,
}

impl Archive {
    fn add(&mut self, name: &str, contents: &[u8]) {
        let offset = self.bytes.len() as u32;
        // Version 2.0, no flags, stored, midnight of the first of January 1980.
        let mut about = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        about.extend_from_slice(&crc32(contents).to_le_bytes());
        for size in [contents.len() as u32; 2] {
            about.extend_from_slice(&size.to_le_bytes());
        }
        about.extend_from_slice(&(name.len() as u16).to_le_bytes());
        about.extend_from_slice(&[0, 0]);
        self.bytes.extend_from_slice(b"PK\x03\x04");
        self.bytes.extend_from_slice(&about);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(contents);
        self.directory.extend_from_slice(b"PK\x01\x02\x14\0");
        self.directory.extend_from_slice(&about);
        // No comment, first disk, no attributes.
        self.directory.extend_from_slice(&[0; 10]);
        self.directory.extend_from_slice(&offset.to_le_bytes());
        self.directory.extend_from_slice(name.as_bytes());
        self.entries += 1;
    }

    fn finish(mut self) -> Vec<u8> {
        let (offset, size) = (self.bytes.len() as u32, self.directory.len() as u32);
        self.bytes.append(&mut self.directory);
        self.bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        for count in [self.entries; 2] {
            self.bytes.extend_from_slice(&count.to_le_bytes());
        }
        self.bytes.extend_from_slice(&size.to_le_bytes());
        self.bytes.extend_from_slice(&offset.to_le_bytes());
        self.bytes.extend_from_slice(&[0, 0]);
        self.bytes
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let step =
        |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 });
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_zip() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
