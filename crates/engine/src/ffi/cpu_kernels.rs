//! Registers the kernels of `atelier-kernels` with the shim, which hands them operations of the CPU backend.

use std::sync::atomic::{AtomicPtr, Ordering};

use atelier_core::cpu_math::CpuMath;
use atelier_core::processor::CpuLevel;
use atelier_kernels::attention::{Attention, attend};
use atelier_kernels::convolution::{Convolution, Shape, convolve};
use atelier_kernels::planes::{GroupNorm, Operation, apply_constant, combine, group_norm, spread, transpose};
use atelier_kernels::product::{Product, multiply};
use atelier_kernels::{Epilogue, Kernels, Level, Rows, Thread, Values, gain_of_bf16};
use ggml_sys::{
    ATELIER_VALUES_BF16, ATELIER_VALUES_F16, ATELIER_VALUES_F32, atelier_attention, atelier_convolution, atelier_cpu_kernels,
    atelier_epilogue, atelier_group_norm, atelier_product, atelier_rows,
};

/// The functions that the ones below call. Written before they are registered.
static CHOSEN: AtomicPtr<Kernels> = AtomicPtr::new(std::ptr::null_mut());

static TABLE: atelier_cpu_kernels = atelier_cpu_kernels {
    multiply: multiply_product,
    convolve: convolve_image,
    attend: attend_heads,
    normalise: normalise_groups,
    apply_constant: apply_row_constant,
    combine: combine_values,
    spread: spread_values,
    transpose: transpose_values,
};

/// Times that bfloat16 must be quicker than f32 to be the default: its pictures differ more from the engine's own.
const LEAST_BF16_GAIN: f64 = 1.1;

/// Chooses how the processor computes from now on, with instructions up to `allowed`: as wanted, or the coarsest below that
/// that the processor has instructions for, which is returned; `None` is the fastest. Not while a job runs.
pub(crate) fn set_cpu_math(wanted: Option<CpuMath>, allowed: CpuLevel) -> CpuMath {
    let coarsest = coarsest(allowed);
    let bf16_is_quicker = coarsest == CpuMath::Bf16 && gain_of_bf16() >= LEAST_BF16_GAIN;
    let used = match wanted {
        Some(wanted) => wanted.min(coarsest),
        None if bf16_is_quicker => CpuMath::Bf16,
        None => coarsest.min(CpuMath::F32),
    };
    let level = match used {
        CpuMath::Exact => None,
        CpuMath::F32 => Some(fastest_f32(allowed)),
        CpuMath::Bf16 => Level::fastest_bf16(),
    };
    let kernels = level.and_then(Level::kernels);
    let pointer = kernels.map_or(std::ptr::null_mut(), |kernels| std::ptr::from_ref(kernels).cast_mut());
    CHOSEN.store(pointer, Ordering::Release);
    let table = if kernels.is_some() { &raw const TABLE } else { std::ptr::null() };
    // SAFETY: null or a table that lives as long as the process.
    unsafe { ggml_sys::atelier_set_cpu_kernels(table) };
    if kernels.is_some() { used } else { CpuMath::Exact }
}

/// The coarsest arithmetic that this processor has instructions for. Plain code is slower than ggml's own, and NEON is not measured yet.
fn coarsest(allowed: CpuLevel) -> CpuMath {
    match allowed {
        CpuLevel::Avx512Bf16 if Level::fastest_bf16().is_some() => CpuMath::Bf16,
        CpuLevel::Avx2 | CpuLevel::Avx512 | CpuLevel::Avx512Bf16 => CpuMath::F32,
        CpuLevel::Baseline | CpuLevel::DotProduct | CpuLevel::Int8Matrix => CpuMath::Exact,
    }
}

fn fastest_f32(allowed: CpuLevel) -> Level {
    let level = if allowed >= CpuLevel::Avx512 { Level::Avx512 } else { Level::Avx2 };
    level.min(Level::fastest_f32())
}

/// True while the processor computes with kernels of ours.
pub(super) fn has_cpu_kernels() -> bool {
    !CHOSEN.load(Ordering::Acquire).is_null()
}

/// The chosen functions. A table with none is not registered.
fn chosen() -> Option<&'static Kernels> {
    // SAFETY: null or a reference to a constant.
    unsafe { CHOSEN.load(Ordering::Acquire).as_ref() }
}

fn rows(raw: &atelier_rows) -> Rows {
    let values = match (raw.values, raw.unpack) {
        (ATELIER_VALUES_F16, _) => Values::F16,
        (ATELIER_VALUES_BF16, _) => Values::Bf16,
        (ATELIER_VALUES_F32, _) | (_, None) => Values::F32,
        (_, Some(unpack)) => Values::Blocks { values: raw.block_values, bytes: raw.block_bytes, unpack },
    };
    Rows { data: raw.data.cast(), stride: raw.stride, values }
}

