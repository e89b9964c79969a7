//! The search behind the planner: candidate slots of each module with their costs, and the cheapest
//! candidates that fit together.
//!
//! Invariants: the cost of a candidate does not depend on the amount of memory, so more memory only
//! ever adds to the choice, and a faster device only ever makes candidates cheaper; the same
//! request has the same result.

use super::capacity::{DeviceCapacity, can_be_cut, find};
use super::error::PlacementError;
use super::ledger::{Ledger, Slot};
use super::needs::ModuleNeeds;
use super::plan_time::{PlanTime, WeightSource};
use super::request::{Pins, PlanRequest};
use super::value::WeightLocation;
use crate::device::DeviceKind;
use crate::module::Module;

/// Modules by the worth of having their weights on the device, the highest first.
pub(super) const PRIORITY: [Module; Module::ALL.len()] = [
    Module::Diffusion,
    Module::Llm,
    Module::T5,
    Module::ClipG,
    Module::ClipL,
    Module::Vae,
    Module::Controlnet,
    Module::ClipVision,
    Module::Photomaker,
    Module::Upscaler,
];

/// Cost of a candidate above running with weights on the best device, among those that take the
/// same time or whose time is not known. The numbers are an order and no seconds. For each module:
/// device, RAM, another device, RAM in pieces, disk, the processor. Between modules: one of higher
/// priority keeps the device even if all of lower priority must go to disk for it, the text encoders
/// of a model together counting as one; but a slow processor in its place is worse than copying (a
/// VAE runs for every picture, a text encoder once for a prompt).
struct Cost {
    ram: u32,
    other_device: u32,
    pieces: u32,
    disk: u32,
    processor: u32,
}

const fn cost(module: Module) -> Cost {
    match module {
        Module::Diffusion => Cost { ram: 400, other_device: 600, pieces: 1200, disk: 2000, processor: 40_000 },
        Module::Llm => Cost { ram: 100, other_device: 150, pieces: 200, disk: 300, processor: 800 },
        // Together as much as a language model.
        Module::T5 => Cost { ram: 50, other_device: 75, pieces: 100, disk: 150, processor: 500 },
        Module::ClipG => Cost { ram: 30, other_device: 45, pieces: 60, disk: 90, processor: 200 },
        Module::ClipL => Cost { ram: 20, other_device: 30, pieces: 40, disk: 60, processor: 100 },
        Module::Vae => Cost { ram: 20, other_device: 30, pieces: 40, disk: 60, processor: 5000 },
        Module::Controlnet | Module::ClipVision | Module::Photomaker | Module::Upscaler => {
            Cost { ram: 1, other_device: 2, pieces: 3, disk: 4, processor: 1500 }
        }
    }
}

/// A slot that a module could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) slot: Slot,
    /// Its graph is cut within a budget of the device, which a plan writes where there is none.
    pub(super) brings_budget: bool,
    /// [`TIME_UNIT`] for each unit of time, and its order among equally quick ones.
    pub(super) cost: u64,
}

/// Cost of a unit of time: more than the order of all modules together.
const TIME_UNIT: u64 = 1 << 17;
/// Units of time in a second: less is not worth another device.
const UNITS_PER_SEC: f64 = 100.0;

impl Candidate {
    /// Seconds of the module, to a unit; 0 where times are not known.
    pub(super) fn secs(&self) -> f64 {
        (self.cost / TIME_UNIT) as f64 / UNITS_PER_SEC
    }
}

/// Candidates of a module, the cheapest first.
pub(super) struct Candidates<'a> {
    pub(super) module: Module,
    pub(super) needs: &'a ModuleNeeds,
    pub(super) by_cost: Vec<Candidate>,
}

/// Candidates of the modules in use, by priority.
pub(super) fn candidates<'a>(request: &PlanRequest<'a>) -> Result<Vec<Candidates<'a>>, PlacementError> {
    let best = best_device(request.capacities, request.pins)?;
    let in_use = PRIORITY.into_iter().filter_map(|module| Some((module, request.needs.modules.get(&module)?)));
    let candidates = in_use.map(|(module, needs)| {
        let candidates = candidates_of(module, needs, request, best)?;
        Ok(Candidates { module, needs, by_cost: candidates })
    });
    let mut candidates = candidates.collect::<Result<Vec<_>, PlacementError>>()?;
    if let Some(costs) = request.time.and_then(|time| costs_by_time(&time, &candidates, request.capacities)) {
        for (candidate, cost) in candidates.iter_mut().flat_map(|it| &mut it.by_cost).zip(costs) {
            candidate.cost += cost;
        }
    }
    for set in &mut candidates {
        set.by_cost.sort_by_key(|candidate| candidate.cost);
    }
    Ok(candidates)
}

