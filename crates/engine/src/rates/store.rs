//! The rates of devices, kept in a file by the conditions under which they were measured.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::checks::cpu_threads;
use crate::cpu_math::cpu_math;
use crate::ffi;
use crate::processor::processor;
use crate::protocol::MeasuredRates;
use atelier_core::cpu_math::CpuMath;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::paths::write_atomic;
use atelier_core::placement::PhaseKind;
use atelier_core::recipe::ModelFiles;
use atelier_core::time::{DeviceRates, MachineRates, TimeCorrection, TimeCorrections};

/// Devices that are kept: those of every server that was ever named.
const MAX_DEVICES: usize = 64;
/// Phases of models on devices whose times are kept.
const MAX_CORRECTIONS: usize = 400;
/// Pictures that correct a phase: the median of so many is moved neither by a busy machine nor by a first picture.
const MAX_RATIOS: usize = 5;
/// A phase that took so little of its prediction was not run: the prompt's encoding was known, or the model was in memory.
const MIN_RATIO: f64 = 0.05;
const MAX_RATIO: f64 = 20.0;
/// Seconds to open a model, beside its weights, until loading corrects them.
const OPEN_SECS: f64 = 0.2;

/// The rates of devices; clones share them.
#[derive(Clone, Default)]
pub(crate) struct RateStore {
    stored: Arc<Mutex<Stored>>,
    /// `None`: they last as long as the process.
    file: Option<PathBuf>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    /// The newest last.
    devices: Vec<StoredDevice>,
    /// The newest last.
    corrections: Vec<StoredCorrection>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct StoredDevice {
    conditions: Conditions,
    measured: MeasuredRates,
}

/// Measured seconds by predicted ones, of pictures that were made.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct StoredCorrection {
    conditions: Conditions,
    model: ModelKey,
    phase: PhaseKind,
    /// The newest last.
    ratios: Vec<f64>,
}

/// File names by role, without folders, and the bytes of all files: enough to know a model again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ModelKey {
    files: BTreeMap<String, String>,
    bytes: u64,
}

impl ModelKey {
    fn of(files: &ModelFiles) -> Self {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self {
            files: files.iter().map(|(role, path)| (role.key().to_owned(), name(path))).collect(),
            bytes: files.iter().filter_map(|(_, path)| path.metadata().ok()).map(|it| it.len()).sum(),
        }
    }
}

/// Everything that rates depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Conditions {
    device: String,
    /// The name that its maker gives it.
    description: String,
    engine: String,
    /// Of what the processor computes; else `None`.
    processor: Option<ProcessorConditions>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProcessorConditions {
    arithmetic: CpuMath,
    /// Level of instructions.
    instructions: String,
    threads: u32,
}

impl Conditions {
    /// Conditions of this process.
    fn of(device: &Device, threads: u32) -> Self {
        let is_processor = device.kind == DeviceKind::Cpu || ffi::is_simulated(device);
        Self {
            device: device.name.clone(),
            description: device.description.clone(),
            engine: ffi::version().to_owned(),
            processor: is_processor.then(|| ProcessorConditions {
                arithmetic: cpu_math(),
                instructions: processor().allowed.to_string(),
                threads,
            }),
        }
    }

    /// The same but for the number of threads.
    fn is_like(&self, other: &Self) -> bool {
        let any_threads = |it: &Self| it.processor.clone().map(|it| ProcessorConditions { threads: 0, ..it });
        (&self.device, &self.description, &self.engine) == (&other.device, &other.description, &other.engine)
            && any_threads(self) == any_threads(other)
    }

    fn threads(&self) -> u32 {
        self.processor.as_ref().map_or(1, |it| it.threads.max(1))
    }
}

impl RateStore {
    /// The rates in this file; none if it cannot be read.
    pub(crate) fn open(file: &Path) -> Self {
        let read = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        Self { stored: Arc::new(Mutex::new(read.unwrap_or_default())), file: Some(file.to_owned()) }
    }

    /// The measurement of a device under the conditions of this process, with so many threads of the processor.
    pub(crate) fn measured(&self, device: &Device, threads: u32) -> Option<MeasuredRates> {
        let conditions = Conditions::of(device, threads);
        self.stored.lock().devices.iter().rfind(|it| it.conditions == conditions).map(|it| it.measured.clone())
    }

