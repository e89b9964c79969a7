//! The modules of a model: what runs as a whole, and is placed as a whole.

use serde::{Deserialize, Serialize};

/// A part of a model that runs as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Module {
    /// `UNet`, `DiT`: what denoises.
    Diffusion,
    /// Text encoders.
    Te,
    /// CLIP vision encoder.
    ClipVision,
    /// VAE and tiny autoencoder.
    Vae,
    /// ControlNet.
    Controlnet,
    /// `PhotoMaker`.
    Photomaker,
    /// ESRGAN upscaler.
    Upscaler,
}

impl Module {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Diffusion, Self::Te, Self::ClipVision, Self::Vae, Self::Controlnet, Self::Photomaker, Self::Upscaler];

    /// The name in placement texts.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Diffusion => "diffusion",
            Self::Te => "te",
            Self::ClipVision => "clip_vision",
            Self::Vae => "vae",
            Self::Controlnet => "controlnet",
            Self::Photomaker => "photomaker",
            Self::Upscaler => "upscaler",
        }
    }

    /// The name shown to a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Diffusion => "diffusion",
            Self::Te => "text encoder",
            Self::ClipVision => "CLIP vision",
            Self::Vae => "VAE",
            Self::Controlnet => "ControlNet",
            Self::Photomaker => "PhotoMaker",
            Self::Upscaler => "upscaler",
        }
    }

    /// The name in the middle of a sentence, after "the".
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Diffusion => "diffusion module",
            Self::ClipVision => "CLIP vision encoder",
            Self::Te | Self::Vae | Self::Controlnet | Self::Photomaker | Self::Upscaler => self.label(),
        }
    }
}
