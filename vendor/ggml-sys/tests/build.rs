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

/// The program looks at these features before the engine runs: one that is missing in the list
/// would end it by an illegal instruction.
#[test]
fn every_instruction_set_that_the_engine_names_is_listed() {
    // SAFETY: takes nothing and returns a constant string.
    let info = unsafe { CStr::from_ptr(diffusion_rs_sys::sd_get_system_info()) }.to_string_lossy();
    let of_ggml = [
        ("SSE3", "sse3"),
        ("AVX", "avx"),
        ("AVX2", "avx2"),
        ("FMA", "fma"),
        ("F16C", "f16c"),
        ("AVX512", "avx512f"),
        ("AVX512_VBMI", "avx512vbmi"),
        ("AVX512_VNNI", "avx512vnni"),
        ("NEON", "neon"),
    ];
    for (name, feature) in of_ggml {
        let is_used = info.split('|').any(|part| part.trim() == format!("{name} = 1"));
        assert!(!is_used || ggml_sys::PROCESSOR_FEATURES.contains(&feature), "{name} in {info}, not in {:?}", ggml_sys::PROCESSOR_FEATURES);
    }
}
