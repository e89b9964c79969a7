//! Good first models for a machine: those that it makes good pictures with in a time that one can
//! wait.

use atelier_core::time::{DeviceRates, NodeSize, WeightType, WorkClass, WorkKind};

use super::catalogue::{Catalogue, WORKING_BYTES};
use super::manifest::{Manifest, PictureOperations, Role};
use atelier_core::recipe::FileRole;

/// Models that are proposed.
const MAX_CHOICES: usize = 3;
/// Seconds of a picture within which a model is quick enough to be learned with.
const QUICK_SECS: f64 = 60.0;
/// Pixels of a token of a diffusion transformer: patches of 2 × 2 latents of 8 × 8 pixels each.
const TOKEN_PIXELS: f64 = 256.0;
/// Tokens of a prompt that is long.
const PROMPT_TOKENS: f64 = 256.0;
/// Million million operations with which a VAE of the usual kind decodes a picture of 1024 × 1024.
const DECODE_OPERATIONS: f64 = 10.0;

/// Memory and speed of a machine's own devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The processor and the graphics cards.
    pub devices: Vec<MachineDevice>,
}

/// Memory and speed of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineDevice {
    /// Bytes that models may use.
    pub memory_bytes: u64,
    /// It is the processor, whose memory is RAM.
    pub is_ram: bool,
    /// Its rates; `None` where it was not measured.
    pub rates: Option<DeviceRates>,
}

impl Machine {
    /// Bytes that a first model should fit into: those of the largest graphics card, else RAM.
    fn memory_bytes(&self) -> u64 {
        let most = |is_ram| self.devices.iter().filter(|it| it.is_ram == is_ram).map(|it| it.memory_bytes).max();
        most(false).or_else(|| most(true)).unwrap_or(0)
    }

    /// Seconds of a picture with the settings that suit a model, on the quickest device; `None`
    /// where its work cannot be told, it does not fit, or nothing was measured. Only about: the
    /// exact number comes with the model's files.
    #[must_use]
    pub fn picture_secs(&self, model: &Manifest, catalogue: &Catalogue) -> Option<f64> {
        let (work, bytes) = (about_work(model, catalogue)?, model.bytes()?);
        let steps = f64::from(model.defaults.steps.unwrap_or(20));
        let evaluations = if model.defaults.cfg.is_none_or(|cfg| cfg != 1.0) { 2.0 } else { 1.0 };
        let ram: u64 = self.devices.iter().filter(|it| it.is_ram).map(|it| it.memory_bytes).sum();
        let of_device = |device: &MachineDevice| {
            let rates = device.rates.as_ref()?;
            let per_sec = |kind| rates.of_class(WorkClass { kind, weights: WeightType::F16, size: NodeSize::Large });
            let needed = bytes.saturating_add(WORKING_BYTES);
            // What is too large for a card waits in RAM and is copied for each step.
            let copied = match needed.checked_sub(device.memory_bytes) {
                None | Some(0) => 0.0,
                Some(_) if device.is_ram || needed > device.memory_bytes.saturating_add(ram) => return None,
                Some(_) => steps * evaluations * rates.copy_to_secs(bytes),
            };
            let products = (work.encode + steps * evaluations * work.step) * 1e12 / per_sec(WorkKind::Product)?;
            Some(products + work.decode * 1e12 / per_sec(WorkKind::Convolution)? + copied)
        };
        self.devices.iter().filter_map(of_device).min_by(f64::total_cmp)
    }
}

/// The work of a picture: as it was counted, else that of a counted model of the same family with
/// as many parameters and pixels more or less, else what a transformer of this size does. Within a
/// factor of two, which is enough to tell a minute from an hour.
fn about_work(model: &Manifest, catalogue: &Catalogue) -> Option<PictureOperations> {
    if model.work.is_some() {
        return model.work;
    }
    let (parameters, pixels) = (diffusion_parameters(model)?, pixels(model)?);
    let of_family = || catalogue.entries().iter().filter(|it| it.family.is_some() && it.family == model.family);
    let counted = of_family().find_map(|it| Some((it.work?, diffusion_parameters(it)?, self::pixels(it)?)));
    Some(match counted {
        Some((work, its_parameters, its_pixels)) => PictureOperations {
            encode: work.encode,
            step: work.step * parameters / its_parameters * pixels / its_pixels,
            decode: work.decode * pixels / its_pixels,
        },
        None => PictureOperations {
            encode: 2.0 * encoder_parameters(model) * PROMPT_TOKENS / 1e12,
            step: 2.0 * parameters * pixels / TOKEN_PIXELS / 1e12,
            decode: DECODE_OPERATIONS * pixels / 1_048_576.0,
        },
    })
}

