//! Prediction of the memory of a placement: bytes per device and phase, before anything is loaded.
//!
//! The arithmetic, for a device in a phase: **resident** weights (of all modules that live there,
//! whatever runs) + **staged** weights (copied there for the module that runs: all of them, or a
//! piece at a time where its graph is cut) + its **compute** buffer + the device's **overhead**
//! (context, pools, workspaces). Resident weights add up; what runs one after the other does not.
//! Packed copies of weights, which the processor keeps from step to step, take what is left: they
//! are in the compute buffer of denoising.
//! Where they come from: how the engine keeps weights (`--params-backend`) and cuts graphs
//! (`--max-vram`).
//!
//! Invariants: sums saturate; a cut graph takes what is left on its device, never more than the
//! whole graph and never less than its largest piece. Not here: the engine's numbers ([`Needs`]
//! brings them in), the search for a fit (`planner`).

use std::collections::BTreeMap;

use super::budgets::Budgets;
use super::capacity::{DeviceCapacity, can_be_cut, find};
use super::error::PlacementError;
use super::ledger::{Ledger, Slot};
use super::needs::{ModuleNeeds, Needs};
use super::phase::Phase;
use super::usage::{DevicePrediction, MemoryUse};
use super::value::{Placement, WeightLocation};
use crate::module::Module;

/// Prediction for a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePrediction {
    /// Whole name of the device that it runs on.
    pub runs_on: String,
    /// Location of its weights.
    pub weights: WeightLocation,
    /// Its weights in memory.
    pub weight_bytes: u64,
    /// Most bytes of them, and of LoRAs, that are copied to the device that it runs on at one time.
    pub staged_bytes: u64,
    /// Its largest compute buffer.
    pub compute_bytes: u64,
    /// Most bytes of its cut graph, staged weights included, with which the device stays within its
    /// limit; passed to the engine as this module's budget. `None`: it runs in one piece.
    pub graph_budget_bytes: Option<u64>,
    /// True where that is less than the whole graph, so that it runs in pieces.
    pub in_pieces: bool,
    /// Packed copies of its weights that the processor keeps while it denoises: as many as the memory
    /// that everything else leaves has room for.
    pub packed_bytes: u64,
}

/// Predicted memory of a placement, by device and by module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Every device, in the order of the capacities.
    pub devices: Vec<DevicePrediction>,
    /// The modules in use.
    pub modules: BTreeMap<Module, ModulePrediction>,
    /// Missing bytes of all devices together, each card once; 0 where it fits.
    pub missing_bytes: u64,
}

impl Prediction {
    /// Prediction of a placement on these devices.
    ///
    /// # Errors
    /// A device of the placement that is not among them.
    pub fn of(placement: &Placement, needs: &Needs, capacities: &[DeviceCapacity]) -> Result<Self, PlacementError> {
        let mut slots = Vec::new();
        for (module, needs) in &needs.modules {
            let assignment = placement.assignment(*module);
            let run = find(&assignment.runs_on, capacities)?;
            let location = match &assignment.weights {
                WeightLocation::Device(name) => Some(find(name, capacities)?),
                WeightLocation::Disk => None,
            };
            let has_budget = capacities.get(run).is_some_and(|it| placement.budgets.bytes_for(*module, &it.device).is_some());
            let is_cut = has_budget && placement.stream_layers.cuts(*module);
            let cut = if is_cut && can_be_cut(needs, capacities, run, location) { needs.cut_bytes() } else { None };
            slots.push((*module, needs, Slot { run, location, cut_bytes: cut }));
        }
        // Each cut graph grows from its largest piece into the memory that the others leave.
        let mut budgets = BTreeMap::new();
        for grown in 0..slots.len() {
            let ledger = ledger(&slots, capacities, &placement.budgets);
            if let Some((module, needs, slot)) = slots.get_mut(grown)
                && let Some(least) = slot.cut_bytes
            {
                let own = capacities.get(slot.run).and_then(|it| placement.budgets.module_bytes(*module, &it.device));
                let bytes = ledger.graph_limit(needs, slot).min(own.unwrap_or(u64::MAX)).max(least);
                slot.cut_bytes = Some(bytes);
                budgets.insert(*module, bytes);
            }
        }
        let mut ledger = ledger(&slots, capacities, &placement.budgets);
        let missing_bytes = ledger.missing_bytes();
        let packed: Vec<u64> = slots.iter().map(|(_, needs, slot)| ledger.add_packed(needs, slot)).collect();
        let modules = slots.iter().zip(packed).map(|((module, needs, slot), packed_bytes)| {
            let most =
                |bytes: fn(&MemoryUse) -> u64| Phase::ALL.into_iter().map(|phase| bytes(&slot.in_phase(needs, phase))).max().unwrap_or(0);
            let assignment = placement.assignment(*module);
            let graph_budget_bytes = budgets.get(module).copied();
            let whole = needs.compute_bytes.values().map(|compute| needs.whole_bytes(slot.is_staged(), *compute)).max().unwrap_or(0);
            let prediction = ModulePrediction {
                runs_on: assignment.runs_on.clone(),
                weights: assignment.weights.clone(),
                weight_bytes: needs.weight_bytes,
                staged_bytes: most(|it| it.staged_bytes),
                compute_bytes: most(|it| it.compute_bytes),
                graph_budget_bytes,
                in_pieces: graph_budget_bytes.is_some_and(|bytes| bytes < whole),
                packed_bytes,
            };
            (*module, prediction)
        });
        let modules = modules.collect();
        Ok(Self { devices: ledger.devices(capacities), modules, missing_bytes })
    }

