//! Paths as people type and paste them.

use std::path::{Path, PathBuf};

/// A path as a person pastes it: quoted, with spaces round it, or as a `file:` address.
pub(crate) fn parse_path(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    let text = text.trim().trim_matches(['"', '\'']);
    match text.strip_prefix("file://") {
        Some(address) => PathBuf::from(percent_encoding::percent_decode_str(address).decode_utf8_lossy().as_ref()),
        None => PathBuf::from(text),
    }
}
