//! The engine was built with the options that `engine.cmake` sets.

#![allow(unsafe_code, reason = "calls C")]

use std::ffi::CStr;

// Links the shim, which has the sources that the engine's own build leaves out.
use ggml_sys as _;

#[test]
fn the_engine_has_the_fast_matrix_products() {
    // SAFETY: takes nothing and returns a constant string.
    let info = unsafe { CStr::from_ptr(diffusion_rs_sys::sd_get_system_info()) }.to_string_lossy();
    assert!(info.contains("LLAMAFILE = 1"), "CMAKE_TOOLCHAIN_FILE did not reach the engine's build: {info}");
}
