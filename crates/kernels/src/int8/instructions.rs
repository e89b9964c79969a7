//! The operation of each instruction set.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::{int32x4_t, vcvtq_f32_s32, vdupq_n_s32, vld1q_s32};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_abs_epi8, _mm256_add_epi16, _mm256_add_epi32, _mm256_cvtepi32_ps, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_sign_epi8,
    _mm512_cvtepi32_ps, _mm512_dpbusd_epi32, _mm512_loadu_si512, _mm512_set1_epi32,
};

use std::array;

use super::dot::{Dot, Vectors};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::product::{Int8Product, compute};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::tiles::{Tiled, is_exact};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use crate::amx::Int8;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::gemm::Thread;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::simd::Simd;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::table::Kernels;

/// Plain loops that compute what VNNI does: weights are unsigned.
pub(super) struct Plain<const LANES: usize>;

impl<const LANES: usize> Vectors for Plain<LANES> {
    type Ints = [i32; LANES];
    type Floats = [f32; LANES];
    const LANES: usize = LANES;

    unsafe fn load(from: *const u32) -> [i32; LANES] {
        // SAFETY: as the caller promises.
        unsafe { from.cast::<[i32; LANES]>().read_unaligned() }
    }
    unsafe fn splat(value: i32) -> [i32; LANES] {
        [value; LANES]
    }
    unsafe fn zeros() -> [f32; LANES] {
        [0.0; LANES]
    }
    unsafe fn add_scaled(sums: [f32; LANES], products: [i32; LANES], weights: *const f32, activations: f32) -> [f32; LANES] {
        // SAFETY: as the caller promises.
        let weights = unsafe { weights.cast::<[f32; LANES]>().read_unaligned() };
        array::from_fn(|lane| (products[lane] as f32).mul_add(weights[lane] * activations, sums[lane]))
    }
    unsafe fn add_product(sums: [f32; LANES], weights: *const f32, activations: f32) -> [f32; LANES] {
        // SAFETY: as the caller promises.
        let weights = unsafe { weights.cast::<[f32; LANES]>().read_unaligned() };
        array::from_fn(|lane| weights[lane].mul_add(activations, sums[lane]))
    }
    unsafe fn store(from: [f32; LANES], to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(from) };
    }
}

impl<const LANES: usize> Dot for Plain<LANES> {
    const SIGNED: bool = false;

    unsafe fn dot(sums: [i32; LANES], weights: [i32; LANES], activations: i32) -> [i32; LANES] {
        let activations = activations.to_ne_bytes();
        array::from_fn(|lane| {
            let products = weights[lane].to_ne_bytes().into_iter().zip(activations);
            sums[lane] + products.map(|(weight, activation)| i32::from(weight) * i32::from(activation.cast_signed())).sum::<i32>()
        })
    }
}

/// Implements [`Vectors`] and [`Dot`], but for its products, with the numbers of a vector unit (`Simd`), and a
/// function that computes with it, with the attribute that enables the instruction set.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! level {
    ($name:ident, $function:ident, $features:literal, $unit:ty, $ints:ty, $signed:literal, $load:ident, $set:ident, $convert:ident,
     $dot:ident $(, $dot_words:ident)?) => {
        pub(super) struct $name;

        impl Vectors for $name {
            type Ints = $ints;
            type Floats = <$unit as Simd>::Vector;
            const LANES: usize = <$unit>::LANES;

            #[inline(always)]
            unsafe fn load(from: *const u32) -> Self::Ints {
                // SAFETY: as the caller promises, in every function here.
                unsafe { $load(from.cast()) }
            }
            #[inline(always)]
            unsafe fn splat(value: i32) -> Self::Ints {
                // SAFETY: see `load`.
                unsafe { $set(value) }
            }
            #[inline(always)]
            unsafe fn zeros() -> Self::Floats {
                // SAFETY: see `load`.
                unsafe { <$unit>::splat(0.0) }
            }
            #[inline(always)]
            unsafe fn add_scaled(sums: Self::Floats, products: Self::Ints, weights: *const f32, activations: f32) -> Self::Floats {
                // SAFETY: see `load`.
                unsafe { <$unit>::mul_add($convert(products), <$unit>::mul(<$unit>::load(weights), <$unit>::splat(activations)), sums) }
            }
            #[inline(always)]
            unsafe fn add_product(sums: Self::Floats, weights: *const f32, activations: f32) -> Self::Floats {
                // SAFETY: see `load`.
                unsafe { <$unit>::mul_add(<$unit>::load(weights), <$unit>::splat(activations), sums) }
            }
            #[inline(always)]
            unsafe fn store(from: Self::Floats, to: *mut f32) {
                // SAFETY: see `load`.
                unsafe { <$unit>::store(to, from) }
            }
        }

        impl Dot for $name {
            const SIGNED: bool = $signed;

            #[inline(always)]
            unsafe fn dot(sums: Self::Ints, weights: Self::Ints, activations: i32) -> Self::Ints {
                // SAFETY: see `load`.
                unsafe { $dot(sums, weights, $set(activations)) }
            }
            $(
                #[inline(always)]
                unsafe fn dot_words(sums: Self::Ints, weights: *const u32, activations: *const u32, words: usize, bits: u32) -> Self::Ints {
                    // SAFETY: see `load`.
                    unsafe { $dot_words(sums, weights, activations, words, bits) }
                }
            )?
        }

        #[target_feature(enable = $features)]
        pub(super) unsafe fn $function(kernels: &Kernels, product: &Int8Product, thread: Thread) {
            // SAFETY: as the caller promises.
            unsafe { compute::<$name>(kernels, product, thread) }
        }
    };
}

