//! The blocked product C = A B: `C[i][j] = sum over k of A[i][k] * B[k][j]`, with neighbours in j
//! side by side.
//!
//! # Blocks
//!
//! The scheme is that of Goto and van de Geijn ("Anatomy of High-Performance Matrix
//! Multiplication", 2008), in the form of BLIS (Van Zee and van de Geijn, "BLIS: A Framework for
//! Rapidly Instantiating BLAS Functionality", 2015). A product of n^3 multiplications reads n^2
//! values, so its speed is that of the registers if each value, once it is near, is used often:
//!
//! ```text
//! for each COLUMN_VECTORS vectors of columns   a result block's columns, more or fewer by up to a half
//!   (for each ROW_BLOCK rows of A              where all depth of that part of B is small, packed once)
//!   for each DEPTH_WORDS words of depth
//!     pack that part of B into panels          0.5 MB (AVX2: 0.25), stays in the second cache
//!     for each ROW_BLOCK rows of A
//!       pack that part of A                    0.1 MB, stays in the second cache; once for all columns where the whole of A is small
//!       for each panel of B                    3 vectors wide: 48 KB (AVX-512; 2 with AMX)
//!         for each tile of rows of A           8 rows: 8 KB, stays in the first cache (32 with AMX)
//!           sums of 8 rows by 3 vectors        24 registers; one row of the panel and one broadcast value of A at a time
//!       finish these rows after the last depth   0.2 MB, still in the second cache: bias, residual, ReLU (`epilogue`)
//! ```
//!
//! Packing puts the values into the order in which the innermost loop reads them, so that it reads
//! forward only, and converts them: to f32, or to bfloat16 in pairs of neighbours in k, which a
//! word of 32 bits holds. So there is one loop for both, which moves words. With AMX's tile
//! registers the order is by tiles of 16 rows of 16 words, filled up with zeros. Weights of any type are
//! unpacked here, once for each block of rows or columns and not once for each product.
//!
//! The factors are traits, because that is where convolution and attention differ from a product of
//! matrices: B of a convolution is the image, whose values under the window are gathered into
//! panels as they are needed, so that the unfolded image (kernel width times height as large) never
//! exists ("implicit im2col", Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning",
//! 2014).
//!
//! Each value of C is a sum in an order that depends on k alone. So the result does not depend on
//! the number of threads.

use std::ops::Range;

use crate::blocks::{DEPTH_MAX, DEPTH_WORDS, LEFT_STRIDE, TILE_SIDE, TILE_VALUES_MAX};
use crate::epilogue::{Axis, Epilogue, Part};
use crate::packed_weights::{Block, Form, Key, Stored, address_of};
use crate::rows::Rows;
use crate::scratch;
use crate::table::{Kernels, Tile};

/// Vectors in a row of a block of B, as a rule: whole panels of two and of three.
const COLUMN_VECTORS: usize = 30;
/// Columns of a block, at most: whole panels, which are those of `PANELS_MAX`.
const COLUMNS_MAX: usize = 480;
/// Rows of a block of A: whole tiles, beside which a block of B has room in a second cache of 0.5 MB.
const ROW_BLOCK: usize = 96;
/// Words of a block of B whose depth is packed at once, so that blocks of C are finished one by one: 768
/// KiB. A larger one would be read from beyond the second cache for each.
const WHOLE_RIGHT_MAX: usize = 3 << 16;
/// Words of a packed factor A that is kept for all blocks of columns: 8 MiB. A larger one is packed
/// again for each.
const WHOLE_LEFT_MAX: usize = 2 << 20;

/// The factor A, of which each value is broadcast.
pub(crate) trait Left {
    /// Its rows as they are stored, of which packed ones may be kept, and how they are packed.
    fn stored(&self) -> (&Rows, Form);

    /// Packs the values `depth` of `rows`, row by row, `stride` words apart.
    ///
    /// # Safety
    /// The rows are readable and `to` is writable; `depth` is at most a block.
    unsafe fn pack(&self, kernels: &Kernels, rows: Range<usize>, depth: Range<usize>, to: *mut u32, stride: usize);
}

