//! The rates of devices, kept in a file by the conditions under which they were measured.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::conditions::{Conditions, ModelKey, median};
use super::measure::PartialMeasurement;
use super::trials::Trials;
use crate::job::checks::cpu_threads;
use crate::protocol::{MeasuredPlacement, MeasuredRates};
use atelier_core::device::Device;
use atelier_core::paths::write_atomic;
use atelier_core::placement::{Module, PhaseKind, Placement};
use atelier_core::recipe::{ModelFiles, Recipe, StepCache};
use atelier_core::time::{DeviceRates, MachineRates, TimeCorrection, TimeCorrections};

/// Devices that are kept: those of every server that was ever named.
const MAX_DEVICES: usize = 64;
/// Phases of models on devices whose times are kept.
const MAX_CORRECTIONS: usize = 400;
/// Pictures that correct a phase: the median of so many is moved neither by a busy machine nor by a
/// first picture.
const MAX_RATIOS: usize = 5;
/// A phase that took so little of its prediction was not run: the prompt's encoding was known, or
/// the model was in memory.
const MIN_RATIO: f64 = 0.05;
const MAX_RATIO: f64 = 20.0;
/// Seconds to open a model, beside its weights, until loading corrects them.
const OPEN_SECS: f64 = 0.35;

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
    trials: Trials,
    /// Measurements that gave way; the newest last.
    partial: Vec<StoredPartial>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct StoredPartial {
    conditions: Conditions,
    so_far: PartialMeasurement,
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
    /// Of denoising: what steps reuse is known of pictures alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step_cache: Option<StepCache>,
    /// The newest last.
    ratios: Vec<f64>,
}

impl RateStore {
    /// The rates in this file; none if it cannot be read.
    pub(crate) fn open(file: &Path) -> Self {
        let read = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        Self { stored: Arc::new(Mutex::new(read.unwrap_or_default())), file: Some(file.to_owned()) }
    }

    /// The measurement of a device under the conditions of this process, with so many threads of
    /// the processor.
    pub(crate) fn measured(&self, device: &Device, threads: u32) -> Option<MeasuredRates> {
        let conditions = Conditions::of(device, threads);
        self.stored.lock().devices.iter().rfind(|it| it.conditions == conditions).map(|it| it.measured.clone())
    }

