//! Errors of models that look at pictures.

use std::io;
use std::path::PathBuf;

/// Maximum bytes of a model's file. The largest model for cut-outs in use has 940 MB.
pub const MAX_MODEL_BYTES: u64 = 1 << 30;

/// Error of a model that looks at pictures. Its text is a clause with the next step after a
/// semicolon.
#[derive(Debug, thiserror::Error)]
pub enum VisionError {
    /// The file cannot be opened or read.
    #[error("{} could not be read: {source}; check that the file exists and is readable", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file is larger than any such model.
    #[error("{} is larger than {} MiB; choose a model that cuts out or detects", path.display(), MAX_MODEL_BYTES >> 20)]
    TooLarge { path: PathBuf },
    /// The file is in another format, damaged, or uses operations that are not known.
    #[error("{} is not an ONNX model that Atelier can run ({reason}); choose another file", path.display())]
    NotAModel { path: PathBuf, reason: String },
    /// The model does something else.
    #[error("{} does not {purpose}: {reason}; choose another model", path.display())]
    OtherPurpose {
        path: PathBuf,
        /// What it was to do, as a verb and its object.
        purpose: &'static str,
        reason: String,
    },
    /// The model failed while it computed.
    #[error("the model failed: {reason}; choose another model")]
    Run { reason: String },
}
