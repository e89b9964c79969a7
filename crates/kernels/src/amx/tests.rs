//! Products of tiles by plain code, and by the assembly with emulated instructions, against plain
//! loops and the products of levels without tiles.

use std::cell::RefCell;

use super::detection::multiplies_as;
use super::emulation::TileRegisters as Emulated;
use super::*;
use crate::attention::{Attention, attend};
use crate::blocks::DEPTH_WORDS;
use crate::convolution::{Convolution, Shape, convolve};
use crate::packed_weights::{forget, keep, total_bytes};
use crate::product::{Product, multiply};
use crate::{Epilogue, Level, Rows, Thread, Values, scratch};

thread_local! {
    static REGISTERS: RefCell<Emulated> = const { RefCell::new(Emulated::new()) };
}

unsafe fn configure_plainly() {
    REGISTERS.with_borrow_mut(|registers| registers.configure(&Configuration::WHOLE));
}

unsafe fn release_plainly() {
    REGISTERS.with_borrow_mut(Emulated::release);
}

unsafe fn multiply_tile_plainly(tile: &Tile) {
    // SAFETY: as the caller promises.
    REGISTERS.with_borrow_mut(|registers| unsafe { registers.run(&TileProduct::new(tile)) });
}

const PLAIN_REGISTERS: TileRegisters = TileRegisters { configure: configure_plainly, release: release_plainly, order: order_tiles };

/// The level with registers in plain code.
static PLAIN: Kernels = Kernels {
    tile_rows: TILE_ROWS,
    tile_vectors: TILE_VECTORS,
    multiply_tile: multiply_tile_plainly,
    registers: Some(PLAIN_REGISTERS),
    ..plain_pairs::KERNELS
};

/// The level's assembly, for processors on which it is trapped.
static TRAPPED: Kernels = Kernels {
    tile_rows: TILE_ROWS,
    tile_vectors: TILE_VECTORS,
    multiply_tile,
    registers: Some(TileRegisters { configure, release: instructions::release, order: order_tiles }),
    ..plain_pairs::KERNELS
};

/// The level that packs with AVX512-BF16.
static PACKED_BY_AVX512: Kernels = Kernels {
    tile_rows: TILE_ROWS,
    tile_vectors: TILE_VECTORS,
    multiply_tile: multiply_tile_plainly,
    registers: Some(PLAIN_REGISTERS),
    ..avx512_bf16::KERNELS
};

/// Levels with tiles, and those without that pack with the same instructions.
fn levels() -> impl Iterator<Item = (&'static Kernels, &'static Kernels)> {
    let avx512 = Level::Avx512Bf16.kernels().map(|kernels| (&PACKED_BY_AVX512, kernels));
    [(&PLAIN, &plain_pairs::KERNELS)].into_iter().chain(avx512)
}

/// The assembly, emulated; `None` where the processor has the instructions.
fn trapped() -> Option<&'static Kernels> {
    are_emulated().then_some(&TRAPPED)
}

/// Multiples of 1/8 from -1 to 7/8: their sums are exact in f32, whatever the order.
fn eighths(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7 + i / 5 + seed) % 16) as f32 / 8.0 - 1.0).collect()
}