    /// The rates of all devices that were measured. `threads`: as a recipe names them; rates of
    /// another number are scaled.
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
        stored.partial.retain(|it| it.conditions != conditions);
        stored.devices.push(StoredDevice { conditions, measured });
        self.write(&stored);
    }

    /// What a measurement that gave way knows of a device under the conditions of this process.
    pub(super) fn partial(&self, device: &Device, threads: u32) -> PartialMeasurement {
        let conditions = Conditions::of(device, threads);
        self.stored.lock().partial.iter().rfind(|it| it.conditions == conditions).map(|it| it.so_far.clone()).unwrap_or_default()
    }

    /// Keeps what is measured of a device so far, in place of what was before. `saves`: also in the
    /// file.
    pub(super) fn keep_partial(&self, device: &Device, threads: u32, so_far: PartialMeasurement, saves: bool) {
        let conditions = Conditions::of(device, threads);
        let mut stored = self.stored.lock();
        stored.partial.retain(|it| it.conditions != conditions);
        if stored.partial.len() >= MAX_DEVICES {
            stored.partial.remove(0);
        }
        stored.partial.push(StoredPartial { conditions, so_far });
        if saves {
            self.write(&stored);
        }
    }

    /// Forgets what a measurement that gave way knows of a device.
    pub(super) fn forget_partial(&self, device: &Device, threads: u32) {
        let conditions = Conditions::of(device, threads);
        self.stored.lock().partial.retain(|it| it.conditions != conditions);
    }

    /// Writes what was kept.
    pub(super) fn save(&self) {
        self.write(&self.stored.lock());
    }

    /// Corrections for a recipe's model, whose checked files these are, from pictures that were made
    /// under the conditions of this process. Until there is a picture with the recipe's step cache,
    /// those without one count: it takes at most as long.
    pub(crate) fn corrections(&self, files: &ModelFiles, recipe: &Recipe, devices: &[Device]) -> TimeCorrections {
        let (model, threads) = (ModelKey::of(files), cpu_threads(recipe.threads));
        let conditions: Vec<Conditions> = devices.iter().map(|device| Conditions::of(device, threads)).collect();
        let stored = self.stored.lock();
        let own = || stored.corrections.iter().filter(|it| it.model == model && conditions.contains(&it.conditions));
        let is_known = own().any(|it| it.step_cache == recipe.step_cache && it.phase == PhaseKind::Denoising);
        let step_cache = recipe.step_cache.as_ref().filter(|_| is_known);
        let own = own().filter(|it| it.phase != PhaseKind::Denoising || it.step_cache.as_ref() == step_cache);
        let correction = |it: &StoredCorrection| {
            let factor = median(&it.ratios)?;
            Some(TimeCorrection { device: it.conditions.device.clone(), phase: it.phase, factor })
        };
        TimeCorrections(own.filter_map(correction).collect())
    }

    /// Learns from a picture: what each phase took, beside its prediction without corrections, on
    /// the device that did most of it.
    pub(crate) fn correct(&self, files: &ModelFiles, recipe: &Recipe, devices: &[Device], phases: &[PhaseRatio]) {
        let (model, threads) = (ModelKey::of(files), cpu_threads(recipe.threads));
        let mut stored = self.stored.lock();
        for PhaseRatio { device, phase, predicted_secs, measured_secs } in phases {
            let Some(device) = devices.iter().find(|it| it.name == *device) else { continue };
            let ratio = measured_secs / predicted_secs;
            // Also no number is within.
            if !(MIN_RATIO..=MAX_RATIO).contains(&ratio) {
                continue;
            }
            let conditions = Conditions::of(device, threads);
            let step_cache = recipe.step_cache.as_ref().filter(|_| *phase == PhaseKind::Denoising);
            let is_same = |it: &StoredCorrection| {
                (&it.conditions, &it.model, it.phase, it.step_cache.as_ref()) == (&conditions, &model, *phase, step_cache)
            };
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
            let step_cache = step_cache.cloned();
            stored.corrections.push(StoredCorrection { conditions, model: model.clone(), phase: *phase, step_cache, ratios });
        }
        self.write(&stored);
    }

    /// Keeps the seconds of a picture with a placement, the model being in memory. `files`: after
    /// checks; `recipe`: before.
    pub(crate) fn record_trial(&self, files: &ModelFiles, recipe: &Recipe, placement: &Placement, devices: &[Device], secs: f64) {
        let is_used = |device: &&Device| {
            let assignments = Module::ALL.map(|module| placement.assignment(module));
            assignments.into_iter().any(|it| it.runs_on == device.name || it.weights.is(&device.name))
        };
        let threads = cpu_threads(recipe.threads);
        let conditions = devices.iter().filter(is_used).map(|device| Conditions::of(device, threads)).collect();
        let mut stored = self.stored.lock();
        stored.trials.add(conditions, ModelKey::of(files), recipe, placement.text(), secs);
        self.write(&stored);
    }

    /// The placements with which pictures of a recipe were made, whatever their steps, under the
    /// conditions of this process; the quickest first.
    pub(crate) fn trials(&self, files: &ModelFiles, recipe: &Recipe, devices: &[Device]) -> Vec<MeasuredPlacement> {
        let threads = cpu_threads(recipe.threads);
        let conditions: Vec<Conditions> = devices.iter().map(|device| Conditions::of(device, threads)).collect();
        self.stored.lock().trials.of(&conditions, &ModelKey::of(files), recipe)
    }

    fn write(&self, stored: &Stored) {
        let Some(file) = &self.file else { return };
        let written =
            serde_json::to_vec(stored).map_err(std::io::Error::from).and_then(|json| write_atomic(file, |to| to.write_all(&json)));
        if let Err(error) = written {
            tracing::warn!("the rates of devices were not saved: {error}");
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
    use atelier_core::device::DeviceKind;
    use atelier_core::recipe::{CacheMode, FileRole};
    use atelier_core::time::{ClassRate, NodeSize, WeightType, WorkClass, WorkKind};

    fn device(name: &str, kind: DeviceKind) -> Device {
        Device {
            name: name.into(),
            description: format!("{name} by its maker"),
            kind,
            gpu: None,
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
        let (gpu, cpu) = (device("CUDA0", DeviceKind::Gpu), device("CPU", DeviceKind::Cpu));
        store.record(&gpu, 2, measured(100.0));
        store.record(&cpu, 2, measured(10.0));
        let per_sec = |device: &Device, threads| {
            let machine = store.machine_rates(std::slice::from_ref(device), Some(threads));
            machine.devices.get(&device.name).map(|rates| rates.classes[0].per_sec)
        };
        assert_eq!(
            (per_sec(&gpu, 2), per_sec(&gpu, 1)),
            (Some(100.0), Some(100.0)),
            "a card does not compute with the processor's threads"
        );
        assert_eq!((per_sec(&cpu, 2), per_sec(&cpu, 1)), (Some(10.0), Some(5.0)));
        assert!(store.measured(&cpu, 2).is_some() && store.measured(&cpu, 1).is_none());
        store.record(&cpu, 1, measured(7.0));
        assert_eq!((per_sec(&cpu, 2), per_sec(&cpu, 1)), (Some(10.0), Some(7.0)));
        let other = Device { description: "Another card".into(), ..gpu };
        assert_eq!((per_sec(&other, 2), store.measured(&other, 2)), (None, None));
    }

    #[test]
    fn pictures_correct_the_prediction_and_a_busy_machine_does_not() {
        let store = RateStore::default();
        let devices = [device("CUDA0", DeviceKind::Gpu), device("CPU", DeviceKind::Cpu)];
        let files = |name: &str| -> ModelFiles { [(FileRole::Model, PathBuf::from(name))].into_iter().collect() };
        let recipe = Recipe { threads: Some(1), ..Recipe::default() };
        let learn = |device: &str, phase, measured_secs: f64| {
            let ratio = PhaseRatio { device: device.into(), phase, predicted_secs: 2.0, measured_secs };
            store.correct(&files("a.gguf"), &recipe, &devices, &[ratio]);
        };
        let factor = |model: &str, device: &str, phase| store.corrections(&files(model), &recipe, &devices).factor(device, phase);
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
    fn what_a_step_cache_saves_is_learned_from_pictures_with_it_alone() {
        let store = RateStore::default();
        let devices = [device("CPU", DeviceKind::Cpu)];
        let files: ModelFiles = [(FileRole::Model, PathBuf::from("a.gguf"))].into_iter().collect();
        let cached = |mode: Option<CacheMode>| Recipe { step_cache: mode.map(StepCache::of), threads: Some(1), ..Recipe::default() };
        let learn = |mode, phase, measured_secs| {
            let ratio = PhaseRatio { device: "CPU".into(), phase, predicted_secs: 2.0, measured_secs };
            store.correct(&files, &cached(mode), &devices, &[ratio]);
        };
        let denoising = |mode| store.corrections(&files, &cached(mode), &devices).factor("CPU", PhaseKind::Denoising);
        let (easy, spectrum) = (Some(CacheMode::EasyCache), Some(CacheMode::Spectrum));
        learn(None, PhaseKind::Denoising, 4.0);
        assert_eq!([denoising(None), denoising(easy)], [2.0, 2.0], "at most as long as without one");
        learn(easy, PhaseKind::Denoising, 1.0);
        learn(easy, PhaseKind::Decoding, 6.0);
        assert_eq!([denoising(None), denoising(easy), denoising(spectrum)], [2.0, 0.5, 2.0]);
        let decoding = store.corrections(&files, &cached(None), &devices).factor("CPU", PhaseKind::Decoding);
        assert_eq!(decoding, 3.0, "which a step cache does not change");
    }

    #[test]
    fn what_a_placement_took_is_there_the_next_time_for_the_same_picture_on_the_same_devices() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rates.json");
        let files: ModelFiles = [(FileRole::Model, "a.gguf".into())].into_iter().collect();
        let devices = [device("CPU", DeviceKind::Cpu), device("CUDA0", DeviceKind::Gpu)];
        let recipe = Recipe { threads: Some(1), ..Recipe::default() };
        for (name, secs) in [("CPU", 9.0), ("CUDA0", 30.0), ("CUDA0", 3.0), ("CUDA0", 3.1), ("CUDA0", 3.0)] {
            RateStore::open(&file).record_trial(&files, &recipe, &Placement::all_on(name), &devices, secs);
        }
        let store = RateStore::open(&file);
        let found = |recipe: &Recipe, devices: &[Device]| -> Vec<(String, f64)> {
            store.trials(&files, recipe, devices).into_iter().map(|it| (it.placement.backend, it.secs)).collect()
        };
        assert_eq!(
            found(&recipe, &devices),
            [("all=CUDA0".into(), 3.0), ("all=CPU".into(), 9.0)],
            "one disturbed picture counts for nothing"
        );
        let other_steps = Recipe { steps: 4, ..recipe.clone() };
        assert_eq!(found(&other_steps, &devices).len(), 2);
        assert_eq!(store.trials(&files, &other_steps, &devices)[0].steps, recipe.steps, "each says its steps");
        assert_eq!(found(&Recipe { width: 768, ..recipe.clone() }, &devices), []);
        let other_card = [devices[0].clone(), Device { description: "Another card".into(), ..devices[1].clone() }];
        assert_eq!(found(&recipe, &other_card), [("all=CPU".into(), 9.0)]);
        let other: ModelFiles = [(FileRole::Model, "b.gguf".into())].into_iter().collect();
        assert_eq!(store.trials(&other, &recipe, &devices), []);
    }

    #[test]
    fn rates_are_there_the_next_time_and_a_broken_file_costs_only_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rates.json");
        let gpu = device("CUDA0", DeviceKind::Gpu);
        for per_sec in [1.0, 2.0] {
            RateStore::open(&file).record(&gpu, 1, measured(per_sec));
        }
        assert_eq!(RateStore::open(&file).measured(&gpu, 1), Some(measured(2.0)));
        assert_eq!(RateStore::open(&file).stored.lock().devices.len(), 1, "a later measurement takes the place of an earlier one");
        for n in 0..MAX_DEVICES {
            RateStore::open(&file).record(&device(&format!("RPC{n}"), DeviceKind::Remote), 1, measured(3.0));
        }
        assert_eq!(RateStore::open(&file).measured(&gpu, 1), None, "the oldest is forgotten");
        std::fs::write(&file, "{").unwrap();
        assert_eq!(RateStore::open(&file).stored.lock().devices.len(), 0);
    }

    #[test]
    fn what_a_measurement_knows_when_it_gives_way_is_there_the_next_time_until_it_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rates.json");
        let (gpu, cpu) = (device("CUDA0", DeviceKind::Gpu), device("CPU", DeviceKind::Cpu));
        let known: PartialMeasurement =
            serde_json::from_str(r#"{"base":null,"done":3,"book":{"classes":[],"samples":2,"unsteady":1},"secs":0.5}"#).unwrap();
        let store = RateStore::open(&file);
        store.keep_partial(&gpu, 1, known.clone(), false);
        assert_eq!(RateStore::open(&file).partial(&gpu, 1), PartialMeasurement::default(), "not written yet");
        store.save();
        let later = RateStore::open(&file);
        assert_eq!((later.partial(&gpu, 1), later.measured(&gpu, 1)), (known.clone(), None), "these are no rates");
        assert_eq!(later.partial(&cpu, 1), PartialMeasurement::default());
        later.record(&gpu, 1, measured(1.0));
        assert_eq!(RateStore::open(&file).partial(&gpu, 1), PartialMeasurement::default());
        later.keep_partial(&cpu, 1, known, true);
        later.forget_partial(&cpu, 1);
        assert_eq!(later.partial(&cpu, 1), PartialMeasurement::default());
    }
}
