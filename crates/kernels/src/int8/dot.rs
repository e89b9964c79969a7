//! The operations that the loops are written over.

use super::layout::{Operands, WORDS, factor_words, panel_words, token_words};
use super::quantise::Format;

/// Registers of 32 bits a lane.
///
/// # Safety
/// Of every function: the instruction set is there and pointers have a vector's lanes.
pub(super) trait Vectors {
    type Ints: Copy;
    type Floats: Copy;
    /// At most 16.
    const LANES: usize;

    unsafe fn load(from: *const u32) -> Self::Ints;
    unsafe fn splat(value: i32) -> Self::Ints;
    unsafe fn zeros() -> Self::Floats;
    /// `sums + products * (weights * activations)`, the last two rounded once.
    unsafe fn add_scaled(sums: Self::Floats, products: Self::Ints, weights: *const f32, activations: f32) -> Self::Floats;
    /// `sums + weights * activations`, rounded once.
    unsafe fn add_product(sums: Self::Floats, weights: *const f32, activations: f32) -> Self::Floats;
    unsafe fn store(from: Self::Floats, to: *mut f32);
}

/// Products of panels of weights and rows of activations.
///
/// # Safety
/// As of [`Vectors`].
pub(super) trait Multiply {
    /// Columns at a time: at most 16.
    const LANES: usize;
    /// Rows of activations at a time.
    const TOKENS: usize;

    /// What is subtracted of all weights in a panel, of their offset.
    fn subtracted(format: Format) -> u8;
    /// Before products of these weights on this thread; until [`end`](Self::end) no code of others
    /// runs on it.
    unsafe fn begin(_format: Format) {}
    /// After them.
    unsafe fn end() {}
    /// Multiplies [`TOKENS`](Self::TOKENS) rows with a panel of weights of the format with this place
    /// in [`Format::ALL`].
    unsafe fn multiply<const FORMAT: usize>(operands: &Operands);
}

/// Four products of eight bits for each lane.
///
/// # Safety
/// As of [`Vectors`].
pub(super) trait Dot: Vectors {
    /// Weights of eight bits have a sign; all others have none.
    const SIGNED: bool;

    /// Adds the products of four weights of each lane and four activations, which are not -128.
    unsafe fn dot(sums: Self::Ints, weights: Self::Ints, activations: i32) -> Self::Ints;
    /// Adds the products of some words of a panel, whose weights have so many bits, and as many words
    /// of activations.
    #[inline(always)]
    unsafe fn dot_words(mut sums: Self::Ints, weights: *const u32, activations: *const u32, words: usize, _bits: u32) -> Self::Ints {
        for word in 0..words {
            // SAFETY: as the caller promises.
            unsafe {
                sums = Self::dot(sums, Self::load(weights.add(word * Self::LANES)), activations.add(word).read().cast_signed());
            }
        }
        sums
    }
}

impl<D: Dot> Multiply for D {
    const LANES: usize = <D as Vectors>::LANES;
    const TOKENS: usize = 4;

    #[inline(always)]
    fn subtracted(format: Format) -> u8 {
        if D::SIGNED && format.bits() == 8 { format.offset() } else { 0 }
    }

    #[inline(always)]
    unsafe fn multiply<const FORMAT: usize>(operands: &Operands) {
        let block_words = token_words(Format::ALL[FORMAT]);
        let panel_words = panel_words(Format::ALL[FORMAT], D::LANES);
        // SAFETY: as the caller promises.
        unsafe {
            let mut sums = [D::zeros(); 4];
            for block in 0..operands.blocks {
                let weights = operands.panel.add(block * panel_words);
                let left = operands.tokens.add(block * block_words);
                for (index, sum) in sums.iter_mut().enumerate() {
                    *sum = add_block::<D, FORMAT>(*sum, weights, left.add(index * operands.blocks * block_words));
                }
            }
            store::<D>(&sums, operands);
        }
    }
}

/// Writes the sums of some rows, as many as belong to the result.
///
/// # Safety
/// The result is writable.
#[inline(always)]
pub(super) unsafe fn store<V: Vectors>(sums: &[V::Floats], operands: &Operands) {
    // A loop of fixed length leaves the sums in registers.
    for (index, sum) in sums.iter().enumerate() {
        if index >= operands.rows {
            break;
        }
        // SAFETY: as the caller promises.
        unsafe {
            let to = operands.out.add(index * operands.out_stride);
            if operands.width == V::LANES {
                V::store(*sum, to);
            } else {
                let mut values = [0.0; 16];
                V::store(*sum, values.as_mut_ptr());
                to.copy_from_nonoverlapping(values.as_ptr(), operands.width);
            }
        }
    }
}

/// Adds the products of a block of a panel and one of activations.
///
/// # Safety
/// The blocks are readable.
#[inline(always)]
unsafe fn add_block<D: Dot, const FORMAT: usize>(mut sums: D::Floats, weights: *const u32, left: *const u32) -> D::Floats {
    let format = Format::ALL[FORMAT];
    let factors = format.factors().count();
    let words = factor_words(format);
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