/// Costs of the time of all candidates; `None` where a device was not measured.
fn costs_by_time(time: &PlanTime<'_>, candidates: &[Candidates<'_>], capacities: &[DeviceCapacity]) -> Option<Vec<u64>> {
    let all = candidates.iter().flat_map(|set| set.by_cost.iter().map(move |candidate| (set, candidate.slot)));
    let cost = |(set, slot): (&Candidates<'_>, Slot)| {
        let source = match slot.location {
            _ if slot.cut_bytes.is_some() => WeightSource::Pieces,
            None => WeightSource::Disk,
            Some(location) if location == slot.run => WeightSource::Resident,
            Some(_) => WeightSource::Staged,
        };
        let secs = time.secs(set.module, set.needs, &capacities.get(slot.run)?.device.name, source)?;
        Some((secs * UNITS_PER_SEC) as u64 * TIME_UNIT)
    };
    all.map(cost).collect()
}

/// Index of the engine's default device: GPU, then integrated GPU, then CPU; of a card, the backend
/// that is not shadowed.
pub(super) fn best_device(capacities: &[DeviceCapacity], pins: &Pins) -> Result<usize, PlacementError> {
    let kinds = [DeviceKind::Gpu, DeviceKind::IntegratedGpu, DeviceKind::Cpu];
    let mut by_kind = kinds.into_iter().filter_map(|kind| {
        let is_first = |(n, capacity): (usize, &DeviceCapacity)| capacity.device.kind == kind && !is_shadowed(n, capacities, pins);
        capacities.iter().enumerate().position(is_first)
    });
    by_kind.next().map_or_else(|| find("CPU", capacities), Ok)
}

/// True where modules may run on a device that no pin names. Devices of other kinds are used only
/// where a pin names them.
pub(super) fn is_usable(capacity: usize, capacities: &[DeviceCapacity], pins: &Pins) -> bool {
    let kind = capacities.get(capacity).map(|capacity| capacity.device.kind);
    matches!(kind, Some(DeviceKind::Cpu | DeviceKind::Gpu | DeviceKind::IntegratedGpu)) && !is_shadowed(capacity, capacities, pins)
}

/// True where another backend of the same card is used instead of this one: one that a pin names,
/// else the preferred one.
fn is_shadowed(capacity: usize, capacities: &[DeviceCapacity], pins: &Pins) -> bool {
    let Some(own) = capacities.get(capacity) else { return true };
    let rank = |n: usize, it: &DeviceCapacity| {
        let is_named = pins.values().any(|pin| pin.names(&it.device.name));
        (!is_named, it.device.backend_rank(), n)
    };
    let mut others = capacities.iter().enumerate().filter(|(_, it)| it.device.shares_gpu(&own.device));
    others.any(|(n, it)| rank(n, it) < rank(capacity, own))
}

fn candidates_of(module: Module, needs: &ModuleNeeds, request: &PlanRequest<'_>, best: usize) -> Result<Vec<Candidate>, PlacementError> {
    let PlanRequest { capacities, pins, budgets, stream_layers, .. } = *request;
    let pin = pins.get(&module);
    let pinned_run = pin.and_then(|pin| pin.runs_on.as_ref()).map(|name| find(name, capacities)).transpose()?;
    let pinned_location = match pin.and_then(|pin| pin.weights.as_ref()) {
        None => None,
        Some(WeightLocation::Disk) => Some(None),
        Some(WeightLocation::Device(name)) => Some(Some(find(name, capacities)?)),
    };
    let ram = capacities.iter().position(DeviceCapacity::is_ram);
    let cost = cost(module);
    // A graph of nothing would need a budget of nothing, which is none.
    let least = needs.cut_bytes().filter(|bytes| *bytes > 0 && stream_layers.cuts(module));
    let whole = needs.compute_bytes.values().map(|compute| needs.whole_bytes(true, *compute)).max().unwrap_or(0);
    let mut candidates = Vec::new();
    for (run, capacity) in capacities.iter().enumerate() {
        if pinned_run.map_or(!is_usable(run, capacities, pins), |pinned| pinned != run) {
            continue;
        }
        let run_cost = if run == best {
            0
        } else if capacity.is_ram() {
            cost.processor
        } else if capacity.shares_ram {
            2 * cost.other_device
        } else {
            cost.other_device
        };
        let mut locations = match pinned_location {
            Some(location) => vec![location],
            None => vec![Some(run), None],
        };
        locations.extend(ram.filter(|ram| *ram != run && pinned_location.is_none()).map(Some));
        let is_cut_at = |location: Option<usize>| least.is_some() && can_be_cut(needs, capacities, run, location);
        // Where its graph can be cut, a module keeps to its own budget.
        let own = budgets.module_bytes(module, &capacity.device).filter(|own| whole > *own && locations.iter().copied().any(is_cut_at));
        for location in locations {
            let location_cost = match location {
                Some(location) if location == run => 0,
                Some(_) => cost.ram,
                None => cost.disk,
            };
            let slot = Slot { run, location, cut_bytes: None };
            if own.is_none() {
                candidates.push(Candidate { slot, brings_budget: false, cost: u64::from(run_cost + location_cost) });
            }
            if let Some(least) = least.filter(|_| is_cut_at(location)) {
                // Its own budget is enough where all of it is left beside the others.
                let cuts = own.map(|own| (own.max(least), false)).into_iter().chain([(least, true)]);
                candidates.extend(cuts.map(|(cut_bytes, brings_budget)| Candidate {
                    slot: Slot { cut_bytes: Some(cut_bytes), ..slot },
                    brings_budget,
                    cost: u64::from(run_cost + cost.pieces),
                }));
            }
        }
    }
    Ok(candidates)
}

