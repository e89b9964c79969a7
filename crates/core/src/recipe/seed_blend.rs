//! Start noise between those of two seeds.

use atelier_language::tr;
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

/// A seed of all 64 bits as one that recipes keep, which go to 2^63 - 1; `None` where one of the
/// generators, of the start noise and of the sampler's (`None`: the same), draws other noise from all
/// of those. Philox reads all bits, the others the last 32 alone.
#[must_use]
pub fn kept_seed(seed: u64, rng: Rng, sampler_rng: Option<Rng>) -> Option<i64> {
    let reads_all = [rng, sampler_rng.unwrap_or(rng)].contains(&Rng::Cuda);
    i64::try_from(seed).ok().or_else(|| (!reads_all).then_some((seed & u64::from(u32::MAX)).cast_signed()))
}

/// Reads a seed; a negative one is drawn at random.
///
/// # Errors
/// What to write, as the end of a sentence. Of a seed of other programs, which go to 2^64 - 1, it says
/// which one draws the same noise.
pub fn read_seed(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| {
        let most = i64::MAX;
        match text.parse().ok().and_then(|seed| kept_seed(seed, Rng::Cpu, None)) {
            Some(kept) => tr!("core-write-a-whole-number-up-2", most, kept),
            None => tr!("core-write-a-whole-number-up", most),
        }
    })
}

impl Default for SeedBlend {
    fn default() -> Self {
        Self { seed: 0, amount: 0.2 }
    }
}
