//! Models that look at pictures: what is in front, and where faces and hands are.
//!
//! Files are in the ONNX format and strangers': they are read within [`MAX_MODEL_BYTES`], and
//! nothing that they name beside themselves is opened. What one computes has no bound of its own;
//! a process of its own with limits of memory and time is the caller's part
//! (`atelier_studio::vision`).

mod anchored;
mod candidate;
mod cutout;
mod detect;
mod error;
mod network;

pub use cutout::{CutoutFamily, Segmenter, UnknownCutoutFamily};
pub use detect::{Detection, Detector};
pub use error::{MAX_MODEL_BYTES, VisionError};
