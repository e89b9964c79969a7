//! Product of matrices that are stored as rows: weights times activations.

use std::ops::Range;

use crate::blocks::{DEPTH_MAX, PANEL_MAX};
use crate::epilogue::{Axis, Epilogue};
use crate::gemm::{self, Left, Right, Target, Thread};
use crate::packed_weights::Form;
use crate::rows::{Rows, Values};
use crate::table::Kernels;

/// `out[i][j] = sum over k of activations[i][k] * weights[j][k]`.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// `features` rows of `depth` values.
    pub weights: Rows,
    /// `tokens` rows of `depth` values.
    pub activations: Rows,
    /// `tokens` rows of `features` values.
    pub out: *mut f32,
    /// Values from one row of `out` to the next.
    pub out_stride: usize,
    /// Rows of the result.
    pub tokens: usize,
    /// Columns of the result.
    pub features: usize,
    /// Length of the sums.
    pub depth: usize,
    /// Applied to the sums; its constants belong to the features.
    pub epilogue: Epilogue,
}

/// Computes one thread's part of a product.
///
/// # Safety
/// The matrices are valid for the sizes named, `out` overlaps no factor, and no two threads have
/// the same index.
pub unsafe fn multiply(kernels: &Kernels, product: &Product, thread: Thread) {
    let &Product { weights, activations, out, out_stride, tokens, features, depth, epilogue } = product;
    let (rows, columns) = gemm::part_of(kernels, tokens, features, thread);
    let target = Target { out, stride: out_stride, rows, columns, accumulate: false, epilogue, constants_of: Axis::Columns };
    // SAFETY: as the caller promises.
    unsafe { gemm::multiply(kernels, &activations, &Transposed(weights), depth, &target) };
}

impl Product {
    /// Bytes of its weights as they are packed, by all threads together.
    #[must_use]
    pub fn packed_bytes(&self, kernels: &Kernels) -> usize {
        let depth_blocks = self.depth.div_ceil(Transposed(self.weights).depth_block(kernels));
        4 * gemm::whole_right_words(kernels, self.features, depth_blocks)
    }
}

impl Left for Rows {
    fn stored(&self) -> (&Rows, Form) {
        (self, Form::Rows)
    }

    unsafe fn pack(&self, kernels: &Kernels, rows: Range<usize>, depth: Range<usize>, to: *mut u32, stride: usize) {
        // SAFETY: as the caller promises.
        unsafe { Rows::pack(self, kernels, rows, depth, to, stride) };
    }
}

/// A factor B whose columns are stored as rows.
pub(crate) struct Transposed(pub(crate) Rows);

impl Right for Transposed {
    fn stored(&self) -> Option<&Rows> {
        Some(&self.0)
    }

    unsafe fn pack_block(&self, kernels: &Kernels, columns: &Range<usize>, depth: &Range<usize>, to: *mut u32) {
        // SAFETY: as the caller promises.
        unsafe { gemm::pack_panels(kernels, columns, to, |panel, vectors, to| self.pack(kernels, panel, vectors, depth.clone(), to)) };
    }
}

impl Transposed {
    unsafe fn pack(&self, kernels: &Kernels, columns: Range<usize>, vectors: usize, depth: Range<usize>, to: *mut u32) {
        /// As in the packed blocks of A: rows in different sets of the first cache.
        const STRIDE: usize = DEPTH_MAX / 2 + 16;
        #[repr(align(64))]
        struct Square([u32; 16 * STRIDE]);
        let mut square = Square([0; 16 * STRIDE]);
        let words = kernels.words_of(depth.len());
        let (row_stride, vector_stride) = kernels.panel_strides(vectors);
        for vector in 0..vectors {
            let first = columns.start + vector * kernels.lanes;
            let rows = first..columns.end.min(first + kernels.lanes);
            let to = to.wrapping_add(vector * vector_stride);
            if matches!(self.0.values, Values::F16) && !kernels.pairs && rows.len() == kernels.lanes {
                // SAFETY: as the caller promises.
                unsafe {
                    let from = self.0.data.add(rows.start * self.0.stride + depth.start * 2);
                    (kernels.transpose_f16)(from, self.0.stride, words, to, row_stride);
                }
                continue;
            }
            // SAFETY: as the caller promises; the square has a row for each lane.
            unsafe {
                Rows::pack(&self.0, kernels, rows.clone(), depth.clone(), square.0.as_mut_ptr(), STRIDE);
                for missing in rows.len()..kernels.lanes {
                    square.0[missing * STRIDE..][..words].fill(0);
                }
                (kernels.transpose)(square.0.as_ptr(), STRIDE, words, to, row_stride);
            }
        }
    }
}

/// A factor B that is stored as it is: one row for each k.
pub(crate) struct Straight(pub(crate) Rows);

impl Right for Straight {
    unsafe fn pack_block(&self, kernels: &Kernels, columns: &Range<usize>, depth: &Range<usize>, to: *mut u32) {
        // SAFETY: as the caller promises.
        unsafe { gemm::pack_panels(kernels, columns, to, |panel, vectors, to| self.pack(kernels, panel, vectors, depth.clone(), to)) };
    }
}

impl Straight {
    unsafe fn pack(&self, kernels: &Kernels, columns: Range<usize>, vectors: usize, depth: Range<usize>, to: *mut u32) {
        let (row_stride, vector_stride) = kernels.panel_strides(vectors);
        let width = vectors * kernels.lanes;
        // Values that lie side by side.
        let run = if kernels.registers.is_some() { kernels.lanes } else { width };
        let mut rows = [[0.0_f32; PANEL_MAX]; 2];
        let step = if kernels.pairs { 2 } else { 1 };
        for (word, k) in depth.clone().step_by(step).enumerate() {
            // SAFETY: as the caller promises; a row is at most PANEL_MAX values, those after the
            // columns stay zero.
            unsafe {
                self.0.unpack(kernels, k, columns.clone(), rows[0].as_mut_ptr());
                if k + 1 < depth.end && kernels.pairs {
                    self.0.unpack(kernels, k + 1, columns.clone(), rows[1].as_mut_ptr());
                } else {
                    rows[1] = [0.0; PANEL_MAX];
                }
                for first in (0..width).step_by(run) {
                    let to = to.add(word * row_stride + first / run * vector_stride);
                    (kernels.pair_rows)(rows[0].as_ptr().add(first), rows[1].as_ptr().add(first), run, to);
                }
            }
        }
    }
}
