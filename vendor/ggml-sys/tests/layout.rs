//! Sizes, offsets and constants are the same in C++ and Rust.

#![allow(unsafe_code, reason = "reads a constant of C")]

use ggml_sys::{LAYOUT, LAYOUT_IN_CPP};

#[test]
fn every_size_offset_and_constant_is_the_one_that_the_compiler_of_the_engine_uses() {
    // SAFETY: a constant array of the shim; build/layout.rs writes both sides from one list, so
    // that they have the same length.
    let in_cpp = unsafe { LAYOUT_IN_CPP };
    assert!(LAYOUT.len() > 160, "{}", LAYOUT.len());
    for ((name, in_rust), in_cpp) in LAYOUT.iter().zip(in_cpp) {
        assert_eq!(*in_rust, in_cpp, "{name}");
    }
}

/// A struct, status, phase or module that is added to shim.h must be added to the list too.
#[test]
fn everything_that_shim_h_declares_is_compared() {
    let header = include_str!("../shim/shim.h");
    let names: Vec<&str> = LAYOUT.iter().map(|(name, _)| *name).collect();
    // Opaque handles and function types have no layout; `atelier_phase`, `atelier_module`,
    // `atelier_values` and `atelier_format` cross as numbers, and so do `atelier_work_kind`,
    // `atelier_node_size`, `atelier_operation_kind`, `atelier_tokenizer_kind` and
    // `atelier_reading`.
    let without_layout = [
        "atelier_context",
        "atelier_upscaler",
        "atelier_conditioning_cache",
        "atelier_step_records",
        "atelier_dialer",
        "atelier_phase",
        "atelier_module",
        "atelier_values",
        "atelier_format",
        "atelier_work_kind",
        "atelier_node_size",
        "atelier_operation_kind",
        "atelier_tokenizer_kind",
        "atelier_reading",
    ];
    let types = header.lines().filter_map(|line| line.strip_prefix("} ")?.strip_suffix(';')).filter(|name| !without_layout.contains(name));
    let enumerators = header.lines().filter_map(|line| line.strip_prefix("    ATELIER_")?.split([' ', ',']).next());
    let constants = header.lines().filter_map(|line| line.strip_prefix("#define ATELIER_")?.split(' ').next());
    let declared: Vec<String> =
        types.map(|name| format!("size of {name}")).chain(enumerators.chain(constants).map(|name| format!("ATELIER_{name}"))).collect();
    assert!(declared.len() > 28, "{declared:?}");
    for name in declared {
        assert!(names.contains(&name.as_str()), "{name} is missing in build/layout.rs");
    }
}
