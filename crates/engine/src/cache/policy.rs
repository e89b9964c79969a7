//! Eviction: decides which models stay in memory. Pure: no engine, no clock, no devices.
//!
//! A model is a set of parts, some of which it may share with others; a part counts once, and
//! leaves with the last model that holds it. Invariants, each of them a property test: a model in
//! use never goes, nor one that is kept; the least recently used goes first; none goes that would
//! free nothing where room is missing; deciding comes to an end.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::ResidentId;
use atelier_core::placement::Module;

/// A module's weights, and the model that they were read for.
pub(super) type Part = (ResidentId, Module);

/// Bytes by the whole name of a device.
pub(super) type Bytes = BTreeMap<String, u64>;

/// Next step to make room for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Admit,
    /// This model goes; then ask again, with memory measured again.
    Evict(ResidentId),
    /// These are in use and hold what is needed; ask again when one of them is done.
    Wait(Vec<ResidentId>),
    /// Nothing that may go would make room. What was predicted may be wrong, so it is tried.
    Try,
}

/// Memory that a device has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) free_bytes: u64,
    /// Memory that must stay free for other programs.
    pub(super) reserve_bytes: u64,
}

/// Parts, uses and bytes of the models in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Policy {
    entries: BTreeMap<ResidentId, Entry>,
    bytes: BTreeMap<Part, Bytes>,
    clock: u64,
    next: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    parts: BTreeSet<Part>,
    users: u32,
    kept: bool,
    used_at: u64,
}

impl Entry {
    const fn may_go(&self) -> bool {
        self.users == 0 && !self.kept
    }
}

impl Policy {
    /// A number that no model had before.
    pub(super) fn new_id(&mut self) -> ResidentId {
        self.next += 1;
        ResidentId(self.next)
    }

    /// A model is opened, and in use. It holds these parts, its own and others'.
    pub(super) fn open(&mut self, id: ResidentId, parts: BTreeSet<Part>) {
        self.clock += 1;
        let kept = self.entries.get(&id).is_some_and(|entry| entry.kept);
        self.entries.insert(id, Entry { parts, users: 1, kept, used_at: self.clock });
    }

