//! The devices that modules run on, as plain data. Listing them is the engine's work.

use std::fmt;
use std::str::FromStr;

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
    /// Another machine's, lent by `atelier serve-device` there. Used only where it is named; all its memory is 0 while its server does
    /// not answer.
    Remote,
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
            Self::Remote => "remote",
        }
    }
}

/// Devices that the processor plays, for tests and demonstrations: `GPU0:8,GPU1:6` is two graphics cards of 8 and 6 GiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedDevices(pub Vec<SimulatedDevice>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedDevice {
    /// Its name: letters, digits, hyphens and underscores.
    pub name: String,
    /// Memory in bytes; what goes past it is refused.
    pub memory_bytes: u64,
}

/// A text does not describe simulated devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotDevices(String);

impl std::error::Error for NotDevices {}

impl fmt::Display for NotDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is no device; write a name and its GiB, for example GPU0:8,GPU1:6", self.0)
    }
}

impl FromStr for SimulatedDevices {
    type Err = NotDevices;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut devices: Vec<SimulatedDevice> = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let device = simulated(entry).ok_or_else(|| NotDevices(entry.to_owned()))?;
            if devices.iter().any(|other| other.name.eq_ignore_ascii_case(&device.name)) {
                return Err(NotDevices(entry.to_owned()));
            }
            devices.push(device);
        }
        Ok(Self(devices))
    }
}

fn simulated(entry: &str) -> Option<SimulatedDevice> {
    // Words with a meaning of their own in a placement.
    const TAKEN: [&str; 5] = ["cpu", "gpu", "disk", "auto", "default"];
    let (name, gib) = entry.split_once(':')?;
    let name = name.trim();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let gib = gib.trim().parse::<f64>().ok().filter(|gib| gib.is_finite() && *gib > 0.0 && *gib <= 1e6)?;
    (plain && !TAKEN.iter().any(|taken| name.eq_ignore_ascii_case(taken)))
        .then(|| SimulatedDevice { name: name.to_owned(), memory_bytes: (gib * f64::from(1 << 30)) as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_devices_are_names_with_gib() {
        let read = |text: &str| {
            text.parse::<SimulatedDevices>().map(|devices| devices.0.into_iter().map(|it| (it.name, it.memory_bytes)).collect::<Vec<_>>())
        };
        assert_eq!(read(" GPU0:8, GPU1:0.5,"), Ok(vec![("GPU0".into(), 8 << 30), ("GPU1".into(), 1 << 29)]));
        assert_eq!(read(""), Ok(Vec::new()));
        for text in ["GPU0", "GPU0:", ":8", "GPU0:0", "GPU0:-1", "GPU0:nan", "GPU0:8,gpu0:6", "cpu:8", "a b:8", "a=b:8", "GPU0:8GB"] {
            assert!(read(text).unwrap_err().to_string().contains("GPU0:8,GPU1:6"), "{text}");
        }
    }
}
