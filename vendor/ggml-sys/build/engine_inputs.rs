//! The files of this folder that the engine is built with: cargo builds the engine's crate, and
//! does not see that they changed. cmake keeps copies of those that it used
//! (`patched_sources.cmake`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folder of the copies, in the output folder of the engine's crate.
pub(crate) const COPIES: &str = "build/atelier/inputs";

/// The files, relative to `folder`, which is vendor/ggml-sys.
pub(crate) fn inputs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_cmake = |path: &PathBuf| path.extension().is_some_and(|it| it == "cmake");
    let mut inputs: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|it| PathBuf::from(it.file_name())).filter(is_cmake).collect();
    inputs.push("patches/ggml-cpu.c.patch".into());
    Ok(inputs)
}

/// True where the copy of an input is another one, or there is none.
pub(crate) fn is_changed(folder: &Path, input: &Path, copies: &Path) -> bool {
    fs::read(copies.join(input.file_name().unwrap_or_default())).ok() != fs::read(folder.join(input)).ok()
}
