//! AVX2 with FMA and F16C: 8 lanes, 16 registers. A tile of 6 rows by 16 columns takes 12 of them.

use std::arch::x86_64::{
    __m256, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm256_add_epi32, _mm256_add_ps,
    _mm256_castsi256_ps, _mm256_cvtph_ps, _mm256_cvtps_epi32, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_mul_ps,
    _mm256_permute2f128_ps, _mm256_round_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_storeu_ps,
    _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

use crate::simd::{Simd, Single};

pub(crate) struct Avx2;

impl Simd for Avx2 {
    type Vector = __m256;
    const LANES: usize = 8;
    const TILE_ROWS: usize = 6;
    const TILE_VECTORS: usize = 2;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m256 {
        // SAFETY: as the caller promises, in every function of this file.
        unsafe { _mm256_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, value: __m256) {
        // SAFETY: see `splat`.
        unsafe { _mm256_storeu_ps(to, value) }
    }

    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn max(a: __m256, b: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn round(a: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }

    #[inline(always)]
    unsafe fn exp2_whole(a: __m256) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_cvtps_epi32(a), _mm256_set1_epi32(127)))) }
    }

    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> __m256 {
        // SAFETY: see `splat`.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
    }

    #[inline(always)]
    unsafe fn transpose(from: *const u32, from_stride: usize, to: *mut u32, to_stride: usize) {
        // SAFETY: see `splat`.
        unsafe {
            let mut r = [_mm256_set1_ps(0.0); 8];
            let mut s = r;
            for (i, row) in r.iter_mut().enumerate() {
                *row = _mm256_loadu_ps(from.add(i * from_stride).cast());
            }
            // Pairs, fours, then halves of registers.
            for i in 0..4 {
                s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
                s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
            }
            for i in 0..2 {
                let i = 4 * i;
                r[i] = _mm256_shuffle_ps::<0x44>(s[i], s[i + 2]);
                r[i + 1] = _mm256_shuffle_ps::<0xEE>(s[i], s[i + 2]);
                r[i + 2] = _mm256_shuffle_ps::<0x44>(s[i + 1], s[i + 3]);
                r[i + 3] = _mm256_shuffle_ps::<0xEE>(s[i + 1], s[i + 3]);
            }
            for i in 0..4 {
                _mm256_storeu_ps(to.add(i * to_stride).cast(), _mm256_permute2f128_ps::<0x20>(r[i], r[i + 4]));
                _mm256_storeu_ps(to.add((i + 4) * to_stride).cast(), _mm256_permute2f128_ps::<0x31>(r[i], r[i + 4]));
            }
        }
    }

    #[inline(always)]
    unsafe fn prefetch(address: *const f32) {
        // SAFETY: see `splat`; a prefetch of an invalid address does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
}

crate::entry::entries!(#[target_feature(enable = "avx2,fma,f16c")] Single<Avx2>);
