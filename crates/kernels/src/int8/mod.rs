//! Products of quantised weights in eight bits: activations are quantised by rows in blocks of 32
//! (127 steps to the largest, as ggml's `q8_0` has them), the products of a block are summed in 32
//! bits, which is exact, and blocks are summed in f32, in the order of the depth.
//!
//! The loop is written over one operation ([`instructions::Dot`]): four products of neighbours in
//! depth, added to a lane. Every level computes the same bytes.

mod instructions;
mod quantise;

pub use quantise::{BLOCK, Format};

use std::ops::Range;

use instructions::Dot;

use crate::Level;
use crate::epilogue::{Axis, Epilogue, Part};
use crate::gemm::{self, Thread};
use crate::scratch;
use crate::table::Kernels;

/// Words of four values in a block.
const WORDS: usize = BLOCK / 4;
/// Words of a quantised block of activations: values, their factor, and their sum.
const TOKEN_WORDS: usize = WORDS + 2;
/// Words of quantised activations that are kept at a time: 4 MiB.
const KEPT_WORDS: usize = 1 << 20;

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

    /// The fastest level beside the kernels of `level`, with vectors that are no wider. Without
    /// `has_dots` those are left out whose processors have instructions for it.
    #[must_use]
    pub fn beside(level: Level, has_dots: bool) -> Self {
        let is_chosen = |it: &Self| it.vectors() <= level && (has_dots || !it.has_dots()) && it.is_available();
        Self::ALL.into_iter().rev().find(is_chosen).unwrap_or(Self::Scalar)
    }

    /// The processor has instructions that sum products of eight bits, of which a vector holds four
    /// times as many as of f32. Known and not measured, as `maker` says: with AVX2 alone
    /// products were 0.96 to 1.46 times as quick as in f32, so nothing is gained for certain.
    #[must_use]
    pub const fn has_dots(self) -> bool {
        matches!(self, Self::NeonDot | Self::AvxVnni | Self::Avx512Vnni)
    }

    /// The level whose vectors it uses.
    const fn vectors(self) -> Level {
        match self {
            Self::Scalar => Level::Scalar,
            Self::NeonDot => Level::Neon,
            Self::Avx2 | Self::AvxVnni => Level::Avx2,
            Self::Avx512Vnni => Level::Avx512,
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
    let (rows, columns) = gemm::part_of(kernels, product.tokens, product.features, thread);
    if columns.is_empty() {
        return;
    }
    let blocks = product.depth / BLOCK;
    // Weights are unpacked again for each block of rows, of which there are enough to make that a
    // small part of the work.
    let kept_rows = (KEPT_WORDS / (blocks * TOKEN_WORDS).max(1) / D::TOKENS).max(16) * D::TOKENS;
    for first in rows.clone().step_by(kept_rows) {
        let rows = first..rows.end.min(first + kept_rows);
        let part = Part { out: product.out, stride: product.out_stride, rows, columns: columns.clone() };
        // SAFETY: as the caller promises; the part is computed before it is finished.
        unsafe {
            compute_part::<D>(product, blocks, &part);
            product.epilogue.apply(kernels, Axis::Columns, &part);
        }
    }
}

/// The sums of some rows and columns.
///
/// # Safety
/// As [`multiply`].
#[inline(always)]
unsafe fn compute_part<D: Dot>(product: &Int8Product, blocks: usize, part: &Part) {
    let Part { rows, columns, .. } = part;
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
            unpack_panel::<D>(product, first..first + width, panel);
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
    }
}

/// Unpacks the weights of at most [`Dot::LANES`] columns: for each block the words of all lanes, then
/// their factors. Lanes beyond the columns are zeros.
///
/// # Safety
/// As [`multiply`]; `panel` is writable.
#[inline(always)]
unsafe fn unpack_panel<D: Dot>(product: &Int8Product, columns: Range<usize>, panel: *mut u32) {
    for block in 0..product.depth / BLOCK {
        // SAFETY: as the caller promises.
        unsafe {
            let to = panel.add(block * (WORDS + 1) * D::LANES);
            for lane in 0..D::LANES {
                let mut values = [0; BLOCK];
                let factor = if lane < columns.len() {
                    let row = product.weights.add((columns.start + lane) * product.weights_stride);
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
    }
}
