//! The models in memory, with the books of what they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use super::key::Key;
use super::policy::{Bytes, Memory, Part, Policy};
use crate::devices;
use crate::ffi::{self, CallError, ConditioningCache, Context, ContextParams, JobCallbacks};
use crate::protocol::{Resident, ResidentId, ResidentPart};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Module, Reserve};

/// The models in memory.
#[derive(Default)]
pub(super) struct Models {
    pub(super) policy: Policy,
    /// Those that `policy` knows, and those of which others borrow.
    pub(super) contexts: BTreeMap<ResidentId, Loaded>,
    pub(super) reserve: Reserve,
    /// Bytes by device that evicted models held and the driver did not return.
    pub(super) unreturned: Bytes,
}

/// A model that was opened.
pub(super) struct Loaded {
    pub(super) key: Key,
    pub(super) context: Arc<Context>,
    /// The devices just before it was opened: their free memory is what it and its buffers can use.
    pub(super) devices_before: Vec<Device>,
    pub(super) used_at: SystemTime,
    /// Text encodings found and not found, as they were when it was last used.
    pub(super) encodings: (u64, u64),
    /// It failed, or shares parts with a model that did: it is not used again, and freed after its last use.
    is_poisoned: bool,
    /// Modules whose weights were freed although the context stays, because others borrow from it.
    freed: BTreeSet<Module>,
}

impl Models {
    pub(super) fn find(&self, key: &Key) -> Option<ResidentId> {
        let mut found = self.contexts.iter().filter(|(id, loaded)| self.policy.is_open(**id) && !loaded.is_poisoned && loaded.key == *key);
        found.next().map(|(id, _)| *id)
    }

    /// Reserves an entry before opening, so that eviction counts its parts as used.
    pub(super) fn reserve_entry(&mut self, key: &Key) -> ResidentId {
        let id = self.policy.new_id();
        let lent = |module| self.lender(key, module).unwrap_or(id);
        let parts = Module::ALL.into_iter().map(|module| (lent(module), module)).collect();
        self.policy.open(id, parts);
        id
    }

    /// A model that read the same files for this module, to the same place, with the same settings.
    /// None that computes now: a model of its own can compute beside it.
    fn lender(&self, key: &Key, module: Module) -> Option<ResidentId> {
        let wanted = key.shareable(module)?;
        let lends = |(id, loaded): &(&ResidentId, &Loaded)| {
            let is_free = !loaded.is_poisoned && self.policy.is_held((**id, module)) && !self.policy.lends_to_one_in_use(**id);
            is_free && loaded.key.shareable(module).as_ref() == Some(&wanted)
        };
        self.contexts.iter().find(lends).map(|(id, _)| *id)
    }

    pub(super) fn open(
        &mut self,
        id: ResidentId,
        key: Key,
        params: &ContextParams,
        encodings: &ConditioningCache,
        callbacks: &dyn JobCallbacks,
    ) -> Result<(), CallError> {
        let devices_before = devices::list();
        let mut context = Context::new(params, encodings, &key.encoders(), callbacks)?;
        let mut parts: BTreeSet<Part> = self.policy.held_by(id).collect();
        let borrowed: Vec<Part> = parts.iter().copied().filter(|(owner, _)| *owner != id).collect();
        for (owner, module) in borrowed {
            let lent = self.contexts.get(&owner).map(|lender| context.borrow(&lender.context, &[module]));
            // The engine may know better: then the model has one of its own.
            if !matches!(lent, Some(Ok(()))) {
                parts.remove(&(owner, module));
                parts.insert((id, module));
            }
        }
        self.policy.set_parts(id, parts);
        let (context, used_at) = (Arc::new(context), SystemTime::now());
        let loaded = Loaded { key, context, devices_before, used_at, encodings: (0, 0), is_poisoned: false, freed: BTreeSet::new() };
        self.contexts.insert(id, loaded);
        Ok(())
    }

    pub(super) fn set_module_memory(&mut self, id: ResidentId, holdings: &[ffi::ModuleMemory]) {
        let own: Vec<Part> = self.policy.parts_of_owner(id).collect();
        for (owner, module) in own {
            let of_module = holdings.iter().filter(|holding| holding.module == module);
            let bytes = of_module.map(|holding| (holding.device.clone(), holding.bytes)).collect();
            self.policy.set_bytes((owner, module), bytes);
        }
    }

    /// `need` less the bytes that the model holds already.
    pub(super) fn missing(&self, id: ResidentId, need: &Bytes) -> Bytes {
        let mut missing = need.clone();
        for (_, bytes) in self.policy.parts(id) {
            for (device, bytes) in bytes {
                if let Some(missing) = missing.get_mut(device) {
                    *missing = missing.saturating_sub(*bytes);
                }
            }
        }
        missing
    }

