//! The modules of a model: what runs as a whole, and is placed as a whole.

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// A part of a model that runs as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Module {
    /// `UNet`, `DiT`: what denoises.
    Diffusion,
    /// Text encoder: CLIP L, and the only one of SD1 and SD2.
    #[serde(rename = "te.clip_l")]
    ClipL,
    /// Text encoder: CLIP G.
    #[serde(rename = "te.clip_g")]
    ClipG,
    /// Text encoder: T5.
    #[serde(rename = "te.t5")]
    T5,
    /// Text encoder: a language model.
    #[serde(rename = "te.llm")]
    Llm,
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
    pub const ALL: [Self; 10] = [
        Self::Diffusion,
        Self::ClipL,
        Self::ClipG,
        Self::T5,
        Self::Llm,
        Self::ClipVision,
        Self::Vae,
        Self::Controlnet,
        Self::Photomaker,
        Self::Upscaler,
    ];

    /// The text encoders, of which a model has one to three.
    pub const ENCODERS: [Self; 4] = [Self::ClipL, Self::ClipG, Self::T5, Self::Llm];

    /// True for a text encoder.
    #[must_use]
    pub const fn is_encoder(self) -> bool {
        matches!(self, Self::ClipL | Self::ClipG | Self::T5 | Self::Llm)
    }

    /// False of what the engine computes in one graph that it cuts nowhere (`mark_graph_cut`): none of
    /// its layers can be streamed. Which VAEs can be, their files and needs say.
    #[must_use]
    pub const fn has_layers(self) -> bool {
        !matches!(self, Self::Controlnet | Self::Photomaker)
    }

    /// The name in placement texts.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Diffusion => "diffusion",
            Self::ClipL => "te.clip_l",
            Self::ClipG => "te.clip_g",
            Self::T5 => "te.t5",
            Self::Llm => "te.llm",
            Self::ClipVision => "clip_vision",
            Self::Vae => "vae",
            Self::Controlnet => "controlnet",
            Self::Photomaker => "photomaker",
            Self::Upscaler => "upscaler",
        }
    }

    /// The name shown to a person.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Diffusion => tr!("core-diffusion-short"),
            Self::ClipL => tr!("core-clip-l-encoder"),
            Self::ClipG => tr!("core-clip-g-encoder"),
            Self::T5 => tr!("core-t5-encoder"),
            Self::Llm => tr!("core-text-encoder"),
            Self::ClipVision => tr!("core-clip-vision"),
            Self::Vae => "VAE",
            Self::Controlnet => "ControlNet",
            Self::Photomaker => "PhotoMaker",
            Self::Upscaler => tr!("core-upscaler-short"),
        }
    }

    /// The name in the middle of a sentence, after "the".
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Diffusion => tr!("core-diffusion-module"),
            Self::ClipVision => tr!("core-clip-vision-encoder"),
            Self::ClipL | Self::ClipG | Self::T5 | Self::Llm | Self::Vae | Self::Controlnet | Self::Photomaker | Self::Upscaler => {
                self.label()
            }
        }
    }
}