/// The cheapest candidates that fit together, one for each module; among equally cheap ones the
/// first. `None`: nothing fits.
pub(super) fn cheapest(candidates: &[Candidates<'_>], empty: &Ledger) -> Option<Vec<Candidate>> {
    let mut search = Search { candidates, best: None, chosen: Vec::new(), visits: 0 };
    search.fitting(empty, 0);
    search.best.map(|(_, chosen)| chosen)
}

/// The candidates with the fewest missing bytes, and of these the cheapest, as far as a bounded
/// search goes.
pub(super) fn nearest(candidates: &[Candidates<'_>], empty: &Ledger) -> Option<Vec<Candidate>> {
    // Together, candidates miss no less than a single module alone.
    let alone = candidates.iter().filter_map(|it| it.by_cost.iter().map(|candidate| with(empty, it, candidate).missing_bytes()).min());
    let floor = alone.max().unwrap_or(0);
    let mut search = Search { candidates, best: None, chosen: Vec::new(), visits: 0 };
    search.missing(empty, 0, floor);
    search.best.map(|(_, chosen)| chosen)
}

/// The ledger with one more module.
pub(super) fn with(ledger: &Ledger, candidate_set: &Candidates<'_>, candidate: &Candidate) -> Ledger {
    let mut ledger = ledger.clone();
    ledger.add(candidate_set.needs, &candidate.slot);
    if candidate.brings_budget {
        ledger.bring_budget(candidate.slot.run);
    }
    ledger
}

/// Most nodes that the bounded search visits.
const MAX_VISITS: usize = 5_000;

struct Search<'a> {
    candidates: &'a [Candidates<'a>],
    /// Missing bytes and cost, with the candidates.
    best: Option<((u64, u64), Vec<Candidate>)>,
    chosen: Vec<Candidate>,
    visits: usize,
}

impl Search<'_> {
    fn keep_if_better(&mut self, score: (u64, u64)) {
        if self.best.as_ref().is_none_or(|(best, _)| score < *best) {
            self.best = Some((score, self.chosen.clone()));
        }
    }

    fn fitting(&mut self, ledger: &Ledger, cost: u64) {
        self.visits += 1;
        let Some((candidate_set, later)) = self.candidates.get(self.chosen.len()..).and_then(<[_]>::split_first) else {
            return self.keep_if_better((0, cost));
        };
        for candidate in &candidate_set.by_cost {
            let next = with(ledger, candidate_set, candidate);
            if next.missing_bytes() > 0 {
                continue;
            }
            // Each later module costs at least its cheapest candidate that fits beside those
            // already chosen.
            let cheapest = |candidate_set: &Candidates<'_>| {
                let fits = |candidate: &&Candidate| with(&next, candidate_set, candidate).missing_bytes() == 0;
                candidate_set.by_cost.iter().find(fits).map(|candidate| candidate.cost)
            };
            let Some(to_come) = later.iter().map(cheapest).sum::<Option<u64>>() else { continue };
            if self.best.as_ref().is_some_and(|((_, best), _)| cost + candidate.cost + to_come >= *best) {
                continue;
            }
            self.chosen.push(*candidate);
            self.fitting(&next, cost + candidate.cost);
            self.chosen.pop();
        }
    }

    fn missing(&mut self, ledger: &Ledger, cost: u64, floor: u64) {
        self.visits += 1;
        let Some(candidate_set) = self.candidates.get(self.chosen.len()) else {
            return self.keep_if_better((ledger.missing_bytes(), cost));
        };
        let mut nexts: Vec<(u64, &Candidate, Ledger)> = candidate_set
            .by_cost
            .iter()
            .map(|candidate| {
                let next = with(ledger, candidate_set, candidate);
                (next.missing_bytes(), candidate, next)
            })
            .collect();
        nexts.sort_by_key(|(missing, candidate, _)| (*missing, candidate.cost));
        for (missing, candidate, next) in nexts {
            let least = (missing.max(floor), cost + candidate.cost);
            if self.best.as_ref().is_some_and(|(best, _)| least >= *best) || self.visits > MAX_VISITS {
                continue;
            }
            self.chosen.push(*candidate);
            self.missing(&next, cost + candidate.cost, floor);
            self.chosen.pop();
        }
    }
}

#[cfg(test)]
pub(super) fn visits(candidates: &[Candidates<'_>], empty: &Ledger) -> usize {
    let mut search = Search { candidates, best: None, chosen: Vec::new(), visits: 0 };
    search.fitting(empty, 0);
    search.visits
}
