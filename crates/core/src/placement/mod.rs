//! Placement: which module runs where, where its weights live, and what that takes. Pure: no files, no engine, no interface.
//!
//! A text (`text`, `budgets`, `names`) becomes a [`Placement`] (`value`) on a machine's devices and back. What the modules take
//! ([`Needs`]) makes it a [`Prediction`]; the planner ([`plan()`]) finds the placement whose prediction fits.

mod budgets;
mod fixes;
mod ledger;
mod names;
mod notes;
mod plan;
mod predict;
mod reserve;
mod search;
mod text;
mod value;

pub use budgets::{Budgets, GIB, budget_on};
pub use fixes::{Alternative, Change, Fix};
pub use names::{module_named, resolve_device};
pub use notes::notes;
pub use plan::{Lack, NoPlan, Pin, Pins, Plan, Question, Score, Shortage, pins, plan};
pub use predict::{DevicePrediction, ModuleNeeds, ModulePrediction, Needs, Phase, Prediction, Room, Use, gib, kept_of_ram};
pub use reserve::Reserve;
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

    /// The name in the middle of a sentence, after "the".
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Diffusion => "diffusion module",
            Self::ClipVision => "CLIP vision encoder",
            Self::Te | Self::Vae | Self::Controlnet | Self::Photomaker | Self::Upscaler => self.label(),
        }
    }
}

#[cfg(test)]
mod testing {
    use super::{GIB, ModuleNeeds, Phase, Room};
    use crate::device::{Device, DeviceKind};

    /// A room with memory in tenths of a GiB, all of it free, and with half a GiB of slack where it is no CPU.
    pub(super) fn room(name: &str, kind: DeviceKind, tenths: u64) -> Room {
        let slack_bytes = if kind == DeviceKind::Cpu { 0 } else { GIB / 2 };
        let mut device = device(name, kind, 0, 0);
        (device.memory_total_bytes, device.memory_free_bytes) = (tenths * GIB / 10, tenths * GIB / 10);
        Room::new(device, slack_bytes)
    }

    /// What a module takes, in tenths of a GiB; the least that it takes is a fifth of its weights.
    pub(super) fn needs(weights: u64, compute: &[(Phase, u64)], can_be_cut: bool) -> ModuleNeeds {
        let tenths = |tenths: u64| tenths * GIB / 10;
        ModuleNeeds {
            weight_bytes: tenths(weights),
            lora_bytes: 0,
            compute_bytes: compute.iter().map(|(phase, bytes)| (*phase, tenths(*bytes))).collect(),
            least_bytes: can_be_cut.then(|| tenths(weights) / 5),
        }
    }

    /// A device with memory in GiB.
    pub(super) fn device(name: &str, kind: DeviceKind, total_gib: u64, free_gib: u64) -> Device {
        let description = format!("Some {}", kind.label());
        Device { name: name.into(), description, kind, card: None, memory_total_bytes: total_gib * GIB, memory_free_bytes: free_gib * GIB }
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
