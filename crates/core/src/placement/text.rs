//! The text form of a placement, read by sd-cli's rules: `all=cuda0,te=cpu`.
//!
//! Invariants: what is read here is read by the engine in the same way, or refused before the
//! engine sees it; a text made from a value reads back as that value. Not here: budgets
//! (`budgets`), which devices the names mean (`names`, `value`), what fits where (`plan`).

use std::collections::BTreeMap;
use std::fmt;

use super::error::PlacementError;
use super::names::{find_modules, means_all};
use crate::module::Module;
use crate::module_names::ENCODERS;
use crate::recipe::PlacementText;

/// Place of weights that stay in their file and are read again each time they are needed.
pub(super) const DISK: &str = "disk";

/// A text with a place for each module, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendSpec {
    /// Place of modules that are not named; `None`: the engine's choice.
    pub fallback: Option<String>,
    /// Places of the named modules.
    pub modules: BTreeMap<Module, String>,
}

impl BackendSpec {
    /// Reads a text; a later entry replaces an earlier one.
    pub fn parse(text: &str) -> Result<Self, PlacementError> {
        let mut assignments = Self::default();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let Some((module, place)) = entry.split_once('=') else {
                assignments.fallback = Some(entry.to_owned());
                continue;
            };
            let (module, place) = (module.trim(), place.trim());
            if module.is_empty() || place.is_empty() {
                return Err(PlacementError::Half(entry.to_owned()));
            }
            if means_all(module) {
                assignments.fallback = Some(place.to_owned());
            } else {
                assignments.modules.extend(find_modules(module)?.iter().map(|module| (*module, place.to_owned())));
            }
        }
        Ok(assignments)
    }

    /// Place of this module; empty: the engine's choice.
    #[must_use]
    pub fn place_of(&self, module: Module) -> &str {
        self.modules.get(&module).or(self.fallback.as_ref()).map_or("", String::as_str)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        self.fallback.iter().chain(self.modules.values()).map(String::as_str)
    }

    /// True where text encoders are told apart.
    #[must_use]
    pub fn has_single_encoders(&self) -> bool {
        let places = Module::ENCODERS.map(|module| self.modules.get(&module));
        places.iter().any(|place| *place != places[0])
    }

    /// The entries as they are written: name, place. Text encoders have one together where that is
    /// shorter, and the others follow it.
    pub(super) fn entries(&self) -> Vec<(&'static str, &str)> {
        let encoders: Vec<&str> = Module::ENCODERS.iter().filter_map(|module| self.modules.get(module)).map(String::as_str).collect();
        let count = |place: &str| encoders.iter().filter(|other| **other == place).count();
        let is_whole = encoders.len() == Module::ENCODERS.len();
        // Among equals the first.
        let together = encoders.iter().copied().rev().max_by_key(|place| count(place)).filter(|place| is_whole && count(place) > 1);
        let all = self.fallback.iter().map(|place| ("all", place.as_str()));
        let mut entries: Vec<(&'static str, &str)> = all.collect();
        let mut is_written = false;
        for (module, place) in &self.modules {
            if let (true, Some(place)) = (module.is_encoder() && !is_written, together) {
                entries.push((ENCODERS, place));
                is_written = true;
            }
            if !(module.is_encoder() && together == Some(place.as_str())) {
                entries.push((module.key(), place));
            }
        }
        entries
    }
}

impl fmt::Display for BackendSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (module, place)) in self.entries().into_iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{module}={place}")?;
        }
        Ok(())
    }
}

/// Reads where modules run (`--backend`).
pub fn parse_backend(text: &str) -> Result<BackendSpec, PlacementError> {
    let assignments = BackendSpec::parse(text)?;
    if assignments.places().any(is_disk) { Err(PlacementError::RunsOnDisk) } else { Ok(assignments) }
}

/// Reads where weights live (`--params-backend`); `disk` is one of the places.
pub fn parse_params_backend(text: &str) -> Result<BackendSpec, PlacementError> {
    BackendSpec::parse(text)
}

pub(super) fn is_disk(place: &str) -> bool {
    place.eq_ignore_ascii_case(DISK)
}

/// sd-cli's flags that name one device for one module, and the module's name in an entry of
/// `--backend`. In the order in which the entries are read: the tiny autoencoder runs where the VAE
/// does.
const DEVICE_FLAGS: [(&str, &str); 9] = [
    ("--main-backend-device", "all"),
    ("--diffusion-backend-device", "diffusion"),
    ("--clip-backend-device", "te"),
    ("--vision-backend-device", "clip_vision"),
    ("--tae-backend-device", "vae"),
    ("--vae-backend-device", "vae"),
    ("--control-net-backend-device", "controlnet"),
    ("--photomaker-backend-device", "photomaker"),
    ("--upscaler-backend-device", "upscaler"),
];

