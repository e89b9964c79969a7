//! Tensors whose values are generated while they are written, and writer of safetensors files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use half::f16;
use safetensors::tensor::{Dtype, View};

use crate::weights::{Normals, draw, seed_of};

static NORMALS: LazyLock<Normals> = LazyLock::new(Normals::new);

/// Distribution of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Init {
    /// Normal with mean 0 and this standard deviation.
    Normal(f32),
    /// All equal.
    Constant(f32),
}

/// Storage type of a tensor's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    F16,
    /// Blocks of 32 with a common scale. Only GGUF has it.
    Q8,
}

/// Description of a tensor, from which its bytes are generated.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    /// In PyTorch's order: the last dimension is contiguous.
    pub(crate) shape: Vec<usize>,
    pub(crate) kind: Kind,
    pub(crate) init: Init,
}

impl Tensor {
    pub(crate) fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    pub(crate) fn byte_len(&self) -> usize {
        match self.kind {
            Kind::F32 => self.elements() * 4,
            Kind::F16 => self.elements() * 2,
            Kind::Q8 => self.elements() / 32 * 34,
        }
    }

    /// The bytes: a function of the description and the seed.
    pub(crate) fn bytes(&self, seed: u64) -> Vec<u8> {
        let count = self.elements();
        let seed = seed_of(seed, &self.name);
        let normals = NORMALS.values();
        match (self.kind, self.init) {
            (Kind::F32, Init::Normal(deviation)) => draw(count, seed, &normals.map(|it| (it * deviation).to_le_bytes())),
            (Kind::F16, Init::Normal(deviation)) => draw(count, seed, &normals.map(|it| f16::from_f32(it * deviation).to_le_bytes())),
            (Kind::Q8, Init::Normal(deviation)) => {
                // 127 steps reach four deviations; what lies further out is cut off.
                let scale = f16::from_f32(deviation * 4.0 / 127.0).to_le_bytes();
                let steps = draw(count, seed, &normals.map(|it| ((it * 127.0 / 4.0).round().clamp(-127.0, 127.0) as i8).to_le_bytes()));
                steps.chunks_exact(32).flat_map(|block| scale.iter().chain(block).copied()).collect()
            }
            (Kind::F32, Init::Constant(value)) => value.to_le_bytes().repeat(count),
            (Kind::F16, Init::Constant(value)) => f16::from_f32(value).to_le_bytes().repeat(count),
            (Kind::Q8, Init::Constant(value)) => {
                let mut block = f16::from_f32(value / 127.0).to_le_bytes().to_vec();
                block.resize(34, 127);
                block.repeat(count / 32)
            }
        }
    }
}

/// Builder of a model's list of tensors.
#[derive(Debug, Default)]
pub(crate) struct Tensors(pub(crate) Vec<Tensor>);

impl Tensors {
    pub(crate) fn push(&mut self, name: impl Into<String>, shape: &[usize], kind: Kind, init: Init) {
        self.0.push(Tensor { name: name.into(), shape: shape.to_vec(), kind, init });
    }

    /// A matrix or a convolution's kernel, scaled by its inputs so that the variance of activations
    /// is preserved.
    pub(crate) fn weight(&mut self, name: impl Into<String>, shape: &[usize], kind: Kind, gain: f32) {
        let inputs: usize = shape.iter().skip(1).product();
        self.push(name, shape, kind, Init::Normal(gain / (inputs.max(1) as f32).sqrt()));
    }

    /// A vector of equal values.
    pub(crate) fn vector(&mut self, name: impl Into<String>, length: usize, kind: Kind, value: f32) {
        self.push(name, &[length], kind, Init::Constant(value));
    }
}

struct Lazy<'a> {
    tensor: &'a Tensor,
    seed: u64,
    contents: bool,
}

impl View for Lazy<'_> {
    fn dtype(&self) -> Dtype {
        match self.tensor.kind {
            Kind::F32 => Dtype::F32,
            Kind::F16 => Dtype::F16,
            Kind::Q8 => Dtype::U8,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.tensor.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        if self.contents { Cow::Owned(self.tensor.bytes(self.seed)) } else { Cow::Borrowed(&[]) }
    }

    fn data_len(&self) -> usize {
        self.tensor.byte_len()
    }
}

/// Writes a safetensors file; one tensor at a time is in memory. Without `contents` the file has
/// its full length and no bytes after the header (a sparse file where the system has them).
pub(crate) fn write_safetensors(path: &Path, tensors: &Tensors, seed: u64, contents: bool) -> io::Result<()> {
    if let Some(tensor) = tensors.0.iter().find(|it| it.kind == Kind::Q8) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("safetensors has no blocks for {}", tensor.name)));
    }
    let views = tensors.0.iter().map(|tensor| (tensor.name.as_str(), Lazy { tensor, seed, contents }));
    // One entry: the order of several is random.
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    safetensors::serialize_to_file(views, Some(metadata), path).map_err(|error| match error {
        safetensors::SafeTensorError::IoError(error) => error,
        other => io::Error::other(other),
    })
}
