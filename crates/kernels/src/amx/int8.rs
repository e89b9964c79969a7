//! AMX-INT8: TDPBSSD adds the products of four neighbours in depth with a sign, as TDPBF16PS does those
//! of two bfloat16. A tile A is 16 rows of activations, a tile B the words of a block of a panel.

use std::arch::asm;

use super::instructions;
use super::tile_product::{Configuration, REGISTER_ROW_BYTES};
use crate::int8::tiles::{Int8Registers, Products};

/// The processor's tile registers.
pub(crate) struct Int8;

impl Int8Registers for Int8 {
    unsafe fn configure(words: usize) {
        // SAFETY: as the caller promises.
        unsafe { instructions::configure(&Configuration::of_words(words)) }
    }

    unsafe fn release() {
        // SAFETY: as the caller promises.
        unsafe { instructions::release() }
    }

    #[inline(always)]
    unsafe fn multiply<const IS_ODD: bool>(left: *const u32, left_stride: usize, right: *const u32, products: &mut Products) {
        /// For the registers of sums, A and B.
        macro_rules! product {
            ($sums:tt, $left:tt, $right:tt) => {
                asm!(
                    concat!("tilezero ", $sums),
                    concat!("tileloadd ", $left, ", [{left} + {left_stride}*1]"),
                    concat!("tileloadd ", $right, ", [{right} + {line}*1]"),
                    concat!("tdpbssd ", $sums, ", ", $left, ", ", $right),
                    concat!("tilestored [{products} + {line}*1], ", $sums),
                    left = in(reg) left,
                    left_stride = in(reg) left_stride,
                    right = in(reg) right,
                    line = in(reg) REGISTER_ROW_BYTES,
                    products = in(reg) products,
                    out($sums) _, out($left) _, out($right) _,
                    options(nostack, preserves_flags),
                )
            };
        }
        // SAFETY: as the caller promises; nothing but the products is written.
        unsafe {
            if IS_ODD {
                product!("tmm1", "tmm3", "tmm5");
            } else {
                product!("tmm0", "tmm2", "tmm4");
            }
        }
    }
}