/// Compares whole tiles of every shape with plain loops. What is beside the depth and the result is
/// no number.
fn check_tiles(kernels: &Kernels) {
    const GAP: usize = 3;
    let registers = kernels.registers.unwrap();
    for (rows, vectors) in [(16, 1), (16, 2), (32, 1), (32, 2)] {
        let columns = 16 * vectors;
        for words in [16, 32, 48, DEPTH_WORDS] {
            let depth = 2 * words;
            let (left_values, right_values) = (eighths(rows * depth, 1), eighths(columns * depth, 2));
            let before = eighths(rows * columns, 3);
            let word = |values: [f32; 2]| values[0].to_bits() >> 16 | values[1].to_bits() & 0xFFFF_0000;
            let mut left = vec![u32::MAX; rows * LEFT_STRIDE];
            let mut right = vec![u32::MAX; columns * DEPTH_WORDS];
            for k in 0..words {
                for row in 0..rows {
                    let at = row / 16 * 16 * LEFT_STRIDE + k / 16 * 256 + row % 16 * 16 + k % 16;
                    left[at] = word([0, 1].map(|half| left_values[row * depth + 2 * k + half]));
                }
                for column in 0..columns {
                    let at = column / 16 * 16 * DEPTH_WORDS + k * 16 + column % 16;
                    right[at] = word([0, 1].map(|half| right_values[column * depth + 2 * k + half]));
                }
            }
            for accumulate in [false, true] {
                let out_stride = columns + GAP;
                let mut out = vec![f32::NAN; rows * out_stride];
                for (row, out) in out.chunks_mut(out_stride).enumerate().filter(|_| accumulate) {
                    out[..columns].copy_from_slice(&before[row * columns..][..columns]);
                }
                let (left, right, out_pointer) = (left.as_ptr(), right.as_ptr(), out.as_mut_ptr());
                let tile = Tile { rows, vectors, words, left, left_stride: LEFT_STRIDE, right, out: out_pointer, out_stride, accumulate };
                // SAFETY: the factors and the result have as many rows, words and columns.
                unsafe {
                    (registers.configure)();
                    (kernels.multiply_tile)(&tile);
                    (registers.release)();
                }
                let what = format!("{rows} rows, {vectors} vectors, {words} words, accumulate: {accumulate}");
                for (row, got) in out.chunks(out_stride).enumerate() {
                    for (column, &got) in got[..columns].iter().enumerate() {
                        let pairs = left_values[row * depth..][..depth].iter().zip(&right_values[column * depth..][..depth]);
                        let sum: f32 = pairs.map(|(a, b)| a * b).sum();
                        let wanted = if accumulate { before[row * columns + column] + sum } else { sum };
                        assert_eq!(got, wanted, "row {row}, column {column}, {what}");
                    }
                    assert!(got[columns..].iter().all(|value| value.is_nan()), "writes beside the result: {what}");
                }
            }
        }
    }
}

#[test]
fn tiles_of_every_shape() {
    check_tiles(&PLAIN);
}

#[test]
fn assembly_of_every_shape() {
    if let Some(kernels) = trapped() {
        check_tiles(kernels);
        assert!(are_released());
    }
}

#[test]
fn products_are_compared_with_another_level() {
    unsafe fn rows_less(tile: &Tile) {
        // SAFETY: as the caller promises.
        unsafe { multiply_tile_plainly(&Tile { rows: TILE_SIDE, ..*tile }) }
    }
    unsafe fn never_accumulates(tile: &Tile) {
        // SAFETY: as the caller promises.
        unsafe { multiply_tile_plainly(&Tile { accumulate: false, ..*tile }) }
    }
    unsafe fn depth_less(tile: &Tile) {
        // SAFETY: as the caller promises.
        unsafe { multiply_tile_plainly(&Tile { words: (tile.words - TILE_SIDE).max(TILE_SIDE), ..*tile }) }
    }
    for (tiles, other) in levels() {
        // SAFETY: all are plain code or this processor's.
        unsafe {
            assert!(multiplies_as(tiles, other) && !multiplies_as(other, other));
            for multiply_tile in [rows_less, never_accumulates, depth_less] {
                assert!(!multiplies_as(&Kernels { multiply_tile, ..*tiles }, other));
            }
        }
    }
    if let Some(kernels) = trapped() {
        // SAFETY: the assembly is emulated.
        assert!(unsafe { multiplies_as(kernels, &plain_pairs::KERNELS) });
    }
}

/// From -1 to 1, in no order: Knuth's multiplicative hash, twice.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let hash = |i: usize| (i as u32).wrapping_mul(2_654_435_769).rotate_left(15).wrapping_mul(2_654_435_769) >> 8;
    (seed..seed + count).map(|i| hash(i) as f32 / 8_388_608.0 - 1.0).collect()
}

