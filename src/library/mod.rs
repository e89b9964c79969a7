//! The library: what the files on disk are, and whether they make a model together.
//!
//! Nothing here reads weights, and nothing here trusts a file. A file is described by its header alone ([`read_header`],
//! [`identify`]); a set of files is checked before the engine sees it ([`check_files`]), because the engine ends the process where it
//! is given files that do not fit. No egui, no engine.

mod cache;
mod check;
mod dtype;
mod family;
mod gguf;
mod header;
mod kind;
mod lora;
mod safetensors;
mod sniff;

#[cfg(test)]
mod hostile;

pub use cache::{HeaderCache, Known};
pub use check::{Checked, Problem, check_files, snap};
pub use dtype::Dtype;
pub use family::Family;
pub use header::{Fault, Format, Header, HeaderError, TensorInfo, read_header, size};
pub use kind::{FileKind, identify};
