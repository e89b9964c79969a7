//! Placements as the engine uses them: every device by its whole name, with the budgets that hold
//! there. Pure.

use crate::protocol::Failure;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{self, Budgets, Module, ModuleSet, Placement, PlacementError, budget_on};
use atelier_core::recipe::{ModelFiles, PlacementText};
use atelier_core::sentences::sentence;
use atelier_language::tr;

/// Modules that the engine can hold to a budget.
const BUDGETED: [Module; 8] =
    [Module::Diffusion, Module::ClipL, Module::ClipG, Module::T5, Module::Llm, Module::ClipVision, Module::Vae, Module::Upscaler];

/// A placement on the devices of this machine, parsed once for each job.
#[derive(Clone)]
pub(crate) struct ResolvedPlacement {
    pub(crate) placement: Placement,
    /// Those of each module: its device's and its own.
    pub(crate) budgets: Vec<Budget>,
    /// The placement under which memory and work were estimated: its own, or the default one where
    /// it was chosen for a recipe without one.
    pub(crate) estimated_as: Placement,
    /// A sentence on a placement that was chosen for a recipe without one.
    pub(crate) note: Option<String>,
}

/// Maximum memory of a module on the device it runs on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    pub(crate) module: Module,
    /// A device's whole name.
    pub(crate) device: String,
    /// GiB; negative: the free memory less that many.
    pub(crate) gib: f64,
}

impl Budget {
    /// In bytes. 0, which means no limit, only where the device does not say how much is free.
    pub(crate) fn bytes(&self, devices: &[Device]) -> u64 {
        let device = devices.iter().find(|device| device.name == self.device);
        device.and_then(|device| budget_on(device, self.gib)).map_or(0, |bytes| bytes.max(1))
    }
}

/// Maximum bytes of its device for a module, the smallest of its budgets; 0 is no limit.
pub(crate) fn limit(budgets: &[Budget], module: Module, devices: &[Device]) -> u64 {
    let own = budgets.iter().filter(|budget| budget.module == module).map(|budget| budget.bytes(devices));
    own.filter(|bytes| *bytes > 0).min().unwrap_or(0)
}

impl ResolvedPlacement {
    /// Parses the texts of a recipe.
    pub(crate) fn resolve(text: &PlacementText, devices: &[Device]) -> Result<Self, PlacementError> {
        Placement::parse(text, devices).map(|placement| Self::new(placement, devices))
    }

    /// Finds the budgets of a placement, all of whose devices are among these.
    pub(crate) fn new(placement: Placement, devices: &[Device]) -> Self {
        let budgets_of = |module| {
            let runs_on = &placement.assignment(module).runs_on;
            // A budget of the processor is for planning: the engine holds it to none.
            let device = devices.iter().find(|device| device.name == *runs_on && device.kind != DeviceKind::Cpu);
            let gib = |device: &Device| [placement.budgets.gib(device), placement.budgets.modules().get(&module).copied()];
            let gib = device.map(gib).into_iter().flatten().flatten();
            gib.map(|gib| Budget { module, device: runs_on.clone(), gib }).collect::<Vec<_>>()
        };
        let budgets = BUDGETED.into_iter().flat_map(budgets_of).collect();
        Self { estimated_as: placement.clone(), placement, budgets, note: None }
    }

    /// The same, chosen for a recipe without a placement, whose memory was estimated under this
    /// default one.
    pub(crate) fn automatic(self, estimated_as: Placement, note: Option<String>) -> Self {
        Self { estimated_as, note, ..self }
    }

    /// The placement of each shard of a batch; one where nothing is split.
    pub(crate) fn shards(&self, devices: &[Device]) -> Vec<Self> {
        self.placement.shares().into_iter().map(|shard| Self::new(shard, devices)).collect()
    }

    /// The assignments of the modules alone: all of it that a context depends on.
    pub(crate) fn assignments(&self) -> Placement {
        let mut assignments = self.placement.clone();
        assignments.budgets = Budgets::default();
        assignments.stream_layers = ModuleSet::NONE;
        assignments.split_batch.clear();
        assignments
    }

    /// Notes on what has no effect where an upscaler runs, in sentences.
    pub(crate) fn upscaler_notes(&self, devices: &[Device]) -> Vec<String> {
        placement::notes(&self.placement, devices, &[Module::Upscaler], ModuleSet::NONE)
    }

    /// Maximum bytes of its device for the upscaler; 0 is no limit.
    pub(crate) fn upscaler_limit(&self, devices: &[Device]) -> u64 {
        limit(&self.budgets, Module::Upscaler, devices)
    }

    /// Notes on what has no effect where a model of these files runs, in sentences. `whole`: modules of
    /// it that run as a whole although others of their kind have layers.
    pub(crate) fn notes(&self, files: &ModelFiles, devices: &[Device], whole: ModuleSet) -> Vec<String> {
        let mut in_use = files.modules();
        in_use.extend([Module::Diffusion, Module::Vae].into_iter().filter(|module| !files.modules().contains(module)));
        placement::notes(&self.placement, devices, &in_use, whole)
    }
}

