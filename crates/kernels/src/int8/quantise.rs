//! Blocks of 32 values as eight bits and a factor.

use crate::rows::f16_to_f32;

/// Values of a block.
pub const BLOCK: usize = 32;

/// Types of quantised weights: blocks of 32 values with one factor, as ggml stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Eight bits.
    Q8_0,
    /// Five bits, less 16.
    Q5_0,
    /// Four bits, less 8.
    Q4_0,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Q8_0, Self::Q5_0, Self::Q4_0];

    /// Bytes of a block: the factor as binary16, fifth bits, and values.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Q8_0 => 34,
            Self::Q5_0 => 22,
            Self::Q4_0 => 18,
        }
    }

    /// The values of a block; returns their factor.
    ///
    /// # Safety
    /// `from` has a block's bytes.
    #[inline(always)]
    pub(super) unsafe fn unpack(self, from: *const u8, to: &mut [i8; BLOCK]) -> f32 {
        // SAFETY: as the caller promises.
        unsafe {
            let factor = f16_to_f32(from.cast::<u16>().read_unaligned());
            match self {
                Self::Q8_0 => *to = from.add(2).cast::<[i8; BLOCK]>().read(),
                Self::Q5_0 => {
                    let fifth = from.add(2).cast::<u32>().read_unaligned();
                    let halves = from.add(6).cast::<[u8; 16]>().read();
                    for (index, byte) in halves.into_iter().enumerate() {
                        let bit = |at: usize| (fifth >> at & 1) as i8 * 16 - 16;
                        to[index] = (byte & 15).cast_signed() + bit(index);
                        to[index + 16] = (byte >> 4).cast_signed() + bit(index + 16);
                    }
                }
                Self::Q4_0 => {
                    let halves = from.add(2).cast::<[u8; 16]>().read();
                    for (index, byte) in halves.into_iter().enumerate() {
                        to[index] = (byte & 15).cast_signed() - 8;
                        to[index + 16] = (byte >> 4).cast_signed() - 8;
                    }
                }
            }
            factor
        }
    }
}

/// Quantises a block to -127 to 127; returns its factor, which is not a number where a value is
/// not finite, and the sum of its values.
#[inline(always)]
pub(super) fn quantise(from: &[f32; BLOCK], to: &mut [i8; BLOCK]) -> (f32, i32) {
    let largest = from.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let inverse = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let mut sum = 0;
    for (to, value) in to.iter_mut().zip(from) {
        *to = (value * inverse).round_ties_even().clamp(-127.0, 127.0) as i8;
        sum += i32::from(*to);
    }
    let is_finite = from.iter().all(|value| value.is_finite());
    (if is_finite { largest / 127.0 } else { f32::NAN }, sum)
}
