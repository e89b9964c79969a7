//! Detection of tile registers: the processor has them, the system lets this process use them, and
//! their products are those of AVX512-BF16.

use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::ffi::c_long;

use super::tile_product::{REGISTER_ROW_BYTES, REGISTER_ROWS, REGISTERS};
use crate::blocks::PANEL_MAX;
use crate::table::{Kernels, Tile};

/// The processor has AMX-TILE and AMX-BF16 with registers of palette 1, and the system saves them.
/// As SDM volume 1, "Detection of Intel AMX support".
pub(super) fn has_instructions() -> bool {
    /// CPUID.1:ECX: the system has enabled XGETBV.
    const OSXSAVE: u32 = 1 << 27;
    /// CPUID.7.0:EDX
    const AMX_BF16: u32 = 1 << 22;
    /// CPUID.7.0:EDX
    const AMX_TILE: u32 = 1 << 24;
    /// Leaf that describes the palettes.
    const TILES: u32 = 0x1D;
    /// XCR0: configuration and contents of the tile registers.
    const XTILE: u64 = 0b11 << 17;
    if __cpuid(0).eax < TILES || __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    let features = __cpuid_count(7, 0).edx;
    if features & AMX_BF16 == 0 || features & AMX_TILE == 0 || __cpuid_count(TILES, 0).eax == 0 {
        return false;
    }
    let palette = __cpuid_count(TILES, 1);
    let is_known = palette.ebx as usize == REGISTERS << 16 | REGISTER_ROW_BYTES && palette.ecx as usize & 0xFFFF == REGISTER_ROWS;
    // SAFETY: OSXSAVE is set.
    is_known && unsafe { extended_control() } & XTILE == XTILE
}

/// Register XCR0.
#[target_feature(enable = "xsave")]
fn extended_control() -> u64 {
    // SAFETY: the caller's processor has XGETBV.
    unsafe { _xgetbv(0) }
}

/// Asks Linux for the permission to use tile registers ("Using XSTATE features in user space
/// applications" in the kernel's documentation); false where it refuses, as it does where a
/// thread's stack for signals is too small for their contents. Other systems have calls of their
/// own, so they do not get this level: Windows' `EnableProcessOptionalXStateFeatures` is in its
/// newest versions alone, and nobody has tried it here.
pub(super) fn is_permitted() -> bool {
    const SYS_ARCH_PRCTL: c_long = 158;
    const ARCH_REQ_XCOMP_PERM: c_long = 0x1023;
    /// Component of the processor's state: contents of the tile registers.
    const XTILEDATA: c_long = 18;
    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }
    // SAFETY: the C library's function; the request takes no pointer.
    unsafe { syscall(SYS_ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0 }
}

/// `multiply` gives the products of another level of pairs, within the rounding of sums, and writes
/// nothing beside them: tiles of all rows and vectors and of several depths.
///
/// # Safety
/// `multiply` and the other level may be called.
pub(super) unsafe fn multiplies_as(multiply: unsafe fn(&Tile), other: &Kernels) -> bool {
    /// Depths around whole tiles.
    const WORDS: [usize; 7] = [1, 2, 15, 16, 17, 33, 64];
    /// Words between rows of the left factor: more than there are.
    const LEFT_STRIDE: usize = 67;
    /// Values between rows of the result: more than there are.
    const OUT_STRIDE: usize = PANEL_MAX + 3;
    let left = pairs(REGISTER_ROWS * LEFT_STRIDE);
    let right = pairs(64 * PANEL_MAX);
    let before: Vec<f32> = pairs(REGISTER_ROWS * OUT_STRIDE).into_iter().map(|pair| f32::from_bits(pair & 0xFFFF_0000)).collect();
    let product = |multiply: unsafe fn(&Tile), most_rows: usize, rows: usize, vectors: usize, words: usize, accumulate: bool| {
        let mut out = before.clone();
        for row in (0..rows).step_by(most_rows) {
            let tile = Tile {
                rows: most_rows.min(rows - row),
                vectors,
                words,
                left: left[row * LEFT_STRIDE..].as_ptr(),
                left_stride: LEFT_STRIDE,
                right: right.as_ptr(),
                out: out[row * OUT_STRIDE..].as_mut_ptr(),
                out_stride: OUT_STRIDE,
                accumulate,
            };
            // SAFETY: the factors and the result have as many rows, words and vectors.
            unsafe { multiply(&tile) };
        }
        out
    };
    for rows in 1..=REGISTER_ROWS {
        for vectors in 1..=other.tile_vectors {
            for words in WORDS {
                // As the tests': the rounding of a sum of so many products of numbers up to 1.
                let allowed = 3e-7 * (2 * words + 8) as f32;
                for accumulate in [false, true] {
                    let got = product(multiply, REGISTER_ROWS, rows, vectors, words, accumulate);
                    let wanted = product(other.multiply_tile, other.tile_rows, rows, vectors, words, accumulate);
                    if !got.iter().zip(&wanted).all(|(got, wanted)| (got - wanted).abs() <= allowed) {
                        return false;
                    }
                }
            }
        }
    }
    true
}

/// Words of two bfloat16 from -1 to 1.
fn pairs(count: usize) -> Vec<u32> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut number = || {
        // Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) as f32 / 8_388_608.0 - 1.0).to_bits() >> 16
    };
    (0..count).map(|_| number() << 16 | number()).collect()
}
