//! What is drawn by a seed, the same on every machine and in every version.

use super::chooser::Chooser;
use crate::recipe::Seed;

/// Numbers that follow from a seed: `SplitMix64`. They are no noise of the engine's, so that a word
/// that is drawn moves none of it.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// The draws of a picture, which follow from its seed, or from that of its choices.
    #[must_use]
    pub const fn of_picture(seed: Seed) -> Self {
        // Neighbouring seeds differ in one bit; what is drawn first does not.
        Self(seed.0 ^ 0x5745_4c54_454e_5249)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Chooser for Draw {
    fn between(&mut self, least: u32, most: u32) -> u32 {
        let count = u64::from(most.saturating_sub(least)) + 1;
        least + u32::try_from(self.next() % count).unwrap_or_default()
    }

    fn index(&mut self, shares: &[f64]) -> Option<usize> {
        let sum: f64 = shares.iter().sum();
        let mut left = self.share() * sum;
        let mut last = None;
        for (index, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            last = Some(index);
            left -= share;
            if left < 0.0 {
                break;
            }
        }
        last
    }
}