    /// Prediction for the device with this whole name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<&DevicePrediction> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// True where no device is over its limit.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.missing_bytes == 0
    }
}

fn ledger(slots: &[(Module, &ModuleNeeds, Slot)], capacities: &[DeviceCapacity], budgets: &Budgets) -> Ledger {
    let mut ledger = Ledger::new(capacities, budgets);
    for (_, needs, slot) in slots {
        ledger.add(needs, slot);
    }
    ledger
}

#[cfg(test)]
mod tests {
    use super::super::testing::{capacity, needs};
    use super::*;
    use crate::device::{Device, DeviceKind};
    use crate::format::GIB;
    use crate::recipe::PlacementText;

    /// Tenths of a GiB, rounded.
    fn tenths(bytes: u64) -> u64 {
        (bytes * 10 + GIB / 2) / GIB
    }

    fn image_model() -> Needs {
        let modules = [
            (Module::Diffusion, needs(60, &[(Phase::Denoise, 10)], true)),
            (Module::Llm, needs(80, &[(Phase::Encode, 2)], true)),
            (Module::Vae, needs(3, &[(Phase::Encode, 30), (Phase::Decode, 65)], false)),
            (Module::Controlnet, needs(14, &[(Phase::Denoise, 5)], false)),
        ];
        Needs { modules: modules.into() }
    }

    fn capacities() -> [DeviceCapacity; 2] {
        [capacity("CPU", DeviceKind::Cpu, 320), capacity("CUDA0", DeviceKind::Gpu, 240)]
    }

    fn predicted(params: &str, max_vram: &str, needs: &Needs, capacities: &[DeviceCapacity]) -> Prediction {
        let devices: Vec<Device> = capacities.iter().map(|capacity| capacity.device.clone()).collect();
        let text = PlacementText { params_backend: params.into(), max_vram: max_vram.into(), ..PlacementText::default() };
        Prediction::of(&Placement::parse(&text, &devices).unwrap(), needs, capacities).unwrap()
    }

    /// Resident, staged, compute and slack in tenths of a GiB.
    fn in_phases(prediction: &Prediction, device: &str) -> [[u64; 4]; 4] {
        let device = prediction.device(device).unwrap();
        Phase::ALL.map(|phase| {
            let it = device.in_phase(phase);
            [it.resident_bytes, it.staged_bytes, it.compute_bytes, it.overhead_bytes].map(tenths)
        })
    }

    #[test]
    fn resident_weights_add_up_and_compute_peaks_of_phases_do_not() {
        let it = predicted("", "", &image_model(), &capacities());
        assert_eq!(in_phases(&it, "CUDA0"), [[157, 0, 0, 5], [157, 0, 30, 5], [157, 0, 15, 5], [157, 0, 65, 5]]);
        assert_eq!(in_phases(&it, "CPU"), [[0; 4]; 4]);
        let device = it.device("CUDA0").unwrap();
        assert_eq!((device.peak().0, tenths(device.peak().1.total_bytes()), device.missing_bytes()), (Phase::Decode, 227, 0));
        assert!(it.fits());
    }

