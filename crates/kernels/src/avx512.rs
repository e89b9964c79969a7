//! AVX-512 (F, BW, DQ, VL): 16 lanes, 32 registers. A tile of 8 rows by 48 columns takes 24 of
//! them.

use std::arch::x86_64::{
    __m512, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm512_add_ps,
    _mm512_castps_si512, _mm512_cvtph_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_max_ps, _mm512_mul_ps, _mm512_roundscale_ps,
    _mm512_scalef_ps, _mm512_set1_ps, _mm512_shuffle_f32x4, _mm512_shuffle_ps, _mm512_storeu_ps, _mm512_unpackhi_ps, _mm512_unpacklo_ps,
};

use crate::simd::{Simd, Single};

pub(crate) struct Avx512;

impl Simd for Avx512 {
    type Vector = __m512;
    const LANES: usize = 16;
    const TILE_ROWS: usize = 8;
    const TILE_VECTORS: usize = 3;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        // SAFETY: as the caller promises, in every function of this file.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, value: __m512) {
        // SAFETY: see `splat`.
        unsafe { _mm512_storeu_ps(to, value) }
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn round(a: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }

    #[inline(always)]
    unsafe fn exp2_whole(a: __m512) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_scalef_ps(_mm512_set1_ps(1.0), a) }
    }

    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> __m512 {
        // SAFETY: see `splat`.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn transpose(from: *const u32, from_stride: usize, to: *mut u32, to_stride: usize) {
        // SAFETY: see `splat`.
        unsafe {
            let mut r = [_mm512_set1_ps(0.0); 16];
            let mut s = r;
            for (i, row) in r.iter_mut().enumerate() {
                *row = _mm512_loadu_ps(from.add(i * from_stride).cast());
            }
            // Pairs, fours, then quarters of registers, twice.
            for i in 0..8 {
                s[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
                s[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
            }
            for i in 0..4 {
                let i = 4 * i;
                r[i] = _mm512_shuffle_ps::<0x44>(s[i], s[i + 2]);
                r[i + 1] = _mm512_shuffle_ps::<0xEE>(s[i], s[i + 2]);
                r[i + 2] = _mm512_shuffle_ps::<0x44>(s[i + 1], s[i + 3]);
                r[i + 3] = _mm512_shuffle_ps::<0xEE>(s[i + 1], s[i + 3]);
            }
            for i in 0..4 {
                s[i] = _mm512_shuffle_f32x4::<0x88>(r[i], r[i + 4]);
                s[i + 4] = _mm512_shuffle_f32x4::<0xDD>(r[i], r[i + 4]);
                s[i + 8] = _mm512_shuffle_f32x4::<0x88>(r[i + 8], r[i + 12]);
                s[i + 12] = _mm512_shuffle_f32x4::<0xDD>(r[i + 8], r[i + 12]);
            }
            for i in 0..8 {
                let (column, other) = (i % 4 + i / 4 * 4, i % 4 + i / 4 * 4 + 8);
                _mm512_storeu_ps(to.add(column * to_stride).cast(), _mm512_shuffle_f32x4::<0x88>(s[i], s[i + 8]));
                _mm512_storeu_ps(to.add(other * to_stride).cast(), _mm512_shuffle_f32x4::<0xDD>(s[i], s[i + 8]));
            }
        }
    }

    #[inline(always)]
    unsafe fn prefetch(address: *const f32) {
        // SAFETY: see `splat`; a prefetch of an invalid address does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
}

/// The bits of a vector.
#[inline(always)]
pub(crate) unsafe fn bits(value: __m512) -> __m512i {
    // SAFETY: as the caller promises.
    unsafe { _mm512_castps_si512(value) }
}

crate::entry::entries!(#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")] Single<Avx512>);
