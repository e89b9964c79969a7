//! Fit of a model into this machine's memory: predicted from the engine's estimate
//! ([`FitPrediction`]), or guessed from its size ([`MachineMemory::fits`]). Both count the
//! machine's whole memory, however full it is just now. Pure.

use atelier_core::device::{Device, DeviceKind};
use atelier_core::format::{GIB, file_size, seconds};
use atelier_core::placement::{Budgets, DeviceCapacity, Module, Plan, PlanError, PlanRequest, WeightLocation, plan, ram_reserve};
use atelier_core::recipe::Recipe;
use atelier_core::sentences::list;
use atelier_core::time::MachineRates;
use atelier_engine::Estimate;
use atelier_language::tr;
use atelier_library::{Machine, MachineDevice, WORKING_BYTES};

use crate::gui::devices::board::is_too_slow;

/// Memory of this machine that models can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineMemory {
    /// Bytes of the largest GPU, less its reserve; `None` without a GPU.
    pub gpu_bytes: Option<u64>,
    /// Bytes of RAM, less its reserve.
    pub ram_bytes: u64,
}

/// Fit of a model into this machine's memory, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitLevel {
    /// Weights and compute buffers fit where the model runs.
    Fits,
    /// It runs with weights in RAM that are copied to the GPU; without a GPU, with nearly all of
    /// RAM.
    Tight,
    /// Its size, or the machine's memory, is not known.
    #[default]
    Unknown,
    /// It does not run.
    TooBig,
}

impl MachineMemory {
    /// Memory of these devices, less their reserves; `None` until the CPU is among them. Devices of
    /// other machines do not count.
    #[must_use]
    pub fn from_devices(devices: &[Device]) -> Option<Self> {
        let ram = devices.iter().find(|it| it.kind == DeviceKind::Cpu)?.memory_total_bytes;
        let gpu = devices.iter().filter(|it| it.kind.is_graphics()).map(|it| it.memory_total_bytes).max();
        Some(Self { gpu_bytes: gpu.map(|it| it.saturating_sub(gpu_reserve(it))), ram_bytes: ram.saturating_sub(ram_reserve(ram)) })
    }

    /// Fit of a model of this size, with [`WORKING_BYTES`] for its compute buffers.
    #[must_use]
    pub fn fits(self, bytes: Option<u64>) -> FitLevel {
        let Some(bytes) = bytes else { return FitLevel::Unknown };
        let needs = bytes.saturating_add(WORKING_BYTES);
        let (best, most) = match self.gpu_bytes {
            Some(gpu) => (gpu, gpu.saturating_add(self.ram_bytes)),
            None => (self.ram_bytes, self.ram_bytes.saturating_add(self.ram_bytes / 8)),
        };
        if needs <= best {
            FitLevel::Fits
        } else if needs <= most {
            FitLevel::Tight
        } else {
            FitLevel::TooBig
        }
    }
}

/// Memory, less its reserves, and speed of this machine's own devices.
pub(crate) fn machine(devices: &[Device], rates: &MachineRates) -> Machine {
    let is_own = |it: &&Device| it.kind == DeviceKind::Cpu || it.kind.is_graphics();
    let device = |it: &Device| {
        let (total, is_ram) = (it.memory_total_bytes, it.kind == DeviceKind::Cpu);
        let reserve = if is_ram { ram_reserve(total) } else { gpu_reserve(total) };
        let rates = rates.devices.get(&it.name).cloned();
        MachineDevice { memory_bytes: total.saturating_sub(reserve), is_ram, rates }
    };
    Machine { devices: devices.iter().filter(is_own).map(device).collect() }
}

/// Fit of a model by its best placement on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitPrediction {
    /// Level of the fit.
    pub level: FitLevel,
    /// Sentence with the peak bytes on each device, or with the bytes that are missing.
    pub sentence: String,
    /// Time of a picture; `None` where it does not run, or devices were not measured.
    pub time: Option<PictureTime>,
}

/// Predicted time of a picture whose model is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureTime {
    /// Milliseconds.
    pub millis: u64,
    /// Width and height in pixels.
    pub size_px: (u32, u32),
}

impl PictureTime {
    /// Seconds.
    #[must_use]
    pub fn secs(self) -> f64 {
        self.millis as f64 / 1000.0
    }

