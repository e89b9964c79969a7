//! The terms in which the readers of safetensors and GGUF files describe a file: its tensors, its
//! metadata, its faults.

use std::collections::BTreeMap;
use std::io;

use atelier_language::tr;

use super::dtype::Dtype;

/// No header is longer; safetensors' own rule, which fits GGUF too.
pub(crate) const MAX_HEADER_BYTES: u64 = 100_000_000;
/// Tensors of a file; ggml compares each name with all before it.
pub(crate) const MAX_TENSORS: usize = 32_768;
/// Entries of the metadata; ggml compares each name with those before it.
pub(crate) const MAX_ENTRIES: usize = 10_000;
/// Bytes of all texts of the metadata that are kept; those beyond are left out as long ones are.
pub(crate) const MAX_METADATA_BYTES: usize = 16 << 20;
/// Texts in the metadata that are longer are left out; a chat template has a few thousand
/// characters.
pub(crate) const MAX_TEXT_BYTES: u64 = 65_536;

/// Texts of the metadata that may be longer: how often each word came in the pictures that a LoRA
/// was trained on, and PEFT's settings of each of its layers.
pub(crate) const LONG_TEXTS: [&str; 2] = ["ss_tag_frequency", "lora_adapter_metadata"];
/// Bytes of a text of [`LONG_TEXTS`] that is kept.
pub(crate) const MAX_LONG_TEXT_BYTES: u64 = 1 << 20;

/// A container for tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// safetensors.
    Safetensors,
    /// GGUF.
    Gguf,
}

/// A tensor as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name in the file.
    pub name: String,
    /// Its number type.
    pub dtype: Dtype,
    /// Its dimensions in PyTorch's order: the last one lies together in memory.
    pub shape: Vec<u64>,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl TensorInfo {
    /// The number of its values.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// Fault that a reader of one container finds, without the file's name.
#[derive(Debug)]
pub(crate) enum Flaw {
    Io(io::Error),
    /// The file would have to be at least this long.
    CutShort {
        promised_bytes: u64,
    },
    Damaged(String),
    Unsupported(String),
}

impl From<io::Error> for Flaw {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Tensors and metadata of a container.
pub(crate) struct Contents {
    pub(crate) tensors: Vec<TensorInfo>,
    pub(crate) metadata: BTreeMap<String, String>,
}

/// A tensor's name, short enough for a sentence.
pub(crate) fn shown(name: &str) -> String {
    if name.chars().count() <= 80 { name.to_owned() } else { name.chars().take(79).chain(['…']).collect() }
}

/// Refuses a file with more tensors than the engine reads.
pub(crate) fn check_count(tensors: usize) -> Result<(), Flaw> {
    if tensors > MAX_TENSORS {
        return Err(Flaw::Unsupported(tr!("library-it-has-tensors-more", tensors)));
    }
    Ok(())
}
