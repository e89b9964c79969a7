//! Rows of a matrix as they are stored: of f32, of 16 bits, or of blocks that a function unpacks.

use std::ops::Range;

use crate::blocks::DEPTH_MAX;
use crate::table::Kernels;

/// Rows from the one that is unpacked to the one that is asked for meanwhile.
const ROWS_AHEAD: usize = 4;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Unpacks `count` values to f32: ggml's `to_float`.
pub type Unpack = unsafe extern "C" fn(from: *const std::ffi::c_void, to: *mut f32, count: i64);

/// Type of the values of a row.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// 32 bits.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// Blocks of `values` values in `bytes` bytes each. `values` divides 256.
    Blocks {
        /// Values of a block.
        values: usize,
        /// Bytes of a block.
        bytes: usize,
        unpack: Unpack,
    },
}

/// A matrix, row by row; the values of a row lie side by side.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// First value of the first row; needs no alignment.
    pub data: *const u8,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Type of the values.
    pub values: Values,
}

impl Rows {
    /// The same matrix from `bytes` further on.
    ///
    /// # Safety
    /// The new start lies in the same allocation.
    #[must_use]
    pub unsafe fn offset(self, bytes: usize) -> Self {
        // SAFETY: as the caller promises.
        Self { data: unsafe { self.data.add(bytes) }, ..self }
    }

    /// Bytes of a row in which these values lie. The start of `range` is a multiple of the block.
    fn bytes_of(&self, range: &Range<usize>) -> Range<usize> {
        let at = |index: usize| match self.values {
            Values::F32 => index * 4,
            Values::F16 | Values::Bf16 => index * 2,
            Values::Blocks { values, bytes, .. } => index.div_ceil(values) * bytes,
        };
        at(range.start)..at(range.end)
    }

    /// Writes the values `range` of a row as f32. The start of `range` is a multiple of the block.
    ///
    /// # Safety
    /// The row and `to` are valid for these values.
    pub(crate) unsafe fn unpack(&self, kernels: &Kernels, row: usize, range: Range<usize>, to: *mut f32) {
        let (start, count) = (range.start, range.len());
        // SAFETY: as the caller promises; `to` is scratch of this crate, so it is aligned and
        // apart.
        unsafe {
            let row = self.data.add(row * self.stride);
            match self.values {
                Values::F32 => row.add(start * 4).copy_to_nonoverlapping(to.cast(), count * 4),
                Values::F16 => (kernels.unpack_f16)(row.add(start * 2).cast(), count, to),
                Values::Bf16 => {
                    let from = row.add(start * 2).cast::<u16>();
                    for i in 0..count {
                        *to.add(i) = f32::from_bits(u32::from(from.add(i).read_unaligned()) << 16);
                    }
                }
                Values::Blocks { values, bytes, unpack } => unpack(row.add(start / values * bytes).cast(), to, count as i64),
            }
        }
    }

    /// Asks for these values of a later row while those of `row` are unpacked, where they are weights,
    /// which are larger than the caches. Of a row only a strip is read at a time, which ends before the
    /// processor has seen that it is one.
    pub(crate) fn ask_ahead(&self, row: usize, range: &Range<usize>) {
        if !matches!(self.values, Values::F32) {
            let strip = self.bytes_of(range);
            prefetch(self.data.wrapping_add((row + ROWS_AHEAD) * self.stride + strip.start), strip.len());
        }
    }

    /// Values of a row's first `count` up to the last that is not zero. Blocks are not looked into:
    /// `count`.
    ///
    /// # Safety
    /// The row is readable for these values.
    pub(crate) unsafe fn count_to_last_nonzero(&self, row: usize, count: usize) -> usize {
        // SAFETY: as the caller promises. Shifted, so that a negative zero is one too.
        unsafe {
            let row = self.data.add(row * self.stride);
            match self.values {
                Values::F32 => count_to_last(row.cast::<u32>(), count, |bits| bits << 1 != 0),
                Values::F16 | Values::Bf16 => count_to_last(row.cast::<u16>(), count, |bits| bits << 1 != 0),
                Values::Blocks { .. } => count,
            }
        }
    }

    /// Packs the values `depth` of `rows`, one row after the other `stride` words apart.
    ///
    /// # Safety
    /// The rows are readable, `to` is writable; `depth` is at most [`DEPTH_MAX`] values and starts
    /// at a multiple of the block.
    pub(crate) unsafe fn pack(&self, kernels: &Kernels, rows: Range<usize>, depth: Range<usize>, to: *mut u32, stride: usize) {
        let mut unpacked = [0.0_f32; DEPTH_MAX];
        for (i, row) in rows.enumerate() {
            self.ask_ahead(row, &depth);
            // SAFETY: as the caller promises.
            unsafe {
                let to = to.add(i * stride);
                let from = self.data.add(row * self.stride);
                match self.values {
                    Values::F32 if from.cast::<f32>().is_aligned() => {
                        (kernels.pack)(from.cast::<f32>().add(depth.start), depth.len(), to);
                    }
                    // Pairs of neighbours are stored as they are wanted.
                    Values::Bf16 if kernels.pairs => {
                        *to.add((depth.len() - 1) / 2) = 0;
                        from.add(depth.start * 2).copy_to_nonoverlapping(to.cast(), depth.len() * 2);
                    }
                    // A word is an f32.
                    _ if !kernels.pairs => self.unpack(kernels, row, depth.clone(), to.cast()),
                    _ => {
                        self.unpack(kernels, row, depth.clone(), unpacked.as_mut_ptr());
                        (kernels.pack)(unpacked.as_ptr(), depth.len(), to);
                    }
                }
            }
        }
    }
}

/// Asks for bytes that are read soon. They need not exist.
#[inline]
fn prefetch(from: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..bytes).step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint that every 64-bit x86 knows; it changes nothing and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at).cast()) };
    }
    // The intrinsics of other processors are not stable.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes, LINE_BYTES);
}

/// The value of an IEEE binary16.
#[must_use]
pub fn f16_to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(half >> 10) & 31, u32::from(half) & 0x3FF);
    match exponent {
        0 => f32::from_bits(sign | (fraction as f32 * 2.0_f32.powi(-24)).to_bits()),
        31 => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// Values up to the last that is wanted, of the first `count`.
///
/// # Safety
/// `values` is readable for `count` of them; it need not be aligned.
unsafe fn count_to_last<T: Copy>(values: *const T, count: usize, is_wanted: impl Fn(T) -> bool) -> usize {
    /// Values that are looked at without a branch among them, so that they are looked at side by side.
    const STRIP: usize = 64;
    // SAFETY: as the caller promises.
    let is_wanted = |index: usize| is_wanted(unsafe { values.add(index).read_unaligned() });
    let mut end = count;
    while end >= STRIP && !(end - STRIP..end).fold(false, |any, index| any | is_wanted(index)) {
        end -= STRIP;
    }
    (0..end).rev().find(|&index| is_wanted(index)).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_is_not_zero_is_found_in_and_between_strips() {
        for count in [0, 1, 63, 64, 65, 200] {
            for last in (0..count).map(Some).chain([None]) {
                let mut values = vec![0_u16; count + 3];
                // Negative zeros, and what lies behind the row.
                values.iter_mut().step_by(3).for_each(|value| *value = 0x8000);
                values[count] = 1;
                if let Some(last) = last {
                    values[last] = 0x8001;
                }
                // SAFETY: there are more than `count`.
                let found = unsafe { count_to_last(values.as_ptr(), count, |bits| bits << 1 != 0) };
                assert_eq!(found, last.map_or(0, |last| last + 1), "{count}");
            }
        }
    }
}
