//! How much of a device is left to other programs.

use serde::{Deserialize, Serialize};

use super::ram_reserve;
use crate::device::{Device, DeviceKind};
use crate::format::GIB;

/// What is left of a device's memory to other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// Per cent of all its memory...
    pub percent: u8,
    /// ...but no more bytes than this.
    pub most_bytes: u64,
}

impl Default for Reserve {
    fn default() -> Self {
        Self { percent: 10, most_bytes: GIB }
    }
}

impl Reserve {
    /// In bytes, for this device. RAM, which every program needs, keeps 2 GiB or a tenth free, whichever is more.
    #[must_use]
    pub fn bytes(&self, device: &Device) -> u64 {
        let total = device.memory_total_bytes;
        if device.kind == DeviceKind::Cpu {
            return ram_reserve(total);
        }
        (total / 100 * u64::from(self.percent.min(100))).min(self.most_bytes)
    }
}
