//! The .msi for administrators.

use std::path::{Path, PathBuf};

use super::stage::Staged;
use crate::Failure;

/// Packs what is staged.
pub(crate) fn package(_staged: &Staged, _out: &Path) -> Result<PathBuf, Failure> {
    Err(Failure::new("The format `msi` is not there yet."))
}
