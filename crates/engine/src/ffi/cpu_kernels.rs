//! Registers the kernels of `atelier-kernels` with the shim, which hands them operations of the CPU
//! backend.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::arithmetic::{int8_formats, int8_level_of, level_of, supported};
use super::packed_weights::{forget_packed, keep_packed, keeps_packed, packed_total, set_keeps_packed};
use atelier_core::cpu_math::CpuMath;
use atelier_core::processor::Processor;
use atelier_core::time::WeightType;
use atelier_kernels::attention::{Attention, attend};
use atelier_kernels::convolution::{Convolution, Shape, convolve};
use atelier_kernels::int8::{self, Format, Int8Level, Int8Product};
use atelier_kernels::planes::{
    GroupNorm, LayerNorm, Modulation, Operation, apply_constant, combine, gelu, group_norm, layer_norm, modulate, spread, transpose,
};
use atelier_kernels::product::{Product, multiply};
use atelier_kernels::{Epilogue, Kernels, Level, NoMemory, Rows, Thread, Values};
use ggml_sys::{
    ATELIER_ABORTED, ATELIER_FORMAT_Q4_0, ATELIER_FORMAT_Q4_K, ATELIER_FORMAT_Q5_0, ATELIER_FORMAT_Q5_K, ATELIER_FORMAT_Q6_K,
    ATELIER_FORMAT_Q8_0, ATELIER_NO_MEMORY, ATELIER_OK, ATELIER_VALUES_BF16, ATELIER_VALUES_F16, ATELIER_VALUES_F32, atelier_attention,
    atelier_convolution, atelier_cpu_kernels, atelier_epilogue, atelier_group_norm, atelier_layer_norm, atelier_modulation,
    atelier_product, atelier_rows, atelier_status,
};

/// The functions that the ones below call. Written before they are registered.
static CHOSEN: AtomicPtr<Kernels> = AtomicPtr::new(std::ptr::null_mut());
/// The place in [`Int8Level::ALL`] of the instructions for products of eight bits, which is beyond
/// its end where there are none.
static INT8_LEVEL: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The types of weights that are multiplied in eight bits: a bit for each place in [`Format::ALL`].
static INT8_FORMATS: AtomicUsize = AtomicUsize::new(0);

static TABLE: atelier_cpu_kernels = atelier_cpu_kernels {
    multiply: multiply_product,
    convolve: convolve_image,
    attend: attend_heads,
    normalise: normalise_groups,
    normalise_rows,
    modulate: modulate_rows,
    gelu: gelu_of_values,
    apply_constant: apply_row_constant,
    combine: combine_values,
    spread: spread_values,
    transpose: transpose_values,
    packed_product_bytes,
    packed_convolution_bytes,
    keep_packed,
    forget_packed,
    packed_total,
};

/// Chooses how the processor computes from now on, as [`supported`] says, and returns it. Not while
/// a job runs.
pub(crate) fn set_cpu_math(wanted: Option<CpuMath>, processor: Processor) -> CpuMath {
    let used = supported(wanted, processor);
    let level = level_of(used, processor);
    let kernels = level.and_then(Level::kernels);
    let pointer = kernels.map_or(std::ptr::null_mut(), |kernels| std::ptr::from_ref(kernels).cast_mut());
    CHOSEN.store(pointer, Ordering::Release);
    set_int8((used == CpuMath::Int8).then(|| int8_level_of(processor)), &int8_formats(wanted, processor));
    set_keeps_packed(level.is_some_and(Level::keeps_packed));
    let table = if kernels.is_some() { &raw const TABLE } else { std::ptr::null() };
    // SAFETY: null or a table that lives as long as the process.
    unsafe { ggml_sys::atelier_set_cpu_kernels(table) };
    if kernels.is_some() { used } else { CpuMath::Exact }
}

/// Chooses instructions for products of eight bits, and for weights of which types they are used.
fn set_int8(level: Option<Int8Level>, formats: &[Format]) {
    let index = level.and_then(|level| Int8Level::ALL.iter().position(|it| *it == level));
    INT8_LEVEL.store(index.unwrap_or(usize::MAX), Ordering::Release);
    INT8_FORMATS.store(formats.iter().fold(0, |bits, format| bits | bit_of(*format)), Ordering::Release);
}

const fn bit_of(format: Format) -> usize {
    1 << format as usize
}

fn is_in_int8(format: Format) -> bool {
    INT8_FORMATS.load(Ordering::Acquire) & bit_of(format) != 0
}

/// True where the arithmetic of eight bits is used for weights of this type.
pub(crate) fn is_type_in_int8(weights: WeightType) -> bool {
    is_in_int8(match weights {
        WeightType::Q8_0 => Format::Q8_0,
        WeightType::Q5_0 => Format::Q5_0,
        WeightType::Q4_0 => Format::Q4_0,
        WeightType::Q6K => Format::Q6K,
        WeightType::Q5K => Format::Q5K,
        WeightType::Q4K => Format::Q4K,
        _ => return false,
    })
}

