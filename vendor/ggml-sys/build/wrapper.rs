//! The program that cargo starts in place of the compiler.

use std::ffi::OsStr;
use std::path::Path;

/// True where that program is Clippy. Cargo keeps what it builds by a wrapper apart from what it
/// builds without, so no program is linked to what was built for Clippy.
pub(crate) fn is_clippy(wrapper: Option<&OsStr>) -> bool {
    wrapper.is_some_and(|it| Path::new(it).file_stem().is_some_and(|stem| stem == "clippy-driver"))
}
