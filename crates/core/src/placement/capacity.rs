//! Memory that a device offers to modules.

use super::budgets::Budgets;
use super::error::PlacementError;
use super::needs::ModuleNeeds;
use super::reserve::ram_reserve;
use crate::device::{Device, DeviceKind};

/// Memory of a device on which modules may be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCapacity {
    /// The device. Its free memory counts as if Atelier held nothing there
    /// ([`for_planning`](Self::for_planning)); nothing fits on a device that reports none.
    pub device: Device,
    /// Memory that the device takes for itself as soon as it is used: context, pools, workspaces.
    pub overhead_bytes: u64,
    /// Its memory is RAM (an integrated GPU; Apple's GPUs, which call themselves GPUs), so that its
    /// use reduces what is free there.
    pub shares_ram: bool,
}

impl DeviceCapacity {
    /// The free memory of the device as it is; an integrated GPU shares RAM.
    #[must_use]
    pub fn new(device: Device, overhead_bytes: u64) -> Self {
        let shares_ram = device.kind == DeviceKind::IntegratedGpu;
        Self { device, overhead_bytes, shares_ram }
    }

    /// The device as a planner counts it: every buffer that Atelier holds there counts as free,
    /// since it belongs to the model that is used or can be evicted before it. Never more than the
    /// device has.
    #[must_use]
    pub fn for_planning(device: &Device, overhead_bytes: u64) -> Self {
        let free = device.memory_free_bytes.saturating_add(device.memory_allocated_bytes).min(device.memory_total_bytes);
        Self::new(Device { memory_free_bytes: free, ..device.clone() }, overhead_bytes)
    }

    /// True for the processor, whose memory is RAM.
    #[must_use]
    pub fn is_ram(&self) -> bool {
        self.device.kind == DeviceKind::Cpu
    }

    /// Most bytes that may be used: free memory, in RAM less its reserve ([`ram_reserve`]), and at
    /// most the budget.
    #[must_use]
    pub fn limit_bytes(&self, budgets: &Budgets) -> u64 {
        self.free_bytes().min(budgets.bytes(&self.device).unwrap_or(u64::MAX))
    }

    pub(super) fn free_bytes(&self) -> u64 {
        let Device { memory_total_bytes: total, memory_free_bytes: free, .. } = self.device;
        if self.is_ram() { free.saturating_sub(ram_reserve(total)) } else { free }
    }
}

/// True where the engine can cut the module's graph: it has a cut form, its weights live in RAM,
/// and it runs elsewhere.
pub(super) fn can_be_cut(needs: &ModuleNeeds, capacities: &[DeviceCapacity], run: usize, location: Option<usize>) -> bool {
    let is_ram = |capacity: usize| capacities.get(capacity).is_some_and(DeviceCapacity::is_ram);
    needs.least_bytes.is_some() && location.is_some_and(is_ram) && !is_ram(run)
}

/// The index of the device with this name.
pub(super) fn find(name: &str, capacities: &[DeviceCapacity]) -> Result<usize, PlacementError> {
    capacities.iter().position(|capacity| capacity.device.name == name).ok_or_else(|| PlacementError::UnknownDevice {
        name: name.to_owned(),
        known: capacities.iter().map(|capacity| capacity.device.name.as_str()).collect::<Vec<_>>().join(", "),
        closest: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::device;
    use super::*;
    use crate::format::GIB;

    #[test]
    fn every_buffer_of_atelier_counts_as_free_for_planning() {
        let mut gpu = device("CUDA0", DeviceKind::Gpu, 12, 3);
        // 6 GiB of weights and 2 GiB of compute buffers: not the weights alone.
        gpu.memory_allocated_bytes = 8 * GIB;
        let capacity = DeviceCapacity::for_planning(&gpu, GIB / 2);
        assert_eq!((capacity.device.memory_free_bytes, capacity.overhead_bytes), (11 * GIB, GIB / 2));
        gpu.memory_allocated_bytes = 20 * GIB;
        assert_eq!(DeviceCapacity::for_planning(&gpu, 0).device.memory_free_bytes, 12 * GIB, "no more than there is");
    }
}
