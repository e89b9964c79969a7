//! Names that are written in placements: of devices, whole or abbreviated, and what is said of
//! wrong ones.
//!
//! Invariant: a name means the same as to the engine, or it is refused with a list of the known
//! ones.

use super::error::PlacementError;
use crate::device::{Device, DeviceKind};
use crate::module::Module;
use crate::module_names::{ENCODERS, MODULE_NAMES, modules_named, plain};

/// The modules with this name, or an error that names the closest.
pub(super) fn find_modules(name: &str) -> Result<&'static [Module], PlacementError> {
    modules_named(name)
        .ok_or_else(|| PlacementError::UnknownModule { name: name.to_owned(), closest: closest(&plain(name), module_names()) })
}

/// The name in placement texts of one module, or of all text encoders.
fn key(modules: &[Module]) -> &'static str {
    if let [module] = modules { module.key() } else { ENCODERS }
}

/// Every name of a module, and its name in placement texts.
fn module_names<'a>() -> impl Iterator<Item = (&'a str, &'a str)> {
    let names = MODULE_NAMES.into_iter().flat_map(|(modules, names)| names.iter().map(move |name| (*name, key(modules))));
    names.chain(Module::ENCODERS.map(|module| (module.key(), module.key())))
}

/// What has a budget.
#[derive(Debug)]
pub(super) enum Budgeted<'a> {
    /// A device.
    Device(&'a Device),
    /// A module, or all text encoders.
    Modules(&'static [Module]),
}

/// What a name of a budget means: a device, or modules.
///
/// A name of a module is never short for a device, so that `te=2` means the same on every machine.
/// Where a device has such a name itself, it is refused: nobody who reads it would know which.
pub(super) fn budgeted<'a>(name: &str, devices: &'a [Device]) -> Result<Budgeted<'a>, PlacementError> {
    if let Some(modules) = modules_named(name) {
        return match device_called(name.trim(), devices) {
            None => Ok(Budgeted::Modules(modules)),
            Some(device) => Err(PlacementError::DeviceAndModule { name: device.name.clone(), module: key(modules) }),
        };
    }
    match resolve_device(name, devices) {
        Ok(device) => Ok(Budgeted::Device(device)),
        Err(PlacementError::UnknownDevice { name: written, known, .. }) => {
            let by_name = devices.iter().map(|device| (device.name.as_str(), device.name.as_str()));
            let closest = closest(&plain(name), by_name.chain(module_names()));
            Err(PlacementError::UnknownBudgeted { name: written, known, closest })
        }
        Err(error) => Err(error),
    }
}

/// The device with this whole name, in any case.
fn device_called<'a>(name: &str, devices: &'a [Device]) -> Option<&'a Device> {
    devices.iter().find(|device| device.name.eq_ignore_ascii_case(name))
}

/// The device that a name means: a whole name or the beginning of exactly one, in any case; `auto`,
/// `default` and nothing: GPU, then integrated GPU, then CPU; `gpu`: the first GPU, else the first
/// integrated one.
pub fn resolve_device<'a>(name: &str, devices: &'a [Device]) -> Result<&'a Device, PlacementError> {
    let wanted = name.trim().to_ascii_lowercase();
    let first = |kind| devices.iter().find(|device| device.kind == kind);
    let graphics = || first(DeviceKind::Gpu).or_else(|| first(DeviceKind::IntegratedGpu));
    let unknown = || {
        let by_name = devices.iter().map(|device| (device.name.as_str(), device.name.as_str()));
        PlacementError::UnknownDevice { name: name.trim().to_owned(), known: listed(devices), closest: closest(&wanted, by_name) }
    };
    match wanted.as_str() {
        "" | "auto" | "default" => return graphics().or_else(|| first(DeviceKind::Cpu)).ok_or_else(unknown),
        "gpu" => return graphics().ok_or_else(unknown),
        _ => {}
    }
    if let Some(exact) = device_called(&wanted, devices) {
        return Ok(exact);
    }
    let matching: Vec<&Device> = devices.iter().filter(|device| device.name.to_ascii_lowercase().starts_with(&wanted)).collect();
    match matching[..] {
        [one] => Ok(one),
        [] => Err(unknown()),
        _ => Err(PlacementError::AmbiguousDevice { name: name.trim().to_owned(), matching: listed(matching) }),
    }
}

/// True for the names that stand for every module.
pub(super) fn means_all(name: &str) -> bool {
    ["all", "default", "*"].iter().any(|all| name.eq_ignore_ascii_case(all))
}

fn listed<'a>(devices: impl IntoIterator<Item = &'a Device>) -> String {
    devices.into_iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The meaning of the candidate closest to this name; `None` where none is within half its length.
/// Candidates: name, meaning.
fn closest<'a>(name: &str, candidates: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let by_distance = candidates.map(|(it, means)| (strsim::damerau_levenshtein(name, &it.to_ascii_lowercase()), it.len(), means));
    let (_, _, means) = by_distance.filter(|(distance, length, _)| distance * 2 <= *length).min_by_key(|(distance, ..)| *distance)?;
    Some(means.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{device, workstation};
    use super::*;

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
    fn a_whole_name_wins_over_a_longer_one_that_begins_with_it() {
        let devices = [device("CUDA1", DeviceKind::Gpu, 0, 0), device("CUDA10", DeviceKind::Gpu, 0, 0)];
        assert_eq!(resolve_device("cuda1", &devices).unwrap().name, "CUDA1");
    }

    #[test]
    fn without_graphics_the_processor_is_the_default_and_gpu_is_refused() {
        let devices = [device("CPU", DeviceKind::Cpu, 0, 0)];
        assert_eq!(resolve_device("auto", &devices).unwrap().name, "CPU");
        assert!(resolve_device("gpu", &devices).is_err());
    }

    #[test]
    fn a_slip_of_the_pen_is_answered_with_what_was_probably_meant() {
        let error = resolve_device("vulcan0", &workstation()).unwrap_err().to_string();
        assert!(error.contains("\"vulcan0\"") && error.ends_with("did you mean Vulkan0?"), "{error}");
        for (name, meant) in [("difusion", "diffusion"), ("te.clipi", "te.clip_l"), ("te.t4", "te.t5"), ("txt", "te")] {
            let error = find_modules(name).unwrap_err().to_string();
            assert!(error.ends_with(&format!("did you mean {meant}?")), "{error}");
        }
        assert!(find_modules("sampler").unwrap_err().to_string().ends_with("or all"));
    }
}
