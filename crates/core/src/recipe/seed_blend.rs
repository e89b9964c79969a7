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

impl SeedBlend {
    /// With numbers out of their range, or that are none, brought into it.
    #[must_use]
    pub fn clamped(self) -> Self {
        let usual = Self::default().amount;
        Self { seed: self.seed.max(0), amount: if self.amount.is_finite() { self.amount.clamp(0.0, 1.0) } else { usual } }
    }
}

impl Default for SeedBlend {
    fn default() -> Self {
        Self { seed: 0, amount: 0.2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_in_their_range() {
        assert_eq!(SeedBlend { seed: -4, amount: 3.0 }.clamped(), SeedBlend { seed: 0, amount: 1.0 });
        assert_eq!(SeedBlend { seed: 7, amount: f32::NAN }.clamped(), SeedBlend { seed: 7, ..SeedBlend::default() });
    }
}
