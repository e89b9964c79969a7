//! Attention: `softmax(scale * Q K^T + mask) V` for each head, on top of the blocked product.
//!
//! Keys are taken in blocks. The scores of some queries with a block stay in the second cache; they
//! become weights relative to the largest score so far, and what was summed before is scaled when
//! that changes (Dao et al., "`FlashAttention`", 2022; the running softmax is Milakov and
//! Gimelshein's, "Online normalizer calculation for softmax", 2018). So memory does not grow with
//! the number of keys. A block of keys and values is packed once for many queries, and where words are
//! f32 the weights are multiplied where they are.

use std::ops::Range;

use crate::blocks::{DEPTH_MAX, DEPTH_WORDS, LANES_MAX, LEFT_STRIDE};
use crate::gemm::{self, Packed, Right, Thread};
use crate::product::{Straight, Transposed};
use crate::rows::{Rows, Values};
use crate::scratch;
use crate::table::{Kernels, ScoreRow};

/// Queries whose scores are kept at once.
const QUERY_BLOCK: usize = 128;
/// Blocks of queries of one head for which a block of keys and values is packed once.
const RUN_BLOCKS: usize = 8;
/// Keys of a block; whole panels of each instruction set.
const KEY_BLOCK: usize = 480;

/// Heads of one batch. The byte distances are from one head to the next.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// f32; a row for each query of the first head.
    pub queries: Rows,
    /// Bytes between heads.
    pub query_head_stride: usize,
    /// A row for each key.
    pub keys: Rows,
    /// Bytes between heads of keys.
    pub key_head_stride: usize,
    /// A row for each key.
    pub values: Rows,
    /// Bytes between heads of values.
    pub value_head_stride: usize,
    /// Added to the scaled scores: a row of binary16 for each query; null for none.
    pub mask: *const u8,
    /// Bytes between rows of the mask.
    pub mask_stride: usize,
    /// Bytes between heads of the mask; 0 where all share one.
    pub mask_head_stride: usize,
    /// Result of the first query of the first head.
    pub out: *mut f32,
    /// Values from one query to the next.
    pub out_stride: usize,
    /// Values from one head to the next.
    pub out_head_stride: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// Heads of queries; a multiple of `key_heads`.
    pub heads: usize,
    /// Heads of keys and values: neighbouring heads of queries share one.
    pub key_heads: usize,
    pub query_count: usize,
    pub key_count: usize,
    /// Values of a query and a key.
    pub key_size: usize,
    /// Values of a value.
    pub value_size: usize,
}

/// Computes one thread's part: heads and blocks of queries are divided.
///
/// # Safety
/// All pointers are valid for the sizes named, the result overlaps nothing, and no two threads have
/// the same index.
pub unsafe fn attend(kernels: &Kernels, attention: &Attention, thread: Thread) {
    let blocks = attention.query_count.div_ceil(QUERY_BLOCK);
    let mut parts = gemm::share(attention.heads * blocks, 1, thread);
    while !parts.is_empty() {
        let (head, first) = (parts.start / blocks, parts.start % blocks);
        let count = (blocks - first).min(parts.len()).min(RUN_BLOCKS);
        let queries = first * QUERY_BLOCK..attention.query_count.min((first + count) * QUERY_BLOCK);
        // SAFETY: as the caller promises.
        unsafe { attend_run(kernels, attention, head, &queries) };
        parts.start += count;
    }
}

