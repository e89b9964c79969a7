//! Safetensors files as GGUF, as other programs convert them: plain, with kernels as matrices, in
//! several files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use half::f16;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::gguf::{BF16, Description, F16, F32, Q8, Value, header, write_padded};
use crate::layouts::floats;
use crate::tiny::llama_name;

/// Values of a block of `Q8_0`.
const BLOCK: usize = 32;
/// Columns of a matrix that city96's converter makes of other shapes, and the fewest values of one.
const WIDE: usize = 256;
const MIN_WIDE: usize = 512;
/// The language model whose tensors have llama.cpp's names.
const LANGUAGE_MODEL: &str = "qwen3";

/// How a file is converted: what becomes of kernels, and of matrices whose rows are not made of 256
/// values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GgufForm {
    /// They stay as they are.
    Plain,
    /// They become matrices 256 wide, beside their shapes: city96's form of UNets.
    Wide,
    /// The same in `Q8_0`.
    WideQ8,
    /// What [`Self::WideQ8`] means: its matrices in `Q8_0`, the values of its kernels in F16.
    PlainQ8,
}

/// A tensor of a converted file.
struct Converted {
    description: Description,
    data: Vec<u8>,
    /// The shape that it had, where the file tells it.
    original: Option<Vec<usize>>,
}

fn invalid(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, sentence)
}

fn converted(name: String, view: &TensorView<'_>, form: GgufForm) -> io::Result<Converted> {
    let shape = view.shape().to_vec();
    let count: usize = shape.iter().product();
    let columns = shape.last().copied().unwrap_or(1);
    let is_odd = shape.len() > 1 && count >= MIN_WIDE && count.is_multiple_of(WIDE) && !columns.is_multiple_of(WIDE);
    let own = match view.dtype() {
        Dtype::F32 => F32,
        Dtype::F16 => F16,
        Dtype::BF16 => BF16,
        other => return Err(invalid(format!("{name} is of {other:?}"))),
    };
    let blocks = || blocks(&floats(view.dtype(), view.data()));
    let (type_id, data, original) = match form {
        GgufForm::Wide if is_odd => (own, view.data().to_vec(), Some(shape.clone())),
        GgufForm::WideQ8 if is_odd => (Q8, bytes_of(&blocks()), Some(shape.clone())),
        GgufForm::PlainQ8 if is_odd && shape.len() > 2 => (F16, halves_of(&blocks()), None),
        GgufForm::PlainQ8 if is_odd && columns.is_multiple_of(BLOCK) => (Q8, bytes_of(&blocks()), None),
        GgufForm::PlainQ8 if is_odd => return Err(invalid(format!("{name} has no rows of blocks"))),
        _ => (own, view.data().to_vec(), None),
    };
    let shape = if original.is_some() { vec![count / WIDE, WIDE] } else { shape };
    Ok(Converted { description: Description { name, shape, type_id, bytes: data.len() }, data, original })
}

/// Values in `Q8_0`, as ggml rounds them: the scale and the codes of each block.
fn blocks(values: &[f32]) -> Vec<(f16, Vec<i8>)> {
    let block = |values: &[f32]| {
        let scale = values.iter().fold(0.0_f32, |most, value| most.max(value.abs())) / 127.0;
        let code = |value: &f32| if scale > 0.0 { (value / scale).round() as i8 } else { 0 };
        (f16::from_f32(scale), values.iter().map(code).collect())
    };
    values.chunks(BLOCK).map(block).collect()
}

fn bytes_of(blocks: &[(f16, Vec<i8>)]) -> Vec<u8> {
    blocks.iter().flat_map(|(scale, codes)| scale.to_le_bytes().into_iter().chain(codes.iter().map(|code| code.cast_unsigned()))).collect()
}

fn halves_of(blocks: &[(f16, Vec<i8>)]) -> Vec<u8> {
    let value = |scale: f16, code: i8| f16::from_f32(f32::from(code) * scale.to_f32()).to_le_bytes();
    blocks.iter().flat_map(|(scale, codes)| codes.iter().flat_map(move |code| value(*scale, *code))).collect()
}