/// Leaves what is no number in the memory that blocks are packed in.
fn spoil_blocks() {
    const WORDS: usize = 1 << 18;
    // SAFETY: the buffer has as many words.
    unsafe { scratch::words(&scratch::BLOCKS, WORDS).write_bytes(0xFF, WORDS) };
}

fn rows(values: &[f32], depth: usize) -> Rows {
    Rows { data: values.as_ptr().cast(), stride: 4 * depth, values: Values::F32 }
}

/// A product of matrices of f32, by some threads one after the other.
fn product(kernels: &Kernels, shape: [usize; 3], threads: usize) -> Vec<f32> {
    product_of(kernels, shape, threads, &numbers(shape[1] * shape[2], 0))
}

fn product_of(kernels: &Kernels, [tokens, features, depth]: [usize; 3], threads: usize, weights: &[f32]) -> Vec<f32> {
    let activations = numbers(tokens * depth, 1_000_003);
    let mut out = vec![f32::NAN; tokens * (features + 1)];
    let product = Product {
        weights: rows(weights, depth),
        activations: rows(&activations, depth),
        out: out.as_mut_ptr(),
        out_stride: features + 1,
        tokens,
        features,
        depth,
        epilogue: Epilogue::NONE,
    };
    spoil_blocks();
    for index in 0..threads {
        // SAFETY: the matrices have these sizes.
        unsafe { multiply(kernels, &product, Thread { index, count: threads }) };
    }
    for row in out.chunks_mut(features + 1) {
        assert!(std::mem::take(&mut row[features]).is_nan(), "writes beside the result");
    }
    out
}

/// Results of sums of so many products.
fn assert_near(got: &[f32], wanted: &[f32], depth: usize, what: &str) {
    // As the tests of products.
    let allowed = 3e-7 * (depth as f32 + 8.0);
    assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() <= allowed), "{what}");
}

fn compare(tiles: &Kernels, other: &Kernels, shape: [usize; 3]) {
    assert_near(&product(tiles, shape, 1), &product(other, shape, 1), shape[2], &format!("{shape:?}"));
}

#[test]
fn blocked_products_are_those_without_tiles() {
    for (tiles, other) in levels() {
        for size in 1..=50 {
            for shape in [[size, 19, 37], [17, size, 33], [18, 50, size], [size, 49, 529]] {
                compare(tiles, other, shape);
            }
        }
        for shape in [[255, 479, 256], [257, 481, 511], [3, 1000, 513], [300, 5, 1025]] {
            compare(tiles, other, shape);
        }
    }
}

/// A row, a vector and a depth beyond whole tiles, and several blocks of depth.
#[test]
fn blocked_products_by_assembly_are_those_without_tiles() {
    if let Some(kernels) = trapped() {
        for shape in [[1, 1, 1], [33, 49, 65], [40, 30, 530]] {
            compare(kernels, &plain_pairs::KERNELS, shape);
            assert!(are_released(), "a thread keeps no configuration");
        }
    }
}

/// Rows, columns and depth beyond whole tiles. Weights that change unseen show that the kept tiles
/// are multiplied.
#[test]
fn kept_tiles_give_the_same_bytes() {
    let plain = [(&PLAIN, [40, 200, 1100]), (&PLAIN, [200, 40, 530])];
    let by_assembly = trapped().map(|kernels| [(kernels, [33, 49, 65]), (kernels, [50, 30, 530])]);
    for (kernels, shape) in plain.into_iter().chain(by_assembly.into_iter().flatten()) {
        let mut weights = numbers(shape[1] * shape[2], 0);
        let wanted = product(kernels, shape, 3);
        let (start, bytes) = (weights.as_ptr().cast(), 4 * weights.len());
        keep(start, bytes, bytes, usize::MAX);
        assert_eq!(product_of(kernels, shape, 3, &weights), wanted, "{shape:?}");
        weights.fill(0.0);
        assert_eq!(product_of(kernels, shape, 3, &weights), wanted, "{shape:?}");
        assert!(total_bytes() > 0);
        forget(start, bytes);
        assert!(product_of(kernels, shape, 3, &weights).iter().all(|sum| *sum == 0.0));
    }
}