    /// The rates of all devices that were measured. `threads`: as a recipe names them; rates of another number are scaled.
    pub(crate) fn machine_rates(&self, devices: &[Device], threads: Option<u32>) -> MachineRates {
        let threads = cpu_threads(threads);
        let stored = self.stored.lock();
        let rates = |device: &Device| {
            let wanted = Conditions::of(device, threads);
            let alike = || stored.devices.iter().rev().filter(|it| it.conditions.is_like(&wanted));
            let nearest = alike().min_by_key(|it| it.conditions.threads().abs_diff(threads))?;
            let factor = f64::from(wanted.threads()) / f64::from(nearest.conditions.threads());
            Some((device.name.clone(), scaled(&nearest.measured.rates, factor)))
        };
        MachineRates { devices: devices.iter().filter_map(rates).collect(), open_secs: OPEN_SECS }
    }

    /// Keeps the measurement of a device, in place of an earlier one under the same conditions.
    pub(crate) fn record(&self, device: &Device, threads: u32, measured: MeasuredRates) {
        let conditions = Conditions::of(device, threads);
        let mut stored = self.stored.lock();
        stored.devices.retain(|it| it.conditions != conditions);
        // They belong to the rates that were there.
        stored.corrections.retain(|it| it.conditions != conditions);
        if stored.devices.len() >= MAX_DEVICES {
            stored.devices.remove(0);
        }
        stored.devices.push(StoredDevice { conditions, measured });
        self.save(&stored);
    }

    /// Corrections for a model, from pictures that were made under the conditions of this process.
    pub(crate) fn corrections(&self, files: &ModelFiles, devices: &[Device], threads: Option<u32>) -> TimeCorrections {
        let (model, threads) = (ModelKey::of(files), cpu_threads(threads));
        let conditions: Vec<Conditions> = devices.iter().map(|device| Conditions::of(device, threads)).collect();
        let stored = self.stored.lock();
        let own = stored.corrections.iter().filter(|it| it.model == model && conditions.contains(&it.conditions));
        let correction = |it: &StoredCorrection| {
            let factor = median(&it.ratios)?;
            Some(TimeCorrection { device: it.conditions.device.clone(), phase: it.phase, factor })
        };
        TimeCorrections(own.filter_map(correction).collect())
    }

    /// Learns from a picture: what each phase took, beside its prediction without corrections, on the device that did most of it.
    pub(crate) fn correct(&self, files: &ModelFiles, devices: &[Device], threads: Option<u32>, phases: &[PhaseRatio]) {
        let (model, threads) = (ModelKey::of(files), cpu_threads(threads));
        let mut stored = self.stored.lock();
        for PhaseRatio { device, phase, predicted_secs, measured_secs } in phases {
            let Some(device) = devices.iter().find(|it| it.name == *device) else { continue };
            let ratio = measured_secs / predicted_secs;
            // Also no number is within.
            if !(MIN_RATIO..=MAX_RATIO).contains(&ratio) {
                continue;
            }
            let conditions = Conditions::of(device, threads);
            let is_same = |it: &StoredCorrection| it.conditions == conditions && it.model == model && it.phase == *phase;
            let mut ratios = match stored.corrections.iter().position(is_same) {
                Some(index) => stored.corrections.remove(index).ratios,
                None => Vec::new(),
            };
            if ratios.len() >= MAX_RATIOS {
                ratios.remove(0);
            }
            ratios.push(ratio);
            if stored.corrections.len() >= MAX_CORRECTIONS {
                stored.corrections.remove(0);
            }
            stored.corrections.push(StoredCorrection { conditions, model: model.clone(), phase: *phase, ratios });
        }
        self.save(&stored);
    }

    fn save(&self, stored: &Stored) {
        let Some(file) = &self.file else { return };
        let written =
            serde_json::to_vec(stored).map_err(std::io::Error::from).and_then(|json| write_atomic(file, |to| to.write_all(&json)));
        if let Err(error) = written {
            tracing::warn!("the rates of devices were not kept: {error}");
        }
    }
}

/// Seconds of a phase, predicted and measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhaseRatio {
    /// Whole name of the device that does most of it.
    pub(crate) device: String,
    pub(crate) phase: PhaseKind,
    pub(crate) predicted_secs: f64,
    pub(crate) measured_secs: f64,
}

