//! From the texts of a placement to the names and budgets that the engine gets. Pure.

use super::cache::Budget;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{self, Module, Placement, PlacementError, resolve_device};
use atelier_core::recipe::{ModelFiles, PlacementText};

/// A placement in the engine's words, with every device named.
pub(crate) struct ResolvedPlacement {
    pub(crate) backend: String,
    pub(crate) params_backend: String,
    /// One for each module whose device has one.
    pub(crate) budgets: Vec<Budget>,
    pub(crate) placement: Placement,
}

/// The modules that the engine can hold to a budget.
const BUDGETED: [Module; 4] = [Module::Diffusion, Module::Te, Module::ClipVision, Module::Vae];

impl ResolvedPlacement {
    /// Names the devices that the texts mean.
    pub(crate) fn resolve(text: &PlacementText, devices: &[Device]) -> Result<Self, PlacementError> {
        let placement = Placement::parse(text, devices)?;
        // Every device is named: left to itself the engine would take the first that calls itself a GPU, a remote one included.
        let PlacementText { backend, params_backend, .. } = placement.text();
        let mut budgets = Vec::new();
        for module in BUDGETED {
            let device = resolve_device(&placement.assignment(module).runs_on, devices)?;
            // A budget of the processor is for planning: the engine holds it to none.
            if let Some(gib) = placement.budgets.gib(device).filter(|_| device.kind != DeviceKind::Cpu) {
                budgets.push(Budget { module, device: device.name.clone(), gib });
            }
        }
        Ok(Self { backend, params_backend, budgets, placement })
    }

    /// What was asked for and has no effect where a model of these files runs, in sentences.
    pub(crate) fn notes(&self, files: &ModelFiles, devices: &[Device]) -> Vec<String> {
        let always = [Module::Diffusion, Module::Te, Module::Vae];
        let more = files.modules().into_iter().filter(|module| !always.contains(module));
        let in_use: Vec<Module> = always.into_iter().chain(more).collect();
        placement::notes(&self.placement, devices, &in_use)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::FileRole;

    fn device(name: &str, kind: DeviceKind) -> Device {
        Device {
            name: name.into(),
            description: String::new(),
            kind,
            card: None,
            memory_total_bytes: 1,
            memory_free_bytes: 1,
            memory_allocated_bytes: 0,
        }
    }

    fn devices() -> [Device; 3] {
        [device("CPU", DeviceKind::Cpu), device("CUDA0", DeviceKind::Gpu), device("CUDA1", DeviceKind::Gpu)]
    }

    fn places(backend: &str, params: &str, max_vram: &str) -> Result<ResolvedPlacement, PlacementError> {
        let text =
            PlacementText { backend: backend.into(), params_backend: params.into(), max_vram: max_vram.into(), ..PlacementText::default() };
        ResolvedPlacement::resolve(&text, &devices())
    }

    #[test]
    fn an_empty_placement_names_the_first_gpu_and_a_partial_one_keeps_it_for_the_rest() {
        let places = |backend, params| places(backend, params, "").map(|places| (places.backend, places.params_backend));
        assert_eq!(places("", ""), Ok(("all=CUDA0".into(), String::new())));
        assert_eq!(places("te=cpu", "diffusion=cpu,te=DISK"), Ok(("all=CUDA0,te=CPU".into(), "diffusion=CPU,te=disk".into())));
        assert!(places("cuda7", "").is_err());
        assert!(places("disk", "").is_err());
    }

    #[test]
    fn a_device_of_another_machine_is_used_only_where_it_is_named() {
        let devices = [device("RPC0", DeviceKind::Remote), device("CPU", DeviceKind::Cpu)];
        let backend = |text: &str| {
            let text = PlacementText { backend: text.into(), ..PlacementText::default() };
            ResolvedPlacement::resolve(&text, &devices).unwrap().backend
        };
        assert_eq!((backend("").as_str(), backend("vae=rpc0").as_str()), ("all=CPU", "all=CPU,vae=RPC0"));
    }

    #[test]
    fn each_module_gets_the_budget_of_the_device_it_runs_on() {
        let budgets = |backend: &str, max_vram: &str| {
            let places = places(backend, "", max_vram).unwrap();
            places.budgets.into_iter().map(|it| (it.module, it.device, it.gib)).collect::<Vec<_>>()
        };
        assert_eq!(
            budgets("all=cuda0,vae=cuda1,te=cpu", "cuda1=-1,3"),
            [(Module::Diffusion, "CUDA0".into(), 3.0), (Module::ClipVision, "CUDA0".into(), 3.0), (Module::Vae, "CUDA1".into(), -1.0)]
        );
        assert_eq!(budgets("all=cpu", "3"), []);
        assert_eq!(budgets("all=cpu", "cpu=3"), []);
        assert_eq!(budgets("all=cuda0", "0"), []);
        assert_eq!(budgets("all=cuda0,vae=cuda1", "3,cuda0=0"), [(Module::Vae, "CUDA1".into(), 3.0)]);
        assert!(matches!(places("", "", "cuda7=3"), Err(PlacementError::UnknownDevice { .. })));
    }

    #[test]
    fn only_modules_that_the_files_bring_have_something_to_say() {
        let places = places("controlnet=cuda1", "cpu", "cuda1=3").unwrap();
        let mut files = ModelFiles::default();
        files.set(FileRole::Model, "m");
        assert!(places.notes(&files, &devices()).join(" ").contains("no module in use runs there"));
        files.set(FileRole::Controlnet, "c");
        assert_eq!(places.notes(&files, &devices()), Vec::<String>::new());
    }
}
