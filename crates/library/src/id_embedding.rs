//! Features of faces (`id_embeds.bin`) that `PhotoMaker` v2 reads: one vector for each picture of a
//! person.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use atelier_language::tr;

use super::header::file_name;
use super::problem::Problem;

/// Values of a face's vector (`pmid.hpp` of stable-diffusion.cpp).
const FEATURES: i32 = 512;
/// Dimensions that the engine's tensors have at most.
const MAX_DIMENSIONS: i32 = 4;
/// Bytes of the tensor's name in the file.
const MAX_NAME: i32 = 256;
/// More faces are no file of one person.
const MAX_FACES: i32 = 64;
/// ggml's number of the type F32.
const F32: i32 = 0;

/// The number of faces whose features a file has. Reads the file.
///
/// # Errors
/// If it cannot be read, or is not what `face_detect.py` of stable-diffusion.cpp writes.
pub fn face_count(path: &Path) -> Result<u32, Problem> {
    let hint = tr!("library-make-one-with-face");
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_FACES * FEATURES * 4 + 1024).unwrap_or(u64::MAX);
    File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| Problem::new(tr!("library-cannot-be-read-2", path = file_name(path), error), hint))?;
    faces(&bytes).ok_or_else(|| Problem::new(tr!("library-is-not-a-face", path = file_name(path)), hint))
}

/// As `load_tensor_from_file_as_tensor` of stable-diffusion.cpp reads it: dimensions, length of the
/// name and type, the sizes, the name, the values; whole numbers have 32 bits.
fn faces(bytes: &[u8]) -> Option<u32> {
    let number = |at: usize| Some(i32::from_le_bytes(bytes.get(at * 4..at * 4 + 4)?.try_into().ok()?));
    let (dimensions, name, kind) = (number(0)?, number(1)?, number(2)?);
    if !(2..=MAX_DIMENSIONS).contains(&dimensions) || !(0..=MAX_NAME).contains(&name) || kind != F32 {
        return None;
    }
    let sizes = (0..dimensions).map(|axis| number(usize::try_from(3 + axis).ok()?)).collect::<Option<Vec<i32>>>()?;
    let (width, count) = (*sizes.first()?, *sizes.get(1)?);
    if width != FEATURES || !(1..=MAX_FACES).contains(&count) || sizes.iter().skip(2).any(|size| *size != 1) {
        return None;
    }
    let length = 4 * (3 + dimensions) + name + 4 * width * count;
    (bytes.len() == usize::try_from(length).ok()?).then(|| u32::try_from(count).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(numbers: &[i32], name: &str, values: usize) -> Vec<u8> {
        let numbers = numbers.iter().flat_map(|it| it.to_le_bytes());
        numbers.chain(name.bytes()).chain(std::iter::repeat_n(0, values * 4)).collect()
    }

    #[test]
    fn the_number_of_faces_is_read_and_anything_else_is_refused() {
        assert_eq!(faces(&file(&[2, 0, 0, 512, 3], "", 3 * 512)), Some(3));
        assert_eq!(faces(&file(&[2, 9, 0, 512, 1], "id_embeds", 512)), Some(1));
        assert_eq!(faces(&file(&[3, 0, 0, 512, 2, 1], "", 1024)), Some(2));
        for wrong in [
            file(&[], "", 0),
            file(&[2, 0, 0, 512, 3], "", 1024),
            file(&[2, 0, 0, 512, 3], "", 4096),
            file(&[2, 0, 1, 512, 1], "", 512),
            file(&[1, 0, 0, 512], "", 512),
            file(&[2, 0, 0, 768, 1], "", 768),
            file(&[2, -1, 0, 512, 1], "", 512),
            file(&[2, 0, 0, 512, 0], "", 0),
            file(&[2, 0, 0, 512, i32::MAX], "", 0),
            file(&[i32::MAX, 0, 0, 512, 1], "", 512),
            file(&[3, 0, 0, 512, 1, -1], "", 512),
        ] {
            assert_eq!(faces(&wrong), None);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("id_embeds.bin");
        assert!(face_count(&path).unwrap_err().advice.sentence.starts_with("id_embeds.bin cannot be read"));
        std::fs::write(&path, file(&[2, 0, 0, 512, 2], "", 1024)).unwrap();
        assert_eq!(face_count(&path), Ok(2));
        std::fs::write(&path, "not a face embedding").unwrap();
        assert_eq!(face_count(&path).unwrap_err().advice.sentence, "id_embeds.bin is not a face embedding file.");
    }
}
