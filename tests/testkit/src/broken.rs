//! Malformed files: damaged, truncated, of another format, or crafted.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::draft::Draft;
use crate::families::{self, Part};
use crate::tensor::write_safetensors;
use crate::tiny::{self, Options, TinyFiles};

/// Overwrites all numbers of a safetensors file with zeros: a decoder like this makes pictures of
/// one colour.
pub fn without_numbers(path: &Path) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    let length: [u8; 8] = bytes.get(..8).and_then(|it| it.try_into().ok()).ok_or(io::ErrorKind::UnexpectedEof)?;
    let data = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?.saturating_add(8);
    if let Some(numbers) = bytes.get_mut(data..) {
        numbers.fill(0);
    }
    fs::write(path, bytes)
}

/// Takes the red channel of what a tiny autoencoder decodes: it is not a number.
pub fn without_red(path: &Path) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    let (header, metadata) = safetensors::SafeTensors::read_metadata(&bytes).map_err(io::Error::other)?;
    let bias = metadata.info("decoder.layers.18.bias").ok_or(io::ErrorKind::NotFound)?;
    let at = 8 + header + bias.data_offsets.0;
    // F32; red comes first.
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(path, bytes)
}

/// A tiny Z-Image whose encoder is wider than its diffusion module expects.
pub fn wrong_width(dir: &Path) -> io::Result<TinyFiles> {
    let files = tiny::zimage(dir, &Options::default())?;
    let other = tiny::encoder_tensors(&Options { encoder_width: 16, ..Options::default() });
    write_safetensors(&files.llm, &other, 1, true)?;
    Ok(files)
}

/// A tiny Z-Image whose encoder has fewer tokens than its tokenizer, which ends the engine's
/// process.
pub fn small_vocabulary(dir: &Path) -> io::Result<TinyFiles> {
    tiny::zimage(dir, &Options { vocabulary: 151_673, ..Options::default() })
}

/// A tiny Z-Image with a vector of whole numbers, of which the engine makes no floats.
pub fn integer_vector(dir: &Path) -> io::Result<TinyFiles> {
    changed("zimage", dir, |draft| draft.retype("cap_pad_token", "I32"))
}

/// A tiny Ovis-Image that the engine answers with an assert as it opens it, after the text encoder.
pub fn asserting_on_opening(dir: &Path) -> io::Result<TinyFiles> {
    changed("ovis", dir, |draft| {
        draft.add("img_in_patch.weight", &[7]);
        Ok(())
    })
}

/// A tiny model of this family, its diffusion module changed.
fn changed(family: &str, dir: &Path, change: impl FnOnce(&mut Draft) -> io::Result<()>) -> io::Result<TinyFiles> {
    let mut parts = families::family(family, dir)?;
    if let Some((_, Part::Draft(draft))) = parts.first_mut() {
        change(draft)?;
    }
    let path = |name: &str| dir.join(format!("{name}.safetensors"));
    for (role, part) in parts {
        if let Part::Draft(draft) = part {
            draft.write(&path(role))?;
        }
    }
    Ok(TinyFiles { diffusion: path("diffusion"), llm: path("llm"), taesd: path("taesd") })
}

/// A tiny Z-Image with the text encoder's file in the place of the diffusion module.
pub fn llm_as_diffusion(dir: &Path) -> io::Result<TinyFiles> {
    let files = tiny::zimage(dir, &Options::default())?;
    Ok(TinyFiles { diffusion: files.llm.clone(), ..files })
}

/// A LoRA with the names of a tiny Z-Image and the shapes of a wider one.
pub fn wide_lora(dir: &Path) -> io::Result<PathBuf> {
    tiny::lora(dir, &Options { width: 512, ..Options::default() })
}

/// A diffusion module without its last two fifths, as after an interrupted download.
pub fn truncated_in_data(dir: &Path) -> io::Result<PathBuf> {
    let (path, length) = (diffusion(dir, "truncated-in-data")?, |whole| whole * 3 / 5);
    truncate(&path, length)?;
    Ok(path)
}

/// A diffusion module that ends within its header.
pub fn truncated_in_header(dir: &Path) -> io::Result<PathBuf> {
    let path = diffusion(dir, "truncated-in-header")?;
    truncate(&path, |_| 300)?;
    Ok(path)
}

