//! How the processor multiplies.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// Arithmetic of the processor, from the most exact to the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CpuMath {
    /// As the engine computes by itself, byte for byte.
    Exact,
    /// Sums and factors of 32 bits.
    F32,
    /// Factors of 16 bits (bfloat16), sums of 32.
    Bf16,
}

impl CpuMath {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Exact, Self::F32, Self::Bf16];

    /// The name in flags, settings and metadata.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }
}

impl fmt::Display for CpuMath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The text names no arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("core-choose-exact-f32-or"))]
pub struct UnknownCpuMath;

impl FromStr for CpuMath {
    type Err = UnknownCpuMath;

    fn from_str(text: &str) -> Result<Self, UnknownCpuMath> {
        Self::ALL.into_iter().find(|math| math.name() == text).ok_or(UnknownCpuMath)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for math in CpuMath::ALL {
            assert_eq!(math.name().parse(), Ok(math));
        }
        assert_eq!("f16".parse::<CpuMath>(), Err(UnknownCpuMath));
    }
}
