//! A product: activations are quantised, weights are unpacked to panels, and their blocks multiplied.

use std::ops::Range;

use super::dot::Multiply;
use super::layout::{Operands, WORDS, panel_words, token_words};
use super::quantise::{self, BLOCK, Format, Scale};
use crate::epilogue::{Axis, Epilogue, Part};
use crate::gemm::{self, Thread};
use crate::scratch;
use crate::table::Kernels;

/// Words of quantised activations that are kept at a time: 4 MiB.
const KEPT_WORDS: usize = 1 << 20;

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
    /// Length of the sums: a multiple of [`Format::values`].
    pub depth: usize,
    /// Applied to the sums; its constants belong to the features.
    pub epilogue: Epilogue,
}

impl Int8Product {
    /// A product of matrices whose rows lie side by side: tokens, features, depth.
    ///
    /// # Panics
    /// If a matrix has another size.
    #[must_use]
    pub fn new(format: Format, [tokens, features, depth]: [usize; 3], weights: &[u8], activations: &[f32], out: &mut [f32]) -> Self {
        let weights_stride = depth / format.values() * format.bytes();
        assert_eq!([weights.len(), activations.len(), out.len()], [features * weights_stride, tokens * depth, tokens * features]);
        Self {
            weights: weights.as_ptr(),
            weights_stride,
            format,
            activations: activations.as_ptr(),
            activations_stride: depth,
            out: out.as_mut_ptr(),
            out_stride: features,
            tokens,
            features,
            depth,
            epilogue: Epilogue::NONE,
        }
    }
}

/// A thread's part, with the instructions of `M`.
///
/// # Safety
/// As [`multiply`](super::multiply).
#[inline(always)]
pub(super) unsafe fn compute<M: Multiply>(kernels: &Kernels, product: &Int8Product, thread: Thread) {
    // SAFETY: as the caller promises.
    unsafe {
        match product.format {
            Format::Q8_0 => compute_format::<M, { Format::Q8_0 as usize }>(kernels, product, thread),
            Format::Q5_0 => compute_format::<M, { Format::Q5_0 as usize }>(kernels, product, thread),
            Format::Q4_0 => compute_format::<M, { Format::Q4_0 as usize }>(kernels, product, thread),
            Format::Q6K => compute_format::<M, { Format::Q6K as usize }>(kernels, product, thread),
            Format::Q5K => compute_format::<M, { Format::Q5K as usize }>(kernels, product, thread),
            Format::Q4K => compute_format::<M, { Format::Q4K as usize }>(kernels, product, thread),
        }
    }
}

/// The same, compiled for the format with this place in [`Format::ALL`].
///
/// # Safety
/// As [`multiply`](super::multiply).
#[inline(always)]
unsafe fn compute_format<M: Multiply, const FORMAT: usize>(kernels: &Kernels, product: &Int8Product, thread: Thread) {
    let (rows, columns) = gemm::part_of(kernels, product.tokens, product.features, thread);
    if columns.is_empty() {
        return;
    }
    let blocks = product.depth / BLOCK;
    // Weights are unpacked again for each block of rows, of which there are enough to make that a
    // small part of the work.
    let kept_rows = (KEPT_WORDS / (blocks * token_words(Format::ALL[FORMAT])).max(1) / M::TOKENS).max(16) * M::TOKENS;
    for first in rows.clone().step_by(kept_rows) {
        let rows = first..rows.end.min(first + kept_rows);
        let part = Part { out: product.out, stride: product.out_stride, rows, columns: columns.clone() };
        // SAFETY: as the caller promises; the part is computed before it is finished.
        unsafe {
            compute_part::<M, FORMAT>(product, blocks, &part);
            product.epilogue.apply(kernels, Axis::Columns, &part);
        }
    }
}

