//! How panels of weights and rows of quantised activations lie in memory.

use super::quantise::{BLOCK, Format};

/// Words of four values in a block.
pub(super) const WORDS: usize = BLOCK / 4;

/// Words of a quantised block of activations: values, their factor, for each factor of the weights
/// what undoes their offset, and for their minimum the sum of what the values stand for.
pub(super) const fn token_words(format: Format) -> usize {
    WORDS + 1 + shared_words(format)
}

/// Factors of a block of weights, and its minimum.
const fn shared_words(format: Format) -> usize {
    format.factors().count() + format.factors().has_minimum() as usize
}

/// Words of a block of a panel of so many lanes.
pub(super) const fn panel_words(format: Format, lanes: usize) -> usize {
    (WORDS + shared_words(format)) * lanes
}

/// Words of values of a block that have one factor.
pub(super) const fn factor_words(format: Format) -> usize {
    WORDS / format.factors().count()
}

/// A panel of weights, some rows of activations, and their part of the result.
pub(super) struct Operands {
    /// Blocks of depth.
    pub(super) blocks: usize,
    /// For each block the words of all lanes, then their factors, then their minima, negative.
    pub(super) panel: *const u32,
    /// A row for each token: blocks of [`token_words`] words.
    pub(super) tokens: *const u32,
    /// The first sum.
    pub(super) out: *mut f32,
    /// Values from one row of sums to the next.
    pub(super) out_stride: usize,
    /// Rows that belong to the result.
    pub(super) rows: usize,
    /// Lanes that belong to the result.
    pub(super) width: usize,
}