    #[test]
    fn weights_that_wait_in_ram_are_on_the_device_only_while_their_module_runs() {
        let it = predicted("cpu", "", &image_model(), &capacities());
        // While encoding, the text encoder (8.2) is done before the VAE (3.3) begins; while
        // denoising, both are there.
        assert_eq!(in_phases(&it, "CUDA0"), [[0, 0, 0, 5], [0, 80, 2, 5], [0, 74, 15, 5], [0, 3, 65, 5]]);
        assert_eq!(in_phases(&it, "CPU"), [[157, 0, 0, 0]; 4]);
    }

    #[test]
    fn weights_on_the_disk_are_nowhere_until_their_module_runs() {
        let it = predicted("disk", "", &image_model(), &capacities());
        assert_eq!(in_phases(&it, "CPU"), [[0; 4]; 4]);
        assert_eq!(in_phases(&it, "CUDA0")[2], [0, 74, 15, 5]);
    }

    #[test]
    fn a_cut_graph_takes_what_its_device_has_left_within_the_budget() {
        let it = predicted("diffusion=cpu,te=cpu", "6", &image_model(), &capacities());
        // 6 less 1.7 of the others' weights, their 0.5 of compute and 0.5 of slack.
        let diffusion = it.modules.get(&Module::Diffusion).unwrap();
        assert_eq!((tenths(diffusion.graph_budget_bytes.unwrap()), diffusion.in_pieces), (33, true));
        assert_eq!(tenths(it.device("CUDA0").unwrap().in_phase(Phase::Denoise).total_bytes()), 60);
        let te = it.modules.get(&Module::Llm).unwrap();
        assert_eq!((tenths(te.graph_budget_bytes.unwrap()), te.in_pieces), (38, true));
        assert_eq!(it.modules.get(&Module::Vae).unwrap().graph_budget_bytes, None);
        // The VAE cannot be cut and is over.
        assert_eq!((tenths(it.missing_bytes), it.fits()), (27, false));
    }

    #[test]
    fn a_budget_with_room_to_spare_cuts_nothing_and_one_too_small_stops_at_the_largest_piece() {
        let diffusion = |budget: &str| {
            let it = predicted(
                "diffusion=cpu",
                budget,
                &Needs { modules: [(Module::Diffusion, image_model().modules[&Module::Diffusion].clone())].into() },
                &capacities(),
            );
            let module = it.modules.get(&Module::Diffusion).unwrap().clone();
            (module.in_pieces, tenths(module.staged_bytes), tenths(module.compute_bytes), it.fits())
        };
        assert_eq!(diffusion("20"), (false, 60, 10, true));
        assert_eq!(diffusion("5"), (true, 35, 10, true));
        assert_eq!(diffusion("1"), (true, 2, 10, false));
        assert_eq!(diffusion("-99"), (true, 2, 10, false));
        assert_eq!(diffusion("0"), (false, 60, 10, true));
    }

    #[test]
    fn each_module_is_cut_to_its_own_budget() {
        let it = |budgets: &str| predicted("diffusion=cpu,te=cpu", budgets, &image_model(), &capacities());
        let budget = |it: &Prediction, module: Module| it.modules[&module].graph_budget_bytes.map(tenths);
        let own = it("te=2,unet=3.5");
        assert_eq!((budget(&own, Module::Llm), budget(&own, Module::Diffusion)), (Some(20), Some(35)));
        // The ControlNet computes too.
        assert_eq!(in_phases(&own, "CUDA0")[2], [17, 25, 15, 5]);
        let one = it("te=2");
        assert_eq!((budget(&one, Module::Llm), budget(&one, Module::Diffusion)), (Some(20), None), "the other is whole");
        assert_eq!(budget(&it("6,te=2"), Module::Diffusion), Some(33), "the device's budget holds for the other");
        assert_eq!(budget(&it("6,te=5"), Module::Llm), Some(38), "and for what has a larger one of its own");
        let least = it("te=0.001");
        assert_eq!(budget(&least, Module::Llm), Some(16), "no less than the largest piece");
        // Twelve GiB and three tenths, which no budget of hundredths says.
        let card = capacity("CUDA0", DeviceKind::Gpu, 123);
        let free = card.free_bytes();
        let it = predicted("te=cpu", "te=2", &image_model(), &[capacity("CPU", DeviceKind::Cpu, 320), card]);
        assert_eq!(it.device("CUDA0").unwrap().limit_bytes, free, "all that is free is left to the others");
    }

