//! The structs that cross the border have the same shape on both sides.

use ggml_sys::{LAYOUT, LAYOUT_IN_CPP};

#[test]
fn every_size_and_offset_is_the_one_that_the_compiler_of_the_engine_uses() {
    // SAFETY: a constant array of the shim, whose length build.rs writes on both sides from one list.
    let in_cpp = unsafe { LAYOUT_IN_CPP };
    assert!(LAYOUT.len() > 80);
    for ((name, in_rust), in_cpp) in LAYOUT.iter().zip(in_cpp) {
        assert_eq!(*in_rust, in_cpp, "{name}");
    }
}
