//! From the texts of a placement to the names and budgets that the engine gets. Pure.

use super::cache::Budget;
use crate::devices::{Device, DeviceKind};
use crate::placement::{
    Assignments, Budgets, Module, PlacementError, check_devices, parse_backend, parse_budgets, parse_params_backend, resolve_device,
};
use crate::recipe::PlacementText;

/// A placement in the engine's words, with every device named.
pub(super) struct Places {
    pub(super) backend: String,
    pub(super) params_backend: String,
    /// One for each module whose device has one.
    pub(super) budgets: Vec<Budget>,
    diffusion_weights_in_ram: bool,
    /// Modules with a budget that run on the processor, where it does nothing.
    on_processor: Vec<Module>,
}

/// The modules that the engine can hold to a budget.
const BUDGETED: [Module; 4] = [Module::Diffusion, Module::Te, Module::ClipVision, Module::Vae];

impl Places {
    /// Names the devices that the texts mean.
    pub(super) fn resolve(text: &PlacementText, devices: &[Device]) -> Result<Self, PlacementError> {
        check_devices(text, devices)?;
        let named = |assignments: &Assignments, or_default: bool| -> Result<Assignments, PlacementError> {
            let name = |place: &str| {
                if place.eq_ignore_ascii_case("disk") { Ok("disk".to_owned()) } else { Ok(resolve_device(place, devices)?.name.clone()) }
            };
            let fallback = match &assignments.fallback {
                Some(place) => Some(name(place)?),
                None if or_default => Some(name("")?),
                None => None,
            };
            let modules = assignments.modules.iter().map(|(module, place)| Ok((*module, name(place)?))).collect::<Result<_, _>>()?;
            Ok(Assignments { fallback, modules })
        };
        // Left to itself the engine would take the first device that calls itself a GPU, a remote one included.
        let runs_on = named(&parse_backend(&text.backend)?, true)?;
        let lives_in = named(&parse_params_backend(&text.params_backend)?, false)?;
        let is_cpu = |name: &str| devices.iter().any(|device| device.kind == DeviceKind::Cpu && device.name == name);
        let (mut budgets, mut on_processor) = (Vec::new(), Vec::new());
        for (module, gib) in
            BUDGETED.into_iter().filter_map(|module| Some((module, gib_for(&text.max_vram, runs_on.place_of(module), devices)?)))
        {
            let device = runs_on.place_of(module).to_owned();
            if is_cpu(&device) {
                on_processor.push(module);
            } else {
                budgets.push(Budget { module, device, gib });
            }
        }
        Ok(Self {
            diffusion_weights_in_ram: is_cpu(lives_in.place_of(Module::Diffusion)),
            backend: runs_on.to_string(),
            params_backend: lives_in.to_string(),
            budgets,
            on_processor,
        })
    }

    /// What was asked for and has no effect, in sentences.
    pub(super) fn notes(&self, stream_layers: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if self.budgets.is_empty() && !self.on_processor.is_empty() {
            notes.push("The memory budget has no effect: it is for graphics cards, and nothing runs on one.".to_owned());
        }
        if stream_layers && !self.budgets.iter().any(|budget| budget.module == Module::Diffusion) {
            notes.push("Streaming has no effect without a memory budget for the device that the diffusion module runs on.".to_owned());
        } else if stream_layers && !self.diffusion_weights_in_ram {
            notes.push("Streaming has no effect unless the diffusion module's weights live in RAM (weights live in: cpu).".to_owned());
        }
        notes
    }
}

/// The budget of a device in GiB; `None` where it has none. The text was checked before.
fn gib_for(max_vram: &str, device: &str, devices: &[Device]) -> Option<f64> {
    let Budgets { all, devices: single } = parse_budgets(max_vram).ok()?;
    let own = single.iter().find(|(name, _)| resolve_device(name, devices).is_ok_and(|it| it.name == device)).map(|(_, gib)| *gib);
    own.or(all).filter(|gib| *gib != 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, kind: DeviceKind) -> Device {
        Device { name: name.into(), description: String::new(), kind, memory_total_bytes: 1, memory_free_bytes: 1 }
    }

    #[test]
    fn an_empty_placement_names_the_first_gpu_and_a_partial_one_keeps_it_for_the_rest() {
        let devices = [device("CPU", DeviceKind::Cpu), device("CUDA0", DeviceKind::Gpu)];
        let places = |backend: &str, params: &str| {
            let text = PlacementText { backend: backend.into(), params_backend: params.into(), ..PlacementText::default() };
            Places::resolve(&text, &devices).map(|places| (places.backend, places.params_backend))
        };
        assert_eq!(places("", ""), Ok(("all=CUDA0".into(), String::new())));
        assert_eq!(places("te=cpu", "diffusion=cpu,te=DISK"), Ok(("all=CUDA0,te=CPU".into(), "diffusion=CPU,te=disk".into())));
        assert!(places("cuda7", "").is_err());
        assert!(places("disk", "").is_err());
    }

    #[test]
    fn each_module_gets_the_budget_of_the_device_it_runs_on() {
        let devices = [device("CPU", DeviceKind::Cpu), device("CUDA0", DeviceKind::Gpu), device("CUDA1", DeviceKind::Gpu)];
        let places = |backend: &str, params: &str, max_vram: &str| {
            let text = PlacementText {
                backend: backend.into(),
                params_backend: params.into(),
                max_vram: max_vram.into(),
                ..PlacementText::default()
            };
            Places::resolve(&text, &devices)
        };
        let budgets = |backend: &str, max_vram: &str| {
            let places = places(backend, "", max_vram).unwrap();
            places.budgets.into_iter().map(|it| (it.module, it.device, it.gib)).collect::<Vec<_>>()
        };
        assert_eq!(
            budgets("all=cuda0,vae=cuda1,te=cpu", "cuda1=-1,3"),
            [(Module::Diffusion, "CUDA0".into(), 3.0), (Module::ClipVision, "CUDA0".into(), 3.0), (Module::Vae, "CUDA1".into(), -1.0)]
        );
        assert_eq!(budgets("all=cpu", "3"), []);
        assert_eq!(budgets("all=cuda0", "0"), []);
        assert_eq!(budgets("all=cuda0,vae=cuda1", "3,cuda0=0"), [(Module::Vae, "CUDA1".into(), 3.0)]);
        assert!(matches!(places("", "", "cuda7=3"), Err(PlacementError::UnknownDevice { .. })));

        let notes = |backend: &str, params: &str, max_vram: &str| places(backend, params, max_vram).unwrap().notes(true).join(" ");
        assert_eq!(notes("cuda0", "cpu", "3"), "");
        assert!(notes("cuda0", "cpu", "").contains("without a memory budget"));
        assert!(notes("cuda0", "", "3").contains("live in RAM"));
        assert!(notes("cpu", "", "3").contains("budget has no effect"));
    }
}