fn epilogue(raw: atelier_epilogue) -> Epilogue {
    let atelier_epilogue { constants, addend, negative_slope } = raw;
    Epilogue { constants, addend, negative_slope }
}

// SAFETY of all functions below: the shim passes a struct whose pointers and sizes are those of ggml's tensors, and each index once.

unsafe extern "C" fn multiply_product(product: *const atelier_product, index: usize, count: usize) {
    // SAFETY: see above.
    let (Some(kernels), Some(raw)) = (chosen(), unsafe { product.as_ref() }) else { return };
    let &atelier_product { ref weights, ref activations, out, out_stride, tokens, features, depth, epilogue: last } = raw;
    let (weights, activations) = (rows(weights), rows(activations));
    let product = Product { weights, activations, out, out_stride, tokens, features, depth, epilogue: epilogue(last) };
    // SAFETY: see above.
    unsafe { multiply(kernels, &product, Thread { index, count }) };
}

unsafe extern "C" fn convolve_image(convolution: *const atelier_convolution, index: usize, count: usize) {
    // SAFETY: see above.
    let (Some(kernels), Some(raw)) = (chosen(), unsafe { convolution.as_ref() }) else { return };
    let shape = Shape {
        width: raw.width,
        height: raw.height,
        channels: raw.channels,
        out_channels: raw.out_channels,
        kernel: raw.kernel.into(),
        stride: raw.stride.into(),
        padding: raw.padding.into(),
        dilation: raw.dilation.into(),
        out: raw.out_size.into(),
        groups: 1,
    };
    let convolution =
        Convolution { shape: &shape, weights: rows(&raw.weights), image: raw.image, out: raw.out, epilogue: epilogue(raw.epilogue) };
    // SAFETY: see above.
    unsafe { convolve(kernels, &convolution, Thread { index, count }) };
}

unsafe extern "C" fn attend_heads(attention: *const atelier_attention, index: usize, count: usize) {
    // SAFETY: see above.
    let (Some(kernels), Some(raw)) = (chosen(), unsafe { attention.as_ref() }) else { return };
    let attention = Attention {
        queries: rows(&raw.queries),
        query_head_stride: raw.query_head_stride,
        keys: rows(&raw.keys),
        key_head_stride: raw.key_head_stride,
        values: rows(&raw.values),
        value_head_stride: raw.value_head_stride,
        mask: raw.mask.cast(),
        mask_stride: raw.mask_stride,
        mask_head_stride: raw.mask_head_stride,
        out: raw.out,
        out_stride: raw.out_stride,
        out_head_stride: raw.out_head_stride,
        scale: raw.scale,
        heads: raw.heads,
        key_heads: raw.key_heads,
        query_count: raw.query_count,
        key_count: raw.key_count,
        key_size: raw.key_size,
        value_size: raw.value_size,
    };
    // SAFETY: see above.
    unsafe { attend(kernels, &attention, Thread { index, count }) };
}

unsafe extern "C" fn normalise_groups(norm: *const atelier_group_norm, index: usize, count: usize) {
    // SAFETY: see above.
    let (Some(kernels), Some(raw)) = (chosen(), unsafe { norm.as_ref() }) else { return };
    let &atelier_group_norm { from, to, group_size, total, epsilon, channel_size, row_size, factors, terms, activate } = raw;
    let norm = GroupNorm { from, to, group_size, total, epsilon, channel_size, row_size, factors, terms, activate };
    // SAFETY: see above.
    unsafe { group_norm(kernels, &norm, Thread { index, count }) };
}

unsafe extern "C" fn apply_row_constant(multiplies: bool, from: *const f32, count: usize, constant: f32, to: *mut f32) {
    let Some(kernels) = chosen() else { return };
    // SAFETY: see above.
    unsafe { apply_constant(kernels, operation(multiplies), from, count, constant, to) };
}

unsafe extern "C" fn combine_values(multiplies: bool, from: *const f32, other: *const f32, count: usize, to: *mut f32) {
    let Some(kernels) = chosen() else { return };
    // SAFETY: see above.
    unsafe { combine(kernels, operation(multiplies), from, other, count, to) };
}

unsafe extern "C" fn spread_values(from: *const f32, stride: usize, count: usize, times: usize, to: *mut f32) {
    // SAFETY: see above.
    unsafe { spread(from, stride, count, times, to) };
}

unsafe extern "C" fn transpose_values(from: *const f32, from_stride: usize, rows: usize, columns: usize, to: *mut f32, to_stride: usize) {
    let Some(kernels) = chosen() else { return };
    // SAFETY: see above.
    unsafe { transpose(kernels, from, from_stride, rows, columns, to, to_stride) };
}

const fn operation(multiplies: bool) -> Operation {
    if multiplies { Operation::Multiply } else { Operation::Add }
}
