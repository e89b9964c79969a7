//! The application bundle for macOS.

use std::path::{Path, PathBuf};

use super::stage::Staged;
use crate::Failure;
use crate::options::Options;

/// Builds the program.
pub(crate) fn build(_options: &Options) -> Result<PathBuf, Failure> {
    Err(Failure::new("The format `macos` is not there yet."))
}

/// Packs what is staged.
pub(crate) fn package(_staged: &Staged, _out: &Path) -> Result<PathBuf, Failure> {
    Err(Failure::new("The format `macos` is not there yet."))
}
