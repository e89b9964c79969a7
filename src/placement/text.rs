//! The text form of a placement, read by sd-cli's rules: `all=cuda0,te=cpu`, `diffusion=cpu,te=disk`, `6`.
//!
//! Invariants: what is read here is read by the engine in the same way, or refused before the engine sees it; a text made from a value
//! reads back as that value. Not here: what fits where.

use std::collections::BTreeMap;
use std::fmt;

use super::{Module, parse_budgets};
use crate::devices::{Device, DeviceKind};
use crate::recipe::PlacementText;

/// The word for weights that stay in their file and are read again when they are needed.
const DISK: &str = "disk";

/// Why a placement text was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// An entry lacks one of its halves.
    #[error("\"{0}\" names no module or no device; write it as module=device, for example te=cpu")]
    Half(String),
    /// No module has this name.
    #[error("there is no module \"{0}\"; choose one of diffusion, te, clip_vision, vae, controlnet, photomaker, upscaler or all")]
    UnknownModule(String),
    /// Modules cannot run on a disk.
    #[error("a module cannot run on the disk; write disk in the weights' place (--params-backend) instead")]
    RunsOnDisk,
    /// No device has this name.
    #[error("there is no device \"{name}\" on this machine; choose one of {known}")]
    UnknownDevice {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// More than one device begins with this name.
    #[error("\"{name}\" could be {matching}; write the whole name")]
    AmbiguousDevice {
        /// What was asked for.
        name: String,
        /// What it could mean.
        matching: String,
    },
    /// A budget is no number.
    #[error(
        "\"{0}\" is not a budget; write the GiB that may be used, for example 6 or cuda0=6, -1 to leave 1 GiB free, or 0 for no budget"
    )]
    Budget(String),
}

/// Which module goes where, as a text says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignments {
    /// Where modules go that are not named; `None` is the engine's choice.
    pub fallback: Option<String>,
    /// Where the named ones go.
    pub modules: BTreeMap<Module, String>,
}

impl Assignments {
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
            if ["all", "default", "*"].iter().any(|all| module.eq_ignore_ascii_case(all)) {
                assignments.fallback = Some(place.to_owned());
            } else {
                let module = module_named(module).ok_or_else(|| PlacementError::UnknownModule(module.to_owned()))?;
                assignments.modules.insert(module, place.to_owned());
            }
        }
        Ok(assignments)
    }

    /// Where this module goes; empty is the engine's choice.
    #[must_use]
    pub fn place_of(&self, module: Module) -> &str {
        self.modules.get(&module).or(self.fallback.as_ref()).map_or("", String::as_str)
    }

    fn places(&self) -> impl Iterator<Item = &str> {
        self.fallback.iter().chain(self.modules.values()).map(String::as_str)
    }
}

impl fmt::Display for Assignments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fallback = self.fallback.iter().map(|place| ("all", place));
        let modules = self.modules.iter().map(|(module, place)| (module.key(), place));
        for (n, (module, place)) in fallback.chain(modules).enumerate() {
            let comma = if n == 0 { "" } else { "," };
            write!(f, "{comma}{module}={place}")?;
        }
        Ok(())
    }
}

/// The module with this name or alias; case, hyphens and underscores do not matter.
#[must_use]
pub fn module_named(name: &str) -> Option<Module> {
    let plain: String = name.trim().chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    Some(match plain.as_str() {
        "diffusion" | "model" | "unet" | "dit" => Module::Diffusion,
        "te" | "clip" | "text" | "textencoder" | "textencoders" | "conditioner" | "cond" | "llm" | "t5" | "t5xxl" => Module::Te,
        "clipvision" | "vision" => Module::ClipVision,
        "vae" | "firststage" | "autoencoder" | "tae" => Module::Vae,
        "controlnet" | "control" => Module::Controlnet,
        "photomaker" | "photomakerid" | "pmid" | "photo" => Module::Photomaker,
        "upscaler" | "esrgan" | "hires" => Module::Upscaler,
        _ => return None,
    })
}

