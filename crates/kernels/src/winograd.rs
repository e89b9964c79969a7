//! Convolutions with a window of 3 x 3 in 16 multiplications for 4 output pixels, where the window
//! itself takes 36.
//!
//! Winograd's minimal filtering F(2x2, 3x3), in the form of Lavin and Gray ("Fast Algorithms for
//! Convolutional Neural Networks", 2016): with `d` the 4 x 4 pixels under a tile of 2 x 2 output
//! pixels and `g` a window, the tile is `A' [(G g G') . (B' d B)] A`. The product by elements,
//! summed over channels, is 16 products of matrices, one for each element: output channels by
//! channels times channels by tiles. They are those of `gemm`'s innermost loop. Only sums and
//! halves are in the transforms, so what is rounded stays close to what the window rounds.
//!
//! ```text
//! for each block of rows whose transformed weights are WEIGHT_WORDS
//!   transform the weights
//!   for each TILES tiles
//!     transform the image under them       16 elements, all channels: 1.5 MB for 512 channels, stays in the second cache
//!     for each ROW_BLOCK rows
//!       for each element, each DEPTH_WORDS channels: multiply tiles of registers
//!       transform the sums back, finish them
//! ```

use std::ops::Range;

use crate::Level;
use crate::blocks::DEPTH_WORDS;
use crate::epilogue::{Axis, Epilogue, Part};
use crate::gemm::{self, Thread, panels};
use crate::maker::is_bf16_quicker;
use crate::rows::{Rows, Values};
use crate::scratch;
use crate::table::{Kernels, Tile};
use crate::transforms::{
    CHANNELS, ELEMENT_GAP, ELEMENTS, ImageBlock, Piece, ROW_BLOCK, SUMS_STRIDE, SumsBlock, TILES, WINDOW_VALUES, image_stride,
};
use crate::window::Shape;

/// Words of transformed weights that a thread holds at once, 9 MiB: 256 rows of 512 channels.
const WEIGHT_WORDS: usize = 9 << 18;
/// Channels and output channels from which on this is quicker than the window itself: with fewer
/// the transforms take as long as what they save.
const MIN_CHANNELS: usize = 48;
/// Tiles likewise: with fewer the transformed weights are not used often enough.
const MIN_TILES: usize = 128;

/// Sizes of a convolution of one group, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) weights: Rows,
    pub(crate) image: *const f32,
    pub(crate) out: *mut f32,
    pub(crate) channels: usize,
    pub(crate) out_channels: usize,
    pub(crate) epilogue: Epilogue,
}

/// The functions that a convolution is computed with so; `None` where it is not. They are those of
/// f32: in bfloat16 the transforms would leave less. Where products of bfloat16 are quicker by as
/// much as is saved here, the window itself is computed. Blocks of weights are not divided.
pub(crate) fn kernels_for<'a>(
    kernels: &'a Kernels,
    shape: &Shape,
    weights: &Rows,
    channels: usize,
    out_channels: usize,
) -> Option<&'a Kernels> {
    let suits = !matches!(weights.values, Values::Blocks { .. })
        && shape.kernel == (3, 3)
        && shape.stride == (1, 1)
        && shape.dilation == (1, 1)
        && channels >= MIN_CHANNELS
        && out_channels >= MIN_CHANNELS
        && tile_count(shape) >= MIN_TILES;
    if !suits {
        return None;
    }
    if kernels.pairs { Level::fastest_f32().kernels().filter(|_| !is_bf16_quicker()) } else { Some(kernels) }
}

/// Tiles of the result; those at the right and the lower edge may reach beyond it.
fn tile_count(shape: &Shape) -> usize {
    shape.out.0.div_ceil(2) * shape.out.1.div_ceil(2)
}

/// Computes one thread's part of a group.
///
/// # Safety
/// As [`convolve`](crate::convolution::convolve); the functions are those of [`kernels_for`].
pub(crate) unsafe fn convolve(kernels: &Kernels, group: &Group<'_>, thread: Thread) {
    let (rows, tiles) = gemm::part_of(kernels, group.out_channels, tile_count(group.shape), thread);
    if rows.is_empty() {
        return;
    }
    // A cache line more than they hold, so that the rows of a tile are in different sets of the
    // first cache.
    let stride = group.channels.next_multiple_of(16) + 16;
    let row_block = (WEIGHT_WORDS / (ELEMENTS * stride)).max(kernels.tile_rows) / kernels.tile_rows * kernels.tile_rows;
    let row_block = row_block.min(rows.len().next_multiple_of(kernels.tile_rows));
    let element_stride = row_block * stride + ELEMENT_GAP;
    let weight_words = ELEMENTS * element_stride;
    let image_words = ELEMENTS * image_stride(group.channels);
    let weights = scratch::words(&scratch::BLOCKS, weight_words + image_words + ELEMENTS * SUMS_STRIDE).cast::<f32>();
    // SAFETY: the scratch holds all three.
    let (image, sums) = unsafe { (weights.add(weight_words), weights.add(weight_words + image_words)) };
    for first_row in rows.clone().step_by(row_block) {
        let rows = first_row..rows.end.min(first_row + row_block);
        let packed = Weights { start: weights, stride, element_stride };
        // SAFETY: as the caller promises; the scratch has a row for each.
        unsafe { packed.transform(kernels, group, &rows) };
        for first in tiles.clone().step_by(TILES) {
            let tiles = first..tiles.end.min(first + TILES);
            let mut pieces = [Piece::default(); TILES];
            let count = pieces_of(kernels, group.shape, &tiles, &mut pieces);
            let block =
                ImageBlock { shape: group.shape, image: group.image, channels: group.channels, pieces: &pieces[..count], to: image };
            // SAFETY: as the caller promises; the scratch has a row of TILES values for each
            // channel and element.
            unsafe {
                (kernels.transform_image)(&block);
                for row in rows.clone().step_by(ROW_BLOCK) {
                    let some = row..rows.end.min(row + ROW_BLOCK);
                    let left = weights.add((row - first_row) * stride);
                    multiply(kernels, group.channels, &Weights { start: left, ..packed }, some.len(), image, tiles.len(), sums);
                    finish(kernels, group, &some, &pieces[..count], sums);
                }
            }
        }
    }
}