/// The tensors of a safetensors file in the order of their names, which are llama.cpp's for a
/// language model.
fn all(from: &Path, architecture: &str, form: GgufForm) -> io::Result<Vec<Converted>> {
    let bytes = std::fs::read(from)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut views = file.tensors();
    views.sort_by(|a, b| a.0.cmp(&b.0));
    let named = |name: String| if architecture == LANGUAGE_MODEL { llama_name(&name) } else { name };
    views.into_iter().map(|(name, view)| converted(named(name), &view, form)).collect()
}

fn write<'a>(path: &Path, tensors: &'a [Converted], mut metadata: Vec<(String, Value<'a>)>) -> io::Result<()> {
    let shapes = tensors.iter().filter_map(|it| Some((&it.description.name, it.original.as_deref()?)));
    metadata.extend(shapes.map(|(name, shape)| (format!("comfy.gguf.orig_shape.{name}"), Value::Sizes(shape))));
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&header(tensors.iter().map(|it| &it.description), &metadata))?;
    for tensor in tensors {
        write_padded(&mut out, tensor.data.clone())?;
    }
    out.flush()
}

/// Writes a safetensors file as GGUF of an architecture: `sd1`, `sdxl`, `lumina2`, `qwen3` and so on.
///
/// # Errors
/// Files that cannot be read or written, or a number type that GGUF has not.
pub fn convert(from: &Path, to: &Path, architecture: &str, form: GgufForm) -> io::Result<PathBuf> {
    let metadata = vec![("general.architecture".to_owned(), Value::Text(architecture))];
    write(to, &all(from, architecture, form)?, metadata)?;
    Ok(to.to_owned())
}

/// Writes a safetensors file as so many GGUF files, `STEM-00001-of-00002.gguf` and so on, as
/// `gguf-split` of llama.cpp does: the first alone says the architecture. Returns their paths.
///
/// # Errors
/// Files that cannot be read or written, or a number type that GGUF has not.
pub fn split(from: &Path, folder: &Path, stem: &str, architecture: &str, count: u16) -> io::Result<Vec<PathBuf>> {
    let tensors = all(from, architecture, GgufForm::Plain)?;
    let each = tensors.len().div_ceil(usize::from(count)).max(1);
    let mut parts = tensors.chunks(each);
    let mut paths = Vec::new();
    for number in 0..count {
        let mut metadata = vec![
            ("split.no".to_owned(), Value::U16(number)),
            ("split.count".to_owned(), Value::U16(count)),
            ("split.tensors.count".to_owned(), Value::I32(tensors.len() as i32)),
        ];
        if number == 0 {
            metadata.insert(0, ("general.architecture".to_owned(), Value::Text(architecture)));
        }
        let path = folder.join(format!("{stem}-{:05}-of-{count:05}.gguf", number + 1));
        write(&path, parts.next().unwrap_or_default(), metadata)?;
        paths.push(path);
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_eight_bits_is_a_scale_and_codes() {
        let values: Vec<f32> = (0..32).map(|at| (at as f32 - 16.0) * 0.5).collect();
        let blocks = blocks(&values);
        assert_eq!((blocks[0].1[0], blocks[0].1[16], bytes_of(&blocks).len()), (-127, 0, 34));
        let back = floats(Dtype::F16, &halves_of(&blocks));
        assert!(values.iter().zip(back).all(|(value, back)| (value - back).abs() < 0.04));
    }

    #[test]
    fn matrices_256_wide_keep_every_byte_and_the_shape() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("a.safetensors");
        let data: Vec<u8> = (0..16 * 16 * 9 * 2).map(|at| (at % 120) as u8).collect();
        let kernel = TensorView::new(Dtype::F16, vec![16, 16, 3, 3], &data).unwrap();
        safetensors::serialize_to_file([("a", kernel)], None, &from).unwrap();
        let to = convert(&from, &dir.path().join("a.gguf"), "sd1", GgufForm::Wide).unwrap();
        let bytes = std::fs::read(to).unwrap();
        assert!(bytes.ends_with(&data));
        // A list of four `I32`.
        let shape: Vec<u8> = [9_u32, 5, 4, 0, 16, 16, 3, 3].iter().flat_map(|it| it.to_le_bytes()).collect();
        let key = b"comfy.gguf.orig_shape.a";
        let at = bytes.windows(key.len()).position(|it| it == key).unwrap() + key.len();
        assert_eq!(bytes[at..at + shape.len()], shape);
    }
}
