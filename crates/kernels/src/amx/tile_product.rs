//! Operands of products of tiles: the configuration of the tile registers, and which of them holds
//! what.

use crate::blocks::{DEPTH_WORDS, LEFT_STRIDE, TILE_SIDE};
use crate::table::Tile;

/// Rows of a tile register.
pub(super) const REGISTER_ROWS: usize = 16;
/// Bytes of a tile register's row.
pub(super) const REGISTER_ROW_BYTES: usize = 64;
pub(super) const REGISTERS: usize = 8;
/// Rows and vectors of four tiles C.
pub(super) const TILE_ROWS: usize = 2 * TILE_SIDE;
pub(super) const TILE_VECTORS: usize = 2;
/// Bytes of a whole tile, and from one packed tile to the next in depth.
pub(super) const TILE_BYTES: usize = REGISTER_ROWS * REGISTER_ROW_BYTES;
/// Bytes from a packed tile A to the one of the 16 rows below it.
pub(super) const BELOW: usize = 4 * TILE_SIDE * LEFT_STRIDE;
/// Bytes from a packed tile B to the one of the vector beside it.
pub(super) const BESIDE: usize = 4 * TILE_SIDE * DEPTH_WORDS;

/// Operand of LDTILECFG: shapes of the tile registers, zeros for those without use. The formats are
/// those of palette 1.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Configuration {
    pub(super) palette: u8,
    pub(super) start_row: u8,
    pub(super) reserved: [u8; 14],
    pub(super) row_bytes: [u16; 16],
    pub(super) rows: [u8; 16],
}

impl Configuration {
    /// All registers hold whole tiles.
    pub(super) const WHOLE: Self = {
        let mut whole = Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        let mut register = 0;
        while register < REGISTERS {
            whole.rows[register] = REGISTER_ROWS as u8;
            whole.row_bytes[register] = REGISTER_ROW_BYTES as u16;
            register += 1;
        }
        whole
    };

    /// Two sets of C, of A with rows of so many words, and of B with as many rows.
    pub(super) const fn of_words(words: usize) -> Self {
        let mut shapes = Self::WHOLE;
        shapes.row_bytes[2] = 4 * words as u16;
        shapes.row_bytes[3] = 4 * words as u16;
        shapes.rows[4] = words as u8;
        shapes.rows[5] = words as u8;
        shapes
    }
}

/// Operands of one sequence of instructions. Strides are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileProduct {
    /// Tiles C and A below each other: 1 or 2.
    pub(super) high: usize,
    /// Tiles C and B beside each other: 1 or 2.
    pub(super) wide: usize,
    /// Tiles A and B one after the other, at least 1.
    pub(super) steps: usize,
    pub(super) left: *const u8,
    pub(super) right: *const u8,
    pub(super) out: *mut u8,
    pub(super) out_stride: usize,
    /// Adds to the result instead of overwriting it.
    pub(super) accumulate: bool,
}

impl TileProduct {
    pub(super) fn new(tile: &Tile) -> Self {
        let &Tile { rows, vectors, words, left, left_stride, right, out, out_stride, accumulate } = tile;
        let (high, steps) = (rows / TILE_SIDE, words / TILE_SIDE);
        debug_assert!((1..=2).contains(&high) && (1..=2).contains(&vectors) && steps > 0, "no tile has this shape");
        debug_assert!(rows.is_multiple_of(TILE_SIDE) && words.is_multiple_of(TILE_SIDE) && left_stride == LEFT_STRIDE, "parts of tiles");
        Self { high, wide: vectors, steps, left: left.cast(), right: right.cast(), out: out.cast(), out_stride: 4 * out_stride, accumulate }
    }

    /// First row of the tiles C below.
    pub(super) const fn out_below(&self) -> *mut u8 {
        self.out.wrapping_add(REGISTER_ROWS * self.out_stride)
    }
}

const _: () = assert!(size_of::<Configuration>() == 64 && REGISTER_ROWS == TILE_SIDE && REGISTER_ROW_BYTES == 4 * TILE_SIDE);
