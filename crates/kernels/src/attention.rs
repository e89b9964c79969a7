//! Attention: `softmax(scale * Q K^T + mask) V` for each head, on top of the blocked product.
//!
//! Keys are taken in blocks. The scores of some queries with a block stay in the second cache; they
//! become weights relative to the largest score so far, and what was summed before is scaled when
//! that changes (Dao et al., "`FlashAttention`", 2022; the running softmax is Milakov and
//! Gimelshein's, "Online normalizer calculation for softmax", 2018). So memory does not grow with
//! the number of keys.

use crate::epilogue::{Axis, Epilogue};
use crate::gemm::{self, Target, Thread};
use crate::product::{Straight, Transposed};
use crate::rows::{Rows, Values};
use crate::scratch;
use crate::table::{Kernels, ScoreRow};

/// Queries whose scores are kept at once.
const QUERY_BLOCK: usize = 128;
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
    for part in gemm::share(attention.heads * blocks, 1, thread) {
        // SAFETY: as the caller promises.
        unsafe { attend_block(kernels, attention, part / blocks, part % blocks * QUERY_BLOCK) };
    }
}

unsafe fn attend_block(kernels: &Kernels, attention: &Attention, head: usize, first_query: usize) {
    let &Attention { scale, key_count, key_size, value_size, .. } = attention;
    let queries = QUERY_BLOCK.min(attention.query_count - first_query);
    let key_head = head / (attention.heads / attention.key_heads);
    let sums_stride = value_size.next_multiple_of(16);
    let scores = scratch::words(&scratch::SCORES, QUERY_BLOCK * (KEY_BLOCK + sums_stride)).cast::<f32>();
    let mut maxima = [f32::NEG_INFINITY; QUERY_BLOCK];
    let mut totals = [0.0_f32; QUERY_BLOCK];
    // SAFETY: the scratch holds a row of scores and one of sums for each query; the rest as the
    // caller promises.
    unsafe {
        let sums = scores.add(QUERY_BLOCK * KEY_BLOCK);
        let rows = attention.queries.offset(head * attention.query_head_stride + first_query * attention.queries.stride);
        let keys = attention.keys.offset(key_head * attention.key_head_stride);
        let values = attention.values.offset(key_head * attention.value_head_stride);
        for first_key in (0..key_count).step_by(KEY_BLOCK) {
            let count = KEY_BLOCK.min(key_count - first_key);
            let target = Target {
                out: scores,
                stride: KEY_BLOCK,
                rows: 0..queries,
                columns: 0..count,
                accumulate: false,
                epilogue: Epilogue::NONE,
                constants_of: Axis::Rows,
            };
            gemm::multiply(kernels, &rows, &Transposed(keys.offset(first_key * keys.stride)), key_size, &target);
            for query in 0..queries {
                let mask = if attention.mask.is_null() {
                    std::ptr::null()
                } else {
                    let row = head * attention.mask_head_stride + (first_query + query) * attention.mask_stride;
                    attention.mask.add(row).cast::<u16>().add(first_key)
                };
                let row = ScoreRow { scores: scores.add(query * KEY_BLOCK), count, scale, mask, maximum: maxima[query] };
                let (maximum, total) = (kernels.weigh_scores)(&row);
                if maximum > maxima[query] && first_key > 0 {
                    let factor = (maxima[query] - maximum).exp();
                    totals[query] *= factor;
                    (kernels.scale)(sums.add(query * sums_stride), value_size, factor);
                }
                maxima[query] = maximum;
                totals[query] += total;
            }
            let weights = Rows { data: scores.cast(), stride: KEY_BLOCK * 4, values: Values::F32 };
            let target = Target {
                out: sums,
                stride: sums_stride,
                rows: 0..queries,
                columns: 0..value_size,
                accumulate: first_key > 0,
                epilogue: Epilogue::NONE,
                constants_of: Axis::Rows,
            };
            gemm::multiply(kernels, &weights, &Straight(values.offset(first_key * values.stride)), count, &target);
        }
        for (query, total) in totals[..queries].iter().enumerate() {
            let out = attention.out.add(head * attention.out_head_stride + (first_query + query) * attention.out_stride);
            // A query all of whose keys are masked has no value.
            let factor = if *total > 0.0 { 1.0 / total } else { 0.0 };
            (kernels.scale_and_offset)(sums.add(query * sums_stride), value_size, factor, 0.0, out);
        }
    }
}