/// Transformed weights: rows of words for each element, with words from one to the next.
#[derive(Clone, Copy)]
struct Weights {
    start: *mut f32,
    stride: usize,
    element_stride: usize,
}

impl Weights {
    /// # Safety
    /// The rows are readable, and there is room for as many.
    unsafe fn transform(&self, kernels: &Kernels, group: &Group<'_>, rows: &Range<usize>) {
        let mut windows = [0.0_f32; WINDOW_VALUES];
        for (index, row) in rows.clone().enumerate() {
            for first in (0..group.channels).step_by(CHANNELS) {
                let count = CHANNELS.min(group.channels - first);
                // SAFETY: as the caller promises.
                unsafe {
                    group.weights.unpack(kernels, row, first * 9..(first + count) * 9, windows.as_mut_ptr());
                    let to = self.start.add(index * self.stride + first);
                    (kernels.transform_windows)(&windows, count, to, self.element_stride);
                }
            }
        }
    }
}

/// Multiplies the weights of some rows with transformed tiles: for each element, [`ROW_BLOCK`] rows
/// of [`TILES`] sums.
///
/// # Safety
/// All are valid for these sizes.
unsafe fn multiply(kernels: &Kernels, channels: usize, weights: &Weights, rows: usize, image: *const f32, tiles: usize, sums: *mut f32) {
    for element in 0..ELEMENTS {
        for first in (0..channels).step_by(DEPTH_WORDS) {
            let words = DEPTH_WORDS.min(channels - first);
            for (panel, vectors) in panels(kernels, &(0..tiles)) {
                let width = vectors * kernels.lanes;
                for row in (0..rows).step_by(kernels.tile_rows) {
                    // SAFETY: as the caller promises; a panel has room for whole vectors.
                    unsafe {
                        let tile = Tile {
                            rows: kernels.tile_rows.min(rows - row),
                            vectors,
                            words,
                            left: weights.start.add(element * weights.element_stride + row * weights.stride + first).cast(),
                            left_stride: weights.stride,
                            right: image.add(element * image_stride(channels) + panel.start * channels + first * width).cast(),
                            out: sums.add(element * SUMS_STRIDE + row * TILES + panel.start),
                            out_stride: TILES,
                            accumulate: first > 0,
                        };
                        (kernels.multiply_tile)(&tile);
                    }
                }
            }
        }
    }
}

/// Transforms the sums of some rows back and applies the epilogue.
///
/// # Safety
/// The sums are computed, and the rows are writable.
unsafe fn finish(kernels: &Kernels, group: &Group<'_>, rows: &Range<usize>, pieces: &[Piece], sums: *const f32) {
    let (width, height) = group.shape.out;
    for (index, row) in rows.clone().enumerate() {
        for piece in pieces {
            // SAFETY: as the caller promises.
            unsafe {
                let out = group.out.add(row * width * height);
                (kernels.transform_sums)(&SumsBlock { shape: group.shape, sums: sums.add(index * TILES), piece, out });
                let columns = 2 * piece.column..width.min(2 * (piece.column + piece.length));
                for line in 2 * piece.row..height.min(2 * piece.row + 2) {
                    let columns = line * width + columns.start..line * width + columns.end;
                    let part = Part { out: group.out, stride: width * height, rows: row..row + 1, columns };
                    group.epilogue.apply(kernels, Axis::Rows, &part);
                }
            }
        }
    }
}

/// The pieces of a block of tiles; their number.
fn pieces_of(kernels: &Kernels, shape: &Shape, tiles: &Range<usize>, pieces: &mut [Piece; TILES]) -> usize {
    let width = shape.out.0.div_ceil(2);
    let mut count = 0;
    for (panel, vectors) in panels(kernels, &(0..tiles.len())) {
        let mut start = panel.start;
        while start < panel.end {
            let (row, column) = ((tiles.start + start) / width, (tiles.start + start) % width);
            let length = (width - column).min(panel.end - start);
            pieces[count] = Piece { row, column, length, start, panel: panel.start, panel_width: vectors * kernels.lanes };
            count += 1;
            start += length;
        }
    }
    count
}
