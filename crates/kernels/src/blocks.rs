//! Sizes of packed blocks, of every instruction set.

/// Values of the largest tile of a result, of any instruction set: 32 rows of 32, with AMX.
pub(crate) const TILE_VALUES_MAX: usize = 32 * 32;
/// Words of depth of a block.
pub(crate) const DEPTH_WORDS: usize = 256;
/// Values of depth of a block, with pairs.
pub(crate) const DEPTH_MAX: usize = 2 * DEPTH_WORDS;
/// Words between packed rows of A: a cache line more than they hold, so that the rows of a tile are
/// in different sets of the first cache. Where blocks are of tiles, as many rows take as much room.
pub(crate) const LEFT_STRIDE: usize = DEPTH_WORDS + 16;
/// Rows of a packed tile, and words of its row, where blocks are of tiles: 1 KB.
pub(crate) const TILE_SIDE: usize = 16;
/// Values of the widest register, of any instruction set.
pub(crate) const LANES_MAX: usize = 16;
/// Values of the widest row of a panel, of any instruction set.
pub(crate) const PANEL_MAX: usize = 48;
/// Panels of a block of B: 20 of three vectors of 4, and 30 where each vector of 16 counts as one.
pub(crate) const PANELS_MAX: usize = 30;