/// True for an option that names the device of a module, with hyphens or underscores.
#[must_use]
pub fn is_device_flag(option: &str) -> bool {
    device_flag(option).is_some()
}

fn device_flag(option: &str) -> Option<usize> {
    let option = option.replace('_', "-");
    DEVICE_FLAGS.iter().position(|(flag, _)| *flag == option)
}

/// Devices that sd-cli's flags name, one for a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleDevices([Option<String>; DEVICE_FLAGS.len()]);

impl ModuleDevices {
    /// Sets the device of an option such as `--clip-backend-device`; the last one counts.
    ///
    /// # Errors
    /// If the text is not the name of one device. An option of another kind is ignored.
    pub fn set(&mut self, option: &str, text: &str) -> Result<(), PlacementError> {
        let device = one_device(text)?;
        if let Some(slot) = device_flag(option).and_then(|index| self.0.get_mut(index)) {
            *slot = Some(device);
        }
        Ok(())
    }

    /// Entries of `--backend` that say the same.
    fn entries(&self) -> Vec<String> {
        let entries = DEVICE_FLAGS.iter().zip(&self.0);
        entries.filter_map(|((_, module), device)| Some(format!("{module}={}", device.as_ref()?))).collect()
    }
}

/// Reads the name of one device.
///
/// # Errors
/// If it is empty or a list.
pub fn one_device(text: &str) -> Result<String, PlacementError> {
    let device = text.trim();
    if device.is_empty() || device.contains([',', '=']) {
        Err(PlacementError::NotOneDevice(text.to_owned()))
    } else {
        Ok(device.to_owned())
    }
}

/// sd-cli's placement flags from before `--backend`. They go first, so that explicit entries win.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldFlags {
    /// `--clip-on-cpu`: the text encoder runs on the CPU.
    pub clip_on_cpu: bool,
    /// `--vae-on-cpu`: the VAE runs on the CPU.
    pub vae_on_cpu: bool,
    /// `--control-net-cpu`: the ControlNet runs on the CPU.
    pub control_net_cpu: bool,
    /// `--offload-to-cpu`: all weights live in RAM.
    pub offload_to_cpu: bool,
    /// Devices of the flags that name one.
    pub devices: ModuleDevices,
}

