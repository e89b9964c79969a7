//! Products of quantised weights in eight bits: activations are quantised by rows in blocks of 32
//! (127 steps to the largest, as ggml's `q8_0` has them), the products of values with one factor, a
//! block or half of one, are summed in 32 bits, which is exact, and these sums in f32, in the order
//! of the depth. What is subtracted of all weights of a block is multiplied by its activations' sum.
//!
//! The loop is written over one operation ([`dot::Dot`]): four products of neighbours in
//! depth, added to a lane; or over whole tiles (`tiles`). Every level computes the same bytes.

mod dot;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod emulation;
mod instructions;
mod layout;
mod product;
mod quantise;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod tiles;

pub use product::Int8Product;
pub use quantise::Format;

use product::compute;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use std::sync::OnceLock;

use crate::Level;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use crate::amx::has_amx_int8;
use crate::gemm::Thread;
use crate::table::Kernels;

/// Instructions of eight bits, in order of speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Int8Level {
    /// Plain code.
    Scalar,
    /// Dot products of 64-bit Arm processors.
    NeonDot,
    /// AVX2's products of pairs in 16 bits.
    Avx2,
    /// AVX-VNNI, 256 bits.
    AvxVnni,
    /// AVX-512 VNNI.
    Avx512Vnni,
    /// AMX's tile registers for products, on Linux, and all else with AVX-512. Offered where its
    /// products are found to be those of the plain loops.
    AmxInt8,
}

impl Int8Level {
    /// Every level, from the slowest.
    pub const ALL: [Self; 6] = [Self::Scalar, Self::NeonDot, Self::Avx2, Self::AvxVnni, Self::Avx512Vnni, Self::AmxInt8];

    /// The fastest level beside the kernels of `level`, with vectors that are no wider. Without
    /// `has_dots` those are left out whose processors have instructions for it.
    #[must_use]
    pub fn beside(level: Level, has_dots: bool) -> Self {
        let is_chosen = |it: &Self| it.vectors() <= level && (has_dots || !it.has_dots()) && it.is_available();
        Self::ALL.into_iter().rev().find(is_chosen).unwrap_or(Self::Scalar)
    }

    /// Products of these weights are quicker than in f32 with the kernels of `beside`. Known and not
    /// measured at the start, as `maker` says: all are where the processor has dot products; with
    /// AVX2 alone those of `Q8_0` were 0.86 to 1.15 times as quick, and all others 1.07 to 1.98
    /// times (README). Beside f32 in vectors of AVX-512 nobody measured AVX2's.
    #[must_use]
    pub const fn gains(self, format: Format, beside: Level) -> bool {
        let is_avx2_alone = matches!((self, beside), (Self::Avx2, Level::Avx2));
        self.has_dots() || (is_avx2_alone && !matches!(format, Format::Q8_0))
    }

    /// The processor has instructions that sum products of eight bits, of which a vector holds four
    /// times as many as of f32.
    #[must_use]
    pub const fn has_dots(self) -> bool {
        matches!(self, Self::NeonDot | Self::AvxVnni | Self::Avx512Vnni | Self::AmxInt8)
    }

    /// The level whose vectors it uses.
    const fn vectors(self) -> Level {
        match self {
            Self::Scalar => Level::Scalar,
            Self::NeonDot => Level::Neon,
            Self::Avx2 | Self::AvxVnni => Level::Avx2,
            Self::Avx512Vnni | Self::AmxInt8 => Level::Avx512,
        }
    }

    /// Name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar-int8",
            Self::NeonDot => "neon-dot",
            Self::Avx2 => "avx2-int8",
            Self::AvxVnni => "avx-vnni",
            Self::Avx512Vnni => "avx512-vnni",
            Self::AmxInt8 => "amx-int8",
        }
    }

    /// This processor has the level's instructions.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Level::Avx2.kernels().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => Self::Avx2.is_available() && is_x86_feature_detected!("avxvnni"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => Level::Avx512.kernels().is_some() && is_x86_feature_detected!("avx512vnni"),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Self::AmxInt8 => is_amx_available(),
            #[cfg(target_arch = "aarch64")]
            Self::NeonDot => std::arch::is_aarch64_feature_detected!("dotprod"),
            _ => false,
        }
    }
}

/// The processor and the system have AMX's products of eight bits, and these are exact. Found out once.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn is_amx_available() -> bool {
    static IS_AVAILABLE: OnceLock<bool> = OnceLock::new();
    *IS_AVAILABLE.get_or_init(|| {
        let is_exact = |kernels| {
            // SAFETY: AVX-512 and the instructions of tiles are there and permitted where it is called.
            unsafe { instructions::is_amx_exact(kernels) }
        };
        Level::Avx512.kernels().is_some_and(|kernels| has_amx_int8() && is_exact(kernels))
    })
}

/// Computes one thread's part of a product; `kernels` finish it.
///
/// # Panics
/// Where this processor lacks the level, or a row of weights does not consist of whole blocks.
///
/// # Safety
/// The matrices are valid for the sizes named, rows of f32 are aligned, `out` overlaps no factor,
/// and no two threads have the same index.
pub unsafe fn multiply(level: Int8Level, kernels: &Kernels, product: &Int8Product, thread: Thread) {
    assert!(level.is_available() && product.depth.is_multiple_of(product.format.values()), "{level:?}, depth {}", product.depth);
    // SAFETY: as the caller promises; the instructions are there.
    unsafe {
        match level {
            #[cfg(target_arch = "aarch64")]
            Int8Level::NeonDot => instructions::neon_dot(kernels, product, thread),
            #[cfg(target_arch = "x86_64")]
            Int8Level::Avx2 => instructions::avx2(kernels, product, thread),
            #[cfg(target_arch = "x86_64")]
            Int8Level::AvxVnni => instructions::avx_vnni(kernels, product, thread),
            #[cfg(target_arch = "x86_64")]
            Int8Level::Avx512Vnni => instructions::avx512_vnni(kernels, product, thread),
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Int8Level::AmxInt8 => instructions::amx(kernels, product, thread),
            _ => compute::<instructions::Plain<8>>(kernels, product, thread),
        }
    }
}
