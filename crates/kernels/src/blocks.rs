//! Sizes of packed blocks, of every instruction set.

/// Rows of the largest tile, of any instruction set.
pub(crate) const TILE_ROWS_MAX: usize = 16;
/// Words of depth of a block.
pub(crate) const DEPTH_WORDS: usize = 256;
/// Values of depth of a block, with pairs.
pub(crate) const DEPTH_MAX: usize = 2 * DEPTH_WORDS;
/// Values of the widest row of a panel, of any instruction set.
pub(crate) const PANEL_MAX: usize = 48;
/// Panels of a block of B: those of two vectors of 8, or of three of 4 with twice as many vectors.
pub(crate) const PANELS_MAX: usize = 21;
