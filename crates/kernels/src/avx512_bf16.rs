//! AVX512-BF16: products of pairs of bfloat16, summed in f32; everything else as with AVX-512.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_castsi512_ps, _mm512_cvtne2ps_pbh, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_mask_storeu_epi32,
    _mm512_maskz_loadu_ps, _mm512_permutexvar_epi16, _mm512_set_epi16, _mm512_storeu_si512,
};
use std::mem::transmute;

use crate::avx512::{Avx512, bits};
use crate::simd::Words;

pub(crate) struct PairsOfBf16;

impl Words for PairsOfBf16 {
    type Unit = Avx512;
    const PAIRS: bool = true;

    #[inline(always)]
    unsafe fn multiply(a: __m512, b: __m512, sum: __m512) -> __m512 {
        // SAFETY: as the caller promises; the types differ in name only.
        unsafe { _mm512_dpbf16_ps(sum, transmute::<__m512, __m512bh>(a), transmute::<__m512, __m512bh>(b)) }
    }

    #[inline(always)]
    unsafe fn pack(from: *const f32, count: usize, to: *mut u32) {
        // SAFETY: as the caller promises; the last store and loads are masked to what is left.
        unsafe {
            let mut done = 0;
            while done + 32 <= count {
                let pairs = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from.add(done + 16)), _mm512_loadu_ps(from.add(done)));
                _mm512_storeu_si512(to.add(done / 2).cast(), transmute::<__m512bh, __m512i>(pairs));
                done += 32;
            }
            let left = count - done;
            if left > 0 {
                let low = _mm512_maskz_loadu_ps(first_lanes(left), from.add(done));
                let high = _mm512_maskz_loadu_ps(first_lanes(left.saturating_sub(16)), from.wrapping_add(done + 16));
                _mm512_mask_storeu_epi32(
                    to.add(done / 2).cast(),
                    first_lanes(left.div_ceil(2)),
                    transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)),
                );
            }
        }
    }

    #[inline(always)]
    unsafe fn pair(even: __m512, odd: __m512) -> __m512 {
        // SAFETY: as the caller promises.
        unsafe {
            let order = _mm512_set_epi16(
                31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0,
            );
            let halves = bits(transmute::<__m512bh, __m512>(_mm512_cvtne2ps_pbh(odd, even)));
            _mm512_castsi512_ps(_mm512_permutexvar_epi16(order, halves))
        }
    }
}

/// The mask of the first `count` of 16 lanes; all for more.
#[inline(always)]
const fn first_lanes(count: usize) -> u16 {
    if count >= 16 { u16::MAX } else { (1 << count) - 1 }
}

crate::entry::entries!(
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,f16c")]
    PairsOfBf16
);
