//! Start noise between those of two seeds.

use serde::{Deserialize, Serialize};

/// The start noise of a picture, turned towards that of another seed: neighbours of a picture that is liked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeedBlend {
    /// The other seed, at least 0.
    pub seed: i64,
    /// 0: the picture's own noise; 1: the other one's. Spherical interpolation lies between.
    pub amount: f32,
}

impl Default for SeedBlend {
    fn default() -> Self {
        Self { seed: 0, amount: 0.2 }
    }
}