/// Reads where modules run (`--backend`).
pub fn parse_backend(text: &str) -> Result<Assignments, PlacementError> {
    let assignments = Assignments::parse(text)?;
    if assignments.places().any(is_disk) { Err(PlacementError::RunsOnDisk) } else { Ok(assignments) }
}

/// Reads where weights live (`--params-backend`); `disk` is one of the places.
pub fn parse_params_backend(text: &str) -> Result<Assignments, PlacementError> {
    Assignments::parse(text)
}

/// Whether the texts have the right shape, whatever devices there are.
pub fn check_shape(text: &PlacementText) -> Result<(), PlacementError> {
    parse_backend(&text.backend)?;
    parse_params_backend(&text.params_backend)?;
    parse_budgets(&text.max_vram)?;
    Ok(())
}

/// Whether the texts have the right shape and name only these devices.
pub fn check_devices(text: &PlacementText, devices: &[Device]) -> Result<(), PlacementError> {
    check_shape(text)?;
    let (backend, params) = (parse_backend(&text.backend)?, parse_params_backend(&text.params_backend)?);
    let budgets = parse_budgets(&text.max_vram)?;
    for place in backend.places().chain(params.places().filter(|place| !is_disk(place))).chain(budgets.named()) {
        resolve_device(place, devices)?;
    }
    Ok(())
}

/// The device that a name means: a whole name or the beginning of exactly one, in any case; `auto`, `default` and nothing: GPU, then
/// integrated GPU, then CPU; `gpu`: the first GPU, else the first integrated one.
pub fn resolve_device<'a>(name: &str, devices: &'a [Device]) -> Result<&'a Device, PlacementError> {
    let name = name.trim().to_ascii_lowercase();
    let first = |kind| devices.iter().find(|device| device.kind == kind);
    let unknown = || PlacementError::UnknownDevice { name: name.clone(), known: names(devices.iter()) };
    let graphics = || first(DeviceKind::Gpu).or_else(|| first(DeviceKind::IntegratedGpu));
    match name.as_str() {
        "" | "auto" | "default" => return graphics().or_else(|| first(DeviceKind::Cpu)).ok_or_else(unknown),
        "gpu" => return graphics().ok_or_else(unknown),
        _ => {}
    }
    if let Some(exact) = devices.iter().find(|device| device.name.eq_ignore_ascii_case(&name)) {
        return Ok(exact);
    }
    let matching: Vec<&Device> = devices.iter().filter(|device| device.name.to_ascii_lowercase().starts_with(&name)).collect();
    match matching[..] {
        [one] => Ok(one),
        [] => Err(unknown()),
        _ => Err(PlacementError::AmbiguousDevice { matching: names(matching.into_iter()), name }),
    }
}

