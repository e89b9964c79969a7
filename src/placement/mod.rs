//! Placement: which module runs where, and where its weights live. Pure: no files, no engine, no interface.

mod budget;
mod text;

pub use budget::{Budgets, parse_budgets};
pub use text::{
    Assignments, PlacementError, check_devices, check_shape, module_named, parse_backend, parse_params_backend, resolve_device,
};

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
}
