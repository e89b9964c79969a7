//! The models in memory, with the books of what they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use super::key::Key;
use super::policy::{Bytes, Part, Policy};
use crate::ffi::{self, Context};
use crate::protocol::{Resident, ResidentId, ResidentPart};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Module, Placement, Reserve};
use atelier_core::recipe::ModelFiles;

/// The models in memory.
#[derive(Default)]
pub(super) struct Models {
    pub(super) policy: Policy,
    /// Those that `policy` knows, and those of which others borrow.
    pub(super) contexts: BTreeMap<ResidentId, Loaded>,
    pub(super) reserve: Reserve,
    /// Bytes by device that evicted models held and the driver did not return.
    pub(super) unreturned: Bytes,
    /// Threads that free memory for jobs that have ended.
    pub(super) frees_pending: usize,
    /// Threads that may outlive their jobs.
    pub(super) background_work: usize,
    /// Models that are being opened, without the lock.
    opening: BTreeMap<ResidentId, Key>,
}

/// Memory that nobody needs any more. It is freed without the lock, because that may wait for a
/// device or a server.
#[must_use]
#[derive(Default)]
pub(super) struct Garbage {
    /// Contexts that nobody holds.
    contexts: Vec<Arc<Context>>,
    /// Modules of contexts of which others borrow.
    modules: Vec<(ResidentId, Arc<Context>, Vec<Module>)>,
}

impl Garbage {
    /// Frees the memory. Returns the modules that were freed, for [`Models::note_freed`].
    pub(super) fn free(self) -> Vec<(ResidentId, Vec<Module>)> {
        drop(self.contexts);
        let mut freed = Vec::new();
        for (id, context, modules) in self.modules {
            match context.release(&modules) {
                Some(Ok(())) => freed.push((id, modules)),
                Some(Err(error)) => tracing::warn!("the memory of a model could not be freed: {error}"),
                // Its borrower computes: at the next collection.
                None => {}
            }
        }
        freed
    }
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
    /// It failed, or shares parts with a model that did: it is not used again, and freed after its
    /// last use.
    is_poisoned: bool,
    /// Modules whose weights were freed although the context stays, because others borrow from it.
    freed: BTreeSet<Module>,
}

impl Models {
    pub(super) fn find(&self, key: &Key) -> Option<(ResidentId, Arc<Context>)> {
        let mut found = self.contexts.iter().filter(|(id, loaded)| self.policy.is_open(**id) && !loaded.is_poisoned && loaded.key == *key);
        found.next().map(|(id, loaded)| (*id, Arc::clone(&loaded.context)))
    }

    /// The placement of the latest used model of these files that is whole.
    pub(super) fn placement_of(&self, files: &ModelFiles) -> Option<Placement> {
        let is_theirs = |id: &ResidentId| self.contexts.get(id).is_some_and(|loaded| !loaded.is_poisoned && loaded.key.files() == files);
        let id = self.policy.by_use().into_iter().find(is_theirs)?;
        self.contexts.get(&id).map(|loaded| loaded.key.placement().clone())
    }

    pub(super) fn is_opening(&self, key: &Key) -> bool {
        self.opening.values().any(|other| other == key)
    }

    /// Ends an opening that failed.
    pub(super) fn end_opening(&mut self, id: ResidentId) {
        if self.opening.remove(&id).is_some() {
            self.policy.remove(id);
        }
    }