/// The failure of a job whose placement cannot be resolved.
pub(crate) fn placement_failure(error: &PlacementError) -> Failure {
    Failure::new(sentence(&error.to_string()), tr!("engine-change-the-placement-or"))
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
            gpu: None,
            memory_total_bytes: 1,
            memory_free_bytes: 1,
            memory_allocated_bytes: 0,
        }
    }

    fn devices() -> [Device; 3] {
        [device("CPU", DeviceKind::Cpu), device("CUDA0", DeviceKind::Gpu), device("CUDA1", DeviceKind::Gpu)]
    }

    fn resolved(backend: &str, params: &str, max_vram: &str) -> Result<ResolvedPlacement, PlacementError> {
        let text =
            PlacementText { backend: backend.into(), params_backend: params.into(), max_vram: max_vram.into(), ..PlacementText::default() };
        ResolvedPlacement::resolve(&text, &devices())
    }

    #[test]
    fn an_empty_placement_names_the_first_gpu_and_a_partial_one_keeps_it_for_the_rest() {
        let texts = |backend, params| {
            resolved(backend, params, "").map(|resolved| {
                let text = resolved.placement.text();
                (text.backend, text.params_backend)
            })
        };
        assert_eq!(texts("", ""), Ok(("all=CUDA0".into(), String::new())));
        assert_eq!(texts("te=cpu", "diffusion=cpu,te=DISK"), Ok(("all=CUDA0,te=CPU".into(), "diffusion=CPU,te=disk".into())));
        assert!(texts("cuda7", "").is_err());
        assert!(texts("disk", "").is_err());
    }

    #[test]
    fn a_device_of_another_machine_is_used_only_where_it_is_named() {
        let devices = [device("RPC0", DeviceKind::Remote), device("CPU", DeviceKind::Cpu)];
        let backend = |text: &str| {
            let text = PlacementText { backend: text.into(), ..PlacementText::default() };
            ResolvedPlacement::resolve(&text, &devices).unwrap().placement.text().backend
        };
        assert_eq!((backend("").as_str(), backend("vae=rpc0").as_str()), ("all=CPU", "all=CPU,vae=RPC0"));
    }

    #[test]
    fn each_module_gets_the_budget_of_the_device_it_runs_on() {
        let budgets = |backend: &str, max_vram: &str| {
            let resolved = resolved(backend, "", max_vram).unwrap();
            resolved.budgets.into_iter().map(|it| (it.module, it.device, it.gib)).collect::<Vec<_>>()
        };
        assert_eq!(
            budgets("all=cuda0,vae=cuda1,te=cpu", "cuda1=-1,3"),
            [
                (Module::Diffusion, "CUDA0".into(), 3.0),
                (Module::ClipVision, "CUDA0".into(), 3.0),
                (Module::Vae, "CUDA1".into(), -1.0),
                (Module::Upscaler, "CUDA0".into(), 3.0)
            ]
        );
        assert_eq!(budgets("all=cpu", "3"), []);
        assert_eq!(budgets("all=cpu", "cpu=3"), []);
        assert_eq!(budgets("all=cuda0", "0"), []);
        assert_eq!(budgets("all=cuda0,vae=cuda1", "3,cuda0=0"), [(Module::Vae, "CUDA1".into(), 3.0)]);
        assert!(matches!(resolved("", "", "cuda7=3"), Err(PlacementError::UnknownBudgeted { .. })));
        assert_eq!(
            budgets("all=cuda0,te=cpu", "te=2,unet=1.5,cuda0=3")[..2],
            [(Module::Diffusion, "CUDA0".into(), 3.0), (Module::Diffusion, "CUDA0".into(), 1.5)]
        );
    }

    #[test]
    fn the_smaller_of_the_budgets_of_a_module_and_its_device_is_its_limit() {
        let devices = devices().map(|device| Device { memory_total_bytes: 8 << 30, memory_free_bytes: 6 << 30, ..device });
        let limits = |max_vram: &str| {
            let budgets = resolved("all=cuda0,vae=cuda1", "", max_vram).unwrap().budgets;
            [Module::Llm, Module::Diffusion, Module::Upscaler].map(|module| limit(&budgets, module, &devices) >> 29)
        };
        assert_eq!(limits("te=2"), [4, 0, 0]);
        assert_eq!(limits("te=-5,3,upscaler=0.5"), [2, 6, 1]);
        assert_eq!(limits("te=4,cuda0=-4"), [4, 4, 4], "the device's is smaller");
    }

    #[test]
    fn a_split_batch_is_the_same_as_if_each_shard_had_been_written() {
        let text = PlacementText {
            backend: "all=cuda0,te=cpu".into(),
            max_vram: "3".into(),
            split_batch: "cuda0,cuda1".into(),
            ..PlacementText::default()
        };
        let shards = ResolvedPlacement::resolve(&text, &devices()).unwrap().shards(&devices());
        assert_eq!(shards.len(), 2);
        for shard in shards {
            let written = ResolvedPlacement::resolve(&shard.placement.text(), &devices()).unwrap();
            assert_eq!((&written.placement, &written.budgets), (&shard.placement, &shard.budgets));
            let bare = shard.assignments();
            assert_eq!(bare.text(), PlacementText { max_vram: String::new(), ..shard.placement.text() });
        }
    }

    #[test]
    fn only_modules_that_the_files_bring_have_something_to_say() {
        let resolved = resolved("controlnet=cuda1", "cpu", "cuda1=3").unwrap();
        let mut files = ModelFiles::default();
        files.set(FileRole::Model, "m");
        assert!(resolved.notes(&files, &devices(), ModuleSet::NONE).join(" ").contains("no module in use runs there"));
        files.set(FileRole::Controlnet, "c");
        let [note] = &resolved.notes(&files, &devices(), ModuleSet::NONE)[..] else { panic!("one note") };
        assert!(note.contains("does not reach the ControlNet"), "{note}");
    }
}
