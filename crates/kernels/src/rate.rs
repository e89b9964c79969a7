//! Speed of a level's innermost loop on this processor.
//!
//! That a processor has instructions for bfloat16 does not mean that they are quick: Intel's processors since 2023 multiply half as many values a
//! second with those of AVX-512 as with f32 (they are meant to use AMX), AMD's twice as many.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use crate::Level;
use crate::blocks::{DEPTH_WORDS, PANEL_MAX, TILE_ROWS_MAX};
use crate::table::{Kernels, Tile};

/// Tiles that are multiplied between two looks at the clock: about 50 us.
const TILES: usize = 16;
/// Runs of which the quickest counts, so that a program beside this one does not.
const RUNS: usize = 8;

/// Multiplications a second of the fastest level of bfloat16 over those of AVX-512 in f32; 0 where the processor has no instructions for it.
/// Measured once, in two milliseconds: before there is work, so that all see the same.
#[must_use]
pub fn gain_of_bf16() -> f64 {
    static GAIN: OnceLock<f64> = OnceLock::new();
    *GAIN.get_or_init(|| {
        let (Some(bf16), Some(single)) = (Level::fastest_bf16().and_then(Level::kernels), Level::Avx512.kernels()) else { return 0.0 };
        let [bf16, single] = multiplications_per_second([bf16, single]);
        bf16 / single
    })
}

/// Multiplications a second of each of some levels, one thread; about a millisecond for each. They take turns, so that all see the same processor.
fn multiplications_per_second<const COUNT: usize>(levels: [&Kernels; COUNT]) -> [f64; COUNT] {
    let left = vec![0_u32; TILE_ROWS_MAX * DEPTH_WORDS];
    let right = vec![0_u32; DEPTH_WORDS * PANEL_MAX];
    let mut out = vec![0.0_f32; TILE_ROWS_MAX * PANEL_MAX];
    let mut best = [0.0_f64; COUNT];
    for _ in 0..RUNS {
        for (best, kernels) in best.iter_mut().zip(levels) {
            let start = Instant::now();
            for _ in 0..TILES {
                let tile = Tile {
                    rows: kernels.tile_rows,
                    vectors: kernels.tile_vectors,
                    words: DEPTH_WORDS,
                    left: left.as_ptr(),
                    left_stride: DEPTH_WORDS,
                    right: right.as_ptr(),
                    out: out.as_mut_ptr(),
                    out_stride: PANEL_MAX,
                    accumulate: false,
                };
                // SAFETY: no tile has more rows, nor a panel more values, than the buffers hold.
                unsafe { (kernels.multiply_tile)(&tile) };
                black_box(&mut out);
            }
            let values = TILES * kernels.tile_rows * kernels.tile_vectors * kernels.lanes * DEPTH_WORDS * if kernels.pairs { 2 } else { 1 };
            *best = best.max(values as f64 / start.elapsed().as_secs_f64().max(1e-9));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_quicker_than_plain_code() {
        let fastest = Level::fastest_f32();
        let (Some(plain), Some(vectors)) = (Level::Scalar.kernels(), fastest.kernels()) else { return };
        let [plain, vectors] = multiplications_per_second([plain, vectors]);
        assert!(plain > 0.0);
        assert!(fastest == Level::Scalar || vectors > plain, "{vectors:.1e} with {fastest:?}, {plain:.1e} without");
    }
}