/// A GGUF diffusion module without its last two fifths.
pub fn truncated_gguf(dir: &Path) -> io::Result<PathBuf> {
    let inner = dir.join("truncated-gguf");
    fs::create_dir_all(&inner)?;
    let path = tiny::zimage(&inner, &Options { format: tiny::Format::Gguf, ..Options::default() })?.diffusion;
    truncate(&path, |whole| whole * 3 / 5)?;
    Ok(path)
}

/// A file of no bytes.
pub fn empty(dir: &Path) -> io::Result<PathBuf> {
    write(dir, "empty.safetensors", &[])
}

/// An HTML page under a model's name, as a download that required a login leaves it.
pub fn text(dir: &Path) -> io::Result<PathBuf> {
    write(dir, "text.safetensors", b"Access to this model is restricted. You must be authenticated to access it.\n")
}

/// A PNG under a model's name.
pub fn picture(dir: &Path) -> io::Result<PathBuf> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0".to_vec();
    bytes.extend_from_slice(&[0x5a; 4096]);
    write(dir, "picture.safetensors", &bytes)
}

/// A header whose length field exceeds any memory.
pub fn huge_header(dir: &Path) -> io::Result<PathBuf> {
    let mut bytes = (u64::MAX / 2).to_le_bytes().to_vec();
    bytes.extend_from_slice(br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}    "#);
    write(dir, "huge-header.safetensors", &bytes)
}

/// A tensor whose offsets are beyond the end of the file.
pub fn beyond_the_end(dir: &Path) -> io::Result<PathBuf> {
    write_with_header(dir, "beyond-the-end.safetensors", r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[1000000,1000016]}}"#)
}

/// Two tensors with overlapping offsets.
pub fn overlapping(dir: &Path) -> io::Result<PathBuf> {
    let header = r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}"#;
    write_with_header(dir, "overlapping.safetensors", header)
}

/// A tensor whose offsets span another size than its shape.
pub fn wrong_size(dir: &Path) -> io::Result<PathBuf> {
    write_with_header(dir, "wrong-size.safetensors", r#"{"a":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}}"#)
}

/// A shape whose product overflows 64 bits.
pub fn overflowing_shape(dir: &Path) -> io::Result<PathBuf> {
    let header = r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,16]}}"#;
    write_with_header(dir, "overflowing-shape.safetensors", header)
}

/// A GGUF header with absurd counts of tensors and entries.
pub fn absurd_gguf(dir: &Path) -> io::Result<PathBuf> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend_from_slice(&(u64::MAX / 4).to_le_bytes());
    bytes.extend_from_slice(&(u64::MAX / 4).to_le_bytes());
    bytes.extend_from_slice(&[0; 256]);
    write(dir, "absurd.gguf", &bytes)
}

/// All malformed diffusion modules, each with a description.
pub fn diffusion_files(dir: &Path) -> io::Result<Vec<(&'static str, PathBuf)>> {
    Ok(vec![
        ("truncated in its data", truncated_in_data(dir)?),
        ("truncated in its header", truncated_in_header(dir)?),
        ("a truncated GGUF", truncated_gguf(dir)?),
        ("empty", empty(dir)?),
        ("text", text(dir)?),
        ("a picture", picture(dir)?),
        ("a huge header", huge_header(dir)?),
        ("beyond the end", beyond_the_end(dir)?),
        ("overlapping", overlapping(dir)?),
        ("a wrong size", wrong_size(dir)?),
        ("an overflowing shape", overflowing_shape(dir)?),
        ("absurd counts", absurd_gguf(dir)?),
    ])
}

fn diffusion(dir: &Path, name: &str) -> io::Result<PathBuf> {
    let path = dir.join(format!("{name}.safetensors"));
    write_safetensors(&path, &tiny::diffusion_tensors(&Options::default()), 1, true)?;
    Ok(path)
}

fn truncate(path: &Path, length: impl Fn(u64) -> u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.set_len(length(file.metadata()?.len()))
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let path = dir.join(name);
    fs::write(&path, bytes)?;
    Ok(path)
}

/// A safetensors file with this header and 64 bytes of data.
fn write_with_header(dir: &Path, name: &str, header: &str) -> io::Result<PathBuf> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&[0; 64]);
    write(dir, name, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_safetensors_crate_refuses_every_broken_diffusion_file() {
        let dir = tempfile::tempdir().unwrap();
        for (what, path) in diffusion_files(dir.path()).unwrap() {
            assert!(safetensors::SafeTensors::deserialize(&fs::read(path).unwrap()).is_err(), "{what}");
        }
    }
}