/// Computes [`RUN_BLOCKS`] blocks of queries of a head, or fewer.
unsafe fn attend_run(kernels: &Kernels, attention: &Attention, head: usize, queries: &Range<usize>) {
    let &Attention { scale, key_count, key_size, value_size, .. } = attention;
    let key_head = head / (attention.heads / attention.key_heads);
    let sums_stride = value_size.next_multiple_of(LANES_MAX);
    let scores = scratch::words(&scratch::SCORES, QUERY_BLOCK * (KEY_BLOCK + RUN_BLOCKS * sums_stride)).cast::<f32>();
    let mut maxima = [f32::NEG_INFINITY; RUN_BLOCKS * QUERY_BLOCK];
    let mut totals = [0.0_f32; RUN_BLOCKS * QUERY_BLOCK];
    let mut factors = Factors::new(kernels, key_size, value_size);
    // SAFETY: the scratch holds a row of scores for each query of a block, and one of sums for each
    // of the run; the rest as the caller promises.
    unsafe {
        let sums = scores.add(QUERY_BLOCK * KEY_BLOCK);
        let rows = attention.queries.offset(head * attention.query_head_stride);
        let keys = attention.keys.offset(key_head * attention.key_head_stride);
        let values = attention.values.offset(key_head * attention.value_head_stride);
        for first_key in (0..key_count).step_by(KEY_BLOCK) {
            let count = KEY_BLOCK.min(key_count - first_key);
            factors.pack(keys.offset(first_key * keys.stride), values.offset(first_key * values.stride), count);
            for first_query in queries.clone().step_by(QUERY_BLOCK) {
                let block = first_query..queries.end.min(first_query + QUERY_BLOCK);
                factors.score(&rows, &block, scores);
                for (index, query) in block.clone().enumerate() {
                    let mask = if attention.mask.is_null() {
                        std::ptr::null()
                    } else {
                        let row = head * attention.mask_head_stride + query * attention.mask_stride;
                        attention.mask.add(row).cast::<u16>().add(first_key)
                    };
                    let place = query - queries.start;
                    let row = ScoreRow { scores: scores.add(index * KEY_BLOCK), count, scale, mask, maximum: maxima[place] };
                    let (maximum, total) = (kernels.weigh_scores)(&row);
                    if maximum > maxima[place] && first_key > 0 {
                        let factor = (maxima[place] - maximum).exp();
                        totals[place] *= factor;
                        (kernels.scale)(sums.add(place * sums_stride), value_size, factor);
                    }
                    maxima[place] = maximum;
                    totals[place] += total;
                }
                let sums = sums.add((first_query - queries.start) * sums_stride);
                factors.add_values(scores, block.len(), sums, sums_stride, first_key > 0);
            }
        }
        for (place, (query, total)) in queries.clone().zip(totals).enumerate() {
            let out = attention.out.add(head * attention.out_head_stride + query * attention.out_stride);
            // A query all of whose keys are masked has no value.
            let factor = if total > 0.0 { 1.0 / total } else { 0.0 };
            (kernels.scale_and_offset)(sums.add(place * sums_stride), value_size, factor, 0.0, out);
        }
    }
}

/// Packed factors of a block of keys, in the thread's working memory.
struct Factors<'a> {
    kernels: &'a Kernels,
    key_size: usize,
    value_size: usize,
    /// Keys of the block.
    count: usize,
    /// For each block of a key's depth its panels.
    keys: *mut u32,
    /// For each block of keys that are depth the panels of values.
    values: *mut u32,
    /// Rows of queries or of weights.
    left: *mut u32,
}

impl<'a> Factors<'a> {
    fn new(kernels: &'a Kernels, key_size: usize, value_size: usize) -> Self {
        let key_words = key_size.div_ceil(depth_block(kernels)) * KEY_BLOCK * DEPTH_WORDS;
        let value_words = KEY_BLOCK.div_ceil(depth_block(kernels)) * value_size.next_multiple_of(LANES_MAX) * DEPTH_WORDS;
        let keys = scratch::words(&scratch::BLOCKS, key_words + value_words + QUERY_BLOCK * LEFT_STRIDE);
        let values = keys.wrapping_add(key_words);
        Self { kernels, key_size, value_size, count: 0, keys, values, left: values.wrapping_add(value_words) }
    }

