//! Placement: the devices on which modules run and weights live, and the memory that this takes.
//! Pure: no files, no engine, no interface.
//!
//! A text (`text`, `budgets`, `names`) becomes a [`Placement`] (`value`) on a machine's devices and
//! back. With the memory needs of the modules ([`Needs`]) it becomes a [`Prediction`]; the planner
//! ([`plan()`]) finds the placement whose prediction fits. Where nobody has named devices,
//! [`ranked`] compares whole pictures in seconds, and [`automatic()`] takes the quickest.

mod budgets;
mod error;
mod names;
mod notes;
mod streaming;
mod text;
mod value;

mod capacity;
mod ledger;
mod needs;
mod phase;
mod predict;
mod reserve;
mod usage;

mod automatic;
mod change;
mod fit;
mod fixes;
mod plan;
mod plan_time;
mod planner;
mod ranking;
mod request;
mod search;
mod streaming_budget;

pub use automatic::{AutomaticPlacement, automatic};
pub(crate) use budgets::one_budget;
pub use budgets::{Budgets, budget_on};
pub use capacity::DeviceCapacity;
pub use change::{Alternative, Change};
pub use error::PlacementError;
pub use names::resolve_device;
pub use needs::{ModuleNeeds, Needs};
pub use notes::notes;
pub use phase::{Phase, PhaseKind};
pub use plan::{Fix, Plan, PlanError, Score, Shortage, Shortfall};
pub use plan_time::PlanTime;
pub use planner::plan;
pub use predict::{ModulePrediction, Prediction};
pub use ranking::{RankedPlacement, ranked};
pub use request::{Pin, Pins, PlanRequest, pins};
pub use reserve::{Reserve, ram_reserve};
pub use streaming_budget::{BudgetOffer, streaming_budgets};
pub use text::{BackendSpec, ModuleDevices, OldFlags, is_device_flag, one_device, parse_backend, parse_params_backend};
pub use usage::{DevicePrediction, MemoryUse};
pub use value::{Assignment, Placement, WeightLocation, check_devices, check_shape};

pub use crate::module::Module;
pub use crate::module_names::modules_named;
pub use crate::module_set::ModuleSet;

#[cfg(test)]
mod testing {
    use super::{DeviceCapacity, ModuleNeeds, Phase};
    use crate::device::{Device, DeviceKind};
    use crate::format::GIB;

    /// A device with memory in tenths of a GiB, all of it free, and with half a GiB of overhead
    /// unless it is a CPU.
    pub(super) fn capacity(name: &str, kind: DeviceKind, tenths: u64) -> DeviceCapacity {
        let overhead_bytes = if kind == DeviceKind::Cpu { 0 } else { GIB / 2 };
        let mut device = device(name, kind, 0, 0);
        (device.memory_total_bytes, device.memory_free_bytes) = (tenths * GIB / 10, tenths * GIB / 10);
        DeviceCapacity::new(device, overhead_bytes)
    }

    /// Needs of a module, in tenths of a GiB; the least is a fifth of its weights.
    pub(super) fn needs(weights: u64, compute: &[(Phase, u64)], can_be_cut: bool) -> ModuleNeeds {
        let tenths = |tenths: u64| tenths * GIB / 10;
        ModuleNeeds {
            weight_bytes: tenths(weights),
            lora_bytes: 0,
            compute_bytes: compute.iter().map(|(phase, bytes)| (*phase, tenths(*bytes))).collect(),
            least_bytes: can_be_cut.then(|| tenths(weights) / 5),
            packed_bytes: 0,
        }
    }

    /// A device with memory in GiB.
    pub(super) fn device(name: &str, kind: DeviceKind, total_gib: u64, free_gib: u64) -> Device {
        let description = format!("Some {}", kind.label());
        Device {
            name: name.into(),
            description,
            kind,
            gpu: None,
            memory_total_bytes: total_gib * GIB,
            memory_free_bytes: free_gib * GIB,
            memory_allocated_bytes: 0,
        }
    }

    pub(super) fn workstation() -> Vec<Device> {
        vec![
            device("CPU", DeviceKind::Cpu, 64, 48),
            device("Vulkan0", DeviceKind::IntegratedGpu, 32, 30),
            device("CUDA0", DeviceKind::Gpu, 24, 22),
            device("CUDA1", DeviceKind::Gpu, 12, 11),
        ]
    }
}
