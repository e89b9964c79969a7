//! Products by tile registers and by AVX-VNNI, whose instructions are emulated where they are not
//! there, against the plain loops.

use super::instructions::{Plain, avx_vnni};
use super::tiles::{Int8Registers, Products, Tiled, is_exact};
use super::*;
use crate::amx::{Int8, are_emulated, are_released};

/// Bytes in no order.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| ((at as u32).wrapping_mul(2_654_435_769) >> 13) as u8).collect()
}

/// Every format gives the bytes of the plain loops.
///
/// # Safety
/// The instructions are there or emulated.
unsafe fn check(computed: unsafe fn(&Kernels, &Int8Product, Thread)) {
    for format in Format::ALL {
        for (tokens, features, blocks) in [(1, 1, 1), (16, 16, 2), (17, 5, 3), (40, 33, 1)] {
            let depth = blocks * format.values();
            let weights_stride = depth / format.values() * format.bytes();
            let mut weights = bytes(features * weights_stride);
            // Factors in binary16 that are finite, wherever they are: none has all bits of its exponent.
            for byte in &mut weights {
                *byte &= 0xBF;
            }
            let activations: Vec<f32> = bytes(tokens * depth).into_iter().map(|byte| f32::from(byte.cast_signed()) / 64.0).collect();
            let run = |compute: unsafe fn(&Kernels, &Int8Product, Thread)| {
                let mut out = vec![f32::NAN; tokens * features];
                for index in 0..2 {
                    let product = Int8Product::new(format, [tokens, features, depth], &weights, &activations, &mut out);
                    // SAFETY: the matrices have these sizes; the instructions are the caller's to promise.
                    unsafe { compute(&crate::scalar::KERNELS, &product, Thread { index, count: 2 }) };
                }
                out.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
            };
            assert!(run(computed) == run(compute::<Plain<8>>), "{format:?} {tokens} {features} {depth}");
            assert!(are_released(), "a thread keeps no configuration");
        }
    }
}

#[test]
fn products_by_tiles_are_those_of_plain_loops() {
    if are_emulated() {
        // SAFETY: they are emulated.
        unsafe { check(compute::<Tiled<Plain<16>, Int8>>) };
    }
}

#[test]
fn products_by_avx_vnni_are_those_of_plain_loops() {
    if Level::Avx2.kernels().is_some() && (Int8Level::AvxVnni.is_available() || are_emulated()) {
        // SAFETY: they are there or emulated.
        unsafe { check(avx_vnni) };
    }
}

/// The emulated registers, with a mistake.
struct Wrong<const MISTAKE: usize>;

impl<const MISTAKE: usize> Int8Registers for Wrong<MISTAKE> {
    unsafe fn configure(words: usize) {
        // SAFETY: as the caller promises.
        unsafe { Int8::configure(if MISTAKE == 0 { words / 2 } else { words }) }
    }
    unsafe fn release() {
        // SAFETY: as the caller promises.
        unsafe { Int8::release() }
    }
    unsafe fn multiply<const IS_ODD: bool>(left: *const u32, left_stride: usize, right: *const u32, products: &mut Products) {
        // SAFETY: as the caller promises.
        unsafe { Int8::multiply::<IS_ODD>(left, if MISTAKE == 1 { 0 } else { left_stride }, right, products) };
        if MISTAKE == 2 {
            products.0[15][15] += 1;
        }
    }
}

#[test]
fn inexact_products_are_noticed() {
    if are_emulated() {
        let kernels = &crate::scalar::KERNELS;
        // SAFETY: the instructions are emulated.
        unsafe {
            assert!(is_exact::<Tiled<Plain<16>, Int8>, Plain<8>>(kernels));
            assert!(!is_exact::<Tiled<Plain<16>, Wrong<0>>, Plain<8>>(kernels));
            assert!(!is_exact::<Tiled<Plain<16>, Wrong<1>>, Plain<8>>(kernels));
            assert!(!is_exact::<Tiled<Plain<16>, Wrong<2>>, Plain<8>>(kernels));
        }
    }
}
