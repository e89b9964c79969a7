//! AMX-BF16: products of pairs of bfloat16 by tile registers, summed in f32; everything else as
//! with AVX512-BF16.
//!
//! A tile register has up to 16 rows of 64 bytes. TDPBF16PS adds A B to C, three tiles: A has rows
//! of words of 32 bits, each two neighbours in depth; B a row for each word of A's rows, in which
//! each word belongs to a column; C rows of f32. Packed blocks have these forms already: 16 words
//! of 16 rows of the left factor are A, a vector of 16 rows of a panel is B. So a tile of 16 rows
//! by 3 vectors is three tiles C, and each tile A is multiplied with three tiles B:
//!
//! ```text
//! configure the tile registers
//! C = 0, or what is there
//! for each 16 words of depth: load A; for each vector: load B, C += A B
//! the same with narrower A and lower B for the words that are left
//! store C, release the tile registers
//! ```
//!
//! The source of instructions and formats is the "Intel 64 and IA-32 Architectures Software
//! Developer's Manual" (SDM): volume 1, "Programming with Intel Advanced Matrix Extensions", and
//! volume 2, the pages of LDTILECFG, TILELOADD, TDPBF16PS, TILESTORED and TILERELEASE.

mod detection;
#[cfg(test)]
mod emulation;
mod instructions;
#[cfg(test)]
mod tests;
mod tile_product;
#[cfg(test)]
mod traps;

use std::sync::OnceLock;

use crate::avx512_bf16;
use crate::blocks::TILE_ROWS_MAX;
use crate::table::{Kernels, Tile};
use tile_product::{REGISTER_ROWS, TileProduct};

/// The level's functions; `None` where the processor or the system lacks it, or products are not
/// those of `avx512_bf16`, the functions of AVX512-BF16. Found out once: the first call asks the
/// system for permission, which is for all threads.
pub(crate) fn kernels(avx512_bf16: &Kernels) -> Option<&'static Kernels> {
    static IS_AVAILABLE: OnceLock<bool> = OnceLock::new();
    let is_available = IS_AVAILABLE.get_or_init(|| {
        // SAFETY: the instructions are there and permitted where they are called.
        detection::has_instructions() && detection::is_permitted() && unsafe { detection::multiplies_as(multiply_tile, avx512_bf16) }
    });
    is_available.then_some(&KERNELS)
}

unsafe fn multiply_tile(tile: &Tile) {
    // SAFETY: as the caller promises: the instructions are there, and the pointers valid for the
    // rows, vectors and words named.
    unsafe { instructions::run(&TileProduct::new(tile)) }
}

const _: () = assert!(REGISTER_ROWS <= TILE_ROWS_MAX);

/// The functions of AVX512-BF16 but for the product of tiles.
static KERNELS: Kernels = Kernels { tile_rows: REGISTER_ROWS, multiply_tile, ..avx512_bf16::KERNELS };
