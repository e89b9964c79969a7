//! Products of tiles by plain code, and by the assembly with emulated instructions, against plain
//! loops and the products of AVX512-BF16.

use super::detection::{has_instructions, multiplies_as};
use super::*;
use crate::product::{Product, multiply};
use crate::{Epilogue, Level, Rows, Thread, Values};

unsafe fn multiply_tile_plainly(tile: &Tile) {
    // SAFETY: as the caller promises.
    unsafe { emulation::run(&TileProduct::new(tile)) }
}

unsafe fn multiply_tile_trapped(tile: &Tile) {
    // SAFETY: as the caller promises.
    unsafe { traps::run(&TileProduct::new(tile)) }
}

/// Functions of the level with plain products of tiles; `None` where the processor lacks those that
/// AVX512-BF16 has.
fn plain_kernels() -> Option<&'static Kernels> {
    static PLAIN: Kernels = Kernels { tile_rows: REGISTER_ROWS, multiply_tile: multiply_tile_plainly, ..avx512_bf16::KERNELS };
    Level::Avx512Bf16.kernels().map(|_| &PLAIN)
}

/// Multiples of 1/8 from -1 to 7/8: their sums are exact in f32, whatever the order.
fn eighths(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + i / 5 + seed) % 16) as f32 / 8.0 - 1.0).collect()
}

/// Words of neighbours.
fn words(values: &[f32]) -> Vec<u32> {
    values.chunks(2).map(|pair| pair[0].to_bits() >> 16 | pair[1].to_bits() & 0xFFFF_0000).collect()
}

/// Compares tiles of every shape with plain loops. What is beside rows, words and columns is no
/// number.
fn check_tiles(multiply: unsafe fn(&Tile)) {
    const GAP: usize = 3;
    for vectors in 1..=3 {
        let columns = 16 * vectors;
        for depth_words in 1..=40 {
            let (left_stride, out_stride) = (depth_words + GAP, columns + GAP);
            let left_values = eighths(REGISTER_ROWS * 2 * depth_words, 1);
            let right_values = eighths(columns * 2 * depth_words, 2);
            let before = eighths(REGISTER_ROWS * columns, 3);
            let left: Vec<u32> = words(&left_values).chunks(depth_words).flat_map(|row| [row, &[u32::MAX; GAP]].concat()).collect();
            let right = words(&right_values);
            for rows in 1..=REGISTER_ROWS {
                for accumulate in [false, true] {
                    let mut out = vec![f32::NAN; rows * out_stride];
                    for (row, out) in out.chunks_mut(out_stride).enumerate().filter(|_| accumulate) {
                        out[..columns].copy_from_slice(&before[row * columns..][..columns]);
                    }
                    let (left, right, out_pointer) = (left.as_ptr(), right.as_ptr(), out.as_mut_ptr());
                    let tile =
                        Tile { rows, vectors, words: depth_words, left, left_stride, right, out: out_pointer, out_stride, accumulate };
                    // SAFETY: the factors and the result have as many rows, words and columns.
                    unsafe { multiply(&tile) };
                    for (row, got) in out.chunks(out_stride).enumerate() {
                        let what = format!("row {row} of {rows}, {vectors} vectors, {depth_words} words, accumulate: {accumulate}");
                        for (column, &got) in got[..columns].iter().enumerate() {
                            let products = (0..2 * depth_words).map(|k| {
                                let right = right_values[(k / 2 * columns + column) * 2 + k % 2];
                                left_values[row * 2 * depth_words + k] * right
                            });
                            let sum: f32 = products.sum();
                            assert_eq!(got, if accumulate { before[row * columns + column] + sum } else { sum }, "column {column}, {what}");
                        }
                        assert!(got[columns..].iter().all(|value| value.is_nan()), "writes beside the result: {what}");
                    }
                }
            }
        }
    }
}

#[test]
fn tiles_of_every_shape() {
    check_tiles(multiply_tile_plainly);
}