    /// Reserves an entry before opening, so that eviction counts its parts as used.
    pub(super) fn reserve_entry(&mut self, key: &Key) -> ResidentId {
        let id = self.policy.new_id();
        self.opening.insert(id, key.clone());
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

    /// Takes in a model that was opened for a reserved entry, with what it shares.
    pub(super) fn insert(&mut self, id: ResidentId, key: Key, mut context: Context, devices_before: Vec<Device>) -> Arc<Context> {
        self.opening.remove(&id);
        let mut parts: BTreeSet<Part> = self.policy.held_by(id).collect();
        // Text encoders are lent together.
        let mut borrowed: Vec<(ResidentId, Vec<Module>)> = Vec::new();
        for (owner, module) in parts.iter().copied().filter(|(owner, _)| *owner != id) {
            let with = |(other, modules): &&mut (ResidentId, Vec<Module>)| {
                *other == owner && module.is_encoder() && modules.iter().all(|module| module.is_encoder())
            };
            match borrowed.iter_mut().find(with) {
                Some((_, modules)) => modules.push(module),
                None => borrowed.push((owner, vec![module])),
            }
        }
        for (owner, modules) in borrowed {
            let lender = self.contexts.get(&owner).filter(|lender| !lender.is_poisoned);
            let lent = lender.map(|lender| context.borrow(&lender.context, &modules));
            // The engine may know better, or the lender be in use by now: then the model has one of
            // its own.
            if !matches!(lent, Some(Ok(()))) {
                for module in modules {
                    parts.remove(&(owner, module));
                    parts.insert((id, module));
                }
            }
        }
        self.policy.set_parts(id, parts);
        let (context, used_at) = (Arc::new(context), SystemTime::now());
        let loaded = Loaded {
            key,
            context: Arc::clone(&context),
            devices_before,
            used_at,
            encodings: (0, 0),
            is_poisoned: false,
            freed: BTreeSet::new(),
        };
        self.contexts.insert(id, loaded);
        context
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

    /// Removes a model. Returns what it leaves behind, with the bytes on each device that are its
    /// own.
    pub(super) fn remove(&mut self, id: ResidentId) -> (Garbage, Bytes) {
        let mut held = Bytes::new();
        for (part, bytes) in self.policy.parts(id) {
            if self.policy.others(part, id).next().is_none() {
                for (device, bytes) in bytes {
                    *held.entry(device.clone()).or_default() += bytes;
                }
            }
        }
        self.policy.remove(id);
        (self.collect(), held)
    }

    /// Notes the bytes of `held` that a driver did not return when a model was freed, measured
    /// before and after.
    pub(super) fn note_unreturned(&mut self, held: &Bytes, before: &[Device], after: &[Device]) {
        for (after, before) in after.iter().zip(before) {
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

    /// Notes modules that were freed although their context stays.
    pub(super) fn note_freed(&mut self, freed: Vec<(ResidentId, Vec<Module>)>) {
        for (id, modules) in freed {
            if let Some(loaded) = self.contexts.get_mut(&id) {
                loaded.freed.extend(modules);
            }
        }
    }

    pub(super) fn may_unload(&self, id: ResidentId) -> bool {
        self.policy.is_open(id) && !self.policy.is_in_use(id) && !self.policy.lends_to_one_in_use(id)
    }

    /// Marks a model that failed, and those that share parts with it, to be freed after their last
    /// use.
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

    /// Takes out poisoned models that are not used, and weights that no model holds.
    pub(super) fn collect(&mut self) -> Garbage {
        let is_poisoned: Vec<ResidentId> = self.contexts.iter().filter(|(_, loaded)| loaded.is_poisoned).map(|(id, _)| *id).collect();
        for id in is_poisoned {
            if !self.policy.is_in_use(id) {
                self.policy.remove(id);
            }
        }
        let (policy, mut garbage) = (&self.policy, Garbage::default());
        self.contexts.retain(|id, loaded| {
            if policy.is_open(*id) {
                return true;
            }
            let (lent, free): (Vec<Module>, Vec<Module>) = Module::ALL.into_iter().partition(|module| policy.is_held((*id, *module)));
            if lent.is_empty() {
                garbage.contexts.push(Arc::clone(&loaded.context));
                return false;
            }
            if free.iter().any(|module| !loaded.freed.contains(module)) {
                garbage.modules.push((*id, Arc::clone(&loaded.context), free));
            }
            true
        });
        garbage
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
            placement: loaded.key.placement().text(),
            parts: parts.filter(|part| part.bytes > 0).collect(),
            used_at_secs: loaded.used_at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            in_use: self.policy.is_in_use(id),
            kept: self.policy.is_kept(id),
            encodings_found: loaded.encodings.0,
            encodings_made: loaded.encodings.1,
        })
    }
}