/// The factor B, of which neighbours in a row are a vector.
pub(crate) trait Right {
    /// Its columns where each is a stored row, of which packed ones may be kept.
    fn stored(&self) -> Option<&Rows> {
        None
    }

    /// Values of depth of a block.
    fn depth_block(&self, kernels: &Kernels) -> usize {
        if kernels.pairs { DEPTH_MAX } else { DEPTH_WORDS }
    }

    /// Packs all panels of a block of columns, [`DEPTH_WORDS`] words for each of their columns: for
    /// each word of `depth` a row of the panel's vectors, of which the first values count, as many
    /// as the panel has columns. Where they lie says [`Kernels::panel_strides`].
    ///
    /// # Safety
    /// The columns are readable and `to` is writable; `depth` is at most a block.
    unsafe fn pack_block(&self, kernels: &Kernels, columns: &Range<usize>, depth: &Range<usize>, to: *mut u32);
}

/// Calls `pack` for each panel of a block, with its columns, its vectors and its part of `to`.
///
/// # Safety
/// `to` has [`DEPTH_WORDS`] words for each of the columns.
pub(crate) unsafe fn pack_panels(
    kernels: &Kernels,
    columns: &Range<usize>,
    to: *mut u32,
    mut pack: impl FnMut(Range<usize>, usize, *mut u32),
) {
    for (panel, vectors) in panels(kernels, columns) {
        // SAFETY: as the caller promises.
        let to = unsafe { to.add((panel.start - columns.start) * DEPTH_WORDS) };
        pack(panel, vectors, to);
    }
}

/// Part of a result.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// `C[0][0]`.
    pub(crate) out: *mut f32,
    /// Values from one row to the next.
    pub(crate) stride: usize,
    /// Rows to compute.
    pub(crate) rows: Range<usize>,
    pub(crate) columns: Range<usize>,
    /// Adds to what is there.
    pub(crate) accumulate: bool,
    /// Applied to the sums.
    pub(crate) epilogue: Epilogue,
    /// What its constants belong to.
    pub(crate) constants_of: Axis,
}

impl Target {
    /// Finishes the sums of some rows and columns.
    ///
    /// # Safety
    /// They are computed and belong to the target.
    unsafe fn finish(&self, kernels: &Kernels, rows: Range<usize>, columns: Range<usize>) {
        let part = Part { out: self.out, stride: self.stride, rows, columns };
        // SAFETY: as the caller promises.
        unsafe { self.epilogue.apply(kernels, self.constants_of, &part) };
    }
}