/// True where it is used for weights of every type that can be.
pub(crate) fn is_every_type_in_int8() -> bool {
    Format::ALL.into_iter().all(is_in_int8)
}

/// The instructions for products of eight bits; `None` where there are none.
fn int8_level() -> Option<Int8Level> {
    Int8Level::ALL.get(INT8_LEVEL.load(Ordering::Acquire)).copied()
}

/// True while the processor computes with kernels of ours.
pub(super) fn has_cpu_kernels() -> bool {
    !CHOSEN.load(Ordering::Acquire).is_null()
}

/// Names of the instruction sets of the kernels of ours with which the processor computes, that of
/// eight bits last; none where it computes with the engine's own.
pub(crate) fn kernels_names() -> Vec<&'static str> {
    let Some(kernels) = chosen() else { return Vec::new() };
    let is_chosen = |level: &Level| level.kernels().is_some_and(|it| std::ptr::eq(it, kernels));
    let level = Level::ALL.into_iter().find(is_chosen).map(Level::name);
    level.into_iter().chain(int8_level().map(Int8Level::name)).collect()
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

/// The product in eight bits; `None` where weights are in another form, or in one that is not
/// multiplied so, or activations are not aligned.
fn int8_product(raw: &atelier_product) -> Option<Int8Product> {
    let &atelier_product { ref weights, ref activations, out, out_stride, tokens, features, depth, epilogue: last } = raw;
    let format = match weights.format {
        ATELIER_FORMAT_Q8_0 => Format::Q8_0,
        ATELIER_FORMAT_Q5_0 => Format::Q5_0,
        ATELIER_FORMAT_Q4_0 => Format::Q4_0,
        ATELIER_FORMAT_Q6_K => Format::Q6K,
        ATELIER_FORMAT_Q5_K => Format::Q5K,
        ATELIER_FORMAT_Q4_K => Format::Q4K,
        _ => return None,
    };
    let values = activations.data.cast::<f32>();
    let is_f32 = activations.values == ATELIER_VALUES_F32 && values.is_aligned() && activations.stride.is_multiple_of(size_of::<f32>());
    (is_in_int8(format) && is_f32 && depth.is_multiple_of(format.values())).then(|| Int8Product {
        weights: weights.data.cast(),
        weights_stride: weights.stride,
        format,
        activations: values,
        activations_stride: activations.stride / size_of::<f32>(),
        out,
        out_stride,
        tokens,
        features,
        depth,
        epilogue: epilogue(last),
    })
}

fn product_of(raw: &atelier_product) -> Product {
    let &atelier_product { ref weights, ref activations, out, out_stride, tokens, features, depth, epilogue: last } = raw;
    let (weights, activations) = (rows(weights), rows(activations));
    Product { weights, activations, out, out_stride, tokens, features, depth, epilogue: epilogue(last) }
}

fn shape_of(raw: &atelier_convolution) -> Shape {
    Shape {
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
    }
}

fn convolution_of<'a>(raw: &atelier_convolution, shape: &'a Shape) -> Convolution<'a> {
    let &atelier_convolution { ref weights, image, out, epilogue: last, .. } = raw;
    Convolution { shape, weights: rows(weights), image, out, epilogue: epilogue(last) }
}

fn epilogue(raw: atelier_epilogue) -> Epilogue {
    let atelier_epilogue { constants, addend, negative_slope, has_gelu } = raw;
    Epilogue { constants, addend, negative_slope, has_gelu }
}

