//! The library: what the files on disk are, and whether they make a model together.
//!
//! Nothing here reads weights, and nothing here trusts a file. A file is described by its header alone ([`read_header`],
//! [`identify`]); a set of files is checked before the engine sees it ([`check_files`]), because the engine ends the process where it
//! is given files that do not fit. A model as a whole is described by its [`Manifest`]; one comes with the program ([`Builtin`]).
//! No egui, no engine.

mod builtin;
mod cache;
mod check;
pub mod downloads;
mod dtype;
mod family;
mod gguf;
mod header;
mod kind;
mod lora;
mod manifest;
mod safetensors;
mod sniff;

#[cfg(test)]
mod hostile;

pub use builtin::{BUILTIN_VARIABLE, Builtin, BuiltinError};
pub use cache::{HeaderCache, Known};
pub use check::{Checked, Problem, check_files, snap};
pub use dtype::Dtype;
pub use family::Family;
pub use header::{Fault, Format, Header, HeaderError, TensorInfo, read_header, size};
pub use kind::{FileKind, identify};
pub use manifest::{
    Defaults, FaultyFile, FileName, HuggingFace, Licence, MANIFEST, Manifest, ManifestError, ModelFile, PreviewWay, Role, Sha256, Variant,
    model_name,
};
