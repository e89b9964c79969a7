//! A product: activations are quantised, weights are unpacked to panels, and their blocks multiplied.

use std::ops::Range;

use super::dot::Dot;
use super::quantise::{self, BLOCK, Format, Scale};
use crate::epilogue::{Axis, Epilogue, Part};
use crate::gemm::{self, Thread};
use crate::scratch;
use crate::table::Kernels;

/// Words of four values in a block.
const WORDS: usize = BLOCK / 4;
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

/// A thread's part, with the instructions of `D`.
///
/// # Safety
/// As [`multiply`](super::multiply).
#[inline(always)]
pub(super) unsafe fn compute<D: Dot>(kernels: &Kernels, product: &Int8Product, thread: Thread) {
    // SAFETY: as the caller promises.
    unsafe {
        match product.format {
            Format::Q8_0 => compute_format::<D, { Format::Q8_0 as usize }>(kernels, product, thread),
            Format::Q5_0 => compute_format::<D, { Format::Q5_0 as usize }>(kernels, product, thread),
            Format::Q4_0 => compute_format::<D, { Format::Q4_0 as usize }>(kernels, product, thread),
            Format::Q6K => compute_format::<D, { Format::Q6K as usize }>(kernels, product, thread),
            Format::Q5K => compute_format::<D, { Format::Q5K as usize }>(kernels, product, thread),
            Format::Q4K => compute_format::<D, { Format::Q4K as usize }>(kernels, product, thread),
        }
    }
}

/// The same, compiled for the format with this place in [`Format::ALL`].
///
/// # Safety
/// As [`multiply`](super::multiply).
#[inline(always)]
unsafe fn compute_format<D: Dot, const FORMAT: usize>(kernels: &Kernels, product: &Int8Product, thread: Thread) {
    let (rows, columns) = gemm::part_of(kernels, product.tokens, product.features, thread);
    if columns.is_empty() {
        return;
    }
    let blocks = product.depth / BLOCK;
    // Weights are unpacked again for each block of rows, of which there are enough to make that a
    // small part of the work.
    let kept_rows = (KEPT_WORDS / (blocks * token_words(Format::ALL[FORMAT])).max(1) / D::TOKENS).max(16) * D::TOKENS;
    for first in rows.clone().step_by(kept_rows) {
        let rows = first..rows.end.min(first + kept_rows);
        let part = Part { out: product.out, stride: product.out_stride, rows, columns: columns.clone() };
        // SAFETY: as the caller promises; the part is computed before it is finished.
        unsafe {
            compute_part::<D, FORMAT>(product, blocks, &part);
            product.epilogue.apply(kernels, Axis::Columns, &part);
        }
    }
}

/// Words of a quantised block of activations: values, their factor, for each factor of the weights
/// what undoes their offset, and for their minimum the sum of what the values stand for.
const fn token_words(format: Format) -> usize {
    WORDS + 1 + shared_words(format)
}

/// Factors of a block of weights, and its minimum.
const fn shared_words(format: Format) -> usize {
    format.factors().count() + format.factors().has_minimum() as usize
}

/// What is flipped of weights of eight bits to make their sign again.
const fn flipped<D: Dot>(format: Format) -> u8 {
    if D::SIGNED && format.bits() == 8 { format.offset() } else { 0 }
}

