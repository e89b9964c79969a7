//! The ledger behind predictions and plans: memory of each device in each phase, as modules are
//! added one by one.
//!
//! Invariants: adding a module never lowers what a device holds, and never what is missing (the
//! planner's search relies on it); the memory of a card that two devices share is counted once.

use super::budgets::Budgets;
use super::capacity::DeviceCapacity;
use super::needs::ModuleNeeds;
use super::phase::Phase;
use super::usage::{DevicePrediction, MemoryUse};
use crate::format::GIB;

/// Devices of a module by their indices in the list of capacities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Device that it runs on.
    pub(super) run: usize,
    /// Device that holds its weights; `None`: the disk.
    pub(super) location: Option<usize>,
    /// Most bytes of its graph where the graph is cut; `None`: one piece.
    pub(super) cut_bytes: Option<u64>,
}

impl Slot {
    /// True where its weights are copied to the device that it runs on.
    pub(super) fn is_staged(&self) -> bool {
        self.location != Some(self.run)
    }

    /// Memory on the device that it runs on, in a phase.
    pub(super) fn in_phase(&self, needs: &ModuleNeeds, phase: Phase) -> MemoryUse {
        let Some(compute) = needs.compute_bytes.get(&phase).copied() else { return MemoryUse::default() };
        let whole = needs.whole_bytes(self.is_staged(), compute);
        let bytes = self.cut_bytes.map_or(whole, |cut| cut.min(whole));
        let compute_bytes = compute.min(bytes);
        MemoryUse { staged_bytes: bytes - compute_bytes, compute_bytes, ..MemoryUse::default() }
    }
}

/// Account of one device, in bytes.
#[derive(Clone, Copy, Debug)]
struct DeviceAccount {
    limit: u64,
    /// The limit as a budget can say it, for a device that gets one because a graph is cut.
    limit_of_cut: u64,
    overhead: u64,
    is_ram: bool,
    shares_ram: bool,
    /// Index of the first device of the same card: its own, unless another backend of the card
    /// comes before it.
    gpu: usize,
    is_used: bool,
    resident: u64,
    /// Staged weights and compute buffers.
    running: [MemoryUse; Phase::ALL.len()],
}

impl DeviceAccount {
    fn in_phase(&self, phase: Phase) -> MemoryUse {
        let overhead_bytes = if self.is_used { self.overhead } else { 0 };
        MemoryUse { resident_bytes: self.resident, overhead_bytes, ..self.running[phase as usize] }
    }

    fn total(&self, phase: Phase) -> u64 {
        self.in_phase(phase).total_bytes()
    }
}

/// Accounts of all devices.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    accounts: Vec<DeviceAccount>,
}

impl Ledger {
    pub(super) fn new(capacities: &[DeviceCapacity], budgets: &Budgets) -> Self {
        let accounts = capacities.iter().enumerate().map(|(own, capacity)| {
            let limit = capacity.limit_bytes(budgets);
            let has_budget = budgets.bytes(&capacity.device) == Some(limit);
            DeviceAccount {
                limit,
                limit_of_cut: if has_budget { limit } else { budget_bytes(budget_gib(limit)) },
                overhead: capacity.overhead_bytes,
                is_ram: capacity.is_ram(),
                shares_ram: capacity.shares_ram,
                gpu: capacities.iter().position(|it| it.device.shares_gpu(&capacity.device)).unwrap_or(own),
                is_used: false,
                resident: 0,
                running: [MemoryUse::default(); Phase::ALL.len()],
            }
        });
        Self { accounts: accounts.collect() }
    }

    /// Adds a module.
    pub(super) fn add(&mut self, needs: &ModuleNeeds, slot: &Slot) {
        if let Some(location) = slot.location.and_then(|location| self.accounts.get_mut(location)) {
            location.is_used = true;
            location.resident = location.resident.saturating_add(needs.weight_bytes);
        }
        let Some(account) = self.accounts.get_mut(slot.run) else { return };
        account.is_used = true;
        for phase in Phase::ALL {
            let (more, now) = (slot.in_phase(needs, phase), &mut account.running[phase as usize]);
            if phase.side_by_side() {
                now.staged_bytes = now.staged_bytes.saturating_add(more.staged_bytes);
                now.compute_bytes = now.compute_bytes.saturating_add(more.compute_bytes);
            } else if more.total_bytes() > now.total_bytes() {
                *now = more;
            }
        }
    }

    /// The device gets the budget that a plan writes where there is none ([`budget_gib`]), within which
    /// graphs are cut.
    pub(super) fn bring_budget(&mut self, device: usize) {
        if let Some(account) = self.accounts.get_mut(device) {
            account.limit = account.limit_of_cut;
        }
    }

