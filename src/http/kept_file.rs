//! Small files of who may come in: each is read and written whole, and its owner's alone.

use std::io;
use std::path::Path;

use atelier_core::paths::write_private;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest one in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What a file says; nothing where there is none. Blocks.
pub(super) fn read<T: DeserializeOwned + Default>(file: &Path) -> io::Result<T> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(error),
        Ok(about) if about.len() > MAX_BYTES => return Err(io::Error::other("it is too large")),
        Ok(_) => {}
    }
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

/// Replaces what a file says. Blocks.
pub(super) fn write<T: Serialize>(file: &Path, kept: &T) -> io::Result<()> {
    write_private(file, &serde_json::to_vec_pretty(kept)?)
}