fn names<'a>(devices: impl Iterator<Item = &'a Device>) -> String {
    devices.map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn is_disk(place: &str) -> bool {
    place.eq_ignore_ascii_case(DISK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, kind: DeviceKind) -> Device {
        Device { name: name.into(), description: String::new(), kind, memory_total_bytes: 0, memory_free_bytes: 0 }
    }

    fn workstation() -> Vec<Device> {
        vec![
            device("CPU", DeviceKind::Cpu),
            device("Vulkan0", DeviceKind::IntegratedGpu),
            device("CUDA0", DeviceKind::Gpu),
            device("CUDA1", DeviceKind::Gpu),
        ]
    }

    #[test]
    fn every_alias_names_its_module_in_any_spelling() {
        let aliases: [(Module, &[&str]); 7] = [
            (Module::Diffusion, &["diffusion", "model", "UNet", "dit"]),
            (Module::Te, &["te", "clip", "text", "text-encoder", "TextEncoders", "conditioner", "cond", "llm", "t5", "T5XXL"]),
            (Module::ClipVision, &["clip_vision", "clip-vision", "ClipVision", "vision"]),
            (Module::Vae, &["vae", "first_stage", "autoencoder", "tae"]),
            (Module::Controlnet, &["controlnet", "control-net", "control"]),
            (Module::Photomaker, &["photomaker", "photomaker_id", "pmid", "photo"]),
            (Module::Upscaler, &["upscaler", "esrgan", "hires"]),
        ];
        for (module, names) in aliases {
            for name in names {
                assert_eq!(module_named(name), Some(module), "{name}");
            }
        }
        assert_eq!(module_named("sampler"), None);
    }

    #[test]
    fn a_bare_name_and_every_word_for_all_set_the_fallback() {
        for text in ["cuda0", "all=cuda0", " Default = cuda0 ", "*=cuda0", "cpu,,all=cuda0,"] {
            let assignments = parse_backend(text).unwrap();
            assert_eq!(assignments.place_of(Module::Vae), "cuda0", "{text}");
            assert!(assignments.modules.is_empty());
        }
        assert_eq!(parse_backend("").unwrap(), Assignments::default());
    }

    #[test]
    fn a_later_entry_wins_and_the_text_reads_back() {
        let assignments = parse_params_backend("te=cpu,cuda0,clip=disk,vae=cpu").unwrap();
        assert_eq!(assignments.place_of(Module::Te), "disk");
        assert_eq!(assignments.place_of(Module::Diffusion), "cuda0");
        assert_eq!(assignments.to_string(), "all=cuda0,te=disk,vae=cpu");
        assert_eq!(parse_params_backend(&assignments.to_string()).unwrap(), assignments);
    }

    #[test]
    fn entries_that_mean_nothing_are_refused() {
        assert_eq!(parse_backend("te="), Err(PlacementError::Half("te=".into())));
        assert_eq!(parse_backend("=cpu"), Err(PlacementError::Half("=cpu".into())));
        assert_eq!(parse_backend("sampler=cpu"), Err(PlacementError::UnknownModule("sampler".into())));
        assert_eq!(parse_backend("vae=Disk"), Err(PlacementError::RunsOnDisk));
        assert_eq!(parse_backend("disk"), Err(PlacementError::RunsOnDisk));
        assert!(parse_params_backend("disk").is_ok());
    }

    #[test]
    fn devices_are_found_as_the_engine_finds_them() {
        let devices = workstation();
        let found = |name| resolve_device(name, &devices).map(|device| device.name.as_str());
        assert_eq!(found("cuda1"), Ok("CUDA1"));
        assert_eq!(found("vulk"), Ok("Vulkan0"));
        for name in ["", "auto", "Default", "gpu"] {
            assert_eq!(found(name), Ok("CUDA0"), "{name}");
        }
        assert!(matches!(found("cuda"), Err(PlacementError::AmbiguousDevice { matching, .. }) if matching == "CUDA0, CUDA1"));
        assert!(matches!(found("metal"), Err(PlacementError::UnknownDevice { known, .. }) if known.contains("Vulkan0")));
    }

    #[test]
    fn without_graphics_the_processor_is_the_default_and_gpu_is_refused() {
        let devices = [device("CPU", DeviceKind::Cpu)];
        assert_eq!(resolve_device("auto", &devices).unwrap().name, "CPU");
        assert!(resolve_device("gpu", &devices).is_err());
    }

    #[test]
    fn a_placement_is_checked_against_the_devices_there_are() {
        let text = |backend: &str, params: &str| PlacementText {
            backend: backend.into(),
            params_backend: params.into(),
            ..PlacementText::default()
        };
        assert_eq!(check_devices(&text("all=cuda0,te=cpu", "te=disk"), &workstation()), Ok(()));
        assert!(matches!(check_devices(&text("te=rocm0", ""), &workstation()), Err(PlacementError::UnknownDevice { .. })));
        assert!(matches!(check_devices(&text("", "te=rocm0"), &workstation()), Err(PlacementError::UnknownDevice { .. })));
        assert_eq!(check_devices(&text("disk", ""), &workstation()), Err(PlacementError::RunsOnDisk));
    }
}