impl OldFlags {
    /// Adds the entries of the flags before those of the text.
    #[must_use]
    pub fn before(&self, text: &PlacementText) -> PlacementText {
        let join = |first: &[(bool, &str)], then: &[String], text: &str| {
            let set = first.iter().filter(|(is_set, _)| *is_set).map(|(_, entry)| *entry);
            let all = set.chain(then.iter().map(String::as_str)).chain([text.trim()]);
            all.filter(|entry| !entry.is_empty()).collect::<Vec<_>>().join(",")
        };
        let on_cpu = [(self.clip_on_cpu, "te=cpu"), (self.vae_on_cpu, "vae=cpu"), (self.control_net_cpu, "controlnet=cpu")];
        PlacementText {
            backend: join(&on_cpu, &self.devices.entries(), &text.backend),
            params_backend: join(&[(self.offload_to_cpu, "*=cpu")], &[], &text.params_backend),
            max_vram: text.max_vram.trim().to_owned(),
            stream_layers: text.stream_layers,
            split_batch: text.split_batch.trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::workstation;
    use super::super::{check_devices, check_shape};
    use super::*;

    #[test]
    fn a_bare_name_and_every_word_for_all_set_the_fallback() {
        for text in ["cuda0", "all=cuda0", " Default = cuda0 ", "*=cuda0", "cpu,,all=cuda0,"] {
            let assignments = parse_backend(text).unwrap();
            assert_eq!(assignments.place_of(Module::Vae), "cuda0", "{text}");
            assert!(assignments.modules.is_empty());
        }
        assert_eq!(parse_backend("").unwrap(), BackendSpec::default());
    }

    #[test]
    fn a_later_entry_wins_and_the_text_reads_back() {
        let assignments = parse_params_backend("te=cpu,cuda0,clip=disk,vae=cpu").unwrap();
        assert_eq!(Module::ENCODERS.map(|module| assignments.place_of(module)), ["disk"; 4]);
        assert_eq!(assignments.place_of(Module::Diffusion), "cuda0");
        assert_eq!(assignments.to_string(), "all=cuda0,te=disk,vae=cpu");
        assert_eq!(parse_params_backend(&assignments.to_string()).unwrap(), assignments);
    }

    #[test]
    fn encoders_are_written_together_where_that_is_shorter() {
        for (text, written) in [
            ("te.t5=cpu", "te.t5=cpu"),
            ("te=cuda1,te.t5=cpu", "te=cuda1,te.t5=cpu"),
            ("te.t5=cpu,te=cuda1", "te=cuda1"),
            ("t5=cpu", "te=cpu"),
            ("te.llm=a,te.t5=a,te.clip_g=a,te.clip_l=a,vae=b", "te=a,vae=b"),
            ("te=a,te.clip_l=b,te.clip_g=b", "te=b,te.t5=a,te.llm=a"),
            ("te.llm=d,te.t5=c,te.clip_g=b,te.clip_l=a", "te.clip_l=a,te.clip_g=b,te.t5=c,te.llm=d"),
        ] {
            assert_eq!(parse_params_backend(text).unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn entries_that_mean_nothing_are_refused() {
        assert_eq!(parse_backend("te="), Err(PlacementError::Half("te=".into())));
        assert_eq!(parse_backend("=cpu"), Err(PlacementError::Half("=cpu".into())));
        assert!(matches!(parse_backend("sampler=cpu"), Err(PlacementError::UnknownModule { name, .. }) if name == "sampler"));
        assert_eq!(parse_backend("vae=Disk"), Err(PlacementError::RunsOnDisk));
        assert_eq!(parse_backend("disk"), Err(PlacementError::RunsOnDisk));
        assert!(parse_params_backend("disk").is_ok());
    }

    #[test]
    fn flags_that_name_a_device_are_entries_and_explicit_ones_win() {
        let mut flags = OldFlags { vae_on_cpu: true, ..OldFlags::default() };
        for (option, device) in [
            ("--clip_backend_device", "cuda9"),
            ("--clip-backend-device", "cpu"),
            ("--main-backend-device", "cuda0"),
            ("--tae-backend-device", "cuda1"),
            ("--upscaler-backend-device", "vulkan0"),
        ] {
            assert!(is_device_flag(option));
            flags.devices.set(option, device).unwrap();
        }
        let text = flags.before(&PlacementText { backend: "te=cuda2".into(), ..PlacementText::default() });
        let read = parse_backend(&text.backend).unwrap();
        let places = [Module::Diffusion, Module::T5, Module::Vae, Module::Upscaler].map(|module| read.place_of(module));
        assert_eq!(places, ["cuda0", "cuda2", "cuda1", "vulkan0"], "{}", text.backend);
        for list in ["cuda0,te=cpu", "te=cpu", " "] {
            assert_eq!(flags.devices.set("--vae-backend-device", list), Err(PlacementError::NotOneDevice(list.into())));
        }
        assert!(!is_device_flag("--backend") && !is_device_flag("--main-backend"));
    }

    #[test]
    fn a_placement_is_checked_against_the_devices_there_are() {
        let text = |backend: &str, params: &str, max_vram: &str| PlacementText {
            backend: backend.into(),
            params_backend: params.into(),
            max_vram: max_vram.into(),
            ..PlacementText::default()
        };
        assert_eq!(check_devices(&text("all=cuda0,te=cpu", "te=disk", "cuda0=6"), &workstation()), Ok(()));
        for wrong in [text("te=rocm0", "", ""), text("", "te=rocm0", ""), text("", "", "rocm0=6")] {
            let error = check_devices(&wrong, &workstation()).unwrap_err();
            assert!(matches!(error, PlacementError::UnknownDevice { .. } | PlacementError::UnknownBudgeted { .. }), "{wrong:?}");
            assert_eq!(check_shape(&wrong), Ok(()));
        }
        assert_eq!(check_devices(&text("disk", "", ""), &workstation()), Err(PlacementError::RunsOnDisk));
    }

    #[test]
    fn old_flags_go_first_so_that_explicit_entries_win() {
        let flags = OldFlags { clip_on_cpu: true, vae_on_cpu: true, control_net_cpu: true, offload_to_cpu: true, ..OldFlags::default() };
        let text = PlacementText { backend: " te=cuda0 ".into(), params_backend: "te=disk".into(), ..PlacementText::default() };
        let both = flags.before(&text);
        assert_eq!((both.backend.as_str(), both.params_backend.as_str()), ("te=cpu,vae=cpu,controlnet=cpu,te=cuda0", "*=cpu,te=disk"));
        assert_eq!(OldFlags::default().before(&PlacementText::default()), PlacementText::default());
    }
}
