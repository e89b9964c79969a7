//! The innermost loop: a tile of the result stays in registers while depth passes by.

use crate::simd::{Simd, Vector, Words};
use crate::table::Tile;

/// Words that are multiplied between two branches. A core alone has room for those, and for sums of
/// addresses; one that shares its decoders with another thread takes time for each instruction.
const UNROLLED: usize = 4;

/// Multiplies one tile with the number of rows and vectors that it names.
///
/// # Safety
/// The processor has the instruction set; the pointers of `tile` are valid for the rows, columns
/// and words it names.
#[inline(always)]
pub(crate) unsafe fn multiply<W: Words>(tile: &Tile) {
    macro_rules! rows {
        ($($rows:literal)*) => {
            match (tile.rows, tile.vectors) {
                $(
                    ($rows, 1) if $rows <= W::Unit::TILE_ROWS => multiply_shape::<W, $rows, 1>(tile),
                    ($rows, 2) if $rows <= W::Unit::TILE_ROWS => multiply_shape::<W, $rows, 2>(tile),
                    ($rows, 3) if $rows <= W::Unit::TILE_ROWS && W::Unit::TILE_VECTORS >= 3 => multiply_shape::<W, $rows, 3>(tile),
                )*
                _ => debug_assert!(false, "no tile has this shape"),
            }
        };
    }
    // SAFETY: as the caller promises.
    unsafe { rows!(8 7 6 5 4 3 2 1) }
}

#[inline(always)]
unsafe fn multiply_shape<W: Words, const ROWS: usize, const VECTORS: usize>(tile: &Tile) {
    let lanes = W::Unit::LANES;
    let &Tile { left, left_stride, mut right, out, out_stride, .. } = tile;
    // SAFETY: `left` has ROWS rows of `words` words, `right` `words` rows of VECTORS vectors, `out`
    // ROWS rows of VECTORS vectors.
    unsafe {
        let mut sums: [[Vector<W>; VECTORS]; ROWS] = [[W::Unit::splat(0.0); VECTORS]; ROWS];
        // The result is read or written only at the end: by then its lines are here, also where
        // rows a power of two apart drive one another out.
        for row in 0..ROWS {
            for vector in 0..VECTORS {
                W::Unit::prefetch(out.wrapping_add(row * out_stride + vector * lanes));
            }
        }
        let whole = tile.words - tile.words % UNROLLED;
        let mut word = 0;
        while word < whole {
            for _ in 0..UNROLLED {
                multiply_word::<W, ROWS, VECTORS>(left.add(word), left_stride, right, &mut sums);
                right = right.add(VECTORS * lanes);
                word += 1;
            }
        }
        for word in whole..tile.words {
            multiply_word::<W, ROWS, VECTORS>(left.add(word), left_stride, right, &mut sums);
            right = right.add(VECTORS * lanes);
        }
        for (row, sums) in sums.iter().enumerate() {
            for (vector, &sum) in sums.iter().enumerate() {
                let to = out.add(row * out_stride + vector * lanes);
                W::Unit::store(to, if tile.accumulate { W::Unit::add(W::Unit::load(to), sum) } else { sum });
            }
        }
    }
}

/// Adds the products of one word of each row.
#[inline(always)]
unsafe fn multiply_word<W: Words, const ROWS: usize, const VECTORS: usize>(
    left: *const u32,
    left_stride: usize,
    right: *const u32,
    sums: &mut [[Vector<W>; VECTORS]; ROWS],
) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut factors = [W::Unit::splat(0.0); VECTORS];
        for (vector, factor) in factors.iter_mut().enumerate() {
            *factor = W::Unit::load(right.add(vector * W::Unit::LANES).cast());
        }
        for (row, sums) in sums.iter_mut().enumerate() {
            let value = W::Unit::splat(f32::from_bits(*left.add(row * left_stride)));
            for (sum, factor) in sums.iter_mut().zip(factors) {
                *sum = W::multiply(value, factor, *sum);
            }
        }
    }
}
