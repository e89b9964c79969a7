//! The instructions of products of tiles. Rust has no stable functions for them, nor a target
//! feature, so they are assembly.

use std::arch::asm;

use super::tile_product::{BELOW, BESIDE, Configuration, REGISTER_ROW_BYTES, TILE_BYTES, TileProduct};

/// LDTILECFG: gives the registers their shapes.
///
/// # Safety
/// The processor has tile registers and the process may use them.
pub(super) unsafe fn configure(configuration: &Configuration) {
    // SAFETY: as the caller promises; the compiler keeps nothing in tile registers.
    unsafe { asm!("ldtilecfg [{}]", in(reg) configuration, options(nostack, preserves_flags)) };
}

/// TILERELEASE: the registers have no shapes any more.
///
/// # Safety
/// As [`configure`].
pub(super) unsafe fn release() {
    // SAFETY: see `configure`.
    unsafe { asm!("tilerelease", options(nostack, preserves_flags)) };
}

/// Assembly for a number of tiles: registers of sums and where these lie, then what is done with the
/// tiles of a step, then operands that not all numbers have.
///
/// TILELOADD and TILESTORED take the first row's address as the base and the bytes between rows as
/// the index, so the index is written with its scale.
macro_rules! tiles {
    ($product:ident, [$($sums:literal $address:literal)+], [$($step:literal)+], $($operands:tt)*) => {
        asm!(
            "test {accumulate}, {accumulate}",
            "jz 2f",
            $(concat!("tileloadd ", $sums, ", ", $address),)+
            "jmp 3f",
            "2:",
            $(concat!("tilezero ", $sums),)+
            "3:",
            $($step,)+
            "add {left}, {tile}",
            "add {right}, {tile}",
            "dec {steps}",
            "jnz 3b",
            $(concat!("tilestored ", $address, ", ", $sums),)+
            accumulate = in(reg) usize::from($product.accumulate),
            steps = inout(reg) $product.steps => _,
            left = inout(reg) $product.left => _,
            right = inout(reg) $product.right => _,
            line = in(reg) REGISTER_ROW_BYTES,
            out = in(reg) $product.out,
            out_stride = in(reg) $product.out_stride,
            tile = const TILE_BYTES,
            $($operands)*
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _, out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// Multiplies tiles.
///
/// # Safety
/// The processor has AMX-BF16 and the process may use it; the registers have the shapes of
/// [`Configuration::WHOLE`]; the pointers are valid for the tiles named.
pub(super) unsafe fn run(product: &TileProduct) {
    // SAFETY: as the caller promises; nothing but the result is written.
    unsafe {
        match (product.high, product.wide) {
            (1, 1) => tiles!(
                product,
                ["tmm0" "[{out} + {out_stride}*1]"],
                [
                    "tileloadd tmm4, [{left} + {line}*1]"
                    "tileloadd tmm6, [{right} + {line}*1]"
                    "tdpbf16ps tmm0, tmm4, tmm6"
                ],
            ),
            (1, _) => tiles!(
                product,
                ["tmm0" "[{out} + {out_stride}*1]" "tmm1" "[{out} + {out_stride}*1 + 64]"],
                [
                    "tileloadd tmm4, [{left} + {line}*1]"
                    "tileloadd tmm6, [{right} + {line}*1]"
                    "tdpbf16ps tmm0, tmm4, tmm6"
                    "tileloadd tmm7, [{right} + {line}*1 + {beside}]"
                    "tdpbf16ps tmm1, tmm4, tmm7"
                ],
                beside = const BESIDE,
            ),
            (_, 1) => tiles!(
                product,
                ["tmm0" "[{out} + {out_stride}*1]" "tmm2" "[{out_below} + {out_stride}*1]"],
                [
                    "tileloadd tmm4, [{left} + {line}*1]"
                    "tileloadd tmm6, [{right} + {line}*1]"
                    "tdpbf16ps tmm0, tmm4, tmm6"
                    "tileloadd tmm5, [{left} + {line}*1 + {below}]"
                    "tdpbf16ps tmm2, tmm5, tmm6"
                ],
                below = const BELOW,
                out_below = in(reg) product.out_below(),
            ),
            _ => tiles!(
                product,
                [
                    "tmm0" "[{out} + {out_stride}*1]" "tmm1" "[{out} + {out_stride}*1 + 64]"
                    "tmm2" "[{out_below} + {out_stride}*1]" "tmm3" "[{out_below} + {out_stride}*1 + 64]"
                ],
                [
                    "tileloadd tmm4, [{left} + {line}*1]"
                    "tileloadd tmm6, [{right} + {line}*1]"
                    "tdpbf16ps tmm0, tmm4, tmm6"
                    "tileloadd tmm7, [{right} + {line}*1 + {beside}]"
                    "tdpbf16ps tmm1, tmm4, tmm7"
                    "tileloadd tmm5, [{left} + {line}*1 + {below}]"
                    "tdpbf16ps tmm2, tmm5, tmm6"
                    "tdpbf16ps tmm3, tmm5, tmm7"
                ],
                below = const BELOW,
                beside = const BESIDE,
                out_below = in(reg) product.out_below(),
            ),
        }
    }
}
