//! Measurements of jobs, stored: their peaks beside the predictions, the overhead of each device,
//! and the memory of recipes without an estimate; and settings that broke pictures.
//!
//! The overhead of a device is the free memory before a model was opened, less the free memory
//! after a picture, less the buffers that are counted: context, pools, workspaces. Other programs
//! disturb that, so the median of the last measurements counts. Simulated devices and the processor
//! have none. Invariant: a file that cannot be read or written costs the measurements, and nothing
//! else.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::faults::{Faults, FaultySetting};
use crate::protocol::Peak;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::paths::write_atomic;
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::{ModuleSet, Phase, Placement};
use atelier_core::recipe::Recipe;
use atelier_library::Family;

/// Overhead of a graphics device where nothing was measured: a driver's context, pools and
/// workspaces. On an H200 they took up to 168 MiB with Vulkan and 1184 MiB with CUDA
/// (docs/measured-gpu.md).
const DEFAULT_OVERHEAD: u64 = 1229 << 20;
const DEFAULT_OVERHEAD_OF_VULKAN: u64 = 384 << 20;
/// More than the overhead of any device: another program's memory.
const MAX_OVERHEAD: u64 = 4 << 30;
/// Measurements of a device that count.
const MAX_SAMPLES: usize = 9;
/// Jobs that are stored.
const MAX_RUNS: usize = 200;
/// Jobs alike whose peaks count: one that found its text's encoding cached took less than the next
/// one may.
const MAX_ALIKE: usize = 4;

/// The measurements; clones share them.
#[derive(Clone, Default)]
pub(crate) struct History {
    stored: Arc<Mutex<Stored>>,
    /// `None`: they last as long as the process.
    file: Option<PathBuf>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    /// By device, with what its maker calls it: another card may get the name.
    slack: BTreeMap<String, Overhead>,
    /// The newest last.
    runs: Vec<MeasuredRun>,
    faults: Faults,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Overhead {
    description: String,
    /// In bytes, the newest last.
    samples: Vec<u64>,
}

/// Peaks of a job, with the parameters on which they depend.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct MeasuredRun {
    /// File names by role, without folders, and the bytes of all files: enough to know a model
    /// again.
    files: BTreeMap<String, String>,
    #[serde(default)]
    files_bytes: u64,
    width: u32,
    height: u32,
    vae_tiling: bool,
    flash_attention: bool,
    backend: String,
    params_backend: String,
    max_vram: String,
    stream_layers: ModuleSet,
    peaks: Vec<Held>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Held {
    device: String,
    phase: Phase,
    measured_bytes: u64,
    /// Of these, what other models held.
    #[serde(default)]
    others_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    predicted_bytes: Option<u64>,
}

impl History {
    /// The measurements in this file; none if it cannot be read.
    pub(crate) fn open(file: &Path) -> Self {
        let read = std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        Self { stored: Arc::new(Mutex::new(read.unwrap_or_default())), file: Some(file.to_owned()) }
    }

    /// Overhead of each device in bytes, by its name.
    pub(crate) fn overhead(&self, devices: &[Device]) -> BTreeMap<String, u64> {
        let stored = self.lock();
        devices.iter().map(|device| (device.name.clone(), stored.overhead_of(device))).collect()
    }

    /// Peak bytes of jobs like this one on each device, without models of other jobs; `None` if
    /// there was none.
    pub(crate) fn measured_bytes(&self, recipe: &Recipe) -> Option<BTreeMap<String, u64>> {
        let asked = run(recipe, &[]);
        let stored = self.lock();
        let alike: Vec<&MeasuredRun> = stored.runs.iter().rev().filter(|it| it.is_like(&asked)).collect();
        let pixels = |it: &MeasuredRun| u64::from(it.width) * u64::from(it.height);
        // The smallest picture that is no smaller, else the largest.
        let enough = alike.iter().map(|it| pixels(it)).filter(|size| *size >= pixels(&asked)).min();
        let size = enough.or_else(|| alike.iter().map(|it| pixels(it)).max())?;
        let mut taken = BTreeMap::new();
        for held in alike.into_iter().filter(|it| pixels(it) == size).take(MAX_ALIKE).flat_map(|it| &it.peaks) {
            let most: &mut u64 = taken.entry(held.device.clone()).or_default();
            *most = held.measured_bytes.saturating_sub(held.others_bytes).max(*most);
        }
        Some(taken)
    }

    /// True where a job with these files has computed on this device.
    pub(crate) fn has_computed(&self, recipe: &Recipe, device: &Device) -> bool {
        let asked = run(recipe, &[]);
        let stored = self.lock();
        let is_same_card = stored.slack.get(&device.name).is_none_or(|it| it.description == device.description);
        let computed = |it: &MeasuredRun| it.has_files_of(&asked) && it.peaks.iter().any(|held| held.device == device.name);
        is_same_card && stored.runs.iter().any(computed)
    }

