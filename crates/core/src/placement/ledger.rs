//! The books behind predictions and plans: what each device holds in each phase, as modules are added one by one.
//!
//! Invariants: adding a module never lowers what a device holds, and never what is missing (the planner's search relies on it); the memory
//! of a card that two devices share is counted once.

use super::Budgets;
use super::phase::Phase;
use super::predict::{DevicePrediction, ModuleNeeds, Room, Use};
use crate::format::GIB;

/// Where a module runs and lives, by the numbers of rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// Where it runs.
    pub(super) run: usize,
    /// Where its weights live; `None` is the disk.
    pub(super) home: Option<usize>,
    /// The most that its graph takes where it is cut; `None`: it is in one piece.
    pub(super) cut_bytes: Option<u64>,
}

impl Load {
    /// Whether its weights are copied to where it runs.
    pub(super) fn is_staged(&self) -> bool {
        self.home != Some(self.run)
    }

    /// What it holds where it runs while it runs.
    pub(super) fn in_phase(&self, needs: &ModuleNeeds, phase: Phase) -> Use {
        let Some(compute) = needs.compute_bytes.get(&phase).copied() else { return Use::default() };
        let whole = needs.whole_bytes(self.is_staged(), compute);
        let bytes = self.cut_bytes.map_or(whole, |cut| cut.min(whole));
        let compute_bytes = compute.min(bytes);
        Use { staged_bytes: bytes - compute_bytes, compute_bytes, ..Use::default() }
    }
}

/// A device's page.
#[derive(Clone, Copy, Debug)]
struct Page {
    limit: u64,
    /// The limit as a budget can say it, for a device that gets one because a graph is cut.
    limit_of_cut: u64,
    slack: u64,
    is_ram: bool,
    shares_ram: bool,
    /// The first room of the same card: its own number, unless another backend of the card comes before it.
    card: usize,
    is_used: bool,
    resident: u64,
    /// Staged weights and compute buffers.
    running: [Use; Phase::ALL.len()],
}

impl Page {
    fn in_phase(&self, phase: Phase) -> Use {
        let slack_bytes = if self.is_used { self.slack } else { 0 };
        Use { resident_bytes: self.resident, slack_bytes, ..self.running[phase as usize] }
    }

    fn total(&self, phase: Phase) -> u64 {
        self.in_phase(phase).total_bytes()
    }
}

/// What all devices hold.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pages: Vec<Page>,
}

impl Ledger {
    /// Empty books.
    pub(super) fn new(rooms: &[Room], budgets: &Budgets) -> Self {
        let pages = rooms.iter().enumerate().map(|(own, room)| {
            let limit = room.limit_bytes(budgets);
            let has_budget = budgets.bytes(&room.device) == Some(limit);
            Page {
                limit,
                limit_of_cut: if has_budget { limit } else { budget_bytes(budget_gib(limit)) },
                slack: room.slack_bytes,
                is_ram: room.is_ram(),
                shares_ram: room.shares_ram,
                card: rooms.iter().position(|it| it.device.shares_card(&room.device)).unwrap_or(own),
                is_used: false,
                resident: 0,
                running: [Use::default(); Phase::ALL.len()],
            }
        });
        Self { pages: pages.collect() }
    }

    /// Adds a module. Without a budget on its device, a cut graph brings one ([`budget_gib`]).
    pub(super) fn add(&mut self, needs: &ModuleNeeds, load: &Load) {
        if let Some(home) = load.home.and_then(|home| self.pages.get_mut(home)) {
            home.is_used = true;
            home.resident = home.resident.saturating_add(needs.weight_bytes);
        }
        let Some(page) = self.pages.get_mut(load.run) else { return };
        page.is_used = true;
        if load.cut_bytes.is_some() {
            page.limit = page.limit_of_cut;
        }
        for phase in Phase::ALL {
            let (more, now) = (load.in_phase(needs, phase), &mut page.running[phase as usize]);
            if phase.side_by_side() {
                now.staged_bytes = now.staged_bytes.saturating_add(more.staged_bytes);
                now.compute_bytes = now.compute_bytes.saturating_add(more.compute_bytes);
            } else if more.total_bytes() > now.total_bytes() {
                *now = more;
            }
        }
    }

    /// By how many bytes the devices are over their limits, all together. Memory that two devices share is counted once.
    pub(super) fn missing_bytes(&self) -> u64 {
        let (mut own, mut shared, mut ram) = (0_u64, 0_u64, 0_u64);
        for (card, page) in self.pages.iter().enumerate().filter(|(n, page)| page.card == *n) {
            let backends = self.pages.iter().filter(|it| it.card == card);
            let missing = backends.map(|it| self.missing_on(it)).max().unwrap_or(0);
            let sum = match (page.is_ram, page.shares_ram) {
                (true, _) => &mut ram,
                (false, true) => &mut shared,
                (false, false) => &mut own,
            };
            *sum = sum.saturating_add(missing);
        }
        own.saturating_add(shared.max(ram))
    }

    fn missing_on(&self, page: &Page) -> u64 {
        let peak = Phase::ALL.into_iter().map(|phase| self.held(page, phase)).max();
        peak.unwrap_or(0).saturating_sub(page.limit)
    }

    /// The most that the graph of a module in these books may take, in all phases in which it runs.
    pub(super) fn graph_limit(&self, needs: &ModuleNeeds, load: &Load) -> u64 {
        let Some(page) = self.pages.get(load.run) else { return 0 };
        let limits = needs.compute_bytes.keys().map(|phase| {
            // Whatever its graph takes, these hold too.
            let pages = self.pages.iter().filter(|it| (it.is_ram && page.shares_ram) || (it.is_used && it.card == page.card));
            let left = pages.map(|it| it.limit.saturating_sub(self.held(it, *phase))).min().unwrap_or(page.limit);
            let own = if phase.side_by_side() { load.in_phase(needs, *phase) } else { page.running[*phase as usize] };
            left.saturating_add(own.total_bytes())
        });
        limits.min().unwrap_or(u64::MAX)
    }

    /// What each device holds, in the order of the rooms.
    pub(super) fn devices(&self, rooms: &[Room]) -> Vec<DevicePrediction> {
        let device = |(page, room): (&Page, &Room)| DevicePrediction {
            name: room.device.name.clone(),
            limit_bytes: page.limit,
            phases: Phase::ALL.map(|phase| Use { shared_bytes: self.shared(page, phase), ..page.in_phase(phase) }),
        };
        self.pages.iter().zip(rooms).map(device).collect()
    }

    /// What is taken of this device's memory, by others too.
    fn held(&self, page: &Page, phase: Phase) -> u64 {
        page.total(phase).saturating_add(self.shared(page, phase))
    }

    /// What others take of this device's memory: of RAM, devices that have none of their own; of a card, its other backends, once this one
    /// is used.
    fn shared(&self, page: &Page, phase: Phase) -> u64 {
        let is_other = |it: &&Page| it.is_used && !std::ptr::eq(*it, page);
        let shares = |it: &&Page| (page.is_ram && it.shares_ram) || (page.is_used && it.card == page.card);
        self.pages.iter().filter(is_other).filter(shares).map(|it| it.total(phase)).fold(0, u64::saturating_add)
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