    /// True where it takes too long to work with.
    #[must_use]
    pub fn is_too_slow(self) -> bool {
        is_too_slow(self.secs())
    }

    /// Words on a card: "about 6 s a picture here".
    #[must_use]
    pub fn words(self) -> String {
        let slow = if self.is_too_slow() { tr!("models-too-slow") } else { "" };
        tr!("models-about-a-picture-here", about = about(self.secs()), slow)
    }

    /// A sentence of it, with the size of the picture.
    #[must_use]
    pub fn sentence(self) -> String {
        let (width, height) = self.size_px;
        let slow = if self.is_too_slow() { tr!("models-which-is-too-slow") } else { "" };
        tr!("models-a-picture-of-takes", width, height, about = about(self.secs()), slow)
    }
}

/// A duration as one says it of something that is not known exactly: no seconds beside minutes.
fn about(secs: f64) -> String {
    match secs {
        ..10.0 => seconds(secs),
        10.0..90.0 => format!("{:.0} s", (secs / 5.0).round() * 5.0),
        90.0..5400.0 => format!("{:.0} min", secs / 60.0),
        _ => format!("{:.0} h", secs / 3600.0),
    }
}

impl FitPrediction {
    /// Prediction for these devices; those of other machines do not count. `recipe`: of the picture
    /// that was estimated. `None` without devices.
    #[must_use]
    pub fn predict(devices: &[Device], estimate: &Estimate, recipe: &Recipe) -> Option<Self> {
        let whole = plan_on(devices, estimate, 0);
        let size_px = (recipe.width, recipe.height);
        let at = tr!("models-at", size_px = size_px.0, size_px_2 = size_px.1);
        let time = |plan: &Plan| {
            let time = estimate.time(recipe, &plan.placement, &plan.prediction).ok().filter(|it| it.denoise_secs > 0.0)?;
            Some(PictureTime { millis: (time.loaded_secs() * 1000.0) as u64, size_px })
        };
        match whole {
            Ok(plan) => {
                let level = if is_full_speed(devices, &plan) { FitLevel::Fits } else { FitLevel::Tight };
                Some(Self { level, sentence: tr!("models-it-needs", at, peaks = peaks(devices, &plan)), time: time(&plan) })
            }
            Err(PlanError::Short(shortage)) => {
                // Without a GPU the reserve of RAM may be just enough.
                if let Ok(plan) = plan_on(devices, estimate, u64::MAX) {
                    return Some(Self {
                        level: FitLevel::Tight,
                        sentence: tr!("models-it-needs-nearly-all", at, peaks = peaks(devices, &plan)),
                        time: time(&plan),
                    });
                }
                let sentence = tr!("models-of-memory-are-missing", at, missing_bytes = file_size(shortage.missing_bytes));
                Some(Self { level: FitLevel::TooBig, sentence, time: None })
            }
            Err(PlanError::Device(_)) => None,
        }
    }
}

/// Best plan for this machine's own devices with nothing in their memory; `extra_ram_bytes` of the
/// RAM reserve may be used.
fn plan_on(devices: &[Device], estimate: &Estimate, extra_ram_bytes: u64) -> Result<Plan, PlanError> {
    let capacities = devices.iter().filter(|it| it.kind != DeviceKind::Remote).map(|device| {
        let total = device.memory_total_bytes;
        let free = match device.kind {
            DeviceKind::Cpu => total.saturating_add(extra_ram_bytes.min(ram_reserve(total))),
            _ => total.saturating_sub(gpu_reserve(total)),
        };
        let slack = estimate.slack_bytes.get(&device.name).copied().unwrap_or(0);
        DeviceCapacity::new(Device { memory_free_bytes: free, ..device.clone() }, slack)
    });
    let capacities: Vec<DeviceCapacity> = capacities.collect();
    plan(&PlanRequest::unconstrained(&capacities, &estimate.needs, estimate.plan_time()))
}

/// True where the diffusion module runs unsplit on the fastest kind of device, with its weights
/// there.
fn is_full_speed(devices: &[Device], plan: &Plan) -> bool {
    let is_gpu = |name: &str| devices.iter().any(|it| it.name == name && it.kind.is_graphics());
    let assignment = plan.placement.assignment(Module::Diffusion);
    let weights_are_local = matches!(&assignment.weights, WeightLocation::Device(device) if *device == assignment.runs_on);
    let is_limited = !plan.placement.stream_layers.is_empty() || plan.placement.budgets != Budgets::default();
    weights_are_local && !is_limited && (is_gpu(&assignment.runs_on) || !devices.iter().any(|it| it.kind.is_graphics()))
}

