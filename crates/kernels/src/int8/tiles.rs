//! Products of blocks by tile registers: 16 rows of activations with a panel of 16 lanes at a time.
//! The sums of a block, which are exact, go through memory to be multiplied with their factors, while
//! the registers are at the next block.

use std::marker::PhantomData;

use super::dot::{Multiply, Vectors, store};
use super::layout::{Operands, WORDS, factor_words, panel_words, token_words};
use super::product::{Int8Product, compute};
use super::quantise::Format;
use crate::amx::random_numbers;
use crate::gemm::Thread;
use crate::table::Kernels;

/// Rows of a tile, and its columns of 32 bits.
const SIDE: usize = 16;

/// Tile registers for products of eight bits.
///
/// # Safety
/// Of every function: the processor has them, the process may use them, and pointers are valid for
/// the tiles named.
pub(crate) trait Int8Registers {
    /// Gives the registers of this thread their shapes: tiles A have 16 rows of so many words, tiles
    /// B as many rows of 16 words.
    unsafe fn configure(words: usize);
    /// Gives them back.
    unsafe fn release();
    /// The sums of products of values with a sign, of a tile A whose rows are so many bytes apart, and
    /// a tile B whose rows lie side by side. Odd products have registers of their own.
    unsafe fn multiply<const IS_ODD: bool>(left: *const u32, left_stride: usize, right: *const u32, products: &mut Products);
}

/// A tile of sums.
#[repr(C, align(64))]
pub(crate) struct Products(pub(crate) [[i32; SIDE]; SIDE]);

/// Vectors of 16 lanes beside tile registers.
pub(super) struct Tiled<V, R>(PhantomData<(V, R)>);

impl<V: Vectors, R: Int8Registers> Multiply for Tiled<V, R> {
    const LANES: usize = V::LANES;
    const TOKENS: usize = SIDE;

    /// All of it: sums then need no start.
    fn subtracted(format: Format) -> u8 {
        format.offset()
    }

    #[inline(always)]
    unsafe fn begin(format: Format) {
        const { assert!(V::LANES == SIDE) };
        // SAFETY: as the caller promises.
        unsafe { R::configure(factor_words(format)) }
    }

    #[inline(always)]
    unsafe fn end() {
        // SAFETY: as the caller promises.
        unsafe { R::release() }
    }

    #[inline(always)]
    unsafe fn multiply<const FORMAT: usize>(operands: &Operands) {
        let format = Format::ALL[FORMAT];
        let count = operands.blocks * format.factors().count();
        let mut products = [const { Products([[0; SIDE]; SIDE]) }; 2];
        let [even, odd] = &mut products;
        // SAFETY: as the caller promises.
        unsafe {
            let mut sums = [V::zeros(); SIDE];
            for index in 0..=count {
                if index < count {
                    multiply_part::<R, FORMAT>(operands, index, even, odd);
                }
                if index > 0 {
                    let before = if index.is_multiple_of(2) { &*odd } else { &*even };
                    add_part::<V, FORMAT>(&mut sums, operands, index - 1, before);
                }
            }
            store::<V>(&sums, operands);
        }
    }
}

/// The products of the part of a block that has a factor of its own.
///
/// # Safety
/// As [`Multiply::multiply`].
#[inline(always)]
unsafe fn multiply_part<R: Int8Registers, const FORMAT: usize>(operands: &Operands, index: usize, even: &mut Products, odd: &mut Products) {
    let format = Format::ALL[FORMAT];
    let (factors, words) = (format.factors().count(), factor_words(format));
    let (block, part) = (index / factors, index % factors);
    let stride = 4 * operands.blocks * token_words(format);
    // SAFETY: as the caller promises.
    unsafe {
        let left = operands.tokens.add(block * token_words(format) + part * words);
        let right = operands.panel.add(block * panel_words(format, SIDE) + part * words * SIDE);
        if index.is_multiple_of(2) {
            R::multiply::<false>(left, stride, right, even);
        } else {
            R::multiply::<true>(left, stride, right, odd);
        }
    }
}

/// Adds these products with their factors to the sums, and what belongs to the block's minimum.
///
/// # Safety
/// As [`Multiply::multiply`].
#[inline(always)]
unsafe fn add_part<V: Vectors, const FORMAT: usize>(sums: &mut [V::Floats; SIDE], operands: &Operands, index: usize, products: &Products) {
    let format = Format::ALL[FORMAT];
    let factors = format.factors().count();
    let (block, part) = (index / factors, index % factors);
    // SAFETY: as the caller promises.
    unsafe {
        let shared = operands.panel.add(block * panel_words(format, SIDE) + WORDS * SIDE).cast::<f32>();
        let first = operands.tokens.add(block * token_words(format) + WORDS).cast::<f32>();
        for (row, sum) in sums.iter_mut().enumerate() {
            let token = first.add(row * operands.blocks * token_words(format));
            let products = V::load(products.0[row].as_ptr().cast());
            *sum = V::add_scaled(*sum, products, shared.add(part * SIDE), token.read());
            if format.factors().has_minimum() {
                *sum = V::add_product(*sum, shared.add(factors * SIDE), token.add(1 + factors).read());
            }
        }
    }
}

/// Products by `M` are those of the plain loops `P` to the last bit, with weights of each kind of
/// factors, of all signs, and with more rows and columns than a tile.
///
/// # Safety
/// The processor has the instructions of both.
#[inline(always)]
pub(super) unsafe fn is_exact<M: Multiply, P: Multiply>(kernels: &Kernels) -> bool {
    const TOKENS: usize = 18;
    const FEATURES: usize = 19;
    const DEPTH: usize = 512;
    let mut number = random_numbers();
    let activations: Vec<f32> = (0..TOKENS * DEPTH).map(|_| number() as f32 / 8_388_608.0 - 1.0).collect();
    // One factor, two, and one beside a minimum; where the high bytes of binary16 are.
    for (format, halves) in [(Format::Q8_0, &[1][..]), (Format::Q6K, &[209]), (Format::Q4K, &[1, 3])] {
        let mut weights: Vec<u8> = (0..FEATURES * DEPTH / format.values() * format.bytes()).map(|_| number() as u8).collect();
        for block in weights.chunks_mut(format.bytes()) {
            for &at in halves {
                // Finite.
                block[at] &= 0xBF;
            }
        }
        let product = |out: &mut [f32]| Int8Product::new(format, [TOKENS, FEATURES, DEPTH], &weights, &activations, out);
        let [mut got, mut wanted] = [const { [0.0_f32; TOKENS * FEATURES] }; 2];
        // SAFETY: as the caller promises; the matrices have these sizes.
        unsafe {
            compute::<M>(kernels, &product(&mut got), Thread::ALONE);
            compute::<P>(kernels, &product(&mut wanted), Thread::ALONE);
        }
        if got.map(f32::to_bits) != wanted.map(f32::to_bits) {
            return false;
        }
    }
    true
}