/// Computes a part of C on the calling thread, over `depth` values of k.
///
/// # Safety
/// The factors are readable and the target is writable for the rows, columns and depth named.
pub(crate) unsafe fn multiply(kernels: &Kernels, left: &impl Left, right: &impl Right, depth: usize, target: &Target) {
    let block_columns = column_block(kernels, target.columns.len());
    let depth_block = right.depth_block(kernels);
    let depth_blocks = depth.div_ceil(depth_block);
    let left_rows = target.rows.len().next_multiple_of(kernels.tile_rows);
    let whole_left = whole_left_words(kernels, target.rows.len(), depth_blocks);
    let key = |weights: &Rows, form, rows: &Range<usize>| Key {
        kernels: address_of(kernels),
        weights: Stored::of(weights),
        form,
        rows: rows.clone(),
        depth: [depth, depth_block],
    };
    let (stored_left, left_form) = left.stored();
    let kept_left = Block::find(whole_left, key(stored_left, left_form, &target.rows));
    let kept_right = right.stored().map_or(Block::Scratch, |rows| {
        let words = whole_right_words(kernels, target.columns.len(), depth_blocks);
        Block::find(words, key(rows, Form::Panels, &target.columns))
    });
    // Packed once for all columns.
    let is_whole_left = kept_left.words().is_some() || (target.columns.len() > block_columns && whole_left <= WHOLE_LEFT_MAX);
    let left_words = if is_whole_left { whole_left } else { ROW_BLOCK * LEFT_STRIDE };
    let scratch_left_words = if kept_left.words().is_some() { 0 } else { left_words };
    let right_words = block_columns * DEPTH_WORDS;
    let is_whole_right = depth_blocks * right_words <= WHOLE_RIGHT_MAX && kept_right.words().is_none();
    let (scratch_right_words, group_rows) =
        if is_whole_right { (depth_blocks.max(1) * right_words, ROW_BLOCK) } else { (right_words, target.rows.len().max(1)) };
    let scratch_right = scratch::words(&scratch::BLOCKS, scratch_right_words + scratch_left_words);
    // SAFETY: the scratch holds both blocks.
    let packed_left = kept_left.words().unwrap_or_else(|| unsafe { scratch_right.add(scratch_right_words) });
    if depth == 0 && !target.accumulate {
        for row in target.rows.clone() {
            // SAFETY: part of the target.
            unsafe { target.out.add(row * target.stride + target.columns.start).write_bytes(0, target.columns.len()) };
        }
        // SAFETY: zeros are the sums.
        unsafe { target.finish(kernels, target.rows.clone(), target.columns.clone()) };
    }
    for first in target.columns.clone().step_by(block_columns) {
        let columns = first..target.columns.end.min(first + block_columns);
        for group_first in target.rows.clone().step_by(group_rows) {
            let group = group_first..target.rows.end.min(group_first + group_rows);
            for (depth_index, depth_first) in (0..depth).step_by(depth_block).enumerate() {
                let is_last = depth_first + depth_block >= depth;
                let depth = depth_first..depth.min(depth_first + depth_block);
                let words = packed_words(kernels, depth.len());
                let depth_right = if is_whole_right { depth_index * right_words } else { 0 };
                // SAFETY: the scratch holds this block.
                let scratch_right = unsafe { scratch_right.add(depth_right) };
                let packed_right = kept_right.words().map_or(scratch_right, |words| {
                    let before =
                        (first - target.columns.start) * depth_blocks + depth_index * columns.len().next_multiple_of(kernels.lanes);
                    // SAFETY: there is a block for each of these columns and of depth.
                    unsafe { words.add(before * DEPTH_WORDS) }
                });
                if !matches!(kept_right, Block::Kept(_)) && group.start == target.rows.start {
                    // SAFETY: there is room for a block, which nobody else has.
                    unsafe {
                        right.pack_block(kernels, &columns, &depth, packed_right);
                        fill_right(kernels, columns.len(), depth.len(), packed_right);
                    }
                }
                for row in group.clone().step_by(ROW_BLOCK) {
                    let rows = row..group.end.min(row + ROW_BLOCK);
                    let before = if is_whole_left { depth_index * left_rows + row - target.rows.start } else { 0 };
                    // SAFETY: there is a row of LEFT_STRIDE words for each, of every block of depth
                    // where all are packed.
                    let packed_left = unsafe { packed_left.add(before * LEFT_STRIDE) };
                    let is_packed = matches!(kept_left, Block::Kept(_)) || (is_whole_left && first > target.columns.start);
                    if !is_packed {
                        // SAFETY: see above; nobody else has it.
                        unsafe { pack_left(kernels, left, &rows, &depth, packed_left) };
                    }
                    let packed =
                        Packed { left: packed_left, left_stride: LEFT_STRIDE, right: packed_right, column_words: DEPTH_WORDS, words };
                    let accumulate = target.accumulate || depth_first > 0;
                    // SAFETY: packed above; the sums are those of the target's rows and columns.
                    unsafe {
                        let out = target.out.add(rows.start * target.stride + first);
                        multiply_block(kernels, &packed, (rows.len(), columns.len()), out, target.stride, accumulate);
                    }
                    if is_last {
                        // SAFETY: all depth is summed.
                        unsafe { target.finish(kernels, rows, columns.clone()) };
                    }
                }
            }
        }
    }
    // What has no columns, or no rows, was not packed.
    if !target.columns.is_empty() {
        kept_left.finish();
    }
    if !target.rows.is_empty() {
        kept_right.finish();
    }
}

/// Columns of a block of B: whole panels, and such that no block is much smaller than the others, for
/// which A would be read once more.
fn column_block(kernels: &Kernels, columns: usize) -> usize {
    let usual = COLUMN_VECTORS * kernels.lanes.max(8);
    let columns = columns.max(1);
    let blocks = ((columns + usual / 2) / usual).max(columns.div_ceil(COLUMNS_MAX.min(usual * 3 / 2)));
    columns.div_ceil(blocks).next_multiple_of(kernels.tile_vectors * kernels.lanes)
}