    pub(super) fn memory(&self) -> BTreeMap<String, Memory> {
        // One that does not say what it has cannot be asked for room.
        let known = devices::list().into_iter().filter(|device| device.memory_total_bytes > 0);
        let memory = known.map(|device| {
            let reserve_bytes = self.reserve.bytes(&device);
            (device.name, Memory { free_bytes: device.memory_free_bytes, reserve_bytes })
        });
        memory.collect()
    }

    /// Evicts a model, and notes the bytes that the driver does not return.
    pub(super) fn evict(&mut self, id: ResidentId) {
        let before = devices::list();
        let mut held = Bytes::new();
        for (part, bytes) in self.policy.parts(id) {
            if self.policy.others(part, id).next().is_none() {
                for (device, bytes) in bytes {
                    *held.entry(device.clone()).or_default() += bytes;
                }
            }
        }
        self.policy.remove(id);
        self.collect();
        for (after, before) in devices::list().iter().zip(&before) {
            let held = held.get(&after.name).copied().unwrap_or(0);
            // RAM goes to and fro with every program.
            if held == 0 || after.kind == DeviceKind::Cpu || after.name != before.name {
                continue;
            }
            let came_back = after.memory_free_bytes.saturating_sub(before.memory_free_bytes);
            let kept_back = held.saturating_sub(came_back);
            // Allocators round.
            if kept_back > held / 20 {
                self.unreturned.insert(after.name.clone(), kept_back)
            } else {
                self.unreturned.remove(&after.name)
            };
        }
    }

    pub(super) fn unload(&mut self, id: ResidentId) {
        if self.policy.is_open(id) && !self.policy.is_in_use(id) && !self.policy.lends_to_one_in_use(id) {
            self.evict(id);
        }
    }

    /// Marks a model that failed, and those that share parts with it, to be freed after their last use.
    pub(super) fn poison(&mut self, id: ResidentId) {
        let parts: Vec<Part> = self.policy.held_by(id).collect();
        let sharing: BTreeSet<ResidentId> =
            parts.iter().flat_map(|part| self.policy.others(*part, id).chain([part.0])).chain([id]).collect();
        for id in sharing {
            if let Some(loaded) = self.contexts.get_mut(&id) {
                loaded.is_poisoned = true;
            }
        }
    }

    /// Drops poisoned models that are not used, and frees weights that no model holds.
    pub(super) fn collect(&mut self) {
        let is_poisoned: Vec<ResidentId> = self.contexts.iter().filter(|(_, loaded)| loaded.is_poisoned).map(|(id, _)| *id).collect();
        for id in is_poisoned {
            if !self.policy.is_in_use(id) {
                self.policy.remove(id);
            }
        }
        let policy = &self.policy;
        self.contexts.retain(|id, loaded| {
            if policy.is_open(*id) {
                return true;
            }
            let (lent, free): (Vec<Module>, Vec<Module>) = Module::ALL.into_iter().partition(|module| policy.is_held((*id, *module)));
            if lent.is_empty() {
                return false;
            }
            if free.iter().any(|module| !loaded.freed.contains(module)) {
                match loaded.context.release(&free) {
                    Ok(()) => loaded.freed.extend(free),
                    Err(error) => tracing::warn!("the memory of a model could not be given back: {error}"),
                }
            }
            true
        });
    }

    /// Other models with weights on this device.
    pub(super) fn holders(&self, device: &str, but: ResidentId) -> BTreeSet<ResidentId> {
        let holds = |id: &ResidentId| self.policy.parts(*id).any(|(_, bytes)| bytes.get(device).is_some_and(|bytes| *bytes > 0));
        self.policy.by_use().into_iter().filter(|id| *id != but && holds(id)).collect()
    }

    pub(super) fn names(&self, ids: &[ResidentId]) -> Vec<String> {
        ids.iter().filter_map(|id| self.contexts.get(id)).map(|loaded| loaded.key.name()).collect()
    }

    pub(super) fn resident(&self, id: ResidentId) -> Option<Resident> {
        let loaded = self.contexts.get(&id)?;
        let parts = self.policy.parts(id).flat_map(|(part, bytes)| {
            let shared = part.0 != id || self.policy.others(part, id).next().is_some();
            let (owner, module) = part;
            bytes.iter().map(move |(device, bytes)| ResidentPart { module, device: device.clone(), bytes: *bytes, owner, shared })
        });
        Some(Resident {
            id,
            files: loaded.key.files().clone(),
            parts: parts.filter(|part| part.bytes > 0).collect(),
            used_at_secs: loaded.used_at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            in_use: self.policy.is_in_use(id),
            kept: self.policy.is_kept(id),
            encodings_found: loaded.encodings.0,
            encodings_made: loaded.encodings.1,
        })
    }
}
