//! Detection of tile registers: the processor has them, the system lets this process use them, and
//! their products are those of AVX512-BF16.

use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::ffi::c_long;

use super::tile_product::{REGISTER_ROW_BYTES, REGISTER_ROWS, REGISTERS, TILE_ROWS, TILE_VECTORS};
use crate::blocks::{DEPTH_WORDS, LEFT_STRIDE, TILE_SIDE};
use crate::table::{Kernels, Tile};

/// Bit of CPUID.7.0:EDX for products of bfloat16.
pub(super) const AMX_BF16: u32 = 1 << 22;
/// Bit of CPUID.7.0:EDX for products of eight bits.
pub(super) const AMX_INT8: u32 = 1 << 25;

/// The processor has AMX-TILE and these products with registers of palette 1, and the system saves
/// them. As SDM volume 1, "Detection of Intel AMX support".
pub(super) fn has_instructions(products: u32) -> bool {
    /// CPUID.1:ECX: the system has enabled XGETBV.
    const OSXSAVE: u32 = 1 << 27;
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
    if features & products == 0 || features & AMX_TILE == 0 || __cpuid_count(TILES, 0).eax == 0 {
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

/// `tiles` gives the products of another level of pairs, within the rounding of sums, and writes
/// nothing beside them: one and two tiles of rows and of vectors, and several depths.
///
/// # Safety
/// The functions of both may be called.
pub(super) unsafe fn multiplies_as(tiles: &Kernels, other: &Kernels) -> bool {
    /// Values between rows of the result: more than there are.
    const OUT_STRIDE: usize = TILE_VECTORS * TILE_SIDE + 3;
    let Some(registers) = &tiles.registers else { return false };
    let (left, right) = (pairs(TILE_ROWS * LEFT_STRIDE), pairs(TILE_VECTORS * TILE_SIDE * DEPTH_WORDS));
    let mut left_tiles = vec![0; left.len()];
    for (rows, to) in left.chunks(TILE_SIDE * LEFT_STRIDE).zip(left_tiles.chunks_mut(TILE_SIDE * LEFT_STRIDE)) {
        // SAFETY: both have 16 rows of this length.
        unsafe { (registers.order)(rows.as_ptr(), DEPTH_WORDS / TILE_SIDE, to.as_mut_ptr()) };
    }
    let before: Vec<f32> = pairs(TILE_ROWS * OUT_STRIDE).into_iter().map(|pair| f32::from_bits(pair & 0xFFFF_0000)).collect();
    let shapes = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(high, vectors)| (high * TILE_SIDE, vectors));
    for (rows, vectors) in shapes {
        // The other level's panel has the vectors of a row side by side.
        let panel: Vec<u32> = (0..DEPTH_WORDS)
            .flat_map(|word| {
                (0..vectors).flat_map(move |vector| (0..TILE_SIDE).map(move |lane| (vector * DEPTH_WORDS + word) * TILE_SIDE + lane))
            })
            .map(|at| right[at])
            .collect();
        for words in [16, 32, 80, DEPTH_WORDS] {
            for accumulate in [false, true] {
                let product = |kernels: &Kernels, left: &[u32], right: &[u32]| {
                    let mut out = before.clone();
                    for row in (0..rows).step_by(kernels.tile_rows) {
                        let tile = Tile {
                            rows: kernels.tile_rows.min(rows - row),
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
                        unsafe { (kernels.multiply_tile)(&tile) };
                    }
                    out
                };
                // SAFETY: as the caller promises.
                unsafe { (registers.configure)() };
                let got = product(tiles, &left_tiles, &right);
                // SAFETY: as the caller promises.
                unsafe { (registers.release)() };
                let wanted = product(other, &left, &panel);
                // As the tests': the rounding of a sum of so many products of numbers up to 1.
                let allowed = 3e-7 * (2 * words + 8) as f32;
                if !got.iter().zip(&wanted).all(|(got, wanted)| (got - wanted).abs() <= allowed) {
                    return false;
                }
            }
        }
    }
    true
}

/// Numbers of 24 bits in no order, the same each time.
pub(crate) fn random_numbers() -> impl FnMut() -> u32 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move || {
        // Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as u32
    }
}

/// Words of two bfloat16 from -1 to 1.
fn pairs(count: usize) -> Vec<u32> {
    let mut random = random_numbers();
    let mut number = || (random() as f32 / 8_388_608.0 - 1.0).to_bits() >> 16;
    (0..count).map(|_| number() << 16 | number()).collect()
}
