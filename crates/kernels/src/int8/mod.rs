//! Products of quantised weights in eight bits: activations are quantised by rows in blocks of 32
//! (127 steps to the largest, as ggml's `q8_0` has them), the products of a block are summed in 32
//! bits, which is exact, and blocks are summed in f32, in the order of the depth.
//!
//! The loop is written over one operation ([`instructions::Dot`]): four products of neighbours in
//! depth, added to a lane. Every level computes the same bytes.

mod instructions;
mod quantise;

pub use quantise::Format;

use instructions::Dot;
use quantise::BLOCK;

use crate::epilogue::{Axis, Epilogue, Part};
use crate::gemm::{self, Thread};
use crate::scratch;
use crate::table::Kernels;

/// Words of four values in a block.
const WORDS: usize = BLOCK / 4;

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
}

impl Int8Level {
    /// Every level, from the slowest.
    pub const ALL: [Self; 5] = [Self::Scalar, Self::NeonDot, Self::Avx2, Self::AvxVnni, Self::Avx512Vnni];

    /// Name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::NeonDot => "neon-dot",
            Self::Avx2 => "avx2-int8",
            Self::AvxVnni => "avx-vnni",
            Self::Avx512Vnni => "avx512-vnni",
        }
    }

    /// This processor has the level's instructions.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => crate::Level::Avx2.kernels().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => Self::Avx2.is_available() && is_x86_feature_detected!("avxvnni"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => crate::Level::Avx512.kernels().is_some() && is_x86_feature_detected!("avx512vnni"),
            #[cfg(target_arch = "aarch64")]
            Self::NeonDot => std::arch::is_aarch64_feature_detected!("dotprod"),
            _ => false,
        }
    }
}

/// `out[i][j] = sum over k of activations[i][k] * weights[j][k]`.
#[derive(Clone, Copy, Debug)]
pub struct Int8Product {
    /// First block of the first of `features` rows of `depth` values; needs no alignment.
    pub weights: *const u8,
    /// Bytes from one row of weights to the next.
    pub weights_stride: usize,
    /// Type of the weights.
    pub format: Format,
    /// `tokens` rows of `depth` values.
    pub activations: *const f32,
    /// Values from one row of activations to the next.
    pub activations_stride: usize,
    /// `tokens` rows of `features` values.
    pub out: *mut f32,
    /// Values from one row of `out` to the next.
    pub out_stride: usize,
    /// Rows of the result.
    pub tokens: usize,
    /// Columns of the result.
    pub features: usize,
    /// Length of the sums: a multiple of 32.
    pub depth: usize,
    /// Applied to the sums; its constants belong to the features.
    pub epilogue: Epilogue,
}

/// Computes one thread's part of a product; `kernels` finish it.
///
/// # Panics
/// Where this processor lacks the level, or `depth` is no multiple of 32.
///
/// # Safety
/// The matrices are valid for the sizes named, rows of f32 are aligned, `out` overlaps no factor,
/// and no two threads have the same index.
pub unsafe fn multiply(level: Int8Level, kernels: &Kernels, product: &Int8Product, thread: Thread) {
    assert!(level.is_available() && product.depth.is_multiple_of(BLOCK), "{level:?}, depth {}", product.depth);
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
            _ => compute::<instructions::Plain>(kernels, product, thread),
        }
    }
}

/// A thread's part, with the instructions of `D`.
///
/// # Safety
/// As [`multiply`].
#[inline(always)]
unsafe fn compute<D: Dot>(kernels: &Kernels, product: &Int8Product, thread: Thread) {
    /// Words of a quantised block of activations: values, their factor, and their sum.
    const TOKEN_WORDS: usize = WORDS + 2;
    let (rows, columns) = gemm::part_of(kernels, product.tokens, product.features, thread);
    if rows.is_empty() || columns.is_empty() {
        return;
    }
    let blocks = product.depth / BLOCK;
    let token_words = blocks * TOKEN_WORDS;
    let tokens = rows.len().next_multiple_of(D::TOKENS);
    let panel_words = (WORDS + 1) * D::LANES;
    let panel = scratch::words(&scratch::BLOCKS, blocks * panel_words + tokens * token_words);
    // SAFETY: as the caller promises; the scratch holds a panel and all tokens.
    unsafe {
        let quantised = panel.add(blocks * panel_words);
        quantised.add(rows.len() * token_words).write_bytes(0, (tokens - rows.len()) * token_words);
        for (index, row) in rows.clone().enumerate() {
            let from = product.activations.add(row * product.activations_stride);
            for block in 0..blocks {
                let to = quantised.add(index * token_words + block * TOKEN_WORDS);
                let (factor, sum) = quantise::quantise(&*from.add(block * BLOCK).cast(), &mut *to.cast());
                to.add(WORDS).write(factor.to_bits());
                to.add(WORDS + 1).write((sum * -i32::from(D::OFFSET)).cast_unsigned());
            }
        }
        for first in columns.clone().step_by(D::LANES) {
            let width = D::LANES.min(columns.end - first);
            for block in 0..blocks {
                let to = panel.add(block * panel_words);
                for lane in 0..D::LANES {
                    let mut values = [0; BLOCK];
                    let factor = if lane < width {
                        let row = product.weights.add((first + lane) * product.weights_stride);
                        product.format.unpack(row.add(block * product.format.bytes()), &mut values)
                    } else {
                        0.0
                    };
                    for (word, four) in values.as_chunks::<4>().0.iter().enumerate() {
                        let bytes = four.map(|value| value.cast_unsigned() ^ D::OFFSET);
                        to.add(word * D::LANES + lane).write(u32::from_ne_bytes(bytes));
                    }
                    to.add(WORDS * D::LANES + lane).write(factor.to_bits());
                }
            }
            for token in (0..rows.len()).step_by(D::TOKENS) {
                let mut sums = [D::zeros(); 4];
                for block in 0..blocks {
                    let weights = panel.add(block * panel_words);
                    let left = quantised.add(token * token_words + block * TOKEN_WORDS);
                    for (index, sum) in sums.iter_mut().enumerate().take(D::TOKENS) {
                        let left = left.add(index * token_words);
                        let mut products = D::splat(left.add(WORDS + 1).read().cast_signed());
                        for word in 0..WORDS {
                            products = D::dot(products, D::load(weights.add(word * D::LANES)), left.add(word).read().cast_signed());
                        }
                        *sum = D::add_scaled(*sum, products, weights.add(WORDS * D::LANES).cast(), f32::from_bits(left.add(WORDS).read()));
                    }
                }
                for (index, sum) in sums.iter().enumerate().take(D::TOKENS.min(rows.len() - token)) {
                    let mut values = [0.0; 16];
                    D::store(*sum, values.as_mut_ptr());
                    let to = product.out.add((rows.start + token + index) * product.out_stride + first);
                    to.copy_from_nonoverlapping(values.as_ptr(), width);
                }
            }
        }
        let part = Part { out: product.out, stride: product.out_stride, rows, columns };
        product.epilogue.apply(kernels, Axis::Columns, &part);
    }
}
