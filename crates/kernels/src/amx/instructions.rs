//! The instructions of a product of tiles. Rust has no stable functions for them, nor a target
//! feature, so they are assembly.

use std::arch::asm;

use super::tile_product::TileProduct;

/// Assembly for a number of vectors: for each the register of its sums, that of its tiles B, and
/// the bytes before it in a row. The registers are those of `Configuration::new`.
///
/// The tile registers hold values from LDTILECFG to TILERELEASE only, which is one block: the
/// compiler knows nothing of their configuration. TILELOADD and TILESTORED take the first row's
/// address as the base and the bytes between rows as the index, so the index is written with its
/// scale. LDTILECFG sets all tiles to zero.
macro_rules! tiles {
    ($product:ident: $($sums:literal $right:literal $offset:literal),+) => {
        asm!(
            "ldtilecfg [{configuration}]",
            "test {accumulate}, {accumulate}",
            "jz 2f",
            $(concat!("tileloadd ", $sums, ", [{out} + {out_stride}*1 + ", $offset, "]"),)+
            "2:",
            "test {steps}, {steps}",
            "jz 4f",
            "3:",
            "tileloadd tmm3, [{left} + {left_stride}*1]",
            $(
                concat!("tileloadd ", $right, ", [{right} + {right_stride}*1 + ", $offset, "]"),
                concat!("tdpbf16ps ", $sums, ", tmm3, ", $right),
            )+
            "add {left}, 64",
            "add {right}, {right_step}",
            "dec {steps}",
            "jnz 3b",
            "4:",
            "test {has_rest}, {has_rest}",
            "jz 5f",
            "tileloadd tmm6, [{left} + {left_stride}*1]",
            $(
                concat!("tileloadd tmm7, [{right} + {right_stride}*1 + ", $offset, "]"),
                concat!("tdpbf16ps ", $sums, ", tmm6, tmm7"),
            )+
            "5:",
            $(concat!("tilestored [{out} + {out_stride}*1 + ", $offset, "], ", $sums),)+
            "tilerelease",
            configuration = in(reg) &raw const $product.configuration,
            accumulate = in(reg) usize::from($product.accumulate),
            steps = inout(reg) $product.steps => _,
            has_rest = in(reg) usize::from($product.has_rest),
            left = inout(reg) $product.left => _,
            left_stride = in(reg) $product.left_stride,
            right = inout(reg) $product.right => _,
            right_stride = in(reg) $product.right_stride,
            right_step = in(reg) $product.right_step(),
            out = in(reg) $product.out,
            out_stride = in(reg) $product.out_stride,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _, out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// Multiplies tiles.
///
/// # Safety
/// The processor has AMX-BF16 and the process may use it; the pointers are valid for the tiles of
/// the configuration.
pub(super) unsafe fn run(product: &TileProduct) {
    // SAFETY: as the caller promises; nothing but the result is written.
    unsafe {
        match product.vectors {
            1 => tiles!(product: "tmm0" "tmm4" "0"),
            2 => tiles!(product: "tmm0" "tmm4" "0", "tmm1" "tmm5" "64"),
            _ => tiles!(product: "tmm0" "tmm4" "0", "tmm1" "tmm5" "64", "tmm2" "tmm4" "128"),
        }
    }
}
