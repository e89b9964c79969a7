//! Which models are in memory.
//!
//! One context stays loaded between jobs; another model takes its place. A later issue keeps several and evicts by need: callers only
//! ask for a context and say when one can no longer be trusted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use super::ffi::{self, CallError, Context, Limits, Load, Sink};
use crate::devices::{Device, DeviceKind};
use crate::placement::{Module, budget_on};
use crate::recipe::{Lora, ModelFiles};

/// The contexts in memory.
#[derive(Default)]
pub(super) struct Cache {
    resident: Option<Resident>,
}

struct Resident {
    load: Load,
    stamps: Vec<Stamp>,
    /// The devices as they were just before: what was free then is what the model and everything it needs could have.
    devices_before: Vec<Device>,
    context: Context,
}

/// What may be used of the devices; it can change from job to job without loading anything again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Budgeted {
    pub(super) budgets: Vec<Budget>,
    pub(super) stream_layers: bool,
}

/// The most that a module may use of the device it runs on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Budget {
    pub(super) module: Module,
    /// A device's whole name.
    pub(super) device: String,
    /// GiB; negative: what is free less that many.
    pub(super) gib: f64,
}

impl Budgeted {
    fn limits(&self, devices: &[Device]) -> Limits {
        let mut limits = Limits { stream_layers: self.stream_layers, ..Limits::default() };
        for budget in &self.budgets {
            let bytes = budget.bytes(devices);
            match budget.module {
                Module::Diffusion => limits.diffusion = bytes,
                Module::Te => limits.te = bytes,
                Module::ClipVision => limits.clip_vision = bytes,
                Module::Vae => limits.vae = bytes,
                Module::Controlnet | Module::Photomaker | Module::Upscaler => {}
            }
        }
        limits
    }
}

impl Budget {
    /// In bytes. 0, which means no limit, only where the device does not say how much is free.
    fn bytes(&self, devices: &[Device]) -> u64 {
        let device = devices.iter().find(|device| device.name == self.device);
        device.and_then(|device| budget_on(device, self.gib)).map_or(0, |bytes| bytes.max(1))
    }
}

/// A file as it was when its header was read: one that was replaced since is another model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Cache {
    /// The context for these files and settings, loaded now where it is not resident, and held to these budgets.
    pub(super) fn context(&mut self, load: &Load, budgeted: &Budgeted, sink: &dyn Sink) -> Result<&mut Context, CallError> {
        let stamps = stamps(&load.files, &[]);
        if !self.resident.as_ref().is_some_and(|resident| resident.load == *load && resident.stamps == stamps) {
            // The old model goes first, so that both are never in memory.
            self.resident = None;
            let devices_before = ffi::devices();
            let context = Context::new(load, sink)?;
            self.resident = Some(Resident { load: load.clone(), stamps, devices_before, context });
        }
        match &mut self.resident {
            Some(resident) => {
                resident.context.limit(&budgeted.limits(&resident.devices_before))?;
                Ok(&mut resident.context)
            }
            None => unreachable!("a context was stored above"),
        }
    }

    /// The devices of the resident model as they were before it was opened, and what each took for itself since then: what is not free any
    /// more, less the buffers that are counted. Nothing without a model, or where only memory that is counted was used.
    pub(super) fn slack(&self) -> (Vec<Device>, BTreeMap<String, u64>) {
        let Some(resident) = &self.resident else { return Default::default() };
        let used: Vec<_> = resident.devices_before.iter().filter(|device| ffi::held_bytes(&device.name) > 0).cloned().collect();
        if used.iter().all(|device| device.kind == DeviceKind::Cpu) {
            return Default::default();
        }
        let now = ffi::devices();
        let slack = used.iter().filter_map(|before| {
            let now = now.iter().find(|now| now.name == before.name)?;
            let gone = before.memory_free_bytes.checked_sub(now.memory_free_bytes)?;
            Some((before.name.clone(), gone.saturating_sub(ffi::held_bytes(&before.name))))
        });
        let slack = slack.collect();
        (used, slack)
    }

    /// Frees every context.
    pub(super) fn clear(&mut self) {
        self.resident = None;
    }
}

/// The files as they are now.
pub(super) fn stamps(files: &ModelFiles, loras: &[Lora]) -> Vec<Stamp> {
    let loras = loras.iter().map(|lora| lora.path.as_path());
    files
        .iter()
        .map(|(_, path)| path)
        .chain(loras)
        .map(|path| {
            let metadata = path.metadata().ok();
            Stamp {
                path: path.to_owned(),
                bytes: metadata.as_ref().map_or(0, std::fs::Metadata::len),
                modified: metadata.and_then(|metadata| metadata.modified().ok()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_bytes_or_what_was_free_less_some_and_never_nothing() {
        let (kind, description) = (DeviceKind::Gpu, String::new());
        let devices =
            [Device { name: "GPU0".into(), description, kind, card: None, memory_total_bytes: 8 << 30, memory_free_bytes: 6 << 30 }];
        let limits = |gib| {
            let budgets = vec![Budget { module: Module::Te, device: "GPU0".into(), gib }];
            Budgeted { budgets, stream_layers: true }.limits(&devices)
        };
        assert_eq!(limits(1.5), Limits { te: 3 << 29, stream_layers: true, ..Limits::default() });
        assert_eq!((limits(-1.0).te, limits(-7.0).te), (5 << 30, 1));
        let silent = [Device { memory_total_bytes: 0, memory_free_bytes: 0, ..devices[0].clone() }];
        assert_eq!(Budget { module: Module::Te, device: "GPU0".into(), gib: -1.0 }.bytes(&silent), 0);
    }
}