/// Words of all of a packed factor A.
pub(crate) const fn whole_left_words(kernels: &Kernels, rows: usize, depth_blocks: usize) -> usize {
    depth_blocks * rows.next_multiple_of(kernels.tile_rows) * LEFT_STRIDE
}

/// Words of all of a packed factor B.
pub(crate) const fn whole_right_words(kernels: &Kernels, columns: usize, depth_blocks: usize) -> usize {
    depth_blocks * columns.next_multiple_of(kernels.lanes) * DEPTH_WORDS
}

/// Packed blocks of both factors.
pub(crate) struct Packed {
    pub(crate) left: *const u32,
    /// Words from one row of A to the next.
    pub(crate) left_stride: usize,
    pub(crate) right: *const u32,
    /// Words of B for each column.
    pub(crate) column_words: usize,
    /// Depth, of [`packed_words`].
    pub(crate) words: usize,
}

/// Multiplies packed blocks to so many rows and columns of sums.
///
/// # Safety
/// The factors are packed, and `out` is writable for the sums, whose rows are `stride` values apart.
pub(crate) unsafe fn multiply_block(
    kernels: &Kernels,
    packed: &Packed,
    (rows, columns): (usize, usize),
    out: *mut f32,
    stride: usize,
    accumulate: bool,
) {
    if let Some(registers) = &kernels.registers {
        // SAFETY: the processor has them. Until they are released nothing runs but what is here, so
        // nobody else finds or changes their shapes.
        unsafe { (registers.configure)() };
    }
    for (panel, vectors) in panels(kernels, &(0..columns)) {
        for row in (0..rows).step_by(kernels.tile_rows) {
            // SAFETY: as the caller promises; the tile is inside the rows and columns.
            unsafe {
                let tile = Tile {
                    rows: kernels.tile_rows.min(rows - row),
                    vectors,
                    words: packed.words,
                    left: packed.left.add(row * packed.left_stride),
                    left_stride: packed.left_stride,
                    right: packed.right.add(panel.start * packed.column_words),
                    out: out.add(row * stride + panel.start),
                    out_stride: stride,
                    accumulate,
                };
                multiply_tile(kernels, tile, panel.len());
            }
        }
    }
    if let Some(registers) = &kernels.registers {
        // SAFETY: see above.
        unsafe { (registers.release)() };
    }
}

/// Words of so many values in a packed block: with tiles, whole ones.
pub(crate) const fn packed_words(kernels: &Kernels, values: usize) -> usize {
    let words = kernels.words_of(values);
    if kernels.registers.is_some() { words.next_multiple_of(TILE_SIDE) } else { words }
}

/// Packs a part of A, [`LEFT_STRIDE`] words for each row.
///
/// # Safety
/// As [`Left::pack`]; with tiles there is room for whole ones.
pub(crate) unsafe fn pack_left(kernels: &Kernels, left: &impl Left, rows: &Range<usize>, depth: &Range<usize>, to: *mut u32) {
    #[repr(align(64))]
    struct Strip([u32; TILE_SIDE * LEFT_STRIDE]);
    let Some(registers) = &kernels.registers else {
        // SAFETY: as the caller promises.
        return unsafe { left.pack(kernels, rows.clone(), depth.clone(), to, LEFT_STRIDE) };
    };
    let mut strip = Strip([0; TILE_SIDE * LEFT_STRIDE]);
    let (words, filled) = (kernels.words_of(depth.len()), packed_words(kernels, depth.len()));
    for first in rows.clone().step_by(TILE_SIDE) {
        let some = first..rows.end.min(first + TILE_SIDE);
        // SAFETY: as the caller promises; the strip has as many rows.
        unsafe { left.pack(kernels, some.clone(), depth.clone(), strip.0.as_mut_ptr(), LEFT_STRIDE) };
        for (row, values) in strip.0.chunks_mut(LEFT_STRIDE).enumerate() {
            values[if row < some.len() { words } else { 0 }..filled].fill(0);
        }
        // SAFETY: see above.
        unsafe { (registers.order)(strip.0.as_ptr(), filled / TILE_SIDE, to.add((first - rows.start) * LEFT_STRIDE)) };
    }
}

