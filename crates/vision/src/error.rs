//! Errors of models that look at pictures.

use std::io;
use std::path::PathBuf;

use atelier_language::tr;
use atelier_library::HeaderError;

/// Maximum bytes of a model's file. The largest model for cut-outs in use has 940 MB.
pub const MAX_MODEL_BYTES: u64 = 1 << 30;

/// Error of a model that looks at pictures. Its text is a clause with the next step after a
/// semicolon.
#[derive(Debug, thiserror::Error)]
pub enum VisionError {
    /// The file cannot be opened or read.
    #[error("{}", tr!("vision-could-not-be-read", path = path.display(), source))]
    Read { path: PathBuf, source: io::Error },
    /// The file is larger than any such model.
    #[error("{}", tr!("vision-is-larger-than-mib", path = path.display(), value = MAX_MODEL_BYTES >> 20))]
    TooLarge { path: PathBuf },
    /// The file is in another format or cut short.
    #[error("{}; {}", error.advice.sentence, error.advice.hint)]
    Header { error: HeaderError },
    /// The file is damaged, or uses operations that are not known.
    #[error("{}", tr!("vision-is-not-an-onnx", path = path.display(), reason))]
    NotAModel { path: PathBuf, reason: String },
    /// The model does something else.
    #[error("{}", tr!("vision-does-not-choose-another", path = path.display(), purpose, reason))]
    OtherPurpose {
        path: PathBuf,
        /// What it was to do, as a verb and its object.
        purpose: &'static str,
        reason: String,
    },
    /// The model failed while it computed.
    #[error("{}", tr!("vision-could-not-be-run", path = path.display(), reason))]
    Run { path: PathBuf, reason: String },
}
