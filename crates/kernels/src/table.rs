//! The functions that exist once for each instruction set, as a table of pointers.

use crate::blocks::DEPTH_WORDS;
use crate::lines::LineBlock;
use crate::transforms::{ImageBlock, SumsBlock, WINDOW_VALUES};
use crate::window::PixelPanel;

/// One register tile: `rows` rows of the left factor times one panel of the right.
pub(crate) struct Tile {
    /// Rows, at most [`Kernels::tile_rows`]. With [`TileRegisters`] these and the words are
    /// multiples of [`TILE_SIDE`](crate::blocks::TILE_SIDE).
    pub(crate) rows: usize,
    /// Vectors in a row of the panel, 1 to [`Kernels::tile_vectors`].
    pub(crate) vectors: usize,
    /// Depth in words.
    pub(crate) words: usize,
    /// Packed left factor, row by row or tile by tile.
    pub(crate) left: *const u32,
    /// Words from one row of `left` to the next.
    pub(crate) left_stride: usize,
    /// Packed panel of the right factor.
    pub(crate) right: *const u32,
    /// First value of the result.
    pub(crate) out: *mut f32,
    /// Values from one row of the result to the next.
    pub(crate) out_stride: usize,
    /// Adds to the result instead of overwriting it.
    pub(crate) accumulate: bool,
}

/// What a level with tile registers needs beside its products. Its packed blocks are of tiles
/// (`TILE_SIDE`): 16 rows of A are tiles one after the other in depth, and so is each vector of a
/// panel of B. What is beyond the rows and the depth of the factors is zero.
#[derive(Clone, Copy)]
pub(crate) struct TileRegisters {
    /// Gives the registers of this thread their shapes, before products.
    pub(crate) configure: unsafe fn(),
    /// Gives them back, after products.
    pub(crate) release: unsafe fn(),
    /// Copies so many tiles of 16 rows of words, [`LEFT_STRIDE`](crate::blocks::LEFT_STRIDE) apart.
    pub(crate) order: unsafe fn(from: *const u32, tiles: usize, to: *mut u32),
}

/// Row of scores of attention, replaced by weights.
pub(crate) struct ScoreRow {
    /// Scores; a multiple of the lanes is readable and writable.
    pub(crate) scores: *mut f32,
    pub(crate) count: usize,
    /// Factor of the scores.
    pub(crate) scale: f32,
    /// Added after scaling: `count` values of binary16; null for none.
    pub(crate) mask: *const u16,
    /// Largest scaled score so far.
    pub(crate) maximum: f32,
}

/// The functions of one instruction set and form of factors.
///
/// # Safety
/// Of every function: the processor has the instruction set, and the pointers are valid for what
/// the type or the algorithm's documentation names.
pub struct Kernels {
    /// Values in a register.
    pub(crate) lanes: usize,
    /// Rows of a register tile.
    pub(crate) tile_rows: usize,
    /// Vectors of a tile's row, which are those of a panel's.
    pub(crate) tile_vectors: usize,
    /// A word holds two values of depth.
    pub(crate) pairs: bool,
    pub(crate) multiply_tile: unsafe fn(&Tile),
    /// Of levels with tile registers.
    pub(crate) registers: Option<TileRegisters>,
    /// Writes `count` values as words.
    pub(crate) pack: unsafe fn(from: *const f32, count: usize, to: *mut u32),
    /// Converts `count` values of binary16.
    pub(crate) unpack_f16: unsafe fn(from: *const u16, count: usize, to: *mut f32),
    /// Transposes `lanes` rows of `words` words into a panel's column of vectors. The rows may be
    /// read, not used, up to a multiple of `lanes`.
    pub(crate) transpose: unsafe fn(from: *const u32, from_stride: usize, words: usize, to: *mut u32, to_stride: usize),
    /// The same of values of binary16, whose rows are `from_stride` bytes apart, to words that are
    /// f32.
    pub(crate) transpose_f16: unsafe fn(from: *const u8, from_stride: usize, words: usize, to: *mut u32, to_stride: usize),
    /// With pairs: words `(even[i], odd[i])`; else `even`. `count` is a multiple of the lanes.
    pub(crate) pair_rows: unsafe fn(even: *const f32, odd: *const f32, count: usize, to: *mut u32),
    /// Makes words of the windows of two channels each, one after the other. Reads and writes up to
    /// a vector more than the windows have.
    pub(crate) pair_channels: unsafe fn(from: *const f32, window: usize, pairs: usize, to: *mut u32),
    /// Gathers the pixels under a convolution's window.
    pub(crate) pack_pixels: unsafe fn(&PixelPanel<'_>, to: *mut u32),
    /// Gathers the lines under a window that goes over every pixel.
    pub(crate) pack_lines: unsafe fn(&LineBlock<'_>, to: *mut u32),
    /// Transforms the image under some tiles (`transforms`).
    pub(crate) transform_image: unsafe fn(&ImageBlock<'_>),
    /// Transforms `count` windows; elements are `stride` values apart.
    pub(crate) transform_windows: unsafe fn(windows: &[f32; WINDOW_VALUES], count: usize, to: *mut f32, stride: usize),
    /// Transforms sums back to pixels.
    pub(crate) transform_sums: unsafe fn(&SumsBlock<'_>),
    /// Replaces scores by `exp(score - maximum)`; returns the new maximum and the sum.
    pub(crate) weigh_scores: unsafe fn(&ScoreRow) -> (f32, f32),
    /// Multiplies `count` values by `factor`.
    pub(crate) scale: unsafe fn(values: *mut f32, count: usize, factor: f32),
    /// `to[i] = from[i] * factor + offset`
    pub(crate) scale_and_offset: unsafe fn(from: *const f32, count: usize, factor: f32, offset: f32, to: *mut f32),
    /// Multiplies what is negative by `slope`.
    pub(crate) leaky_relu: unsafe fn(values: *mut f32, count: usize, slope: f32),
    /// GELU of `count` values.
    pub(crate) gelu: unsafe fn(from: *const f32, count: usize, to: *mut f32),
    /// `to[i] = from[i] + other[i]`
    pub(crate) add: unsafe fn(from: *const f32, other: *const f32, count: usize, to: *mut f32),
    /// `to[i] = from[i] * other[i]`
    pub(crate) multiply: unsafe fn(from: *const f32, other: *const f32, count: usize, to: *mut f32),
    /// `to[i] = addend[i] + from[i] * factors[i]`
    pub(crate) add_product: unsafe fn(from: *const f32, factors: *const f32, addend: *const f32, count: usize, to: *mut f32),
    /// Sum of `count` values, and of the squares of their differences from `centre`.
    pub(crate) sums: unsafe fn(from: *const f32, count: usize, centre: f32) -> (f32, f32),
}

impl Kernels {
    /// Words of a packed block from one row of a panel to the next, and from one vector of a row to
    /// the next.
    pub(crate) const fn panel_strides(&self, vectors: usize) -> (usize, usize) {
        if self.registers.is_some() { (self.lanes, self.lanes * DEPTH_WORDS) } else { (vectors * self.lanes, self.lanes) }
    }

    /// Words of so many values of depth.
    pub(crate) const fn words_of(&self, values: usize) -> usize {
        if self.pairs { values.div_ceil(2) } else { values }
    }
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Kernels").field("lanes", &self.lanes).field("pairs", &self.pairs).finish_non_exhaustive()
    }
}
