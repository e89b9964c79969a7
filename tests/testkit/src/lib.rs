//! Writers of models for tests and benchmarks: tiny ones, real-sized ones and broken ones, all with
//! random weights. And of pictures as other programs write them, and what the built-in model's are
//! judged by.
//!
//! The same options and the same seed give the same bytes. The weights are scaled so that
//! activations stay finite and pictures are not flat; nothing here was trained. This crate must not
//! depend on Atelier's crates: a test of a reader must not repeat the reader's mistakes.

pub mod adapters;
pub mod attributes;
pub mod broken;
pub mod disk;
pub mod draft;
pub mod families;
pub mod gguf_forms;
pub mod headers;
pub mod layouts;
pub mod onnx;
pub mod pictures;
pub mod real;
pub mod tiny;
pub mod version_feed;

mod gguf;
mod pickle;
mod tensor;
mod weights;

pub use real::{Contents, sd15, sd15_cached};
