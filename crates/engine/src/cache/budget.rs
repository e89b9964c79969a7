//! Budgets of modules, in bytes for the engine.

use crate::ffi::Limits;
use crate::placement::Budget;
use atelier_core::device::Device;
use atelier_core::placement::Module;

/// Budgets of a context; they can change from job to job without loading anything again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ContextBudgets {
    pub(crate) budgets: Vec<Budget>,
    pub(crate) stream_layers: bool,
}

impl ContextBudgets {
    pub(super) fn limits(&self, devices: &[Device]) -> Limits {
        let mut limits = Limits { stream_layers: self.stream_layers, ..Limits::default() };
        for budget in &self.budgets {
            let bytes = budget.bytes(devices);
            match budget.module {
                Module::Diffusion => limits.diffusion = bytes,
                Module::Te => limits.te = bytes,
                Module::ClipVision => limits.clip_vision = bytes,
                Module::Vae => limits.vae = bytes,
                // An upscaler has no context.
                Module::Controlnet | Module::Photomaker | Module::Upscaler => {}
            }
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::device::DeviceKind;

    #[test]
    fn a_budget_is_bytes_or_what_was_free_less_some_and_never_nothing() {
        let (kind, description) = (DeviceKind::Gpu, String::new());
        let devices = [Device {
            name: "GPU0".into(),
            description,
            kind,
            gpu: None,
            memory_total_bytes: 8 << 30,
            memory_free_bytes: 6 << 30,
            memory_allocated_bytes: 0,
        }];
        let limits = |gib| {
            let budgets = vec![Budget { module: Module::Te, device: "GPU0".into(), gib }];
            ContextBudgets { budgets, stream_layers: true }.limits(&devices)
        };
        assert_eq!(limits(1.5), Limits { te: 3 << 29, stream_layers: true, ..Limits::default() });
        assert_eq!((limits(-1.0).te, limits(-7.0).te), (5 << 30, 1));
        let silent = [Device { memory_total_bytes: 0, memory_free_bytes: 0, ..devices[0].clone() }];
        assert_eq!(Budget { module: Module::Te, device: "GPU0".into(), gib: -1.0 }.bytes(&silent), 0);
    }
}
