//! Memory that is left to other programs.

use serde::{Deserialize, Serialize};

use crate::device::{Device, DeviceKind};
use crate::format::GIB;

/// Share of a device's memory that is left to other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// Per cent of all its memory.
    pub percent: u8,
    /// Most bytes, whatever the percentage.
    pub most_bytes: u64,
}

impl Default for Reserve {
    fn default() -> Self {
        Self { percent: 10, most_bytes: GIB }
    }
}

impl Reserve {
    /// The reserve of this device in bytes; of RAM, which every program needs, always
    /// [`ram_reserve`].
    #[must_use]
    pub fn bytes(&self, device: &Device) -> u64 {
        let total = device.memory_total_bytes;
        if device.kind == DeviceKind::Cpu {
            return ram_reserve(total);
        }
        (total / 100 * u64::from(self.percent.min(100))).min(self.most_bytes)
    }
}

/// RAM that is left to other programs, in bytes: 2 GiB or a tenth of it, whichever is more.
#[must_use]
pub fn ram_reserve(total_bytes: u64) -> u64 {
    (2 * GIB).max(total_bytes / 10)
}