/// The middle, the lower of two.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// Rates of so many times the threads.
fn scaled(rates: &DeviceRates, factor: f64) -> DeviceRates {
    let mut rates = rates.clone();
    for rate in &mut rates.classes {
        rate.per_sec *= factor;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::FileRole;
    use atelier_core::time::{ClassRate, NodeSize, WeightType, WorkClass, WorkKind};

    fn device(name: &str, kind: DeviceKind) -> Device {
        Device {
            name: name.into(),
            description: format!("{name} by its maker"),
            kind,
            card: None,
            memory_total_bytes: 8 << 30,
            memory_free_bytes: 7 << 30,
            memory_allocated_bytes: 0,
        }
    }

    fn measured(per_sec: f64) -> MeasuredRates {
        let class = WorkClass { kind: WorkKind::Product, weights: WeightType::F16, size: NodeSize::Large };
        let rates = DeviceRates { classes: vec![ClassRate { class, per_sec }], ..DeviceRates::default() };
        MeasuredRates { rates, samples: 1, unsteady_samples: 0, secs: 1.0 }
    }

    #[test]
    fn rates_hold_under_the_conditions_under_which_they_were_measured() {
        let store = RateStore::default();
        let (card, cpu) = (device("CUDA0", DeviceKind::Gpu), device("CPU", DeviceKind::Cpu));
        store.record(&card, 2, measured(100.0));
        store.record(&cpu, 2, measured(10.0));
        let per_sec = |device: &Device, threads| {
            let machine = store.machine_rates(std::slice::from_ref(device), Some(threads));
            machine.devices.get(&device.name).map(|rates| rates.classes[0].per_sec)
        };
        assert_eq!(
            (per_sec(&card, 2), per_sec(&card, 1)),
            (Some(100.0), Some(100.0)),
            "a card does not compute with the processor's threads"
        );
        assert_eq!((per_sec(&cpu, 2), per_sec(&cpu, 1)), (Some(10.0), Some(5.0)));
        assert!(store.measured(&cpu, 2).is_some() && store.measured(&cpu, 1).is_none());
        store.record(&cpu, 1, measured(7.0));
        assert_eq!((per_sec(&cpu, 2), per_sec(&cpu, 1)), (Some(10.0), Some(7.0)));
        let other = Device { description: "Another card".into(), ..card };
        assert_eq!((per_sec(&other, 2), store.measured(&other, 2)), (None, None));
    }

    #[test]
    fn pictures_correct_the_prediction_and_a_busy_machine_does_not() {
        let store = RateStore::default();
        let devices = [device("CUDA0", DeviceKind::Gpu), device("CPU", DeviceKind::Cpu)];
        let files = |name: &str| -> ModelFiles { [(FileRole::Model, PathBuf::from(name))].into_iter().collect() };
        let learn = |device: &str, phase, measured_secs: f64| {
            let ratio = PhaseRatio { device: device.into(), phase, predicted_secs: 2.0, measured_secs };
            store.correct(&files("a.gguf"), &devices, Some(1), &[ratio]);
        };
        let factor = |model: &str, device: &str, phase| store.corrections(&files(model), &devices, Some(1)).factor(device, phase);
        let denoising = || factor("a.gguf", "CUDA0", PhaseKind::Denoising);
        learn("CUDA0", PhaseKind::Denoising, 3.0);
        assert_eq!(denoising(), 1.5);
        for secs in [3.2, 30.0, 3.0] {
            learn("CUDA0", PhaseKind::Denoising, secs);
        }
        assert_eq!(denoising(), 1.5, "one picture beside another program");
        for _ in 0..MAX_RATIOS {
            learn("CUDA0", PhaseKind::Denoising, 4.0);
        }
        assert_eq!(denoising(), 2.0, "what is long ago counts no more");
        learn("CPU", PhaseKind::Encoding, 0.0);
        learn("CPU", PhaseKind::Encoding, f64::NAN);
        assert_eq!(factor("a.gguf", "CPU", PhaseKind::Encoding), 1.0, "it was not run");
        assert_eq!(factor("b.gguf", "CUDA0", PhaseKind::Denoising), 1.0);
        store.record(&devices[0], 1, measured(1.0));
        assert_eq!(denoising(), 1.0, "new rates are to be corrected anew");
    }

    #[test]
    fn rates_are_there_the_next_time_and_a_broken_file_costs_only_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rates.json");
        let card = device("CUDA0", DeviceKind::Gpu);
        for per_sec in [1.0, 2.0] {
            RateStore::open(&file).record(&card, 1, measured(per_sec));
        }
        assert_eq!(RateStore::open(&file).measured(&card, 1), Some(measured(2.0)));
        assert_eq!(RateStore::open(&file).stored.lock().devices.len(), 1, "a later measurement takes the place of an earlier one");
        for n in 0..MAX_DEVICES {
            RateStore::open(&file).record(&device(&format!("RPC{n}"), DeviceKind::Remote), 1, measured(3.0));
        }
        assert_eq!(RateStore::open(&file).measured(&card, 1), None, "the oldest is forgotten");
        std::fs::write(&file, "{").unwrap();
        assert_eq!(RateStore::open(&file).stored.lock().devices.len(), 0);
    }
}