/// Threads end panels at other columns, and there are several blocks of depth.
#[test]
fn threads_do_not_change_the_result() {
    for (tiles, _) in levels() {
        for shape in [[40, 200, 1100], [200, 40, 1100]] {
            let alone = product(tiles, shape, 1);
            for threads in [2, 3, 5, 16] {
                assert_eq!(product(tiles, shape, threads), alone, "{shape:?}, {threads} threads");
            }
        }
    }
}

/// Windows over lines and over pixels, with edges, an odd number of channels, more pixels than a
/// block has columns, and panels that end inside lines.
#[test]
fn convolutions_are_those_without_tiles() {
    for (tiles, other) in levels() {
        for (width, height, channels, kernel, stride) in
            [(37, 21, 5, 3, 1), (24, 24, 33, 3, 1), (7, 5, 9, 3, 1), (23, 9, 17, 3, 2), (31, 18, 35, 1, 1), (66, 9, 3, 5, 1)]
        {
            let padding = kernel / 2;
            let out = ((width + 2 * padding - kernel) / stride + 1, (height + 2 * padding - kernel) / stride + 1);
            let out_channels = 18;
            let shape = Shape {
                width,
                height,
                channels,
                out_channels,
                kernel: (kernel, kernel),
                stride: (stride, stride),
                padding: (padding, padding),
                dilation: (1, 1),
                out,
                groups: 1,
            };
            let depth = channels * kernel * kernel;
            let (weights, image) = (numbers(out_channels * depth, 0), numbers(channels * width * height, 1_000_003));
            let run = |kernels: &Kernels| {
                spoil_blocks();
                let mut result = vec![f32::NAN; out_channels * out.0 * out.1];
                for index in 0..2 {
                    let convolution = Convolution {
                        shape: &shape,
                        weights: rows(&weights, depth),
                        image: image.as_ptr(),
                        out: result.as_mut_ptr(),
                        epilogue: Epilogue::NONE,
                    };
                    // SAFETY: the images have these sizes.
                    unsafe { convolve(kernels, &convolution, Thread { index, count: 2 }) };
                }
                result
            };
            assert_near(&run(tiles), &run(other), depth, &format!("{shape:?}"));
        }
    }
}

/// Keys and values of sizes that are no whole tiles.
#[test]
fn attention_is_that_without_tiles() {
    for (tiles, other) in levels() {
        for (queries, keys, size) in [(5, 7, 40), (130, 500, 24), (33, 17, 72)] {
            let (query, key, value) = (numbers(queries * size, 0), numbers(keys * size, 1_000_003), numbers(keys * size, 2_000_003));
            let run = |kernels: &Kernels| {
                spoil_blocks();
                let mut out = vec![f32::NAN; queries * size];
                let attention = Attention {
                    queries: rows(&query, size),
                    query_head_stride: 0,
                    keys: rows(&key, size),
                    key_head_stride: 0,
                    values: rows(&value, size),
                    value_head_stride: 0,
                    mask: std::ptr::null(),
                    mask_stride: 0,
                    mask_head_stride: 0,
                    out: out.as_mut_ptr(),
                    out_stride: size,
                    out_head_stride: 0,
                    scale: 0.3,
                    heads: 1,
                    key_heads: 1,
                    query_count: queries,
                    key_count: keys,
                    key_size: size,
                    value_size: size,
                };
                // SAFETY: the matrices have these sizes.
                unsafe { attend(kernels, &attention, Thread::ALONE) };
                out
            };
            // A weight that lies between two bfloat16 may be rounded to either.
            let (got, wanted) = (run(tiles), run(other));
            assert!(got.iter().zip(&wanted).all(|(got, wanted)| (got - wanted).abs() <= 1e-3), "{queries} {keys} {size}");
        }
    }
}
