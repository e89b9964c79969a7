//! Start noise between those of two seeds.

use serde::{Deserialize, Serialize};

use super::Rng;

/// The start noise of a picture, turned towards that of another seed: neighbours of a picture that
/// is liked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeedBlend {
    /// The other seed, at least 0.
    pub seed: i64,
    /// 0: the picture's own noise; 1: the other one's. Spherical interpolation lies between.
    pub amount: f32,
}

/// The seed that lies this many after another one: after the largest comes 0, since a negative one
/// is drawn at random.
#[must_use]
pub const fn seed_after(seed: i64, by: i64) -> i64 {
    seed.wrapping_add(by) & i64::MAX
}

/// A seed of all 64 bits as one that recipes keep, which go to 2^63 - 1; `None` where the generator
/// draws other noise from all of those. PyTorch's CPU generator reads the last 32 bits alone.
#[must_use]
pub fn kept_seed(seed: u64, rng: Rng) -> Option<i64> {
    i64::try_from(seed).ok().or_else(|| (rng == Rng::Cpu).then_some((seed & u64::from(u32::MAX)).cast_signed()))
}

impl Default for SeedBlend {
    fn default() -> Self {
        Self { seed: 0, amount: 0.2 }
    }
}