/// The sign moves from the weights to the activations, so pairs are at most 2 x 128 x 127: nothing
/// saturates in 16 bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn dot_avx2(sums: __m256i, weights: __m256i, activations: __m256i) -> __m256i {
    // SAFETY: as the caller promises.
    unsafe {
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(activations, weights));
        _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }
}

/// Pairs of weights with fewer bits than eight are summed in 16 bits as often as they fit.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn dot_words_avx2(mut sums: __m256i, weights: *const u32, activations: *const u32, words: usize, bits: u32) -> __m256i {
    const LANES: usize = 8;
    // SAFETY: as the caller promises.
    unsafe {
        let four = |word: usize| {
            (_mm256_loadu_si256(weights.add(word * LANES).cast()), _mm256_set1_epi32(activations.add(word).cast::<i32>().read()))
        };
        let most = i16::MAX as usize / (((1 << bits) - 1) * 2 * 127);
        if most == 0 {
            for word in 0..words {
                let (weights, activations) = four(word);
                sums = dot_avx2(sums, weights, activations);
            }
            return sums;
        }
        for first in (0..words).step_by(most) {
            let mut pairs = _mm256_setzero_si256();
            for word in first..words.min(first + most) {
                let (weights, activations) = four(word);
                pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(weights, activations));
            }
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
        }
        sums
    }
}

#[cfg(target_arch = "x86_64")]
level!(
    Avx2,
    avx2,
    "avx2,fma,f16c",
    crate::avx2::Avx2,
    __m256i,
    true,
    _mm256_loadu_si256,
    _mm256_set1_epi32,
    _mm256_cvtepi32_ps,
    dot_avx2,
    dot_words_avx2
);
#[cfg(target_arch = "x86_64")]
level!(
    AvxVnni,
    avx_vnni,
    "avx2,fma,f16c,avxvnni",
    crate::avx2::Avx2,
    __m256i,
    false,
    _mm256_loadu_si256,
    _mm256_set1_epi32,
    _mm256_cvtepi32_ps,
    _mm256_dpbusd_avx_epi32
);
#[cfg(target_arch = "x86_64")]
level!(
    Avx512Vnni,
    avx512_vnni,
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c",
    crate::avx512::Avx512,
    __m512i,
    false,
    _mm512_loadu_si512,
    _mm512_set1_epi32,
    _mm512_cvtepi32_ps,
    _mm512_dpbusd_epi32
);

/// Products by tile registers, and all else with AVX-512.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn amx(kernels: &Kernels, product: &Int8Product, thread: Thread) {
    // SAFETY: as the caller promises.
    unsafe { compute::<Tiled<Avx512Vnni, Int8>>(kernels, product, thread) }
}

/// [`amx`] computes what the plain loops compute, to the last bit.
///
/// # Safety
/// The processor has the instructions, and the process may use them.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
pub(super) unsafe fn is_amx_exact(kernels: &Kernels) -> bool {
    // SAFETY: as the caller promises.
    unsafe { is_exact::<Tiled<Avx512Vnni, Int8>, Plain<8>>(kernels) }
}

/// Arm's dot products, of signed values. The intrinsic is not stable.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn dot_neon(mut sums: int32x4_t, weights: int32x4_t, activations: int32x4_t) -> int32x4_t {
    // SAFETY: as the caller promises.
    unsafe {
        std::arch::asm!(
            ".arch_extension dotprod",
            "sdot {sums:v}.4s, {weights:v}.16b, {activations:v}.16b",
            sums = inout(vreg) sums,
            weights = in(vreg) weights,
            activations = in(vreg) activations,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}

#[cfg(target_arch = "aarch64")]
level!(NeonDot, neon_dot, "neon,dotprod", crate::neon::Neon, int32x4_t, true, vld1q_s32, vdupq_n_s32, vcvtq_f32_s32, dot_neon);
