//! Prediction of the time of a picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use super::corrections::TimeCorrections;
use super::phase_work::PhaseWork;
use super::rates::{DeviceRates, MachineRates, positive, seconds_of_copy};
use crate::module::Module;
use crate::placement::PhaseKind;

/// Error: devices were not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRates {
    /// Their whole names.
    pub devices: BTreeSet<String>,
}

impl std::error::Error for MissingRates {}

impl fmt::Display for MissingRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.devices.iter().map(String::as_str).collect();
        write!(f, "{}", tr!("core-not-measured-yet", names = names.join(", ")))
    }
}

/// Predicted time of a module in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// The module.
    pub module: Module,
    /// The phase.
    pub phase: PhaseKind,
    /// Whole name of the device.
    pub device: String,
    /// Seconds of the whole phase, repetitions and all passes included.
    pub secs: f64,
    /// True where it is spent on each picture.
    pub each_picture: bool,
}

/// Predicted time of a picture, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimePrediction {
    /// By module, phase and device, in the order of their first runs.
    pub phases: Vec<PhaseTime>,
    /// Opening a model that is not in memory, and reading its weights.
    pub load_secs: f64,
    /// Reading the prompt and the init image.
    pub encode_secs: f64,
    /// One step of the first pass, in which all acts that acts in any of them.
    pub step_secs: f64,
    /// All steps of all passes.
    pub denoise_secs: f64,
    /// Decoding, of all passes.
    pub decode_secs: f64,
    /// Upscaling.
    pub upscale_secs: f64,
    /// From the start to the first preview, the model not being in memory.
    pub first_preview_secs: f64,
    /// The whole picture, the model not being in memory.
    pub total_secs: f64,
    /// Each further picture of the same prompt and model.
    pub next_picture_secs: f64,
}

impl TimePrediction {
    /// The whole picture, the model being in memory.
    #[must_use]
    pub fn loaded_secs(&self) -> f64 {
        let loading = self.phases.iter().filter(|it| it.phase == PhaseKind::Loading && it.each_picture);
        self.total_secs - self.load_secs + loading.map(|it| it.secs).sum::<f64>()
    }

    /// Seconds of loading that fall away where the model is in memory.
    #[must_use]
    pub fn saved_secs(&self, is_loaded: bool) -> f64 {
        if is_loaded { self.total_secs - self.loaded_secs() } else { 0.0 }
    }

    /// Seconds of a module in a picture, the model being in memory.
    #[must_use]
    pub fn loaded_secs_of(&self, module: Module) -> f64 {
        let counts = |it: &&PhaseTime| it.module == module && (it.each_picture || it.phase != PhaseKind::Loading);
        self.phases.iter().filter(counts).map(|it| it.secs).sum()
    }

    /// So many pictures of one prompt, the model not being in memory.
    #[must_use]
    pub fn batch_secs(&self, pictures: u32) -> f64 {
        self.total_secs + f64::from(pictures.saturating_sub(1)) * self.next_picture_secs
    }

    /// Seconds of a phase, of all modules and devices.
    #[must_use]
    pub fn phase_secs(&self, phase: PhaseKind) -> f64 {
        self.phases.iter().filter(|it| it.phase == phase).map(|it| it.secs).sum()
    }
}

/// Predicts the time of one picture: modules run one after the other, each at the rates of its
/// device; text encoders of different devices run beside each other.
///
/// # Errors
/// Devices without rates, or without those of a kind of work that is needed.
pub fn predict_time(phases: &[PhaseWork], rates: &MachineRates, corrections: &TimeCorrections) -> Result<TimePrediction, MissingRates> {
    let mut it = TimePrediction::default();
    let mut missing = BTreeSet::new();
    let mut encoders: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    for work in phases {
        let Some((once, repetition)) = rates.devices.get(&work.device).and_then(|rates| secs(work, rates)) else {
            missing.insert(work.device.clone());
            continue;
        };
        let factor = corrections.factor(&work.device, work.phase);
        let secs = factor * (once + repetition * f64::from(work.repetitions));
        match work.phase {
            PhaseKind::Loading => it.load_secs += secs,
            PhaseKind::Encoding => {
                it.encode_secs += secs;
                if work.module.is_encoder() {
                    *encoders.entry((work.pass, &work.device)).or_default() += secs;
                }
            }
            PhaseKind::Denoising => {
                it.denoise_secs += secs;
                if work.pass == 0 {
                    it.step_secs += factor * repetition;
                    it.first_preview_secs += factor * (once + repetition);
                }
            }
            PhaseKind::Decoding => it.decode_secs += secs,
            PhaseKind::Upscaling => it.upscale_secs += secs,
        }
        if matches!(work.phase, PhaseKind::Loading | PhaseKind::Encoding) && work.pass == 0 {
            it.first_preview_secs += secs;
        }
        it.total_secs += secs;
        it.next_picture_secs += if work.each_picture { secs } else { 0.0 };
        it.add(work, secs);
    }
    if !missing.is_empty() {
        return Err(MissingRates { devices: missing });
    }
    let passes: BTreeSet<u32> = encoders.keys().map(|(pass, _)| *pass).collect();
    for pass in passes {
        let devices = || encoders.iter().filter(|((of, _), _)| *of == pass).map(|(_, secs)| *secs);
        let saved = devices().sum::<f64>() - devices().fold(0.0, f64::max);
        it.encode_secs -= saved;
        it.total_secs -= saved;
        it.first_preview_secs -= if pass == 0 { saved } else { 0.0 };
    }
    if let Some(first) = it.phases.iter().find(|it| it.phase == PhaseKind::Loading) {
        let open_secs = corrections.factor(&first.device, PhaseKind::Loading) * positive(rates.open_secs);
        it.load_secs += open_secs;
        it.first_preview_secs += open_secs;
        it.total_secs += open_secs;
    }
    Ok(it)
}

impl TimePrediction {
    fn add(&mut self, work: &PhaseWork, secs: f64) {
        let same = |it: &&mut PhaseTime| {
            it.module == work.module && it.phase == work.phase && it.device == work.device && it.each_picture == work.each_picture
        };
        match self.phases.iter_mut().find(same) {
            Some(it) => it.secs += secs,
            None => self.phases.push(PhaseTime {
                module: work.module,
                phase: work.phase,
                device: work.device.clone(),
                secs,
                each_picture: work.each_picture,
            }),
        }
    }
}

/// Seconds once, and of each repetition.
fn secs(work: &PhaseWork, rates: &DeviceRates) -> Option<(f64, f64)> {
    let once = seconds_of_copy(work.file_bytes, rates.load_per_sec)
        + seconds_of_copy(work.staged_bytes, rates.copy_to_per_sec)
        + seconds_of_copy(work.allocated_bytes, rates.allocate_per_sec);
    Some((once, rates.secs(&work.work)? + seconds_of_copy(work.streamed_bytes, rates.copy_to_per_sec)))
}

#[cfg(test)]
mod tests;