/// Fills up the depth of the tiles of a packed part of B.
///
/// # Safety
/// It is packed in `to`.
pub(crate) unsafe fn fill_right(kernels: &Kernels, columns: usize, depth: usize, to: *mut u32) {
    let words = kernels.words_of(depth);
    let missing = packed_words(kernels, depth) - words;
    for column in (0..columns).step_by(kernels.lanes).take_while(|_| missing > 0) {
        // SAFETY: each vector of columns has room for all depth of a block, which is whole tiles.
        unsafe { to.add(column * DEPTH_WORDS + words * kernels.lanes).write_bytes(0, missing * kernels.lanes) };
    }
}

/// Multiplies a tile of which the first `columns` columns belong to the target. Its sums begin with
/// what is there as those of a whole tile do, so that a value does not depend on the panel that its
/// column is in.
///
/// # Safety
/// As [`Kernels::multiply_tile`], with a target of `columns` columns.
unsafe fn multiply_tile(kernels: &Kernels, mut tile: Tile, columns: usize) {
    let (rows, width) = (tile.rows, tile.vectors * kernels.lanes);
    if kernels.registers.is_some() {
        tile.rows = rows.next_multiple_of(TILE_SIDE);
    }
    // SAFETY: as the caller promises; a tile beyond the target is computed beside it and copied.
    unsafe {
        if (tile.rows, width) == (rows, columns) {
            return (kernels.multiply_tile)(&tile);
        }
        let mut whole = [0.0_f32; TILE_VALUES_MAX];
        let (out, out_stride) = (tile.out, tile.out_stride);
        tile.out = whole.as_mut_ptr();
        tile.out_stride = width;
        if tile.accumulate {
            for (row, whole) in whole.chunks_mut(width).take(rows).enumerate() {
                whole[..columns].copy_from_slice(std::slice::from_raw_parts(out.add(row * out_stride), columns));
            }
        }
        (kernels.multiply_tile)(&tile);
        for (row, whole) in whole.chunks(width).take(rows).enumerate() {
            out.add(row * out_stride).copy_from_nonoverlapping(whole.as_ptr(), columns);
        }
    }
}

/// The panels of a block: their columns and vectors. The last two share what is left, so that none
/// is one vector wide beside a full one.
pub(crate) fn panels(kernels: &Kernels, columns: &Range<usize>) -> impl Iterator<Item = (Range<usize>, usize)> + use<> {
    let (lanes, full) = (kernels.lanes, kernels.tile_vectors);
    let mut rest = columns.clone();
    std::iter::from_fn(move || {
        let vectors = match rest.len().div_ceil(lanes) {
            0 => return None,
            left if left > full && left < 2 * full => left.div_ceil(2),
            left => left.min(full),
        };
        let panel = rest.start..rest.end.min(rest.start + vectors * lanes);
        rest.start = panel.end;
        Some((panel, vectors))
    })
}

/// One thread's part of `0..total`, in whole `unit`s but for the last.
pub(crate) fn share(total: usize, unit: usize, thread: Thread) -> Range<usize> {
    let units = total.div_ceil(unit);
    let at = |index: usize| total.min(units * index / thread.count * unit);
    at(thread.index)..at(thread.index + 1)
}

/// One thread's rows and columns of a result. Threads divide the larger factor: each packs its part
/// of that, and all of the smaller one.
pub(crate) fn part_of(kernels: &Kernels, rows: usize, columns: usize, thread: Thread) -> (Range<usize>, Range<usize>) {
    if columns >= rows { (0..rows, share(columns, kernels.lanes, thread)) } else { (share(rows, kernels.tile_rows, thread), 0..columns) }
}

/// The calling thread among those that compute one operation.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// From 0.
    pub index: usize,
    /// At least 1.
    pub count: usize,
}

impl Thread {
    /// The only thread.
    pub const ALONE: Self = Self { index: 0, count: 1 };
}