/// Peak bytes on each device, in words.
fn peaks(devices: &[Device], plan: &Plan) -> String {
    let parts = plan.prediction.devices.iter().filter_map(|it| {
        let bytes = it.peak().1.total_bytes();
        let ram = devices.iter().any(|device| device.name == it.name && device.kind == DeviceKind::Cpu);
        (bytes > 0).then(|| tr!("models-of", bytes = file_size(bytes), name = if ram { "RAM" } else { &it.name }))
    });
    list(&parts.collect::<Vec<_>>())
}

/// Bytes of a GPU that are left to other programs.
fn gpu_reserve(total_bytes: u64) -> u64 {
    GIB.min(total_bytes / 10)
}

impl FitLevel {
    /// Words on a card.
    #[must_use]
    pub fn label(self, memory: Option<MachineMemory>) -> &'static str {
        match (self, memory) {
            (Self::Fits, _) => tr!("models-fits-2"),
            (Self::Tight, Some(MachineMemory { gpu_bytes: Some(_), .. })) => tr!("models-tight-weights-in-ram"),
            (Self::Tight, _) => tr!("models-tight"),
            (Self::Unknown, _) => tr!("models-fit-unknown"),
            (Self::TooBig, _) => tr!("models-too-big"),
        }
    }

    /// Sentence for a level that was guessed from the size.
    #[must_use]
    pub fn by_size(self) -> &'static str {
        match self {
            Self::Fits => tr!("models-fits-into-this-machines"),
            Self::Tight => tr!("models-does-not-fit-entirely"),
            Self::Unknown => tr!("models-the-size-of-a"),
            Self::TooBig => tr!("models-larger-than-this-machines"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::placement::{ModuleNeeds, Needs, Phase, PhaseKind};
    use atelier_core::recipe::StepShare;
    use atelier_core::time::{
        ClassRate, DeviceRates, MachineRates, ModuleWork, NodeSize, PictureWork, WeightType, Work, WorkAmount, WorkClass, WorkKind,
    };

    const GB: u64 = 1_000_000_000;

    fn device(kind: DeviceKind, gib: u64) -> Device {
        Device {
            name: kind.label().into(),
            description: String::new(),
            kind,
            gpu: None,
            memory_total_bytes: gib * GIB,
            memory_free_bytes: 0,
            memory_allocated_bytes: 0,
        }
    }

    #[test]
    fn a_model_fits_the_card_or_runs_with_ram_or_is_too_big() {
        let memory =
            MachineMemory::from_devices(&[device(DeviceKind::Cpu, 32), device(DeviceKind::Gpu, 8), device(DeviceKind::Remote, 80)])
                .unwrap();
        assert_eq!(memory.gpu_bytes, Some(8 * GIB - 8 * GIB / 10), "another machine's memory is not this one's");
        let fits = |gb| memory.fits(Some(gb * GB));
        assert_eq!((fits(5), fits(12), fits(60)), (FitLevel::Fits, FitLevel::Tight, FitLevel::TooBig));
        assert_eq!(memory.fits(None), FitLevel::Unknown);
    }

    /// Estimate of a model with this many GiB of diffusion weights, a small text encoder and a VAE.
    fn estimate(gib: u64) -> Estimate {
        let needs = |weights: u64, phase| ModuleNeeds {
            weight_bytes: weights,
            compute_bytes: [(phase, GIB / 2)].into(),
            least_bytes: Some(weights / 8),
            ..ModuleNeeds::default()
        };
        let modules = [
            (Module::Llm, needs(GIB, Phase::Encode)),
            (Module::Diffusion, needs(gib * GIB, Phase::Denoise)),
            (Module::Vae, needs(GIB / 8, Phase::Decode)),
        ];
        Estimate { needs: Needs { modules: modules.into() }, ..Estimate::default() }
    }

    #[test]
    fn a_prediction_says_the_fit_and_the_bytes() {
        let with_card = [device(DeviceKind::Cpu, 32), device(DeviceKind::Gpu, 8), device(DeviceKind::Remote, 80)];
        let recipe = Recipe { width: 512, height: 768, ..Recipe::default() };
        let predict = |devices: &[Device], gib| FitPrediction::predict(devices, &estimate(gib), &recipe).unwrap();
        let fits = |devices: &[Device], gib| predict(devices, gib).level;
        assert_eq!([4, 12, 60].map(|gib| fits(&with_card, gib)), [FitLevel::Fits, FitLevel::Tight, FitLevel::TooBig]);
        let gpu = DeviceKind::Gpu.label();
        assert_eq!(predict(&with_card, 4).sentence, format!("At 512 × 768 it needs 6.0 GB of {gpu}."));
        assert!(predict(&with_card, 12).sentence.contains(" of RAM"), "{}", predict(&with_card, 12).sentence);
        assert!(predict(&with_card, 60).sentence.starts_with("At 512 × 768 "), "{}", predict(&with_card, 60).sentence);
        let alone = [device(DeviceKind::Cpu, 16)];
        assert_eq!([8, 13, 30].map(|gib| fits(&alone, gib)), [FitLevel::Fits, FitLevel::Tight, FitLevel::TooBig]);
        // Free memory just now does not count.
        let idle = alone.clone().map(|it| Device { memory_free_bytes: it.memory_total_bytes, ..it });
        assert_eq!(alone[0].memory_free_bytes, 0);
        assert_eq!(predict(&idle, 13), predict(&alone, 13));
        assert_eq!(MachineMemory::from_devices(&idle), MachineMemory::from_devices(&alone));
        assert_eq!(FitPrediction::predict(&[], &estimate(1), &recipe), None);
        assert_eq!(predict(&with_card, 4).time, None, "the card was not measured");
    }

    #[test]
    fn a_model_says_how_long_a_picture_takes_and_when_that_is_too_long() {
        let devices = [device(DeviceKind::Cpu, 32), device(DeviceKind::Gpu, 8)];
        let class = WorkClass { kind: WorkKind::Product, weights: WeightType::F16, size: NodeSize::Large };
        let mut work = Work::default();
        work.add_nodes(class, WorkAmount { nodes: 1, operations: 1000, bytes: 0 });
        let module =
            ModuleWork { module: Module::Diffusion, phase: PhaseKind::Denoising, pass: 0, work, repetitions: 1, share: StepShare::All };
        let words = |per_sec: f64, gib| {
            let rates = DeviceRates { classes: vec![ClassRate { class, per_sec }], ..DeviceRates::default() };
            let rates = devices.iter().map(|it| (it.name.clone(), rates.clone())).collect();
            let estimate = Estimate {
                work: PictureWork { modules: vec![module.clone()] },
                rates: MachineRates { devices: rates, open_secs: 0.0 },
                ..estimate(gib)
            };
            let recipe = Recipe { width: 1024, height: 1024, steps: 6, ..Recipe::default() };
            let time = FitPrediction::predict(&devices, &estimate, &recipe).unwrap().time?;
            Some((time.words(), time.is_too_slow()))
        };
        assert_eq!(words(1000.0, 4), Some(("about 6 s a picture here".into(), false)));
        assert_eq!(words(2.0, 4), Some(("about 50 min a picture here: too slow".into(), true)));
        assert_eq!(words(1000.0, 60), None, "it does not run");
    }

    #[test]
    fn what_is_about_has_no_seconds_beside_minutes() {
        assert_eq!([0.02, 6.0, 43.0, 240.0, 2997.0, 9000.0].map(about), ["under 0.1 s", "6 s", "45 s", "4 min", "50 min", "2 h"]);
        let time = PictureTime { millis: 240_000, size_px: (1024, 768) };
        assert_eq!(time.sentence(), "A picture of 1024 × 768 takes about 4 min here.");
    }

    #[test]
    fn without_a_card_ram_decides_and_without_devices_nothing_is_known() {
        let memory = MachineMemory::from_devices(&[device(DeviceKind::Cpu, 16)]).unwrap();
        let fits = |gb| memory.fits(Some(gb * GB));
        assert_eq!((fits(8), fits(14), fits(20)), (FitLevel::Fits, FitLevel::Tight, FitLevel::TooBig));
        assert_eq!((MachineMemory::from_devices(&[]), FitLevel::Tight.label(Some(memory))), (None, "tight"));
    }
}
