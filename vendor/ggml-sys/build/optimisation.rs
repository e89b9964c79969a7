//! How much time goes into optimising the shim.

/// Level for the C++ compiler, by cargo's own for this crate (`OPT_LEVEL`). The first at least: the
/// engine's headers are slow without. In a development build no more than that: the largest source
/// takes six tenths of the time so, others eight, and what computes pictures is ggml's and our
/// kernels'.
pub(crate) fn level(of_cargo: &str) -> u32 {
    if matches!(of_cargo, "0" | "1") { 1 } else { 2 }
}
