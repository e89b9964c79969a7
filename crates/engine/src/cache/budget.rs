//! Budgets of modules, in bytes for the engine.

use crate::ffi::Limits;
use crate::placement::{Budget, limit};
use atelier_core::device::Device;
use atelier_core::placement::{Module, ModuleSet};

/// Budgets of a context; they can change from job to job without loading anything again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ContextBudgets {
    pub(crate) budgets: Vec<Budget>,
    pub(crate) stream_layers: ModuleSet,
    /// Layers are copied while others compute.
    pub(crate) prefetch: bool,
}

impl ContextBudgets {
    pub(super) fn limits(&self, devices: &[Device]) -> Limits {
        let mut limits = Limits { streamed: self.stream_layers, prefetch: self.prefetch, ..Limits::default() };
        for module in Module::ALL {
            limits.bytes[module as usize] = limit(&self.budgets, module, devices);
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
            let budgets = vec![Budget { module: Module::T5, device: "GPU0".into(), gib }];
            ContextBudgets { budgets, stream_layers: ModuleSet::DIFFUSION, prefetch: true }.limits(&devices)
        };
        let of = |bytes| {
            let mut limits = Limits { streamed: ModuleSet::DIFFUSION, prefetch: true, ..Limits::default() };
            limits.bytes[Module::T5 as usize] = bytes;
            limits
        };
        assert_eq!([limits(1.5), limits(-1.0), limits(-7.0)], [of(3 << 29), of(5 << 30), of(1)]);
        let silent = [Device { memory_total_bytes: 0, memory_free_bytes: 0, ..devices[0].clone() }];
        assert_eq!(Budget { module: Module::T5, device: "GPU0".into(), gib: -1.0 }.bytes(&silent), 0);
    }
}