/// The sums of some rows and columns.
///
/// # Safety
/// As [`multiply`](super::multiply).
#[inline(always)]
unsafe fn compute_part<M: Multiply, const FORMAT: usize>(product: &Int8Product, blocks: usize, part: &Part) {
    let Part { rows, columns, .. } = part;
    let block_words = token_words(Format::ALL[FORMAT]);
    let token_words = blocks * block_words;
    let tokens = rows.len().next_multiple_of(M::TOKENS);
    let panel_words = panel_words(Format::ALL[FORMAT], M::LANES);
    let panel = scratch::words(&scratch::BLOCKS, blocks * panel_words + tokens * token_words);
    // SAFETY: as the caller promises; the scratch holds a panel and all tokens.
    unsafe {
        let quantised = panel.add(blocks * panel_words);
        quantised.add(rows.len() * token_words).write_bytes(0, (tokens - rows.len()) * token_words);
        for (index, row) in rows.clone().enumerate() {
            let from = product.activations.add(row * product.activations_stride);
            for block in 0..blocks {
                let to = quantised.add(index * token_words + block * block_words);
                quantise_block::<M, FORMAT>(&*from.add(block * BLOCK).cast(), to);
            }
        }
        M::begin(Format::ALL[FORMAT]);
        for first in columns.clone().step_by(M::LANES) {
            let width = M::LANES.min(columns.end - first);
            unpack_panel::<M, FORMAT>(product, first..first + width, panel);
            for token in (0..rows.len()).step_by(M::TOKENS) {
                let operands = Operands {
                    blocks,
                    panel,
                    tokens: quantised.add(token * token_words),
                    out: product.out.add((rows.start + token) * product.out_stride + first),
                    out_stride: product.out_stride,
                    rows: rows.len() - token,
                    width,
                };
                M::multiply::<FORMAT>(&operands);
            }
        }
        M::end();
    }
}

/// Quantises a block of activations to [`token_words`] words.
///
/// # Safety
/// `to` is writable.
#[inline(always)]
unsafe fn quantise_block<M: Multiply, const FORMAT: usize>(from: &[f32; BLOCK], to: *mut u32) {
    let format = Format::ALL[FORMAT];
    let factors = format.factors().count();
    let offset = i32::from(format.offset() - M::subtracted(format));
    // SAFETY: as the caller promises.
    unsafe {
        let (factor, sums) = quantise::quantise(from, &mut *to.cast());
        let sum = sums[0] + sums[1];
        to.add(WORDS).write(factor.to_bits());
        let starts = if factors == 1 { [sum, 0] } else { sums };
        for (part, start) in starts.iter().enumerate().take(factors) {
            to.add(WORDS + 1 + part).write((start * -offset).cast_unsigned());
        }
        if format.factors().has_minimum() {
            to.add(WORDS + 1 + factors).write((sum as f32 * factor).to_bits());
        }
    }
}

/// Unpacks the weights of at most [`Multiply::LANES`] columns: for each block the words of all lanes, then
/// their factors, then their minima, negative. Lanes beyond the columns are zeros.
///
/// # Safety
/// As [`multiply`](super::multiply); `panel` is writable.
#[inline(always)]
unsafe fn unpack_panel<M: Multiply, const FORMAT: usize>(product: &Int8Product, columns: Range<usize>, panel: *mut u32) {
    let format = Format::ALL[FORMAT];
    let factors = format.factors().count();
    for block in 0..product.depth / BLOCK {
        // SAFETY: as the caller promises.
        unsafe {
            let to = panel.add(block * panel_words(format, M::LANES));
            for lane in 0..M::LANES {
                let mut values = [0; BLOCK];
                let scale = if lane < columns.len() {
                    let row = product.weights.add((columns.start + lane) * product.weights_stride);
                    format.unpack(row, block, &mut values)
                } else {
                    Scale::ZERO
                };
                for (word, four) in values.as_chunks::<4>().0.iter().enumerate() {
                    let bytes = four.map(|value| value.wrapping_sub(M::subtracted(format)));
                    to.add(word * M::LANES + lane).write(u32::from_ne_bytes(bytes));
                }
                for (part, factor) in scale.factors.iter().enumerate().take(factors) {
                    to.add((WORDS + part) * M::LANES + lane).write(factor.to_bits());
                }
                if format.factors().has_minimum() {
                    to.add((WORDS + factors) * M::LANES + lane).write((-scale.minimum).to_bits());
                }
            }
        }
    }
}
