//! How the processor multiplies.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// Arithmetic of the processor. Which is the fastest depends on processor and model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CpuMath {
    /// As the engine computes by itself, byte for byte.
    Exact,
    /// Sums and factors of 32 bits.
    F32,
    /// Factors of 16 bits (bfloat16), sums of 32.
    Bf16,
    /// Products of weights in `Q8_0`, `Q6_K`, `Q5_K`, `Q5_0`, `Q4_K` and `Q4_0` with factors of 8
    /// bits, and all else as [`F32`](Self::F32). Where nobody asked for it, of those types the ones
    /// that are quicker so.
    Int8,
}

impl CpuMath {
    /// Every value.
    pub const ALL: [Self; 4] = [Self::Exact, Self::F32, Self::Bf16, Self::Int8];

    /// The name in flags, settings and metadata.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }

    /// What it is for a model none of whose weights are in a form that is multiplied in eight bits.
    #[must_use]
    pub const fn without_int8_weights(self) -> Self {
        match self {
            Self::Int8 => Self::F32,
            Self::Exact | Self::F32 | Self::Bf16 => self,
        }
    }

    /// The names, for a message.
    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for CpuMath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The text names no arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("core-choose-one-of", names = CpuMath::names()))]
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
        assert!(CpuMath::ALL.iter().all(|math| UnknownCpuMath.to_string().contains(math.name())));
    }

    #[test]
    fn eight_bits_are_f32_where_no_weights_are_quantised_for_them() {
        assert_eq!(CpuMath::ALL.map(CpuMath::without_int8_weights), [CpuMath::Exact, CpuMath::F32, CpuMath::Bf16, CpuMath::F32]);
    }
}
