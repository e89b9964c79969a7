//! NEON, which every 64-bit Arm processor has: 4 lanes, 32 registers. A tile of 8 rows by 12
//! columns takes 24 of them.

use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vaddq_s32, vcvtnq_s32_f32, vdupq_n_f32, vdupq_n_s32, vfmaq_f32, vld1q_f32, vmaxq_f32, vmulq_f32,
    vreinterpretq_f32_f64, vreinterpretq_f32_s32, vreinterpretq_f64_f32, vrndnq_f32, vshlq_n_s32, vst1q_f32, vtrn1q_f32, vtrn1q_f64,
    vtrn2q_f32, vtrn2q_f64,
};

use crate::rows::f16_to_f32;
use crate::simd::{Simd, Single};

pub(crate) struct Neon;

impl Simd for Neon {
    type Vector = float32x4_t;
    const LANES: usize = 4;
    const TILE_ROWS: usize = 8;
    const TILE_VECTORS: usize = 3;

    #[inline(always)]
    unsafe fn splat(value: f32) -> float32x4_t {
        // SAFETY: as the caller promises, in every function of this file.
        unsafe { vdupq_n_f32(value) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> float32x4_t {
        // SAFETY: see `splat`.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, value: float32x4_t) {
        // SAFETY: see `splat`.
        unsafe { vst1q_f32(to, value) }
    }

    #[inline(always)]
    unsafe fn add(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: see `splat`.
        unsafe { vaddq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: see `splat`.
        unsafe { vmulq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn max(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        // SAFETY: see `splat`.
        unsafe { vmaxq_f32(a, b) }
    }

    #[inline(always)]
    unsafe fn mul_add(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        // SAFETY: see `splat`.
        unsafe { vfmaq_f32(c, a, b) }
    }

    #[inline(always)]
    unsafe fn round(a: float32x4_t) -> float32x4_t {
        // SAFETY: see `splat`.
        unsafe { vrndnq_f32(a) }
    }

    #[inline(always)]
    unsafe fn exp2_whole(a: float32x4_t) -> float32x4_t {
        // SAFETY: see `splat`.
        unsafe { vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(vcvtnq_s32_f32(a), vdupq_n_s32(127)))) }
    }

    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> float32x4_t {
        // SAFETY: see `splat`; four values are readable.
        unsafe {
            let values: [f32; 4] = std::array::from_fn(|i| f16_to_f32(from.add(i).read_unaligned()));
            vld1q_f32(values.as_ptr())
        }
    }

    #[inline(always)]
    unsafe fn transpose(from: *const u32, from_stride: usize, to: *mut u32, to_stride: usize) {
        // SAFETY: see `splat`.
        unsafe {
            let r: [float32x4_t; 4] = std::array::from_fn(|i| vld1q_f32(from.add(i * from_stride).cast()));
            let wide = |a, b| (vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b));
            for (half, (low, high)) in
                [(vtrn1q_f32(r[0], r[1]), vtrn1q_f32(r[2], r[3])), (vtrn2q_f32(r[0], r[1]), vtrn2q_f32(r[2], r[3]))].into_iter().enumerate()
            {
                let (low, high) = wide(low, high);
                vst1q_f32(to.add(half * to_stride).cast(), vreinterpretq_f32_f64(vtrn1q_f64(low, high)));
                vst1q_f32(to.add((half + 2) * to_stride).cast(), vreinterpretq_f32_f64(vtrn2q_f64(low, high)));
            }
        }
    }

    #[inline(always)]
    unsafe fn prefetch(_address: *const f32) {}
}

crate::entry::entries!(#[target_feature(enable = "neon")] Single<Neon>);