/// Computes a part with the chosen functions. Where there are none, or one of them panics, the
/// graph ends with an error: nothing may unwind into C.
fn computed(compute: impl FnOnce(&'static Kernels)) -> atelier_status {
    let Some(kernels) = chosen() else { return ATELIER_ABORTED };
    match catch_unwind(AssertUnwindSafe(|| compute(kernels))) {
        Ok(()) => ATELIER_OK,
        Err(reason) if reason.is::<NoMemory>() => ATELIER_NO_MEMORY,
        Err(_) => ATELIER_ABORTED,
    }
}

// SAFETY of all functions below: the shim passes a struct whose pointers and sizes are those of
// ggml's tensors, and each index once.

unsafe extern "C" fn multiply_product(product: *const atelier_product, index: usize, count: usize) -> atelier_status {
    // SAFETY: see above.
    let Some(raw) = (unsafe { product.as_ref() }) else { return ATELIER_ABORTED };
    if let (Some(level), Some(product)) = (int8_level(), int8_product(raw)) {
        // SAFETY: see above; rows of activations are aligned.
        return computed(|kernels| unsafe { int8::multiply(level, kernels, &product, Thread { index, count }) });
    }
    let product = product_of(raw);
    // SAFETY: see above.
    computed(|kernels| unsafe { multiply(kernels, &product, Thread { index, count }) })
}

unsafe extern "C" fn convolve_image(convolution: *const atelier_convolution, index: usize, count: usize) -> atelier_status {
    // SAFETY: see above.
    let Some(raw) = (unsafe { convolution.as_ref() }) else { return ATELIER_ABORTED };
    let shape = shape_of(raw);
    let convolution = convolution_of(raw, &shape);
    // SAFETY: see above.
    computed(|kernels| unsafe { convolve(kernels, &convolution, Thread { index, count }) })
}

unsafe extern "C" fn attend_heads(attention: *const atelier_attention, index: usize, count: usize) -> atelier_status {
    // SAFETY: see above.
    let Some(raw) = (unsafe { attention.as_ref() }) else { return ATELIER_ABORTED };
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
    computed(|kernels| unsafe { attend(kernels, &attention, Thread { index, count }) })
}

unsafe extern "C" fn normalise_groups(norm: *const atelier_group_norm, index: usize, count: usize) -> atelier_status {
    // SAFETY: see above.
    let Some(raw) = (unsafe { norm.as_ref() }) else { return ATELIER_ABORTED };
    let &atelier_group_norm { from, to, group_size, total, epsilon, channel_size, row_size, factors, terms, activate } = raw;
    let norm = GroupNorm { from, to, group_size, total, epsilon, channel_size, row_size, factors, terms, activate };
    // SAFETY: see above.
    computed(|kernels| unsafe { group_norm(kernels, &norm, Thread { index, count }) })
}

unsafe extern "C" fn normalise_rows(norm: *const atelier_layer_norm, index: usize, count: usize) -> atelier_status {
    // SAFETY: see above.
    let Some(raw) = (unsafe { norm.as_ref() }) else { return ATELIER_ABORTED };
    let &atelier_layer_norm { from, to, rows, length, epsilon, factors, terms } = raw;
    let norm = LayerNorm { from, to, rows, length, epsilon, factors, terms };
    // SAFETY: see above.
    computed(|kernels| unsafe { layer_norm(kernels, &norm, Thread { index, count }) })
}

unsafe extern "C" fn modulate_rows(modulation: *const atelier_modulation, index: usize, count: usize) -> atelier_status {
    // SAFETY: see above.
    let Some(raw) = (unsafe { modulation.as_ref() }) else { return ATELIER_ABORTED };
    let &atelier_modulation { from, factors, addend, terms, to, rows, length } = raw;
    let modulation = Modulation { from, factors, addend, terms, to, rows, length };
    // SAFETY: see above.
    computed(|kernels| unsafe { modulate(kernels, &modulation, Thread { index, count }) })
}

unsafe extern "C" fn gelu_of_values(from: *const f32, count: usize, to: *mut f32) -> atelier_status {
    // SAFETY: see above.
    computed(|kernels| unsafe { gelu(kernels, from, count, to) })
}

unsafe extern "C" fn apply_row_constant(multiplies: bool, from: *const f32, count: usize, constant: f32, to: *mut f32) -> atelier_status {
    // SAFETY: see above.
    computed(|kernels| unsafe { apply_constant(kernels, operation(multiplies), from, count, constant, to) })
}

unsafe extern "C" fn combine_values(multiplies: bool, from: *const f32, other: *const f32, count: usize, to: *mut f32) -> atelier_status {
    // SAFETY: see above.
    computed(|kernels| unsafe { combine(kernels, operation(multiplies), from, other, count, to) })
}

unsafe extern "C" fn spread_values(from: *const f32, stride: usize, count: usize, times: usize, to: *mut f32) -> atelier_status {
    // SAFETY: see above.
    computed(|_| unsafe { spread(from, stride, count, times, to) })
}

unsafe extern "C" fn transpose_values(
    from: *const f32,
    from_stride: usize,
    rows: usize,
    columns: usize,
    to: *mut f32,
    to_stride: usize,
) -> atelier_status {
    // SAFETY: see above.
    computed(|kernels| unsafe { transpose(kernels, from, from_stride, rows, columns, to, to_stride) })
}

/// The functions, where packed weights are kept.
fn keeping() -> Option<&'static Kernels> {
    chosen().filter(|_| keeps_packed())
}

unsafe extern "C" fn packed_product_bytes(product: *const atelier_product) -> usize {
    // SAFETY: see above; no value is read.
    let (Some(kernels), Some(raw)) = (keeping(), unsafe { product.as_ref() }) else { return 0 };
    let is_in_int8 = int8_level().is_some() && int8_product(raw).is_some();
    if is_in_int8 { 0 } else { product_of(raw).packed_bytes(kernels) }
}