/// Pixels of a picture with the settings that suit a model.
fn pixels(model: &Manifest) -> Option<f64> {
    Some(f64::from(model.defaults.width?) * f64::from(model.defaults.height?))
}

/// Parameters of the diffusion module, or of the whole checkpoint.
fn diffusion_parameters(model: &Manifest) -> Option<f64> {
    parameters(model, |role| matches!(role, FileRole::Model | FileRole::Diffusion))
}

fn encoder_parameters(model: &Manifest) -> f64 {
    parameters(model, |role| matches!(role, FileRole::Llm | FileRole::T5xxl | FileRole::ClipL | FileRole::ClipG)).unwrap_or(0.0)
}

/// Parameters of the files in these roles, by their bytes and the number type in their names;
/// `None` where there is no such file, or its size is not known.
fn parameters(model: &Manifest, counts: fn(FileRole) -> bool) -> Option<f64> {
    let files = model.files.iter().filter(|it| matches!(it.role, Role::Part(role) if counts(role)));
    let all: Option<f64> = files.map(|it| Some(it.bytes()? as f64 / bytes_per_parameter(it.filename.as_str()))).sum();
    all.filter(|it| *it > 0.0)
}

/// Bytes of a parameter in a file of this name: published files name their number type.
fn bytes_per_parameter(name: &str) -> f64 {
    let name = name.to_lowercase();
    let types = [("q2_k", 0.33), ("q3_k", 0.43), ("q4_", 0.6), ("q5_", 0.7), ("q6_k", 0.82), ("q8_0", 1.06), ("fp8", 1.0)];
    types.iter().find(|(word, _)| name.contains(word)).map_or(2.0, |(_, bytes)| *bytes)
}