#[test]
fn assembly_of_every_shape() {
    if !has_instructions() {
        check_tiles(multiply_tile_trapped);
    }
}

#[test]
fn products_are_compared_with_another_level() {
    unsafe fn one_row_less(tile: &Tile) {
        // SAFETY: as the caller promises.
        unsafe { multiply_tile_plainly(&Tile { rows: (tile.rows - 1).max(1), ..*tile }) }
    }
    unsafe fn never_accumulates(tile: &Tile) {
        // SAFETY: as the caller promises.
        unsafe { multiply_tile_plainly(&Tile { accumulate: false, ..*tile }) }
    }
    unsafe fn one_word_less(tile: &Tile) {
        // SAFETY: as the caller promises.
        unsafe { multiply_tile_plainly(&Tile { words: (tile.words - 1).max(1), ..*tile }) }
    }
    let Some(other) = Level::Avx512Bf16.kernels() else { return };
    // SAFETY: all are plain code or this processor's.
    unsafe {
        assert!(multiplies_as(multiply_tile_plainly, other));
        for wrong in [one_row_less, never_accumulates, one_word_less] {
            assert!(!multiplies_as(wrong, other));
        }
        if !has_instructions() {
            assert!(multiplies_as(multiply_tile_trapped, other));
        }
    }
}

/// A product of matrices of f32, by some threads one after the other.
fn product(kernels: &Kernels, [tokens, features, depth]: [usize; 3], threads: usize) -> Vec<f32> {
    // From -1 to 1, in no order: Knuth's multiplicative hash, twice.
    let hash = |i: usize| (i as u32).wrapping_mul(2_654_435_769).rotate_left(15).wrapping_mul(2_654_435_769) >> 8;
    let numbers = |count: usize, seed: usize| -> Vec<f32> { (seed..seed + count).map(|i| hash(i) as f32 / 8_388_608.0 - 1.0).collect() };
    let (weights, activations) = (numbers(features * depth, 0), numbers(tokens * depth, 1_000_003));
    let rows = |values: &[f32]| Rows { data: values.as_ptr().cast(), stride: 4 * depth, values: Values::F32 };
    let mut out = vec![f32::NAN; tokens * features];
    let product = Product {
        weights: rows(&weights),
        activations: rows(&activations),
        out: out.as_mut_ptr(),
        out_stride: features,
        tokens,
        features,
        depth,
        epilogue: Epilogue::NONE,
    };
    for index in 0..threads {
        // SAFETY: the matrices have these sizes.
        unsafe { multiply(kernels, &product, Thread { index, count: threads }) };
    }
    out
}

#[test]
fn blocked_products_are_those_of_avx512_bf16() {
    let (Some(plain), Some(other)) = (plain_kernels(), Level::Avx512Bf16.kernels()) else { return };
    for size in 1..=50 {
        for shape in [[size, 19, 37], [17, size, 33], [18, 50, size], [size, 49, 529]] {
            compare(plain, other, shape);
        }
    }
    for shape in [[255, 479, 256], [257, 481, 511], [3, 1000, 513], [300, 5, 1025]] {
        compare(plain, other, shape);
    }
}

fn compare(plain: &Kernels, other: &Kernels, shape: [usize; 3]) {
    let (got, wanted) = (product(plain, shape, 1), product(other, shape, 1));
    // As the tests of products.
    let allowed = 3e-7 * (shape[2] as f32 + 8.0);
    assert!(got.iter().zip(&wanted).all(|(got, wanted)| (got - wanted).abs() <= allowed), "{shape:?}");
}

/// Threads end panels at other columns, and there are several blocks of depth.
#[test]
fn threads_do_not_change_the_result() {
    let Some(plain) = plain_kernels() else { return };
    for shape in [[40, 200, 1100], [200, 40, 1100]] {
        let alone = product(plain, shape, 1);
        for threads in [2, 3, 5, 16] {
            assert_eq!(product(plain, shape, threads), alone, "{shape:?}, {threads} threads");
        }
    }
}
