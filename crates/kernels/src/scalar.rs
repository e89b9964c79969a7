//! Plain Rust, for processors without a file of their own, and the reference of the others' tests.

use crate::rows::f16_to_f32;
use crate::simd::{Simd, Single};

/// Arrays as registers.
pub(crate) struct Scalar<const LANES: usize>;

impl<const LANES: usize> Simd for Scalar<LANES> {
    type Vector = [f32; LANES];
    const LANES: usize = LANES;
    const TILE_ROWS: usize = 4;
    const TILE_VECTORS: usize = 3;

    #[inline(always)]
    unsafe fn splat(value: f32) -> [f32; LANES] {
        [value; LANES]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> [f32; LANES] {
        // SAFETY: the values are readable.
        unsafe { from.cast::<[f32; LANES]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, value: [f32; LANES]) {
        // SAFETY: the values are writable.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(value) }
    }

    #[inline(always)]
    unsafe fn add(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    unsafe fn mul(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    unsafe fn max(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    unsafe fn mul_add(a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        // `f32::mul_add` is a call where the processor has no such instruction.
        std::array::from_fn(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    unsafe fn round(a: [f32; LANES]) -> [f32; LANES] {
        a.map(f32::round_ties_even)
    }

    #[inline(always)]
    unsafe fn exp2_whole(a: [f32; LANES]) -> [f32; LANES] {
        a.map(|power| f32::from_bits(((power as i32 + 127) as u32) << 23))
    }

    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> [f32; LANES] {
        // SAFETY: the values are readable.
        unsafe { from.cast::<[u16; LANES]>().read_unaligned() }.map(f16_to_f32)
    }

    #[inline(always)]
    unsafe fn transpose(from: *const u32, from_stride: usize, to: *mut u32, to_stride: usize) {
        for row in 0..LANES {
            for column in 0..LANES {
                // SAFETY: both are inside the squares that the caller names.
                unsafe { *to.add(column * to_stride + row) = *from.add(row * from_stride + column) };
            }
        }
    }

    #[inline(always)]
    unsafe fn prefetch(_address: *const f32) {}
}

crate::entry::entries!(#[cfg(all())] Single<Scalar<4>>);
