//! Operations that read each value a few times at most, so that memory is what they wait for.

use crate::gemm::{self, Thread};
use crate::table::Kernels;

/// Values that `group_norm` sums in one precision before it goes on in f64; they stay in the first
/// cache.
const CHUNK: usize = 2048;

/// Group normalisation of one image.
#[derive(Clone, Copy, Debug)]
pub struct GroupNorm {
    /// `groups` times `group_size` values, side by side.
    pub from: *const f32,
    /// The same; may be `from`.
    pub to: *mut f32,
    /// Values of a group.
    pub group_size: usize,
    /// Values in all; the last group may be smaller.
    pub total: usize,
    /// Added to the variance.
    pub epsilon: f32,
    /// Values of a channel, of which a group has several.
    pub channel_size: usize,
    /// Values of a row of a channel.
    pub row_size: usize,
    /// Of each channel, multiplied with what is normalised; null for none.
    pub factors: *const f32,
    /// Of each channel, added then; null for none.
    pub terms: *const f32,
    /// Called last, with neighbours of one channel: whole rows.
    pub activate: Option<Activate>,
}

/// Computes `to[i]` from `from[i]`, which is the same, for `count` values.
pub type Activate = unsafe extern "C" fn(count: std::ffi::c_int, to: *mut f32, from: *const f32);

/// Brings the mean of each group to 0 and its variance to 1, then does what is asked for each
/// channel; threads divide the groups.
///
/// # Safety
/// Both are valid for `total` values, equal or apart, factors and terms for each channel, and no
/// two threads have the same index.
pub unsafe fn group_norm(kernels: &Kernels, norm: &GroupNorm, thread: Thread) {
    for group in gemm::share(norm.total.div_ceil(norm.group_size), 1, thread) {
        let start = group * norm.group_size;
        let count = norm.group_size.min(norm.total - start);
        // SAFETY: part of what the caller promises.
        unsafe {
            let (from, to) = (norm.from.add(start), norm.to.add(start));
            let (mean, variance) = moments(kernels, from, count);
            let factor = 1.0 / (variance + f64::from(norm.epsilon)).sqrt();
            let (factor, offset) = (factor as f32, (-mean * factor) as f32);
            for first in (0..count).step_by(norm.channel_size) {
                let end = count.min(first + norm.channel_size);
                for at in (first..end).step_by(norm.chunk()) {
                    let length = norm.chunk().min(end - at);
                    (kernels.scale_and_offset)(from.add(at), length, factor, offset, to.add(at));
                    norm.finish_chunk(kernels, (start + first) / norm.channel_size, to.add(at), length);
                }
            }
        }
    }
}

impl GroupNorm {
    /// Values to finish at once: those of some rows, or of one whose length is no multiple of a
    /// register. ggml's activations compute what is left over at a row's end in another way, and
    /// the same is to come out here.
    const fn chunk(&self) -> usize {
        /// At least as many as a register has.
        const LANES: usize = 16;
        if self.activate.is_none() {
            CHUNK
        } else if self.row_size.is_multiple_of(LANES) && self.row_size < CHUNK {
            CHUNK / self.row_size * self.row_size
        } else {
            self.row_size
        }
    }

    /// What follows the normalisation, for neighbours of one channel.
    ///
    /// # Safety
    /// As for [`group_norm`].
    unsafe fn finish_chunk(&self, kernels: &Kernels, channel: usize, values: *mut f32, count: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            if !self.factors.is_null() {
                (kernels.scale_and_offset)(values, count, *self.factors.add(channel), 0.0, values);
            }
            if !self.terms.is_null() {
                (kernels.scale_and_offset)(values, count, 1.0, *self.terms.add(channel), values);
            }
            if let Some(activate) = self.activate {
                activate(count as std::ffi::c_int, values, values);
            }
        }
    }
}

/// Normalisation of rows, each by itself.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm {
    /// `rows` rows of `length` values, side by side.
    pub from: *const f32,
    /// The same; may be `from`.
    pub to: *mut f32,
    /// Number of rows.
    pub rows: usize,
    /// Values of a row.
    pub length: usize,
    /// Added to the variance.
    pub epsilon: f32,
    /// Of each place in a row, multiplied with what is normalised; null for none.
    pub factors: *const f32,
    /// Of each place in a row, added then; null for none.
    pub terms: *const f32,
}

/// Brings the mean of each row to 0 and its variance to 1, then multiplies and adds; threads divide
/// the rows.
///
/// # Safety
/// Both are valid for all rows, equal or apart, factors and terms for a row, and no two threads have
/// the same index.
pub unsafe fn layer_norm(kernels: &Kernels, norm: &LayerNorm, thread: Thread) {
    let length = norm.length;
    for row in gemm::share(norm.rows, 1, thread) {
        // SAFETY: part of what the caller promises.
        unsafe {
            let (from, to) = (norm.from.add(row * length), norm.to.add(row * length));
            let (mean, variance) = moments(kernels, from, length);
            // Two steps: what is left of values that are far from 0 is not rounded at their size.
            (kernels.scale_and_offset)(from, length, 1.0, -mean as f32, to);
            (kernels.scale)(to, length, (1.0 / (variance + f64::from(norm.epsilon)).sqrt()) as f32);
            if !norm.factors.is_null() {
                (kernels.multiply)(to, norm.factors, length, to);
            }
            if !norm.terms.is_null() {
                (kernels.add)(to, norm.terms, length, to);
            }
        }
    }
}

