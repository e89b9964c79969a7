//! The search behind the planner: every seat that a module could have, what it costs, and the cheapest seats that fit together.
//!
//! Invariants: what a seat costs does not depend on how much memory there is, so more memory only ever adds to what can be chosen; the
//! same question has the same answer.

use super::ledger::{Ledger, Load};
use super::plan::{Pins, Question};
use super::predict::{ModuleNeeds, Room, can_be_cut, find};
use super::{Home, Module, PlacementError};
use crate::device::DeviceKind;

/// Modules from the one whose weights are worth most on the device to the one whose are worth least.
pub(super) const BY_WORTH: [Module; Module::ALL.len()] =
    [Module::Diffusion, Module::Te, Module::Vae, Module::Controlnet, Module::ClipVision, Module::Photomaker, Module::Upscaler];

/// How much worse a seat is than to run and live on the best device. The numbers are an order and no seconds. For each module: device,
/// RAM, another device, RAM in pieces, disk, the processor. Between modules: what is worth more keeps the device even if everything that
/// is worth less must go to disk for it; but a slow processor in its place is worse than copying (a VAE runs for every picture, a text
/// encoder once for a prompt).
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
        Module::Te => Cost { ram: 100, other_device: 150, pieces: 200, disk: 300, processor: 800 },
        Module::Vae => Cost { ram: 20, other_device: 30, pieces: 40, disk: 60, processor: 5000 },
        Module::Controlnet | Module::ClipVision | Module::Photomaker | Module::Upscaler => {
            Cost { ram: 1, other_device: 2, pieces: 3, disk: 4, processor: 1500 }
        }
    }
}

/// A seat that a module could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) load: Load,
    pub(super) cost: u32,
}

/// A module and the seats it could have, the cheapest first.
pub(super) struct Seeker<'a> {
    pub(super) module: Module,
    pub(super) needs: &'a ModuleNeeds,
    pub(super) choices: Vec<Choice>,
}

/// The modules in use, by worth.
pub(super) fn seekers<'a>(question: &Question<'a>) -> Result<Vec<Seeker<'a>>, PlacementError> {
    let best = best_room(question.rooms, question.pins)?;
    let in_use = BY_WORTH.into_iter().filter_map(|module| Some((module, question.needs.modules.get(&module)?)));
    let seekers = in_use.map(|(module, needs)| {
        let choices = choices(module, needs, question.pins, question.rooms, best)?;
        Ok(Seeker { module, needs, choices })
    });
    seekers.collect()
}

/// The device that the engine would choose by itself: GPU, then integrated GPU, then CPU; of a card, the backend that is to be used.
pub(super) fn best_room(rooms: &[Room], pins: &Pins) -> Result<usize, PlacementError> {
    let kinds = [DeviceKind::Gpu, DeviceKind::IntegratedGpu, DeviceKind::Cpu];
    let mut by_kind = kinds.into_iter().filter_map(|kind| {
        let is_first = |(n, room): (usize, &Room)| room.device.kind == kind && !stands_aside(n, rooms, pins);
        rooms.iter().enumerate().position(is_first)
    });
    by_kind.next().map_or_else(|| find("CPU", rooms), Ok)
}

/// Whether another backend of the same card is used instead of this one: one that a pin names, else the preferred one.
fn stands_aside(room: usize, rooms: &[Room], pins: &Pins) -> bool {
    let Some(own) = rooms.get(room) else { return true };
    let rank = |n: usize, it: &Room| {
        let is_named = pins.values().any(|pin| pin.names(&it.device.name));
        (!is_named, it.device.backend_rank(), n)
    };
    let mut others = rooms.iter().enumerate().filter(|(_, it)| it.device.shares_card(&own.device));
    others.any(|(n, it)| rank(n, it) < rank(room, own))
}

fn choices(module: Module, needs: &ModuleNeeds, pins: &Pins, rooms: &[Room], best: usize) -> Result<Vec<Choice>, PlacementError> {
    let pin = pins.get(&module);
    let pinned_run = pin.and_then(|pin| pin.runs_on.as_ref()).map(|name| find(name, rooms)).transpose()?;
    let pinned_home = match pin.and_then(|pin| pin.weights.as_ref()) {
        None => None,
        Some(Home::Disk) => Some(None),
        Some(Home::Device(name)) => Some(Some(find(name, rooms)?)),
    };
    let ram = rooms.iter().position(Room::is_ram);
    let cost = cost(module);
    let mut choices = Vec::new();
    for (run, room) in rooms.iter().enumerate() {
        // Other kinds are used only where they are named.
        let usable =
            matches!(room.device.kind, DeviceKind::Cpu | DeviceKind::Gpu | DeviceKind::IntegratedGpu) && !stands_aside(run, rooms, pins);
        if pinned_run.map_or(!usable, |pinned| pinned != run) {
            continue;
        }
        let run_cost = if run == best {
            0
        } else if room.is_ram() {
            cost.processor
        } else if room.shares_ram {
            2 * cost.other_device
        } else {
            cost.other_device
        };
        let mut homes = match pinned_home {
            Some(home) => vec![home],
            None => vec![Some(run), None],
        };
        homes.extend(ram.filter(|ram| *ram != run && pinned_home.is_none()).map(Some));
        for home in homes {
            let home_cost = match home {
                Some(home) if home == run => 0,
                Some(_) => cost.ram,
                None => cost.disk,
            };
            let load = Load { run, home, cut_bytes: None };
            choices.push(Choice { load, cost: run_cost + home_cost });
            // A graph of nothing would need a budget of nothing, which is none.
            let cut_bytes = needs.cut_bytes().filter(|bytes| *bytes > 0);
            if cut_bytes.is_some() && can_be_cut(needs, rooms, run, home) {
                choices.push(Choice { load: Load { cut_bytes, ..load }, cost: run_cost + cost.pieces });
            }
        }
    }
    choices.sort_by_key(|choice| choice.cost);
    Ok(choices)
}