    /// A model is used again.
    pub(super) fn begin_use(&mut self, id: ResidentId) {
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.users += 1;
            entry.used_at = self.clock;
        }
    }

    /// A use of a model ends.
    pub(super) fn end_use(&mut self, id: ResidentId) {
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.users = entry.users.saturating_sub(1);
            entry.used_at = self.clock;
        }
    }

    /// Exempts a model from eviction, or no longer.
    pub(super) fn keep(&mut self, id: ResidentId, kept: bool) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.kept = kept;
        }
    }

    /// Sets the bytes of a part; none while it is not in memory.
    pub(super) fn set_bytes(&mut self, part: Part, bytes: Bytes) {
        self.bytes.insert(part, bytes);
    }

    /// Removes a model. Returns the parts that no model holds now.
    pub(super) fn remove(&mut self, id: ResidentId) -> BTreeSet<Part> {
        let Some(entry) = self.entries.remove(&id) else { return BTreeSet::new() };
        debug_assert!(entry.users == 0, "a model in use goes");
        let freed: BTreeSet<Part> = entry.parts.into_iter().filter(|part| !self.is_held(*part)).collect();
        for part in &freed {
            self.bytes.remove(part);
        }
        freed
    }

    pub(super) fn is_held(&self, part: Part) -> bool {
        self.entries.values().any(|entry| entry.parts.contains(&part))
    }

    pub(super) fn is_open(&self, id: ResidentId) -> bool {
        self.entries.contains_key(&id)
    }

    pub(super) fn is_in_use(&self, id: ResidentId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.users > 0)
    }

    pub(super) fn is_kept(&self, id: ResidentId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.kept)
    }

    /// Models by when they were used last, the latest first.
    pub(super) fn by_use(&self) -> Vec<ResidentId> {
        let mut ids: Vec<_> = self.entries.iter().map(|(id, entry)| (entry.used_at, *id)).collect();
        ids.sort_unstable_by(|left, right| right.cmp(left));
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// The parts of a model, with what each takes.
    pub(super) fn parts(&self, id: ResidentId) -> impl Iterator<Item = (Part, &Bytes)> {
        let parts = self.entries.get(&id).map(|entry| entry.parts.iter()).into_iter().flatten();
        parts.filter_map(|part| self.bytes.get(part).map(|bytes| (*part, bytes)))
    }

    /// The parts that a model holds, its own and others'.
    pub(super) fn held_by(&self, id: ResidentId) -> impl Iterator<Item = Part> {
        self.entries.get(&id).map(|entry| entry.parts.iter().copied()).into_iter().flatten()
    }

    /// Parts that were read for this model and that some model holds.
    pub(super) fn parts_of_owner(&self, id: ResidentId) -> impl Iterator<Item = Part> {
        let parts: BTreeSet<Part> =
            self.entries.values().flat_map(|entry| entry.parts.iter().copied()).filter(|(owner, _)| *owner == id).collect();
        parts.into_iter()
    }

    /// A model holds other parts than was thought.
    pub(super) fn set_parts(&mut self, id: ResidentId, parts: BTreeSet<Part>) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.parts = parts;
        }
    }

    /// Other models that hold a part.
    pub(super) fn others(&self, part: Part, id: ResidentId) -> impl Iterator<Item = ResidentId> {
        self.entries.iter().filter(move |(other, entry)| **other != id && entry.parts.contains(&part)).map(|(other, _)| *other)
    }

    /// Bytes of all models on each device.
    pub(super) fn held(&self) -> Bytes {
        let mut held = Bytes::new();
        for bytes in self.bytes.values() {
            for (device, bytes) in bytes {
                *held.entry(device.clone()).or_default() += bytes;
            }
        }
        held
    }

    /// The next step for a model that needs so many bytes more than it holds. `itself` must not be
    /// evicted to make room for itself.
    pub(super) fn decide(&self, need: &Bytes, memory: &BTreeMap<String, Memory>, itself: Option<ResidentId>) -> Decision {
        let lacking: BTreeSet<&str> =
            need.iter().filter(|(device, need)| lacks(memory, device, **need)).map(|(device, _)| device.as_str()).collect();
        if lacking.is_empty() {
            return Decision::Admit;
        }
        if let Some(id) = self.victim(&lacking, itself) {
            return Decision::Evict(id);
        }
        let holds = |id: ResidentId| self.parts(id).any(|(_, bytes)| is_on(bytes, &lacking));
        let busy = self.entries.iter().filter(|(id, entry)| entry.users > 0 && Some(**id) != itself && holds(**id));
        let busy: Vec<_> = busy.map(|(id, _)| *id).collect();
        if busy.is_empty() { Decision::Try } else { Decision::Wait(busy) }
    }

    /// The model that goes next where less is free than must stay free.
    pub(super) fn surplus(&self, memory: &BTreeMap<String, Memory>) -> Option<ResidentId> {
        let pressed: BTreeSet<&str> =
            memory.iter().filter(|(_, it)| it.free_bytes < it.reserve_bytes).map(|(device, _)| device.as_str()).collect();
        self.victim(&pressed, None)
    }

    /// A model in use holds a part that was read for this one: while it computes, the lender must
    /// be left alone.
    pub(super) fn lends_to_one_in_use(&self, owner: ResidentId) -> bool {
        self.lends_to_one_that_computes(owner, None)
    }

    /// As above; `itself`, for which room is made, does not compute yet.
    fn lends_to_one_that_computes(&self, owner: ResidentId, itself: Option<ResidentId>) -> bool {
        let computes = |(id, entry): (&ResidentId, &Entry)| entry.users > u32::from(Some(*id) == itself);
        let borrows = |entry: &Entry| entry.parts.iter().any(|(id, _)| *id == owner);
        self.entries.iter().any(|it| computes(it) && borrows(it.1))
    }

    /// The least recently used model that may go and whose going frees something on one of these
    /// devices, now or with others that may go.
    fn victim(&self, devices: &BTreeSet<&str>, itself: Option<ResidentId>) -> Option<ResidentId> {
        let goes = |id: &ResidentId, entry: &Entry| entry.may_go() && Some(*id) != itself && !self.lends_to_one_that_computes(*id, itself);
        let frees = |entry: &Entry| {
            let free_able = |part: &Part| self.entries.iter().all(|(id, other)| goes(id, other) || !other.parts.contains(part));
            entry.parts.iter().any(|part| self.bytes.get(part).is_some_and(|bytes| is_on(bytes, devices)) && free_able(part))
        };
        let candidates = self.entries.iter().filter(|(id, entry)| goes(id, entry) && frees(entry));
        candidates.min_by_key(|(_, entry)| entry.used_at).map(|(id, _)| *id)
    }
}

fn lacks(memory: &BTreeMap<String, Memory>, device: &str, need: u64) -> bool {
    // A device that does not say what it has is believed to have it.
    need > 0 && memory.get(device).is_some_and(|memory| need.saturating_add(memory.reserve_bytes) > memory.free_bytes)
}

fn is_on(bytes: &Bytes, devices: &BTreeSet<&str>) -> bool {
    bytes.iter().any(|(device, bytes)| *bytes > 0 && devices.contains(device.as_str()))
}

#[cfg(test)]
mod tests;
