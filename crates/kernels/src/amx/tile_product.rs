//! Operands of a product of tiles: the configuration of the tile registers, and how depth is
//! divided among instructions.

use crate::table::Tile;

/// Rows of a tile register.
pub(super) const REGISTER_ROWS: usize = 16;
/// Bytes of a tile register's row.
pub(super) const REGISTER_ROW_BYTES: usize = 64;
/// Words of a tile register's row: the depth of one instruction.
pub(super) const REGISTER_WORDS: usize = REGISTER_ROW_BYTES / 4;
pub(super) const REGISTERS: usize = 8;

/// Registers that hold C, one for each vector.
pub(super) const SUMS: usize = 0;
/// Register of whole tiles A.
pub(super) const LEFT: usize = 3;
/// Registers of whole tiles B, which take turns.
pub(super) const RIGHT: [usize; 2] = [4, 5];
/// Register of the tile A of the words that are left.
pub(super) const LEFT_REST: usize = 6;
/// Register of the tiles B of the words that are left.
pub(super) const RIGHT_REST: usize = 7;

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
    /// For sums of `rows` rows and `vectors` vectors, with `rest` words after the whole tiles of
    /// depth.
    fn new(rows: usize, vectors: usize, rest: usize) -> Self {
        let mut configuration = Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        let mut set = |register: usize, rows: usize, words: usize| {
            configuration.rows[register] = rows as u8;
            configuration.row_bytes[register] = 4 * words as u16;
        };
        for vector in 0..vectors {
            set(SUMS + vector, rows, REGISTER_WORDS);
        }
        set(LEFT, rows, REGISTER_WORDS);
        for register in RIGHT {
            set(register, REGISTER_WORDS, REGISTER_WORDS);
        }
        if rest > 0 {
            set(LEFT_REST, rows, rest);
            set(RIGHT_REST, rest, REGISTER_WORDS);
        }
        configuration
    }
}

/// Operands of one sequence of instructions, from LDTILECFG to TILERELEASE. Strides are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileProduct {
    pub(super) configuration: Configuration,
    /// Tiles C and B beside each other.
    pub(super) vectors: usize,
    /// Whole tiles A, one after the other.
    pub(super) steps: usize,
    /// Words are left after these.
    pub(super) has_rest: bool,
    pub(super) left: *const u8,
    pub(super) left_stride: usize,
    pub(super) right: *const u8,
    pub(super) right_stride: usize,
    pub(super) out: *mut u8,
    pub(super) out_stride: usize,
    /// Adds to the result instead of overwriting it.
    pub(super) accumulate: bool,
}

impl TileProduct {
    /// Bytes from one tile B to the one below it.
    pub(super) const fn right_step(&self) -> usize {
        REGISTER_WORDS * self.right_stride
    }

    pub(super) fn new(tile: &Tile) -> Self {
        let &Tile { rows, vectors, words, left, left_stride, right, out, out_stride, accumulate } = tile;
        debug_assert!((1..=REGISTER_ROWS).contains(&rows) && (1..=3).contains(&vectors), "no tile has this shape");
        let rest = words % REGISTER_WORDS;
        Self {
            configuration: Configuration::new(rows, vectors, rest),
            vectors,
            steps: words / REGISTER_WORDS,
            has_rest: rest > 0,
            left: left.cast(),
            left_stride: 4 * left_stride,
            right: right.cast(),
            right_stride: vectors * REGISTER_ROW_BYTES,
            out: out.cast(),
            out_stride: 4 * out_stride,
            accumulate,
        }
    }
}

const _: () = assert!(size_of::<Configuration>() == 64);
