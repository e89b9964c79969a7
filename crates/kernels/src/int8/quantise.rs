//! Blocks of 32 values as eight bits and factors.

use crate::rows::f16_to_f32;

/// Values of a block of activations, and of one of weights that has a factor of its own.
pub(super) const BLOCK: usize = 32;
/// Values of a block of weights whose parts share factors in binary16.
const SUPER_BLOCK: usize = 256;

/// Types of quantised weights, as ggml stores them: blocks of 32 values with one factor, or blocks of
/// 256 with factors of six or eight bits for parts of them, and with what is subtracted of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Eight bits.
    Q8_0,
    /// Five bits, less 16.
    Q5_0,
    /// Four bits, less 8.
    Q4_0,
    /// Six bits, less 32; a factor for 16 of 256 values.
    Q6K,
    /// Five bits; a factor and a minimum for 32 of 256 values.
    Q5K,
    /// Four bits; a factor and a minimum for 32 of 256 values.
    Q4K,
}

/// What 32 values share.
pub(super) enum Factors {
    One,
    /// For 16 of them each.
    Two,
    OneAndMinimum,
}

impl Factors {
    pub(super) const fn count(&self) -> usize {
        match self {
            Self::One | Self::OneAndMinimum => 1,
            Self::Two => 2,
        }
    }

    pub(super) const fn has_minimum(&self) -> bool {
        matches!(self, Self::OneAndMinimum)
    }
}

/// What 32 values stand for: `factors[index / 16] * (value - offset) - minimum`.
pub(super) struct Scale {
    pub(super) factors: [f32; 2],
    pub(super) minimum: f32,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [Self::Q8_0, Self::Q5_0, Self::Q4_0, Self::Q6K, Self::Q5K, Self::Q4K];

    /// Values of a stored block.
    #[must_use]
    pub const fn values(self) -> usize {
        match self {
            Self::Q8_0 | Self::Q5_0 | Self::Q4_0 => BLOCK,
            Self::Q6K | Self::Q5K | Self::Q4K => SUPER_BLOCK,
        }
    }

    /// Bytes of a stored block.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Q8_0 => 34,
            Self::Q5_0 => 22,
            Self::Q4_0 => 18,
            Self::Q6K => 210,
            Self::Q5K => 176,
            Self::Q4K => 144,
        }
    }

    pub(super) const fn factors(self) -> Factors {
        match self {
            Self::Q8_0 | Self::Q5_0 | Self::Q4_0 => Factors::One,
            Self::Q6K => Factors::Two,
            Self::Q5K | Self::Q4K => Factors::OneAndMinimum,
        }
    }

    /// Bits of a value.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::Q8_0 => 8,
            Self::Q6K => 6,
            Self::Q5_0 | Self::Q5K => 5,
            Self::Q4_0 | Self::Q4K => 4,
        }
    }

    /// What is subtracted of all values.
    pub(super) const fn offset(self) -> u8 {
        match self {
            Self::Q5K | Self::Q4K => 0,
            Self::Q8_0 | Self::Q5_0 | Self::Q4_0 | Self::Q6K => 1 << (self.bits() - 1),
        }
    }

    /// The values of a row from `index * 32` on, larger by the offset: without sign.
    ///
    /// # Safety
    /// `row` has these values.
    #[inline(always)]
    pub(super) unsafe fn unpack(self, row: *const u8, index: usize, to: &mut [u8; BLOCK]) -> Scale {
        let blocks = self.values() / BLOCK;
        let part = index % blocks;
        // SAFETY: as the caller promises.
        unsafe {
            let from = row.add(index / blocks * self.bytes());
            match self {
                Self::Q8_0 => {
                    *to = from.add(2).cast::<[u8; BLOCK]>().read().map(|byte| byte ^ 0x80);
                    Scale::of_block(from)
                }
                Self::Q5_0 => {
                    let fifth = from.add(2).cast::<u32>().read_unaligned();
                    let halves = from.add(6).cast::<[u8; 16]>().read();
                    for (index, byte) in halves.into_iter().enumerate() {
                        let bit = |at: usize| (fifth >> at & 1) as u8 * 16;
                        to[index] = byte & 15 | bit(index);
                        to[index + 16] = byte >> 4 | bit(index + 16);
                    }
                    Scale::of_block(from)
                }
                Self::Q4_0 => {
                    let halves = from.add(2).cast::<[u8; 16]>().read();
                    for (index, byte) in halves.into_iter().enumerate() {
                        to[index] = byte & 15;
                        to[index + 16] = byte >> 4;
                    }
                    Scale::of_block(from)
                }
                Self::Q6K => {
                    // A byte has the low bits of two values 64 apart, and the high ones of four
                    // values 32 apart.
                    let (half, quarter) = (part / 4, part % 4);
                    let low = from.add(half * 64 + quarter % 2 * BLOCK).cast::<[u8; BLOCK]>().read();
                    let high = from.add(128 + half * BLOCK).cast::<[u8; BLOCK]>().read();
                    for (to, (low, high)) in to.iter_mut().zip(low.into_iter().zip(high)) {
                        *to = low >> (quarter / 2 * 4) & 15 | (high >> (quarter * 2) & 3) << 4;
                    }
                    let shared = half_at(from.add(208));
                    let own = from.add(192 + part * 2).cast::<[i8; 2]>().read();
                    Scale { factors: own.map(|own| shared * f32::from(own)), minimum: 0.0 }
                }
                Self::Q5K => {
                    let fifth = from.add(16).cast::<[u8; BLOCK]>().read();
                    let low = from.add(16 + BLOCK + part / 2 * BLOCK).cast::<[u8; BLOCK]>().read();
                    for (to, (low, fifth)) in to.iter_mut().zip(low.into_iter().zip(fifth)) {
                        *to = low >> (part % 2 * 4) & 15 | (fifth >> part & 1) << 4;
                    }
                    Scale::of_part(from, part)
                }
                Self::Q4K => {
                    let low = from.add(16 + part / 2 * BLOCK).cast::<[u8; BLOCK]>().read();
                    for (to, low) in to.iter_mut().zip(low) {
                        *to = low >> (part % 2 * 4) & 15;
                    }
                    Scale::of_part(from, part)
                }
            }
        }
    }
}