/// The cheapest seats that fit together, one for each seeker; among equally cheap ones the first. `None`: nothing fits.
pub(super) fn cheapest(seekers: &[Seeker<'_>], empty: &Ledger) -> Option<Vec<Choice>> {
    let mut search = Search { seekers, best: None, taken: Vec::new(), visits: 0 };
    search.fitting(empty, 0);
    search.best.map(|(_, seats)| seats)
}

/// The seats by which the least is missing, and of these the cheapest, as far as a bounded search sees.
pub(super) fn nearest(seekers: &[Seeker<'_>], empty: &Ledger) -> Option<Vec<Choice>> {
    // No seats together miss less than one module misses alone.
    let alone = seekers.iter().filter_map(|it| it.choices.iter().map(|choice| with(empty, it, choice).missing_bytes()).min());
    let floor = alone.max().unwrap_or(0);
    let mut search = Search { seekers, best: None, taken: Vec::new(), visits: 0 };
    search.missing(empty, 0, floor);
    search.best.map(|(_, seats)| seats)
}

/// The books with one more module.
pub(super) fn with(ledger: &Ledger, seeker: &Seeker<'_>, choice: &Choice) -> Ledger {
    let mut ledger = ledger.clone();
    ledger.add(seeker.needs, &choice.load);
    ledger
}

/// More seats than any bounded search looks at.
const MOST_VISITS: usize = 5_000;

struct Search<'a> {
    seekers: &'a [Seeker<'a>],
    /// What is missing and what it costs, and the seats.
    best: Option<((u64, u32), Vec<Choice>)>,
    taken: Vec<Choice>,
    visits: usize,
}

impl Search<'_> {
    fn keep_if_better(&mut self, score: (u64, u32)) {
        if self.best.as_ref().is_none_or(|(best, _)| score < *best) {
            self.best = Some((score, self.taken.clone()));
        }
    }

    fn fitting(&mut self, ledger: &Ledger, cost: u32) {
        self.visits += 1;
        let Some((seeker, later)) = self.seekers.get(self.taken.len()..).and_then(<[_]>::split_first) else {
            return self.keep_if_better((0, cost));
        };
        for choice in &seeker.choices {
            let next = with(ledger, seeker, choice);
            if next.missing_bytes() > 0 {
                continue;
            }
            // What is still to come costs at least its cheapest seat that fits beside what is there.
            let cheapest = |seeker: &Seeker<'_>| {
                let fits = |choice: &&Choice| with(&next, seeker, choice).missing_bytes() == 0;
                seeker.choices.iter().find(fits).map(|choice| choice.cost)
            };
            let Some(to_come) = later.iter().map(cheapest).sum::<Option<u32>>() else { continue };
            if self.best.as_ref().is_some_and(|((_, best), _)| cost + choice.cost + to_come >= *best) {
                continue;
            }
            self.taken.push(*choice);
            self.fitting(&next, cost + choice.cost);
            self.taken.pop();
        }
    }

    fn missing(&mut self, ledger: &Ledger, cost: u32, floor: u64) {
        self.visits += 1;
        let Some(seeker) = self.seekers.get(self.taken.len()) else {
            return self.keep_if_better((ledger.missing_bytes(), cost));
        };
        let mut nexts: Vec<(u64, &Choice, Ledger)> = seeker
            .choices
            .iter()
            .map(|choice| {
                let next = with(ledger, seeker, choice);
                (next.missing_bytes(), choice, next)
            })
            .collect();
        nexts.sort_by_key(|(missing, choice, _)| (*missing, choice.cost));
        for (missing, choice, next) in nexts {
            let least = (missing.max(floor), cost + choice.cost);
            if self.best.as_ref().is_some_and(|(best, _)| least >= *best) || self.visits > MOST_VISITS {
                continue;
            }
            self.taken.push(*choice);
            self.missing(&next, cost + choice.cost, floor);
            self.taken.pop();
        }
    }
}

#[cfg(test)]
pub(super) fn visits(seekers: &[Seeker<'_>], empty: &Ledger) -> usize {
    let mut search = Search { seekers, best: None, taken: Vec::new(), visits: 0 };
    search.fitting(empty, 0);
    search.visits
}
