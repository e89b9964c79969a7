//! Placement: which module runs where, where its weights live, and what that takes. Pure: no files, no engine, no interface.
//!
//! A text (`text`, `budgets`, `names`) becomes a [`Placement`] (`value`) on a machine's devices and back.

mod budgets;
mod names;
mod text;
mod value;

pub use budgets::{Budgets, GIB};
pub use names::{module_named, resolve_device};
pub use text::{Assignments, OldFlags, PlacementError, check_devices, check_shape, parse_backend, parse_params_backend};
pub use value::{Home, Placement, Seat};

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
}

#[cfg(test)]
mod testing {
    use super::GIB;
    use crate::devices::{Device, DeviceKind};

    /// A device with memory in GiB.
    pub(super) fn device(name: &str, kind: DeviceKind, total_gib: u64, free_gib: u64) -> Device {
        let description = format!("Some {}", kind.label());
        Device { name: name.into(), description, kind, memory_total_bytes: total_gib * GIB, memory_free_bytes: free_gib * GIB }
    }

    pub(super) fn workstation() -> Vec<Device> {
        vec![
            device("CPU", DeviceKind::Cpu, 64, 48),
            device("Vulkan0", DeviceKind::IntegratedGpu, 32, 30),
            device("CUDA0", DeviceKind::Gpu, 24, 22),
            device("CUDA1", DeviceKind::Gpu, 12, 11),
        ]
    }
}