impl Scale {
    /// Of values that count nothing.
    pub(super) const ZERO: Self = Self { factors: [0.0; 2], minimum: 0.0 };

    /// The only factor of a block, which it begins with.
    ///
    /// # Safety
    /// `from` is readable for it.
    #[inline(always)]
    unsafe fn of_block(from: *const u8) -> Self {
        // SAFETY: as the caller promises.
        Self { factors: [unsafe { half_at(from) }; 2], minimum: 0.0 }
    }

    /// Of one of eight parts of a block: two numbers of six bits, the first four of each in a byte's
    /// low bits, the last four with four bits in a byte that they share and two above the first.
    ///
    /// # Safety
    /// `from` is a block of `Q4_K` or `Q5_K`.
    #[inline(always)]
    unsafe fn of_part(from: *const u8, part: usize) -> Self {
        // SAFETY: as the caller promises.
        let (shared, [low, middle, high]) = unsafe { ([half_at(from), half_at(from.add(2))], from.add(4).cast::<[[u8; 4]; 3]>().read()) };
        let at = part % 4;
        let own = if part < 4 {
            [low[at] & 63, middle[at] & 63]
        } else {
            [high[at] & 15 | low[at] >> 6 << 4, high[at] >> 4 | middle[at] >> 6 << 4]
        };
        Self { factors: [shared[0] * f32::from(own[0]); 2], minimum: shared[1] * f32::from(own[1]) }
    }
}

/// # Safety
/// Two bytes are readable.
#[inline(always)]
unsafe fn half_at(from: *const u8) -> f32 {
    // SAFETY: as the caller promises.
    f16_to_f32(unsafe { from.cast::<u16>().read_unaligned() })
}

/// Quantises a block to -127 to 127; returns its factor, which is not a number where a value is
/// not finite, and the sums of its halves.
#[inline(always)]
pub(super) fn quantise(from: &[f32; BLOCK], to: &mut [i8; BLOCK]) -> (f32, [i32; 2]) {
    /// Added to a small number, it leaves that in the lowest bits, rounded to the even one of two.
    const ROUND: f32 = 12_582_912.0;
    // The bits of numbers without sign are in their order, those of NaN above all.
    let largest = f32::from_bits(from.iter().fold(0, |largest, value| largest.max(value.abs().to_bits())));
    let inverse = 127.0 / largest;
    let inverse = if inverse.is_finite() { inverse } else { 0.0 };
    for (to, value) in to.iter_mut().zip(from) {
        *to = ((value * inverse + ROUND).to_bits() as u8).cast_signed();
    }
    let mut sums = [0; 2];
    for (sum, half) in sums.iter_mut().zip(to.as_chunks::<16>().0) {
        for value in half {
            *sum += i32::from(*value);
        }
    }
    (if largest.is_finite() { largest / 127.0 } else { f32::NAN }, sums)
}
