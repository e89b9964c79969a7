//! The devices that modules run on, as plain data. Listing them is the engine's work.

use serde::{Deserialize, Serialize};

/// A device that the engine can compute on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The name that placement uses: `CPU`, `CUDA0`, `Vulkan0`.
    pub name: String,
    /// What the maker calls it.
    pub description: String,
    /// What kind of device it is.
    pub kind: DeviceKind,
    /// Memory in bytes; 0 where the device does not say.
    pub memory_total_bytes: u64,
    /// Memory not in use, in bytes.
    pub memory_free_bytes: u64,
}

/// What kind of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// The processor.
    Cpu,
    /// A graphics card with memory of its own.
    Gpu,
    /// A graphics unit that shares the machine's memory.
    IntegratedGpu,
    /// Something that helps the processor (BLAS, AMX).
    Accelerator,
}

impl DeviceKind {
    /// The word shown to a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Gpu => "GPU",
            Self::IntegratedGpu => "integrated GPU",
            Self::Accelerator => "accelerator",
        }
    }
}