    /// Stores the peaks of a job on these devices, with the overhead of each.
    pub(crate) fn record(&self, recipe: &Recipe, peaks: &[Peak], devices: &[Device], overhead: &BTreeMap<String, u64>) {
        let mut stored = self.lock();
        for device in devices.iter().filter(|device| has_overhead(device)) {
            if let Some(bytes) = overhead.get(&device.name).filter(|bytes| **bytes <= MAX_OVERHEAD) {
                stored.add_overhead(device, *bytes);
            }
        }
        if stored.runs.len() >= MAX_RUNS {
            stored.runs.remove(0);
        }
        stored.runs.push(run(recipe, peaks));
        self.save(&stored);
    }

    /// Has the next picture of the recipe made without this setting, which may have broken one.
    /// Returns false where it is no suspect.
    pub(crate) fn suspect(&self, setting: FaultySetting, recipe: &Recipe, placement: &Placement, devices: &[Device]) -> bool {
        let mut stored = self.lock();
        let is_suspect = stored.faults.suspect(setting, recipe, placement, devices);
        if is_suspect {
            self.save(&stored);
        }
        is_suspect
    }

    /// Settles the suspicions against settings that a picture was made without.
    pub(crate) fn judge_faults(&self, recipe: &Recipe, family: Family, placement: &Placement, devices: &[Device], is_broken: bool) {
        let mut stored = self.lock();
        if stored.faults.judge(recipe, family, placement, devices, is_broken) {
            self.save(&stored);
        }
    }

    /// Changes a recipe so that nothing is used that broke its model on its device before; a note
    /// says what was changed.
    pub(crate) fn avoid_faults(&self, recipe: &mut Recipe, family: Family, placement: &Placement, devices: &[Device]) -> Vec<PictureNote> {
        self.lock().faults.avoid(recipe, family, placement, devices)
    }

