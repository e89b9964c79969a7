//! Phases by name.

use serde::{Deserialize, Serialize};

/// A phase by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// Reading headers or weights.
    Loading,
    /// Reading the prompt or the init image.
    Encoding,
    /// Denoising.
    Denoising,
    /// Turning latents into pixels.
    Decoding,
    /// Enlarging.
    Upscaling,
}

impl PhaseKind {
    /// The name in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Encoding => "encoding",
            Self::Denoising => "denoising",
            Self::Decoding => "decoding",
            Self::Upscaling => "upscaling",
        }
    }

    /// The word for a sentence: "while denoising".
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Encoding => "reading the prompt",
            Self::Denoising => "denoising",
            Self::Decoding => "decoding",
            Self::Upscaling => "enlarging",
        }
    }
}