    /// Packs `count` keys and values, which begin with these rows.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn pack(&mut self, keys: Rows, values: Rows, count: usize) {
        self.count = count;
        // SAFETY: as the caller promises; the working memory has room for both.
        unsafe {
            self.pack_panels(&Transposed(keys), count, self.key_size, self.keys);
            self.pack_panels(&Straight(values), self.value_size, count, self.values);
        }
    }

    /// Packs all columns and depth of a factor B, each block of depth one behind the other.
    ///
    /// # Safety
    /// It is readable, and there is room for it.
    unsafe fn pack_panels(&self, right: &impl Right, columns: usize, depth: usize, mut to: *mut u32) {
        for depth in depth_blocks(self.kernels, depth) {
            let column_words = self.column_words(&depth);
            // SAFETY: as the caller promises. A block of one panel has the places of its words in one
            // of all, but for its start.
            unsafe {
                for (panel, _) in gemm::panels(self.kernels, &(0..columns)) {
                    let to = to.add(panel.start * column_words);
                    right.pack_block(self.kernels, &panel, &depth, to);
                    gemm::fill_right(self.kernels, panel.len(), depth.len(), to);
                }
                to = to.add(columns.next_multiple_of(LANES_MAX) * column_words);
            }
        }
    }

    /// Scores of a block of queries with the keys.
    ///
    /// # Safety
    /// `scores` has a row of [`KEY_BLOCK`] for each of them, and `queries` has these rows.
    unsafe fn score(&self, queries: &Rows, block: &Range<usize>, scores: *mut f32) {
        let mut right = self.keys;
        for depth in depth_blocks(self.kernels, self.key_size) {
            let column_words = self.column_words(&depth);
            // SAFETY: as the caller promises; the keys are packed.
            unsafe {
                gemm::pack_left(self.kernels, queries, block, &depth, self.left);
                let words = gemm::packed_words(self.kernels, depth.len());
                let packed = Packed { left: self.left, left_stride: LEFT_STRIDE, right, column_words, words };
                gemm::multiply_block(self.kernels, &packed, (block.len(), self.count), scores, KEY_BLOCK, depth.start > 0);
                right = right.add(self.count.next_multiple_of(LANES_MAX) * column_words);
            }
        }
    }

    /// Adds the values, each times its weight, to what there is of so many queries, or where there is
    /// nothing yet writes them.
    ///
    /// # Safety
    /// `weights` has a row of [`KEY_BLOCK`] for each query, and `sums` one of `stride`.
    unsafe fn add_values(&self, weights: *mut f32, queries: usize, sums: *mut f32, stride: usize, accumulate: bool) {
        let mut right = self.values;
        let rows = Rows { data: weights.cast(), stride: KEY_BLOCK * 4, values: Values::F32 };
        for depth in depth_blocks(self.kernels, self.count) {
            let column_words = self.column_words(&depth);
            let words = gemm::packed_words(self.kernels, depth.len());
            // SAFETY: as the caller promises; the values are packed.
            unsafe {
                let (left, left_stride) = if self.kernels.pairs || self.kernels.registers.is_some() {
                    gemm::pack_left(self.kernels, &rows, &(0..queries), &depth, self.left);
                    (self.left, LEFT_STRIDE)
                } else {
                    // Words are f32, and rows as far apart as is good for the caches.
                    (weights.add(depth.start).cast(), KEY_BLOCK)
                };
                let packed = Packed { left, left_stride, right, column_words, words };
                let accumulate = accumulate || depth.start > 0;
                gemm::multiply_block(self.kernels, &packed, (queries, self.value_size), sums, stride, accumulate);
                right = right.add(self.value_size.next_multiple_of(LANES_MAX) * column_words);
            }
        }
    }

    /// Words of the panels for each column: those that are used, but where vectors have places of their own.
    fn column_words(&self, depth: &Range<usize>) -> usize {
        if self.kernels.registers.is_some() { DEPTH_WORDS } else { self.kernels.words_of(depth.len()) }
    }
}

/// Values of depth of a block.
const fn depth_block(kernels: &Kernels) -> usize {
    if kernels.pairs { DEPTH_MAX } else { DEPTH_WORDS }
}

fn depth_blocks(kernels: &Kernels, depth: usize) -> impl Iterator<Item = Range<usize>> + use<> {
    let block = depth_block(kernels);
    (0..depth).step_by(block).map(move |first| first..depth.min(first + block))
}