    fn save(&self, stored: &Stored) {
        let Some(file) = &self.file else { return };
        let written =
            serde_json::to_vec(stored).map_err(std::io::Error::from).and_then(|json| write_atomic(file, |to| to.write_all(&json)));
        if let Err(error) = written {
            tracing::warn!("what the job took was not kept: {error}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock()
    }
}

impl MeasuredRun {
    /// The other differs in the picture's size at most.
    fn is_like(&self, other: &Self) -> bool {
        let same_places = (&self.backend, &self.params_backend, &self.max_vram) == (&other.backend, &other.params_backend, &other.max_vram);
        let flags = |it: &Self| (it.vae_tiling, it.flash_attention, it.stream_layers);
        self.has_files_of(other) && same_places && flags(self) == flags(other)
    }

    fn has_files_of(&self, other: &Self) -> bool {
        self.files == other.files && self.files_bytes == other.files_bytes
    }
}

impl Stored {
    fn overhead_of(&self, device: &Device) -> u64 {
        if !has_overhead(device) {
            return 0;
        }
        let known = self.slack.get(&device.name).filter(|it| it.description == device.description);
        let mut samples = known.map(|it| it.samples.clone()).unwrap_or_default();
        samples.sort_unstable();
        let default = if device.is_vulkan() { DEFAULT_OVERHEAD_OF_VULKAN } else { DEFAULT_OVERHEAD };
        samples.get(samples.len() / 2).copied().unwrap_or(default)
    }

    fn add_overhead(&mut self, device: &Device, bytes: u64) {
        let it = self.slack.entry(device.name.clone()).or_default();
        if it.description != device.description {
            *it = Overhead { description: device.description.clone(), samples: Vec::new() };
        }
        it.samples.push(bytes);
        if it.samples.len() > MAX_SAMPLES {
            it.samples.remove(0);
        }
    }
}

/// Devices whose driver has memory of its own.
fn has_overhead(device: &Device) -> bool {
    match device.kind {
        DeviceKind::Gpu | DeviceKind::IntegratedGpu => !crate::ffi::is_simulated(device),
        DeviceKind::Remote => true,
        DeviceKind::Cpu | DeviceKind::Accelerator => false,
    }
}

fn run(recipe: &Recipe, peaks: &[Peak]) -> MeasuredRun {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let held = |it: &Peak| Held {
        device: it.device.clone(),
        phase: it.phase,
        measured_bytes: it.bytes,
        others_bytes: it.others_bytes,
        predicted_bytes: it.predicted_bytes,
    };
    let placement = recipe.placement.clone();
    let (width, height) = recipe.final_size();
    MeasuredRun {
        files: recipe.files.iter().map(|(role, path)| (role.key().to_owned(), name(path))).collect(),
        files_bytes: recipe.files.iter().filter_map(|(_, path)| path.metadata().ok()).map(|it| it.len()).sum(),
        width,
        height,
        vae_tiling: recipe.vae_tiling,
        flash_attention: recipe.flash_attention,
        backend: placement.backend,
        params_backend: placement.params_backend,
        max_vram: placement.max_vram,
        stream_layers: placement.stream_layers,
        peaks: peaks.iter().map(held).collect(),
    }
}

#[cfg(test)]
mod tests {
    use atelier_core::device::SIMULATED_DESCRIPTION;

    use super::*;

    fn device(name: &str, kind: DeviceKind) -> Device {
        let description = format!("{name} by its maker");
        Device {
            name: name.into(),
            description,
            kind,
            gpu: None,
            memory_total_bytes: 8 << 30,
            memory_free_bytes: 7 << 30,
            memory_allocated_bytes: 0,
        }
    }

    #[test]
    fn overhead_is_a_default_until_it_is_measured_and_then_the_median() {
        let devices = [device("CUDA0", DeviceKind::Gpu), device("CPU", DeviceKind::Cpu)];
        let measured = History::default();
        assert_eq!(measured.overhead(&devices), [("CUDA0".to_owned(), DEFAULT_OVERHEAD), ("CPU".to_owned(), 0)].into());
        for bytes in [300, 900, 200, MAX_OVERHEAD + 1] {
            let slack = [("CUDA0".to_owned(), bytes), ("CPU".to_owned(), bytes)].into();
            measured.record(&Recipe::default(), &[], &devices, &slack);
        }
        assert_eq!(measured.overhead(&devices), [("CUDA0".to_owned(), 300), ("CPU".to_owned(), 0)].into());
        let vulkan = Device { name: "Vulkan0".into(), ..devices[0].clone() };
        assert_eq!(History::default().overhead(&[vulkan])["Vulkan0"], DEFAULT_OVERHEAD_OF_VULKAN);
        let other = Device { description: "Another card".into(), ..devices[0].clone() };
        assert_eq!(measured.overhead(&[other])["CUDA0"], DEFAULT_OVERHEAD);
        let simulated = Device { description: SIMULATED_DESCRIPTION.into(), ..devices[0].clone() };
        assert_eq!(measured.overhead(&[simulated])["CUDA0"], 0);
    }

    #[test]
    fn peaks_of_jobs_alike_are_returned_without_the_bytes_of_other_models() {
        let measured = History::default();
        let recipe = |side: u32| Recipe { width: side, height: side, ..Recipe::default() };
        let learn = |side: u32, bytes: u64, others: u64| {
            let peak = |phase, bytes| Peak { device: "CUDA0".into(), phase, bytes, others_bytes: others, predicted_bytes: None };
            measured.record(&recipe(side), &[peak(Phase::Load, 110), peak(Phase::Decode, bytes)], &[], &BTreeMap::new());
        };
        let taken = |recipe: &Recipe| measured.measured_bytes(recipe).map(|taken| taken["CUDA0"]);
        assert_eq!(taken(&recipe(64)), None);
        learn(512, 900, 100);
        learn(512, 300, 0);
        learn(1024, 5000, 1000);
        assert_eq!(taken(&recipe(512)), Some(800));
        assert_eq!(taken(&recipe(768)), Some(4000), "a larger one takes no less");
        assert_eq!(taken(&recipe(2048)), Some(4000), "better than nothing");
        assert_eq!(taken(&Recipe { vae_tiling: true, ..recipe(512) }), None);
        let cards = [device("CUDA0", DeviceKind::Gpu), device("CUDA1", DeviceKind::Gpu)];
        assert_eq!(cards.map(|card| measured.has_computed(&Recipe { vae_tiling: true, ..recipe(64) }, &card)), [true, false]);
        for _ in 0..MAX_ALIKE {
            learn(512, 300, 0);
        }
        assert_eq!(taken(&recipe(512)), Some(300), "what is long ago counts no more");
    }

    #[test]
    fn what_was_learned_is_there_the_next_time_and_a_broken_file_costs_only_that() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("measured.json");
        let devices = [device("CUDA0", DeviceKind::Gpu)];
        let peak = Peak { device: "CUDA0".into(), phase: Phase::Decode, bytes: 7, others_bytes: 0, predicted_bytes: Some(8) };
        for _ in 0..=MAX_RUNS {
            let slack = [("CUDA0".to_owned(), 5)].into();
            History::open(&file).record(&Recipe::default(), std::slice::from_ref(&peak), &devices, &slack);
        }
        let again = History::open(&file);
        assert_eq!(again.overhead(&devices)["CUDA0"], 5);
        {
            let stored = again.lock();
            assert_eq!((stored.runs.len(), stored.slack["CUDA0"].samples.len()), (MAX_RUNS, MAX_SAMPLES));
            assert_eq!((stored.runs[0].peaks[0].measured_bytes, stored.runs[0].peaks[0].predicted_bytes), (7, Some(8)));
        }
        std::fs::write(&file, "{").unwrap();
        assert_eq!(History::open(&file).overhead(&devices)["CUDA0"], DEFAULT_OVERHEAD);
    }
}
