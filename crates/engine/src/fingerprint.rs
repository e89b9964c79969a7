//! Identity of files on disk.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use atelier_core::recipe::{Lora, ModelFiles};

/// A file as it was when its header was read: one that was replaced since is another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Fingerprint {
    /// The fingerprint of a file now; one that cannot be read has no bytes and no time.
    pub(crate) fn of(path: &Path) -> Self {
        let metadata = path.metadata().ok();
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        Self { path: path.to_owned(), bytes: metadata.as_ref().map_or(0, Metadata::len), modified }
    }
}

/// Fingerprints of a model's files and of LoRAs.
pub(crate) fn fingerprints(files: &ModelFiles, loras: &[Lora]) -> Vec<Fingerprint> {
    let paths = files.iter().map(|(_, path)| path).chain(loras.iter().map(|lora| lora.path.as_path()));
    paths.map(Fingerprint::of).collect()
}
