//! The needs of streaming a module's layers: weights in RAM, and a budget to keep what fits of them
//! in.

use super::notes::{find, is_in_ram};
use super::value::{Placement, WeightLocation};
use crate::device::{Device, DeviceKind};
use crate::module_set::ModuleSet;

/// The budget that a device without one gets, in GiB: what is free, less one.
const BUDGET_GIB: f64 = -1.0;

impl Placement {
    /// The same placement with what streaming lacks. `None` where nothing is streamed or nothing is
    /// lacking, and where what is streamed runs on the processor, to which nothing is copied. `whole`:
    /// modules that run as a whole, as in [`notes`](super::notes).
    #[must_use]
    pub fn with_needs_of_streaming(&self, devices: &[Device], whole: ModuleSet) -> Option<Self> {
        let processor = devices.iter().find(|device| device.kind == DeviceKind::Cpu)?;
        let mut with = self.clone();
        for module in self.stream_layers.iter().filter(|module| module.has_layers() && !whole.contains(*module)) {
            let assignment = self.assignment(module);
            let Some(runs_on) = find(&assignment.runs_on, devices).filter(|device| device.kind != DeviceKind::Cpu) else { continue };
            if !is_in_ram(&assignment.weights, devices) {
                let weights = WeightLocation::Device(processor.name.clone());
                with.set(module, super::Assignment { weights, ..assignment.clone() });
            }
            if with.budgets.bytes_for(module, runs_on).is_none() {
                with.budgets = with.budgets.with(&runs_on.name, BUDGET_GIB);
            }
        }
        (with != *self).then_some(with)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::workstation;
    use super::*;
    use crate::module::Module;
    use crate::placement::notes;
    use crate::recipe::PlacementText;

    fn completed(backend: &str, params: &str, max_vram: &str, stream_layers: &str) -> Option<(String, String)> {
        let text = PlacementText {
            backend: backend.into(),
            params_backend: params.into(),
            max_vram: max_vram.into(),
            stream_layers: stream_layers.parse().unwrap(),
            ..PlacementText::default()
        };
        let devices = workstation();
        let with = Placement::parse(&text, &devices).unwrap().with_needs_of_streaming(&devices, ModuleSet::NONE)?;
        assert_eq!(with.with_needs_of_streaming(&devices, ModuleSet::NONE), None);
        let notes = notes(&with, &devices, &[Module::Diffusion, Module::Vae], ModuleSet::NONE);
        assert!(!notes.iter().any(|note| note.starts_with("Streaming")));
        let text = with.text();
        Some((text.params_backend, text.max_vram))
    }

    #[test]
    fn what_is_missing_is_added_and_nothing_else_changes() {
        let of = |params: &str, budget: &str| Some((params.to_owned(), budget.to_owned()));
        assert_eq!(completed("", "", "", "diffusion"), of("diffusion=CPU", "CUDA0=-1"));
        assert_eq!(completed("", "te=cpu", "6", "diffusion"), of("diffusion=CPU,te=CPU", "6"));
        assert_eq!(completed("", "diffusion=disk", "cuda0=4", "diffusion"), of("diffusion=CPU", "CUDA0=4"));
        assert_eq!(completed("diffusion=cuda1", "cpu", "cuda0=4", "diffusion"), of("all=CPU", "CUDA0=4,CUDA1=-1"));
        assert_eq!(completed("te.t5=cuda1", "", "", "te.t5"), of("te.t5=CPU", "CUDA1=-1"));
        assert_eq!(completed("", "", "unet=3", "diffusion"), of("diffusion=CPU", "diffusion=3"), "its own budget is one");
        assert_eq!(completed("", "cpu", "te.t5=3", "diffusion,te.t5"), of("all=CPU", "CUDA0=-1,te.t5=3"));
        assert_eq!(completed("", "", "vae=0.1", "vae"), of("vae=CPU", "vae=0.1"));
    }

    #[test]
    fn nothing_is_added_where_nothing_is_missing_or_nothing_helps() {
        assert_eq!(completed("", "", "", ""), None);
        assert_eq!(completed("", "diffusion=cpu", "6", "diffusion"), None);
        assert_eq!(completed("cpu", "", "", "diffusion"), None);
        assert_eq!(completed("", "", "", "controlnet"), None);
        let (devices, text) = (workstation(), PlacementText { stream_layers: ModuleSet::VAE, ..PlacementText::default() });
        assert_eq!(Placement::parse(&text, &devices).unwrap().with_needs_of_streaming(&devices, ModuleSet::VAE), None);
    }
}
