//! The phases of a job: as the engine reports them, and as predictions count memory.

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// A phase of a job as predictions count it: by the memory that its modules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Loading of weights.
    Load,
    /// Encoding: the prompt by the text encoder, an init image by the VAE, a picture by the vision
    /// encoder.
    Encode,
    /// Sampling.
    Denoise,
    /// Decoding of latents by the VAE.
    Decode,
}

impl Phase {
    /// All of them, in the order of a job.
    pub const ALL: [Self; 4] = [Self::Load, Self::Encode, Self::Denoise, Self::Decode];

    /// The word shown to a person.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Load => tr!("core-phase-load"),
            Self::Encode => tr!("core-phase-encode"),
            Self::Denoise => tr!("core-phase-denoise"),
            Self::Decode => tr!("core-phase-decode"),
        }
    }

    /// True where the modules of this phase hold their memory at the same time. Diffusion and
    /// ControlNet take turns within a step and keep their buffers; elsewhere each module has freed
    /// its buffers before the next one begins.
    pub(super) const fn side_by_side(self) -> bool {
        matches!(self, Self::Denoise)
    }
}

/// A phase of a job as the engine reports it (`ATELIER_PHASE_*` of the shim), without its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// Reading headers or weights.
    Loading,
    /// Reading the prompt or the init image.
    Encoding,
    /// Denoising.
    Denoising,
    /// Decoding of latents by the VAE.
    Decoding,
    /// Upscaling.
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
    pub fn label(self) -> &'static str {
        match self {
            Self::Loading => tr!("core-while-loading"),
            Self::Encoding => tr!("core-reading-the-prompt"),
            Self::Denoising => tr!("core-while-denoising"),
            Self::Decoding => tr!("core-while-decoding"),
            Self::Upscaling => tr!("core-while-upscaling"),
        }
    }
}

impl From<PhaseKind> for Phase {
    /// The phase in whose memory this one counts. An upscaler works on finished pixels when every
    /// other module has freed its buffers, like the VAE before it.
    fn from(kind: PhaseKind) -> Self {
        match kind {
            PhaseKind::Loading => Self::Load,
            PhaseKind::Encoding => Self::Encode,
            PhaseKind::Denoising => Self::Denoise,
            PhaseKind::Decoding | PhaseKind::Upscaling => Self::Decode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_of_the_engine_counts_in_one_of_memory() {
        let kinds = [PhaseKind::Loading, PhaseKind::Encoding, PhaseKind::Denoising, PhaseKind::Decoding];
        assert_eq!(kinds.map(Phase::from), Phase::ALL);
        assert_eq!(Phase::from(PhaseKind::Upscaling), Phase::Decode, "it adds to no buffers of the diffusion module");
        assert!(!Phase::from(PhaseKind::Upscaling).side_by_side());
    }
}
