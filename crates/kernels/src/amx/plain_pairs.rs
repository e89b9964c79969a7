//! Pairs of bfloat16 in plain code, with vectors as wide as AVX-512's: what the tests pack with
//! where the processor lacks AVX512-BF16.

use crate::scalar::Scalar;
use crate::simd::Words;

pub(super) struct PlainPairs;

impl Words for PlainPairs {
    type Unit = Scalar<16>;
    const PAIRS: bool = true;

    #[inline(always)]
    unsafe fn multiply(a: [f32; 16], b: [f32; 16], sum: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| {
            let [a, b] = [a[i], b[i]].map(|word| [word.to_bits() << 16, word.to_bits() & 0xFFFF_0000].map(f32::from_bits));
            sum[i] + a[0] * b[0] + a[1] * b[1]
        })
    }

    #[inline(always)]
    unsafe fn pack(from: *const f32, count: usize, to: *mut u32) {
        for word in 0..count.div_ceil(2) {
            // SAFETY: as the caller promises.
            unsafe {
                let second = if 2 * word + 1 < count { *from.add(2 * word + 1) } else { 0.0 };
                to.add(word).write(pair_of(*from.add(2 * word), second));
            }
        }
    }

    #[inline(always)]
    unsafe fn pair(even: [f32; 16], odd: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| f32::from_bits(pair_of(even[i], odd[i])))
    }
}

/// A word of the nearest bfloat16 of finite values.
fn pair_of(first: f32, second: f32) -> u32 {
    let [first, second] = [first, second].map(|value| {
        let bits = value.to_bits();
        (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    });
    first | second << 16
}

crate::entry::entries!(
    #[cfg(all())]
    PlainPairs
);