    /// Bytes above the limits of all devices together. Memory that two devices share is counted
    /// once.
    pub(super) fn missing_bytes(&self) -> u64 {
        let (mut own, mut shared, mut ram) = (0_u64, 0_u64, 0_u64);
        for (gpu, account) in self.accounts.iter().enumerate().filter(|(n, account)| account.gpu == *n) {
            let backends = self.accounts.iter().filter(|it| it.gpu == gpu);
            let missing = backends.map(|it| self.missing_on(it)).max().unwrap_or(0);
            let sum = match (account.is_ram, account.shares_ram) {
                (true, _) => &mut ram,
                (false, true) => &mut shared,
                (false, false) => &mut own,
            };
            *sum = sum.saturating_add(missing);
        }
        own.saturating_add(shared.max(ram))
    }

    fn missing_on(&self, account: &DeviceAccount) -> u64 {
        let peak = Phase::ALL.into_iter().map(|phase| self.held(account, phase)).max();
        peak.unwrap_or(0).saturating_sub(account.limit)
    }

    /// Most bytes that the graph of a module in this ledger may take, in all phases in which it
    /// runs.
    pub(super) fn graph_limit(&self, needs: &ModuleNeeds, slot: &Slot) -> u64 {
        let Some(account) = self.accounts.get(slot.run) else { return 0 };
        let limits = needs.compute_bytes.keys().map(|phase| {
            // Whatever its graph takes, these hold too.
            let accounts = self.accounts.iter().filter(|it| (it.is_ram && account.shares_ram) || (it.is_used && it.gpu == account.gpu));
            let left = accounts.map(|it| it.limit.saturating_sub(self.held(it, *phase))).min().unwrap_or(account.limit);
            let own = if phase.side_by_side() { slot.in_phase(needs, *phase) } else { account.running[*phase as usize] };
            left.saturating_add(own.total_bytes())
        });
        limits.min().unwrap_or(u64::MAX)
    }

    /// Adds packed copies of a module's weights where they live in the processor's memory and it runs
    /// there, as many as there is room for while it denoises; their bytes.
    pub(super) fn add_packed(&mut self, needs: &ModuleNeeds, slot: &Slot) -> u64 {
        let Some(account) = self.accounts.get(slot.run).filter(|account| account.is_ram && !slot.is_staged()) else { return 0 };
        let room = account.limit.saturating_sub(self.held(account, Phase::Denoise));
        let bytes = needs.packed_bytes.min(room);
        if let Some(account) = self.accounts.get_mut(slot.run) {
            let compute = &mut account.running[Phase::Denoise as usize].compute_bytes;
            *compute = compute.saturating_add(bytes);
        }
        bytes
    }

    /// Predictions for the devices, in the order of the capacities.
    pub(super) fn devices(&self, capacities: &[DeviceCapacity]) -> Vec<DevicePrediction> {
        let device = |(account, capacity): (&DeviceAccount, &DeviceCapacity)| DevicePrediction {
            name: capacity.device.name.clone(),
            limit_bytes: account.limit,
            phases: Phase::ALL.map(|phase| MemoryUse { shared_bytes: self.shared(account, phase), ..account.in_phase(phase) }),
        };
        self.accounts.iter().zip(capacities).map(device).collect()
    }

    /// Use of this device's memory, by others too.
    fn held(&self, account: &DeviceAccount, phase: Phase) -> u64 {
        account.total(phase).saturating_add(self.shared(account, phase))
    }

    /// Use of this device's memory by others: of RAM, by devices that have none of their own; of a
    /// card, by its other backends, once this one is used.
    fn shared(&self, account: &DeviceAccount, phase: Phase) -> u64 {
        let is_other = |it: &&DeviceAccount| it.is_used && !std::ptr::eq(*it, account);
        let shares = |it: &&DeviceAccount| (account.is_ram && it.shares_ram) || (account.is_used && it.gpu == account.gpu);
        self.accounts.iter().filter(is_other).filter(shares).map(|it| it.total(phase)).fold(0, u64::saturating_add)
    }
}

/// The largest budget of full hundredths of a GiB within this many bytes.
pub(super) fn budget_gib(bytes: u64) -> f64 {
    (u128::from(bytes) * 100 / u128::from(GIB)) as f64 / 100.0
}

/// The bytes of a budget, as [`Budgets::bytes`] counts them.
fn budget_bytes(gib: f64) -> u64 {
    (gib * GIB as f64) as u64
}
