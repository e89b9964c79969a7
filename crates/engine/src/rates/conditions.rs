//! Everything that measured times depend on.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cpu_math::cpu_math;
use crate::ffi;
use crate::processor::processor;
use atelier_core::cpu_math::CpuMath;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::recipe::ModelFiles;

/// File names by role, without folders, and the bytes of all files: enough to know a model again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModelKey {
    files: BTreeMap<String, String>,
    bytes: u64,
}

impl ModelKey {
    pub(super) fn of(files: &ModelFiles) -> Self {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self {
            files: files.iter().map(|(role, path)| (role.key().to_owned(), name(path))).collect(),
            bytes: files.iter().filter_map(|(_, path)| path.metadata().ok()).map(|it| it.len()).sum(),
        }
    }
}

/// Version of how rates are measured: another for other samples, another way to time them, or
/// kernels that are much quicker. Rates of an earlier one are measured again.
const MEASUREMENT_VERSION: u32 = 3;

/// Everything that rates depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Conditions {
    pub(super) device: String,
    /// The name that its maker gives it.
    description: String,
    engine: String,
    /// Version of its driver, where that is known.
    #[serde(default)]
    driver: Option<String>,
    #[serde(default)]
    measurement_version: u32,
    /// Of what the processor computes; else `None`.
    processor: Option<ProcessorConditions>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProcessorConditions {
    arithmetic: CpuMath,
    instructions: String,
    threads: u32,
}

impl Conditions {
    /// Conditions of this process.
    pub(super) fn of(device: &Device, threads: u32) -> Self {
        let is_processor = device.kind == DeviceKind::Cpu || ffi::is_simulated(device);
        Self {
            device: device.name.clone(),
            description: device.description.clone(),
            engine: ffi::version().to_owned(),
            driver: ffi::driver_version(device),
            measurement_version: MEASUREMENT_VERSION,
            processor: is_processor.then(|| ProcessorConditions {
                arithmetic: cpu_math(),
                instructions: processor().allowed.to_string(),
                threads,
            }),
        }
    }

    /// The same but for the number of threads.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let any_threads = |it: &Self| it.processor.clone().map(|it| ProcessorConditions { threads: 0, ..it });
        let rest = |it: &Self| (it.device.clone(), it.description.clone(), it.engine.clone(), it.driver.clone(), it.measurement_version);
        rest(self) == rest(other) && any_threads(self) == any_threads(other)
    }

    pub(super) fn threads(&self) -> u32 {
        self.processor.as_ref().map_or(1, |it| it.threads.max(1))
    }
}

/// The middle, the lower of two.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_driver_is_measured_anew_and_other_threads_are_not() {
        let gpu = Device {
            name: "CUDA0".into(),
            description: "A card".into(),
            kind: DeviceKind::Gpu,
            gpu: None,
            memory_total_bytes: 8_000_000_000,
            memory_free_bytes: 8_000_000_000,
            memory_allocated_bytes: 0,
        };
        let known = Conditions { driver: Some("570.1".into()), ..Conditions::of(&gpu, 1) };
        let newer = Conditions { driver: Some("580.2".into()), ..known.clone() };
        assert!(known != newer && !known.is_like(&newer));
        let cpu = Device { name: "CPU".into(), kind: DeviceKind::Cpu, ..gpu };
        let [one, two] = [1, 2].map(|threads| Conditions::of(&cpu, threads));
        assert!(one != two && one.is_like(&two) && one.driver.is_none());
    }
}
