//! Operations, timed on a device as the engine has them computed there.

use std::ffi::{CString, c_int};
use std::ptr::{NonNull, null_mut};

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
    /// Activation that is computed in vectors; values.
    Silu(u32),
    /// Activation that is computed value by value; values.
    Gelu(u32),
    /// Copy in another order; values.
    Permute(u32),
    /// Copy of columns as rows; values.
    Transpose(u32),
    /// Copy as binary16; values.
    Convert(u32),
    /// First use of new memory; bytes. Of what the processor computes only.
    Allocate(u32),
    /// Copy to the device; bytes.
    Upload(u32),
    /// Copy to a buffer of the device that is allocated for it; bytes.
    UploadToNew(u32),
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

impl Operation {
    /// Most bytes of weights, keys and values that each node has for itself.
    pub(crate) fn weight_bytes(&self) -> u64 {
        let product = |sizes: &[u32]| sizes.iter().copied().map(u64::from).product::<u64>();
        let values = match self.kind {
            OperationKind::Product([features, _, depth]) => product(&[features, depth]),
            OperationKind::Convolution([_, from, to]) | OperationKind::UnfoldedConvolution([_, from, to]) => product(&[9, from, to]),
            OperationKind::Attention(sizes) => 2 * product(&sizes),
            _ => 0,
        };
        values * size_of::<f32>() as u64
    }
}

/// A device that is measured.
pub(crate) struct DeviceMeasurement(NonNull<ggml_sys::atelier_measurement>);

impl DeviceMeasurement {
    /// Begins to measure a device, with so many threads of the processor.
    pub(crate) fn new(device: &str, threads: u32, callbacks: &dyn JobCallbacks) -> Result<Self, CallError> {
        let device = CString::new(device).map_err(|_| CallError::new("a device's name holds a NUL character"))?;
        let threads = c_int::try_from(threads).unwrap_or(1);
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let mut measurement = null_mut();
        // SAFETY: the name lives during the call; `raw_callbacks` borrows `callbacks`;
        // `measurement` is a local to be written.
        let status = unsafe { ggml_sys::atelier_measurement_new(device.as_ptr(), threads, raw_callbacks.as_ptr(), &raw mut measurement) };
        CallError::check(status)?;
        NonNull::new(measurement).map(Self).ok_or_else(|| CallError::new("the engine measures nothing"))
    }

    /// Computes an operation once, then up to `repeats` times, until `limit_secs` are over. Returns
    /// the seconds of each of these, on a machine that does nothing else as far as that can be
    /// told; empty where the device does not compute it.
    pub(crate) fn run(
        &mut self,
        operation: Operation,
        repeats: usize,
        limit_secs: f64,
        callbacks: &dyn JobCallbacks,
    ) -> Result<Vec<f64>, CallError> {
        let weights = CString::new(operation.weights.ggml_name().unwrap_or_default()).unwrap_or_default();
        let (kind, size) = raw(operation.kind);
        let raw = ggml_sys::atelier_operation {
            kind,
            weights: weights.as_ptr(),
            size: size.map(i64::from),
            nodes: c_int::try_from(operation.nodes).unwrap_or(c_int::MAX),
        };
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let mut secs = vec![0.0; repeats];
        let mut count = 0;
        // SAFETY: a live measurement, exclusive by `&mut self`; the operation and its name live
        // during the call; `secs` has the length that is passed; `raw_callbacks` borrows
        // `callbacks`.
        let status = unsafe {
            ggml_sys::atelier_measurement_run(
                self.0.as_ptr(),
                &raw const raw,
                limit_secs,
                raw_callbacks.as_ptr(),
                secs.as_mut_ptr(),
                secs.len(),
                &raw mut count,
            )
        };
        CallError::check(status)?;
        secs.truncate(count);
        Ok(secs)
    }
}

impl Drop for DeviceMeasurement {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_measurement_new` and is freed once.
        unsafe { ggml_sys::atelier_measurement_free(self.0.as_ptr()) };
    }
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
        OperationKind::Silu(values) => (ggml_sys::ATELIER_OPERATION_SILU, [values, 1, 1]),
        OperationKind::Gelu(values) => (ggml_sys::ATELIER_OPERATION_GELU, [values, 1, 1]),
        OperationKind::Permute(values) => (ggml_sys::ATELIER_OPERATION_PERMUTE, [values, 1, 1]),
        OperationKind::Transpose(values) => (ggml_sys::ATELIER_OPERATION_TRANSPOSE, [values, 1, 1]),
        OperationKind::Convert(values) => (ggml_sys::ATELIER_OPERATION_CONVERT, [values, 1, 1]),
        OperationKind::Allocate(bytes) => (ggml_sys::ATELIER_OPERATION_ALLOCATE, [bytes, 1, 1]),
        OperationKind::Upload(bytes) => (ggml_sys::ATELIER_OPERATION_UPLOAD, [bytes, 1, 1]),
        OperationKind::UploadToNew(bytes) => (ggml_sys::ATELIER_OPERATION_UPLOAD_NEW, [bytes, 1, 1]),
        OperationKind::Download(bytes) => (ggml_sys::ATELIER_OPERATION_DOWNLOAD, [bytes, 1, 1]),
    }
}
