//! Matrix products, convolutions and attention on the processor: the operations that take nearly
//! all time of an image where there is no graphics card.
//!
//! - [`product`], [`convolution`] and [`attention`] are one blocked product (`gemm`, whose
//!   documentation says how it blocks and why) with different factors; `winograd` makes
//!   convolutions of 3 x 3 cheaper before they are one. [`planes`] has what only waits for memory.
//! - [`int8`] multiplies weights of the usual quantised forms in eight bits.
//! - [`packed_weights`] keeps what products and convolutions pack of weights that are used again.
//! - Each instruction set is one file that implements `simd::Simd`: a dozen operations on a
//!   register. The loops above it are written once and compiled for each (`entry`, `table`), and
//!   chosen at run time: one program serves every processor.
//! - Nothing here knows ggml: matrices are [`Rows`] of one of four [`Values`], and blocks of
//!   quantised weights are unpacked by a function that is handed in.
//! - Every operation is given the calling thread's index and does its part; nothing waits for
//!   another thread. Results do not depend on the number of threads.
#![allow(unsafe_code, reason = "vector instructions and matrices of another language")]
#![allow(clippy::inline_always, reason = "a function without the instruction set must disappear into one that enables it")]
#![allow(clippy::cast_ptr_alignment, reason = "rows are bytes: what needs alignment asks for it, all else is read unaligned")]
#![allow(clippy::large_stack_arrays, reason = "a tile of the result that every pass adds to; the engine's threads have room for it")]
// A new instruction set changes what these say.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

pub mod attention;
mod blocks;
pub mod convolution;
mod entry;
mod epilogue;
mod gemm;
pub mod int8;
mod lines;
mod maker;
mod pack;
pub mod packed_weights;
pub mod planes;
pub mod product;
mod rows;
mod rowwise;
mod scratch;
mod simd;
mod table;
mod tile;
mod transforms;
mod window;
mod winograd;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_bf16;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

pub use epilogue::Epilogue;
pub use gemm::Thread;
pub use maker::is_bf16_quicker;
pub use rows::{Rows, Unpack, Values, f16_to_f32};
pub use scratch::NoMemory;
pub use table::Kernels;

/// An instruction set and form of factors, in order of speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Plain code, f32.
    Scalar,
    /// NEON of 64-bit Arm processors, f32.
    Neon,
    /// AVX2, FMA and F16C, f32.
    Avx2,
    /// AVX-512 (F, BW, DQ, VL), f32.
    Avx512,
    /// AVX-512 with factors rounded to bfloat16 and sums in f32.
    Avx512Bf16,
    /// The same with AMX's tile registers for products, on Linux. Offered where its products are
    /// found to be those of [`Avx512Bf16`](Self::Avx512Bf16).
    AmxBf16,
}

impl Level {
    /// Every level, from the slowest.
    pub const ALL: [Self; 6] = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512, Self::Avx512Bf16, Self::AmxBf16];

    /// Name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Bf16 => "avx512-bf16",
            Self::AmxBf16 => "amx-bf16",
        }
    }

    /// Factors are rounded to bfloat16.
    #[must_use]
    pub const fn rounds_to_bf16(self) -> bool {
        matches!(self, Self::Avx512Bf16 | Self::AmxBf16)
    }

    /// Products are so quick that packing weights takes about as long: packed ones are worth memory
    /// of their own ([`packed_weights`]).
    #[must_use]
    pub const fn keeps_packed(self) -> bool {
        matches!(self, Self::AmxBf16)
    }

    /// The level's functions; `None` where this processor lacks it.
    #[must_use]
    pub fn kernels(self) -> Option<&'static Kernels> {
        match self {
            Self::Scalar => Some(&scalar::KERNELS),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Some(&neon::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c"))
                .then_some(&avx2::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => has_avx512().then_some(&avx512::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => (has_avx512() && is_x86_feature_detected!("avx512bf16")).then_some(&avx512_bf16::KERNELS),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::AmxBf16 => Self::Avx512Bf16.kernels().and_then(amx::kernels),
            _ => None,
        }
    }

    /// The fastest level of this processor whose factors are f32.
    #[must_use]
    pub fn fastest_f32() -> Self {
        Self::ALL.into_iter().rev().find(|level| !level.rounds_to_bf16() && level.kernels().is_some()).unwrap_or(Self::Scalar)
    }

    /// The fastest level of this processor whose factors are bfloat16; `None` where it has none.
    #[must_use]
    pub fn fastest_bf16() -> Option<Self> {
        Self::ALL.into_iter().rev().find(|level| level.rounds_to_bf16() && level.kernels().is_some())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}