unsafe extern "C" fn packed_convolution_bytes(convolution: *const atelier_convolution) -> usize {
    // SAFETY: see above; no value is read.
    let (Some(kernels), Some(raw)) = (keeping(), unsafe { convolution.as_ref() }) else { return 0 };
    convolution_of(raw, &shape_of(raw)).packed_bytes(kernels)
}

const fn operation(multiplies: bool) -> Operation {
    if multiplies { Operation::Multiply } else { Operation::Add }
}

#[cfg(test)]
mod tests {
    use std::panic::resume_unwind;

    use atelier_core::processor::CpuLevel;
    use testkit::tiny;

    use super::*;
    use crate::ffi::Status;
    use crate::ffi::tests::{Recorder, context_params, lock_engine, open, picture, write_model};

    fn of_a_panic() -> atelier_status {
        computed(|_| resume_unwind(Box::new("an index is beyond the end")))
    }

    fn of_no_memory() -> atelier_status {
        computed(|_| resume_unwind(Box::new(NoMemory)))
    }

    unsafe extern "C" fn panicking(_: *const atelier_product, _: usize, _: usize) -> atelier_status {
        of_a_panic()
    }

    unsafe extern "C" fn without_memory(_: *const atelier_product, _: usize, _: usize) -> atelier_status {
        of_no_memory()
    }

    #[test]
    fn a_kernel_that_panics_ends_its_graph_and_not_the_program() {
        let _lock = lock_engine();
        let dir = tempfile::tempdir().unwrap();
        let params = context_params(&write_model(dir.path()));
        set_cpu_math(Some(CpuMath::F32), allowing(CpuLevel::Avx2));
        if !has_cpu_kernels() {
            return;
        }
        assert_eq!([computed(|_| {}), of_a_panic(), of_no_memory()], [ATELIER_OK, ATELIER_ABORTED, ATELIER_NO_MEMORY]);
        let made = |multiply: unsafe extern "C" fn(*const atelier_product, usize, usize) -> atelier_status| {
            let table = atelier_cpu_kernels { multiply, ..TABLE };
            // SAFETY: the table outlives its use, which ends below.
            unsafe { ggml_sys::atelier_set_cpu_kernels(&raw const table) };
            let made = picture(&mut open(&params).unwrap(), &Recorder::default());
            // SAFETY: no table.
            unsafe { ggml_sys::atelier_set_cpu_kernels(std::ptr::null()) };
            made
        };
        assert_eq!(made(panicking).unwrap_err().status, Status::Aborted);
        assert_eq!(made(without_memory).unwrap_err().status, Status::NoMemory);
        assert!(made(multiply_product).is_ok());
        set_cpu_math(Some(CpuMath::Exact), allowing(CpuLevel::Baseline));
    }

    #[test]
    fn a_picture_of_quantised_weights_in_eight_bits_is_the_same_at_every_level() {
        let _lock = lock_engine();
        let dir = tempfile::tempdir().unwrap();
        let made_of = |files: &tiny::TinyFiles, level: Option<Int8Level>, formats: &[Format]| {
            set_int8(level, formats);
            let mut context = open(&context_params(files)).unwrap();
            (picture(&mut context, &Recorder::default()).unwrap(), context.has_int8_weights())
        };
        let made = |files: &tiny::TinyFiles, level: Option<Int8Level>| made_of(files, level, &Format::ALL);
        let plain = write_model(dir.path());
        let quantised = tiny::zimage(dir.path(), &tiny::Options { format: tiny::Format::GgufQ8, ..tiny::Options::default() }).unwrap();
        if set_cpu_math(Some(CpuMath::Int8), allowing(CpuLevel::Avx2)) != CpuMath::Int8 {
            return;
        }
        let (usual, has_int8_weights) = made(&plain, None);
        assert!(!has_int8_weights && made(&plain, Some(Int8Level::Scalar)).0 == usual, "weights that are not quantised");
        let (in_f32, has_int8_weights) = made(&quantised, None);
        let (scalar, _) = made(&quantised, Some(Int8Level::Scalar));
        assert!(has_int8_weights && scalar != in_f32);
        let others = Format::ALL.map(|format| if format == Format::Q8_0 { Format::Q4K } else { format });
        assert!(made_of(&quantised, Some(Int8Level::Scalar), &others).0 == in_f32, "weights of a type that is left out");
        for level in Int8Level::ALL.into_iter().filter(|level| level.is_available()) {
            assert!(made(&quantised, Some(level)).0 == scalar, "{level:?}");
        }
        set_cpu_math(Some(CpuMath::Exact), allowing(CpuLevel::Baseline));
        assert_eq!(int8_level(), None);
    }

    /// This processor, of which so much may be used.
    fn allowing(allowed: CpuLevel) -> Processor {
        Processor { compiled: CpuLevel::Baseline, detected: CpuLevel::detected(), allowed }
    }
}