/// The sums of some rows and columns.
///
/// # Safety
/// As [`multiply`](super::multiply).
#[inline(always)]
unsafe fn compute_part<D: Dot, const FORMAT: usize>(product: &Int8Product, blocks: usize, part: &Part) {
    let Part { rows, columns, .. } = part;
    let block_words = token_words(Format::ALL[FORMAT]);
    let token_words = blocks * block_words;
    let tokens = rows.len().next_multiple_of(D::TOKENS);
    let panel_words = (WORDS + shared_words(Format::ALL[FORMAT])) * D::LANES;
    let panel = scratch::words(&scratch::BLOCKS, blocks * panel_words + tokens * token_words);
    // SAFETY: as the caller promises; the scratch holds a panel and all tokens.
    unsafe {
        let quantised = panel.add(blocks * panel_words);
        quantised.add(rows.len() * token_words).write_bytes(0, (tokens - rows.len()) * token_words);
        for (index, row) in rows.clone().enumerate() {
            let from = product.activations.add(row * product.activations_stride);
            for block in 0..blocks {
                let to = quantised.add(index * token_words + block * block_words);
                quantise_block::<D, FORMAT>(&*from.add(block * BLOCK).cast(), to);
            }
        }
        for first in columns.clone().step_by(D::LANES) {
            let width = D::LANES.min(columns.end - first);
            unpack_panel::<D, FORMAT>(product, first..first + width, panel);
            for token in (0..rows.len()).step_by(D::TOKENS) {
                let mut sums = [D::zeros(); 4];
                for block in 0..blocks {
                    let weights = panel.add(block * panel_words);
                    let left = quantised.add(token * token_words + block * block_words);
                    for (index, sum) in sums.iter_mut().enumerate().take(D::TOKENS) {
                        *sum = add_block::<D, FORMAT>(*sum, weights, left.add(index * token_words));
                    }
                }
                // A loop of fixed length leaves the sums in registers.
                for (index, sum) in sums.into_iter().enumerate().take(D::TOKENS) {
                    if token + index >= rows.len() {
                        break;
                    }
                    let to = product.out.add((rows.start + token + index) * product.out_stride + first);
                    if width == D::LANES {
                        D::store(sum, to);
                    } else {
                        let mut values = [0.0; 16];
                        D::store(sum, values.as_mut_ptr());
                        to.copy_from_nonoverlapping(values.as_ptr(), width);
                    }
                }
            }
        }
    }
}

/// Quantises a block of activations to [`token_words`] words.
///
/// # Safety
/// `to` is writable.
#[inline(always)]
unsafe fn quantise_block<D: Dot, const FORMAT: usize>(from: &[f32; BLOCK], to: *mut u32) {
    let format = Format::ALL[FORMAT];
    let factors = format.factors().count();
    let offset = i32::from(format.offset() ^ flipped::<D>(format));
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

/// Adds the products of a block of a panel and one of activations.
///
/// # Safety
/// As [`multiply`](super::multiply); the blocks are readable.
#[inline(always)]
unsafe fn add_block<D: Dot, const FORMAT: usize>(mut sums: D::Floats, weights: *const u32, left: *const u32) -> D::Floats {
    let format = Format::ALL[FORMAT];
    let factors = format.factors().count();
    let words = WORDS / factors;
    // SAFETY: as the caller promises.
    unsafe {
        let factor = f32::from_bits(left.add(WORDS).read());
        for part in 0..factors {
            let start = D::splat(left.add(WORDS + 1 + part).read().cast_signed());
            let (panel, values) = (weights.add(part * words * D::LANES), left.add(part * words));
            let products = D::dot_words(start, panel, values, words, format.bits());
            sums = D::add_scaled(sums, products, weights.add((WORDS + part) * D::LANES).cast(), factor);
        }
        if format.factors().has_minimum() {
            let sum = f32::from_bits(left.add(WORDS + 1 + factors).read());
            sums = D::add_product(sums, weights.add((WORDS + factors) * D::LANES).cast(), sum);
        }
        sums
    }
}

/// Unpacks the weights of at most [`Dot::LANES`] columns: for each block the words of all lanes, then
/// their factors, then their minima, negative. Lanes beyond the columns are zeros.
///
/// # Safety
/// As [`multiply`](super::multiply); `panel` is writable.
#[inline(always)]
unsafe fn unpack_panel<D: Dot, const FORMAT: usize>(product: &Int8Product, columns: Range<usize>, panel: *mut u32) {
    let format = Format::ALL[FORMAT];
    let factors = format.factors().count();
    for block in 0..product.depth / BLOCK {
        // SAFETY: as the caller promises.
        unsafe {
            let to = panel.add(block * (WORDS + shared_words(Format::ALL[FORMAT])) * D::LANES);
            for lane in 0..D::LANES {
                let mut values = [0; BLOCK];
                let scale = if lane < columns.len() {
                    let row = product.weights.add((columns.start + lane) * product.weights_stride);
                    format.unpack(row, block, &mut values)
                } else {
                    Scale::ZERO
                };
                for (word, four) in values.as_chunks::<4>().0.iter().enumerate() {
                    let bytes = four.map(|value| value ^ flipped::<D>(format));
                    to.add(word * D::LANES + lane).write(u32::from_ne_bytes(bytes));
                }
                for (part, factor) in scale.factors.iter().enumerate().take(factors) {
                    to.add((WORDS + part) * D::LANES + lane).write(factor.to_bits());
                }
                if format.factors().has_minimum() {
                    to.add((WORDS + factors) * D::LANES + lane).write((-scale.minimum).to_bits());
                }
            }
        }
    }
}
