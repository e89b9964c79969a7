//! Operations, timed on a device as the engine has them computed there.

use std::ffi::{CString, c_int};

use super::callbacks::{JobCallbacks, RawCallbacks};
use super::error::CallError;
use atelier_core::time::WeightType;

/// Kind of an operation, with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Features, tokens, depth.
    Product([u32; 3]),
    /// Side of the image, channels, channels of the result: 3 x 3, without unfolding the image.
    Convolution([u32; 3]),
    /// The same as a product with the unfolded image.
    UnfoldedConvolution([u32; 3]),
    /// Size of a head, tokens, heads.
    Attention([u32; 3]),
    /// Sum; values.
    Add(u32),
    /// Norm of rows; values.
    Norm(u32),
    /// Softmax of rows; values.
    SoftMax(u32),
    /// Activation; values.
    Gelu(u32),
    /// Copy in another order; values.
    Permute(u32),
    /// Copy to the device; bytes.
    Upload(u32),
    /// Copy from the device; bytes.
    Download(u32),
}

/// An operation of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) kind: OperationKind,
    /// Type of weights, of keys and values; of no effect where there are none.
    pub(crate) weights: WeightType,
    /// Number of times that the graph holds it.
    pub(crate) nodes: u32,
}

/// Computes an operation on a device once, then up to `repeats` times, until `limit_secs` are over. Returns the seconds of
/// each of these; empty where the device does not compute it.
pub(crate) fn measure_operation(
    device: &str,
    threads: u32,
    operation: Operation,
    repeats: usize,
    limit_secs: f64,
    callbacks: &dyn JobCallbacks,
) -> Result<Vec<f64>, CallError> {
    let device = CString::new(device).map_err(|_| CallError::new("a device's name holds a NUL character"))?;
    let weights = CString::new(operation.weights.ggml_name().unwrap_or_default()).unwrap_or_default();
    let (kind, size) = raw(operation.kind);
    let raw = ggml_sys::atelier_operation {
        kind,
        weights: weights.as_ptr(),
        size: size.map(i64::from),
        nodes: c_int::try_from(operation.nodes).unwrap_or(c_int::MAX),
    };
    let raw_callbacks = RawCallbacks::new(&callbacks);
    let mut times = vec![ggml_sys::atelier_operation_time::default(); repeats];
    let mut count = 0;
    // SAFETY: strings and the operation live during the call; `times` has the length that is passed; `raw_callbacks` borrows `callbacks`.
    let status = unsafe {
        ggml_sys::atelier_measure_operation(
            device.as_ptr(),
            c_int::try_from(threads).unwrap_or(1),
            &raw const raw,
            limit_secs,
            raw_callbacks.as_ptr(),
            times.as_mut_ptr(),
            times.len(),
            &raw mut count,
        )
    };
    CallError::check(status)?;
    Ok(times.iter().take(count).map(|it| it.seconds).collect())
}

/// Number of a kind in `atelier_operation_kind` (shim.h), with its sizes.
const fn raw(kind: OperationKind) -> (c_int, [u32; 3]) {
    match kind {
        OperationKind::Product(size) => (ggml_sys::ATELIER_OPERATION_PRODUCT, size),
        OperationKind::Convolution(size) => (ggml_sys::ATELIER_OPERATION_CONVOLUTION, size),
        OperationKind::UnfoldedConvolution(size) => (ggml_sys::ATELIER_OPERATION_UNFOLDED, size),
        OperationKind::Attention(size) => (ggml_sys::ATELIER_OPERATION_ATTENTION, size),
        OperationKind::Add(values) => (ggml_sys::ATELIER_OPERATION_ADD, [values, 1, 1]),
        OperationKind::Norm(values) => (ggml_sys::ATELIER_OPERATION_NORM, [values, 1, 1]),
        OperationKind::SoftMax(values) => (ggml_sys::ATELIER_OPERATION_SOFT_MAX, [values, 1, 1]),
        OperationKind::Gelu(values) => (ggml_sys::ATELIER_OPERATION_GELU, [values, 1, 1]),
        OperationKind::Permute(values) => (ggml_sys::ATELIER_OPERATION_PERMUTE, [values, 1, 1]),
        OperationKind::Upload(bytes) => (ggml_sys::ATELIER_OPERATION_UPLOAD, [bytes, 1, 1]),
        OperationKind::Download(bytes) => (ggml_sys::ATELIER_OPERATION_DOWNLOAD, [bytes, 1, 1]),
    }
}