/// Three models, of different families: the best that fit among the quick ones, then the quickest
/// of the others. Where nothing was measured, the best that fit; where fewer fit, the smallest of
/// the others. Better is what is larger.
#[must_use]
pub fn first_choices<'a>(catalogue: &'a Catalogue, machine: &Machine) -> Vec<&'a Manifest> {
    let mut models: Vec<(u64, &Manifest)> =
        catalogue.entries().iter().filter(|it| it.recommended).filter_map(|it| Some((it.bytes()?, it))).collect();
    models.sort_by_key(|(bytes, _)| *bytes);
    let fitting = models.partition_point(|(bytes, _)| bytes.saturating_add(WORKING_BYTES) <= machine.memory_bytes());
    let (fit, large) = models.split_at(fitting);
    let mut by_time: Vec<(f64, &Manifest)> =
        models.iter().filter_map(|(_, it)| Some((machine.picture_secs(it, catalogue)?, *it))).collect();
    by_time.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_quick = |model: &&Manifest| by_time.iter().any(|(secs, it)| it.id == model.id && *secs <= QUICK_SECS);
    let best_first = || fit.iter().rev().chain(large).map(|(_, model)| *model);
    let quick = best_first().filter(is_quick);
    let rest: Vec<&Manifest> = if by_time.is_empty() { Vec::new() } else { by_time.iter().map(|(_, model)| *model).collect() };
    let mut chosen: Vec<&Manifest> = Vec::new();
    for model in quick.chain(rest).chain(best_first()) {
        if chosen.len() < MAX_CHOICES && !chosen.iter().any(|it| it.family == model.family) {
            chosen.push(model);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::time::ClassRate;

    const GB: u64 = 1_000_000_000;

    /// A device with this many million million operations a second.
    fn device(gb: u64, is_ram: bool, speed: Option<f64>) -> MachineDevice {
        let rates = speed.map(|speed| {
            let class = |kind| WorkClass { kind, weights: WeightType::F16, size: NodeSize::Large };
            let classes = [WorkKind::Product, WorkKind::Convolution].map(|kind| ClassRate { class: class(kind), per_sec: speed * 1e12 });
            let copy_to_per_sec = if is_ram { 0.0 } else { 10.0 * GB as f64 };
            DeviceRates { classes: classes.into(), copy_to_per_sec, ..DeviceRates::default() }
        });
        MachineDevice { memory_bytes: gb * GB, is_ram, rates }
    }

    fn ids(devices: &[MachineDevice]) -> Vec<String> {
        let catalogue = Catalogue::shipped();
        let machine = Machine { devices: devices.to_vec() };
        first_choices(&catalogue, &machine).iter().map(|it| it.id.clone()).collect()
    }

    #[test]
    fn without_rates_the_best_that_fit_are_proposed_and_all_are_free_to_use() {
        let ids = |gb| ids(&[device(gb, true, None)]);
        assert_eq!(ids(0), ["sd1.5", "flux.2-klein-4b", "sdxl"], "the smallest, where nothing fits");
        assert_eq!(ids(10), ["z-image-turbo", "sdxl", "flux.2-klein-4b"]);
        assert_eq!(ids(64)[0], "qwen-image");
        let catalogue = Catalogue::shipped();
        assert!(catalogue.entries().iter().filter(|it| it.recommended).all(|it| !it.licence.as_ref().unwrap().asks()));
    }

    #[test]
    fn on_a_slow_processor_the_quickest_are_proposed_whatever_fits() {
        // A tenth of a million million operations a second, with room for everything.
        let slow = ids(&[device(64, true, Some(0.1))]);
        assert_eq!(slow[0], "sd1.5");
        assert!(slow.len() == 3 && !slow.contains(&"qwen-image".to_owned()), "{slow:?}");
    }

    #[test]
    fn a_quick_card_makes_the_best_ones_quick_enough() {
        let ids = |speed, gb| ids(&[device(32, true, Some(0.2)), device(gb, false, Some(speed))]);
        assert_eq!(ids(100.0, 24)[0], "qwen-image");
        let middle = ids(10.0, 12);
        assert_eq!(middle[0], "flux.1-schnell", "the largest of those that take less than a minute: {middle:?}");
        // Half a minute more of copying at each step is no bargain.
        assert!(!ids(100.0, 8).contains(&"qwen-image".to_owned()));
    }

    #[test]
    fn what_nobody_counted_is_told_within_a_factor_of_two_and_never_missing() {
        let shipped = Catalogue::shipped();
        let models = || shipped.entries().iter().filter(|it| diffusion_parameters(it).is_some());
        // A checkpoint of a UNet does more with each pixel than with each parameter; all others are transformers.
        let transformers = models().filter(|it| it.work.is_some() && it.files[0].role == Role::Part(FileRole::Diffusion));
        for model in transformers {
            let counted = model.work.unwrap();
            let alone = Manifest { work: None, family: None, ..model.clone() };
            let told = about_work(&alone, &shipped).unwrap();
            assert!((0.5..2.0).contains(&(told.step / counted.step)), "{}: {} told, {} counted", model.id, told.step, counted.step);
        }
        assert!(models().count() > 20);
        for model in models() {
            assert!(about_work(model, &shipped).is_some_and(|it| it.step > 0.1), "{} has no time", model.id);
        }
        let step = |id: &str| about_work(shipped.find(id).as_ref().unwrap(), &shipped).unwrap().step;
        assert!(step("sdxl-turbo") < step("sdxl") / 3.0, "a quarter of the pixels");
        assert!((1.5..3.5).contains(&(step("flux.2-klein-9b") / step("flux.2-klein-4b"))));
    }

    #[test]
    fn every_proposed_model_has_its_work_written_down() {
        let catalogue = Catalogue::shipped();
        for model in catalogue.entries().iter().filter(|it| it.recommended) {
            let work = model.work.unwrap_or_else(|| panic!("{} has none", model.id));
            assert!(work.step > 0.1 && work.decode > 0.1 && work.encode > 0.0, "{}: {work:?}", model.id);
        }
    }
}