/// Rows of products, added to others.
#[derive(Clone, Copy, Debug)]
pub struct Modulation {
    /// `rows` rows of `length` values, side by side.
    pub from: *const f32,
    /// Of each place in a row, multiplied with `from`.
    pub factors: *const f32,
    /// As `from`, added to the products.
    pub addend: *const f32,
    /// Of each place in a row, added then; null for none.
    pub terms: *const f32,
    /// As `from`; may be that or the addend.
    pub to: *mut f32,
    /// Number of rows.
    pub rows: usize,
    /// Values of a row.
    pub length: usize,
}

/// `to = addend + from * factors + terms`, rounded after each step; threads divide the rows.
///
/// # Safety
/// All are valid for the sizes named, `to` is equal to each of the others or apart, and no two
/// threads have the same index.
pub unsafe fn modulate(kernels: &Kernels, modulation: &Modulation, thread: Thread) {
    let &Modulation { from, factors, addend, terms, to, rows, length } = modulation;
    for start in gemm::share(rows, 1, thread).map(|row| row * length) {
        // SAFETY: part of what the caller promises.
        unsafe {
            let to = to.add(start);
            (kernels.add_product)(from.add(start), factors, addend.add(start), length, to);
            if !terms.is_null() {
                (kernels.add)(to, terms, length, to);
            }
        }
    }
}

/// Mean and variance in one pass: those of chunks, combined (Chan, Golub and `LeVeque`, 1979).
///
/// # Safety
/// `from` is valid for `count` values.
unsafe fn moments(kernels: &Kernels, from: *const f32, count: usize) -> (f64, f64) {
    let (mut mean, mut squares, mut before) = (0.0_f64, 0.0_f64, 0.0_f64);
    for start in (0..count).step_by(CHUNK) {
        let length = CHUNK.min(count - start);
        // SAFETY: below `count`.
        let (sum, centred) = unsafe {
            let from = from.add(start);
            let (sum, _) = (kernels.sums)(from, length, 0.0);
            let centre = sum / length as f32;
            (f64::from(sum), f64::from((kernels.sums)(from, length, centre).1))
        };
        let length = length as f64;
        let difference = sum / length - mean;
        squares += centred + difference * difference * before * length / (before + length);
        before += length;
        mean += difference * length / before;
    }
    (mean, squares / count as f64)
}

/// An operation on pairs of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sum.
    Add,
    /// Product.
    Multiply,
}

/// Applies one constant to `count` neighbouring values.
///
/// # Safety
/// Both are valid for `count` values, equal or apart.
pub unsafe fn apply_constant(kernels: &Kernels, operation: Operation, from: *const f32, count: usize, constant: f32, to: *mut f32) {
    let (factor, offset) = match operation {
        Operation::Add => (1.0, constant),
        Operation::Multiply => (constant, 0.0),
    };
    // SAFETY: as the caller promises.
    unsafe { (kernels.scale_and_offset)(from, count, factor, offset, to) };
}

/// `to[i] = from[i] + other[i]`, or their product.
///
/// # Safety
/// All are valid for `count` values; `to` is apart from each of the others or equal to it.
pub unsafe fn combine(kernels: &Kernels, operation: Operation, from: *const f32, other: *const f32, count: usize, to: *mut f32) {
    let combine = match operation {
        Operation::Add => kernels.add,
        Operation::Multiply => kernels.multiply,
    };
    // SAFETY: as the caller promises.
    unsafe { combine(from, other, count, to) };
}

/// GELU, in its form with a hyperbolic tangent.
///
/// # Safety
/// Both are valid for `count` values, equal or apart.
pub unsafe fn gelu(kernels: &Kernels, from: *const f32, count: usize, to: *mut f32) {
    // SAFETY: as the caller promises.
    unsafe { (kernels.gelu)(from, count, to) };
}

/// Copies a matrix with columns as rows: `to[column * to_stride + row] = from[row * from_stride +
/// column]`.
///
/// # Safety
/// `from` is readable for `rows` rows of `columns` values, `to_stride` is at least `rows`, and
/// `to`, which is apart, is writable for `columns` rows of `rows` values.
pub unsafe fn transpose(
    kernels: &Kernels,
    from: *const f32,
    from_stride: usize,
    rows: usize,
    columns: usize,
    to: *mut f32,
    to_stride: usize,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let whole = rows - rows % kernels.lanes;
        for row in (0..whole).step_by(kernels.lanes) {
            (kernels.transpose)(from.add(row * from_stride).cast(), from_stride, columns, to.add(row).cast(), to_stride);
        }
        for row in whole..rows {
            (0..columns).for_each(|column| *to.add(column * to_stride + row) = *from.add(row * from_stride + column));
        }
    }
}

/// Copies values that lie `stride` values apart, each `times` times: `to[i * times + j] = from[i *
/// stride]`. Rows of an image are upscaled so, and every second value of a row is taken.
///
/// # Safety
/// `from` is readable at the multiples of `stride` below `count * stride`; `to`, which is apart, is
/// writable for `count * times` values.
pub unsafe fn spread(from: *const f32, stride: usize, count: usize, times: usize, to: *mut f32) {
    // SAFETY: as the caller promises.
    unsafe {
        match (stride, times) {
            // Constant strides, of which the compiler makes vectors.
            (2, 1) => (0..count).for_each(|i| *to.add(i) = *from.add(i * 2)),
            (1, 2) => (0..count).for_each(|i| to.add(i * 2).cast::<[f32; 2]>().write([*from.add(i); 2])),
            (_, 1) => (0..count).for_each(|i| *to.add(i) = *from.add(i * stride)),
            _ => (0..count * times).for_each(|i| *to.add(i) = *from.add(i / times * stride)),
        }
    }
}