    #[test]
    fn packed_weights_take_what_the_processor_has_left_while_it_denoises() {
        let packed = |tenths_of_gib: u64, (params, kind): (&str, DeviceKind)| {
            let mut needs = image_model();
            needs.modules.get_mut(&Module::Diffusion).unwrap().packed_bytes = 7 * GIB;
            let capacities = [capacity("CPU", DeviceKind::Cpu, tenths_of_gib), capacity("GPU", kind, 240)];
            let backend = if params == "all=gpu" { "all=gpu" } else { "all=cpu" };
            let placement = PlacementText { backend: backend.into(), params_backend: params.into(), ..PlacementText::default() };
            let devices: Vec<Device> = capacities.iter().map(|capacity| capacity.device.clone()).collect();
            let it = Prediction::of(&Placement::parse(&placement, &devices).unwrap(), &needs, &capacities).unwrap();
            let steps = it.device("CPU").unwrap().in_phase(Phase::Denoise);
            (tenths(it.modules[&Module::Diffusion].packed_bytes), tenths(steps.compute_bytes), tenths(it.missing_bytes))
        };
        let in_ram = ("", DeviceKind::Gpu);
        // 15.7 of weights and 1.5 of compute buffers, of what the reserve leaves.
        assert_eq!(packed(320, in_ram), (70, 85, 0));
        assert_eq!(packed(250, in_ram), (53, 68, 0));
        assert_eq!(packed(180, in_ram), (0, 15, 62), "what has no room takes nothing");
        assert_eq!(packed(320, ("all=disk", DeviceKind::Gpu)).0, 0, "they are read for each step");
        assert_eq!(packed(320, ("all=gpu", DeviceKind::Gpu)).0, 0, "the processor computes nothing");
    }

    #[test]
    fn loras_lie_beside_what_runs() {
        let mut needs = image_model();
        needs.modules.get_mut(&Module::Diffusion).unwrap().lora_bytes = GIB;
        assert_eq!(in_phases(&predicted("", "", &needs, &capacities()), "CUDA0")[2], [157, 10, 15, 5]);
    }

    #[test]
    fn what_an_integrated_gpu_takes_is_missing_in_ram() {
        let capacities = [capacity("CPU", DeviceKind::Cpu, 160), capacity("Vulkan0", DeviceKind::IntegratedGpu, 160)];
        let it = predicted("te=cpu", "", &image_model(), &capacities);
        let ram = it.device("CPU").unwrap();
        // 7.7 resident, 8.0 staged, 0.2 compute, 0.5 slack; and the text encoder's 8.0 in RAM
        // itself.
        assert_eq!(tenths(ram.in_phase(Phase::Encode).shared_bytes), 164);
        assert_eq!(tenths(ram.in_phase(Phase::Encode).total_bytes()), 244);
        assert_eq!(tenths(ram.limit_bytes), 140);
        assert_eq!(tenths(it.missing_bytes), 104);
    }

    #[test]
    fn other_programs_keep_two_gib_or_a_tenth_of_ram() {
        let limit = |tenths_of_gib| tenths(capacity("CPU", DeviceKind::Cpu, tenths_of_gib).limit_bytes(&Budgets::default()));
        assert_eq!((limit(10), limit(80), limit(640)), (0, 60, 576));
        let graphics = capacity("CUDA0", DeviceKind::Gpu, 60);
        let budget = |gib| tenths(graphics.limit_bytes(&Budgets::new(gib, BTreeMap::new())));
        assert_eq!((budget(0.0), budget(2.0), budget(99.0), budget(-1.0), budget(-99.0)), (60, 20, 60, 50, 0));
    }

    #[test]
    fn a_device_that_is_gone_is_named() {
        let placement = Placement::all_on("CUDA7");
        let error = Prediction::of(&placement, &image_model(), &capacities()).unwrap_err().to_string();
        assert!(error.contains("CUDA7") && error.contains("CPU, CUDA0"), "{error}");
    }

    #[test]
    fn absurd_numbers_are_too_much_and_nothing_worse() {
        let mut needs = image_model();
        for module in needs.modules.values_mut() {
            module.weight_bytes = u64::MAX;
            module.lora_bytes = u64::MAX;
            module.compute_bytes.values_mut().for_each(|bytes| *bytes = u64::MAX);
        }
        for params in ["", "cpu", "disk"] {
            assert!(!predicted(params, "6", &needs, &capacities()).fits());
        }
    }
}
