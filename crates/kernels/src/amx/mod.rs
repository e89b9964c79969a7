//! AMX-BF16: products of pairs of bfloat16 by tile registers, summed in f32; everything else as
//! with AVX512-BF16.
//!
//! A tile register has up to 16 rows of 64 bytes. TDPBF16PS adds A B to C, three tiles: A has rows
//! of words of 32 bits, each two neighbours in depth; B a row for each word of A's rows, in which
//! each word belongs to a column; C rows of f32. Blocks are packed in this order (`gemm`): 16 words
//! of 16 rows of the left factor are a tile A, 16 rows of a vector of the right one a tile B, and
//! each tile's rows lie side by side, so that a load reads 1 KB on end. A product of 32 rows by two
//! vectors is four tiles C, and what is loaded of A and B is used twice:
//!
//! ```text
//! C = 0, or what is there
//! for each 16 words of depth: load two A and two B; each C += A B
//! store C
//! ```
//!
//! Blocks are filled up to whole tiles, so one configuration serves all products. It is loaded once
//! for all products of a packed block (some 10 to 40 us), not for each, which costs a third of the
//! speed; and released after them, so it never outlives code of ours. Kept for longer, whoever else
//! used tile registers on the thread could change or release it, a signal's handler and a forked
//! process would find it gone, and a sleeping thread's tiles would be saved at each switch.
//!
//! The source of instructions and formats is the "Intel 64 and IA-32 Architectures Software
//! Developer's Manual" (SDM): volume 1, "Programming with Intel Advanced Matrix Extensions", and
//! volume 2, the pages of LDTILECFG, TILELOADD, TILEZERO, TDPBF16PS, TDPBSSD, TILESTORED and TILERELEASE.

mod detection;
#[cfg(test)]
mod emulation;
mod instructions;
mod int8;
#[cfg(test)]
mod plain_pairs;
#[cfg(test)]
mod tests;
mod tile_product;
#[cfg(test)]
mod traps;

use std::sync::OnceLock;

use crate::avx512_bf16;
use crate::blocks::{LEFT_STRIDE, TILE_SIDE};
use crate::table::{Kernels, Tile, TileRegisters};
pub(crate) use detection::random_numbers;
pub(crate) use int8::Int8;
use tile_product::{Configuration, TILE_ROWS, TILE_VECTORS, TileProduct};

/// The level's functions; `None` where the processor or the system lacks it, or products are not
/// those of `avx512_bf16`, the functions of AVX512-BF16. Found out once: the first call asks the
/// system for permission, which is for all threads.
pub(crate) fn kernels(avx512_bf16: &Kernels) -> Option<&'static Kernels> {
    static IS_AVAILABLE: OnceLock<bool> = OnceLock::new();
    let is_available = IS_AVAILABLE.get_or_init(|| {
        // SAFETY: the instructions are there and permitted where they are called.
        detection::has_instructions(detection::AMX_BF16)
            && detection::is_permitted()
            && unsafe { detection::multiplies_as(&KERNELS, avx512_bf16) }
    });
    is_available.then_some(&KERNELS)
}

/// The processor and the system have products of eight bits. The first call asks the system for
/// permission, which is for all threads.
pub(crate) fn has_amx_int8() -> bool {
    detection::has_instructions(detection::AMX_INT8) && detection::is_permitted()
}

/// Traps and emulates the instructions from now on; false where the processor has them.
#[cfg(test)]
pub(crate) fn are_emulated() -> bool {
    let are_missing = !detection::has_instructions(detection::AMX_BF16) && !detection::has_instructions(detection::AMX_INT8);
    if are_missing {
        traps::install();
    }
    are_missing
}

/// The emulated registers of this thread have no shapes.
#[cfg(test)]
pub(crate) fn are_released() -> bool {
    traps::are_released()
}

unsafe fn multiply_tile(tile: &Tile) {
    // SAFETY: as the caller promises: the instructions are there, and the pointers valid for the
    // rows, vectors and words named.
    unsafe { instructions::run(&TileProduct::new(tile)) }
}

unsafe fn configure() {
    // SAFETY: as the caller promises.
    unsafe { instructions::configure(&Configuration::WHOLE) }
}

#[target_feature(enable = "avx512f")]
unsafe fn order(from: *const u32, tiles: usize, to: *mut u32) {
    // SAFETY: as the caller promises.
    unsafe { order_tiles(from, tiles, to) }
}

/// As [`TileRegisters::order`], with the instructions of its caller.
///
/// # Safety
/// The rows are readable, and the tiles writable.
#[inline(always)]
unsafe fn order_tiles(from: *const u32, tiles: usize, to: *mut u32) {
    for row in 0..TILE_SIDE {
        for tile in 0..tiles {
            // SAFETY: as the caller promises.
            unsafe {
                let to = to.add((tile * TILE_SIDE + row) * TILE_SIDE);
                to.copy_from_nonoverlapping(from.add(row * LEFT_STRIDE + tile * TILE_SIDE), TILE_SIDE);
            }
        }
    }
}

/// The functions of AVX512-BF16 but for the product of tiles.
static KERNELS: Kernels = Kernels {
    tile_rows: TILE_ROWS,
    tile_vectors: TILE_VECTORS,
    multiply_tile,
    registers: Some(TileRegisters { configure, release: instructions::release, order }),
    ..avx512_bf16::KERNELS
};
