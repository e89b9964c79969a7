//! Which models are in memory: several, as many as fit, the least recently used going first.
//!
//! A job leases a context for its files and settings; the lease counts as use until it is dropped, however the job ends. What a model has in
//! common with one that is there (text encoder, VAE, of the same files in the same places) it borrows. Room is made before a context is used:
//! memory is measured, models go one by one, and it is measured again. Opening and evicting happen under one lock.
//! What goes when is `policy`'s business; nothing here knows jobs or events.

mod key;
mod policy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::devices;
use crate::ffi::{self, CallError, ConditioningCache, ConditioningCacheStats, Context, ContextParams, JobCallbacks, Limits};
use crate::protocol::{RememberedTexts, Residency, Resident, ResidentId, ResidentPart};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{DevicePrediction, Module, Placement, Prediction, Reserve, budget_on};
use key::Key;
use policy::{Bytes, Decision, Memory, Part, Policy};

/// How often a job that waits for another one's memory looks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The contexts in memory.
#[derive(Default)]
pub(super) struct Cache {
    state: Mutex<State>,
    /// A lease ended.
    ended: Condvar,
    /// They outlive the models that made them.
    encodings: ConditioningCache,
}

#[derive(Default)]
struct State {
    policy: Policy,
    /// Those that `policy` knows, and those of which others borrow.
    contexts: BTreeMap<ResidentId, Loaded>,
    reserve: Reserve,
    /// By device: what evicted models held there and was not free afterwards.
    unreturned: Bytes,
}

struct Loaded {
    key: Key,
    context: Arc<Context>,
    /// The devices as they were just before: what was free then is what the model and everything it needs could have.
    devices_before: Vec<Device>,
    used_at: SystemTime,
    /// Text encodings found and not found, as they were when it was last used.
    encodings: (u64, u64),
    /// It failed, or shares with one that did: it goes as soon as nobody uses it, and nobody finds it any more.
    is_poisoned: bool,
    /// Modules whose weights were freed although the context stays, because others borrow from it.
    freed: BTreeSet<Module>,
}

/// What a job asks for.
pub(super) struct LeaseRequest<'a> {
    pub(super) params: &'a ContextParams,
    pub(super) budgets: &'a ContextBudgets,
    pub(super) placement: &'a Placement,
    /// What it takes, where that is known...
    pub(super) prediction: Option<&'a Prediction>,
    /// ...else what a picture like this one took, where one was made; else it is guessed from the sizes of the files.
    pub(super) measured: Option<&'a Bytes>,
}

/// What may be used of the devices; it can change from job to job without loading anything again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ContextBudgets {
    pub(super) budgets: Vec<Budget>,
    pub(super) stream_layers: bool,
}

/// The most that a module may use of the device it runs on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Budget {
    pub(super) module: Module,
    /// A device's whole name.
    pub(super) device: String,
    /// GiB; negative: what is free less that many.
    pub(super) gib: f64,
}

impl ContextBudgets {
    fn limits(&self, devices: &[Device]) -> Limits {
        let mut limits = Limits { stream_layers: self.stream_layers, ..Limits::default() };
        for budget in &self.budgets {
            let bytes = budget.bytes(devices);
            match budget.module {
                Module::Diffusion => limits.diffusion = bytes,
                Module::Te => limits.te = bytes,
                Module::ClipVision => limits.clip_vision = bytes,
                Module::Vae => limits.vae = bytes,
                Module::Controlnet | Module::Photomaker | Module::Upscaler => {}
            }
        }
        limits
    }
}

impl Budget {
    /// In bytes. 0, which means no limit, only where the device does not say how much is free.
    fn bytes(&self, devices: &[Device]) -> u64 {
        let device = devices.iter().find(|device| device.name == self.device);
        device.and_then(|device| budget_on(device, self.gib)).map_or(0, |bytes| bytes.max(1))
    }
}

impl LeaseRequest<'_> {
    /// The most that it takes of each device at once.
    fn bytes(&self) -> Bytes {
        let Some(prediction) = self.prediction else {
            return self.measured.cloned().unwrap_or_else(|| key::guessed_bytes(self.params, self.placement));
        };
        let most = |device: &DevicePrediction| {
            let peak = device.peak().1;
            // A device that holds something of ours has taken for itself what it takes.
            let overhead = if ffi::allocated_bytes(&device.name) > 0 { peak.overhead_bytes } else { 0 };
            (device.name.clone(), peak.total_bytes().saturating_sub(overhead))
        };
        prediction.devices.iter().map(most).collect()
    }
}

/// A context in use. Dropping it lets the context be evicted again.
pub(super) struct Lease<'a> {
    cache: &'a Cache,
    id: ResidentId,
    context: Arc<Context>,
    is_poisoned: bool,
}

impl Lease<'_> {
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// The context can no longer be trusted; nor can those that share modules with it.
    pub(super) fn discard(mut self) {
        self.is_poisoned = true;
    }

    /// As [`discard`](Self::discard); also, every other context that nobody uses leaves this device, unless it is kept. Returns whether one
    /// went.
    pub(super) fn discard_for_room(self, device: &str) -> bool {
        let (cache, id) = (self.cache, self.id);
        let others = cache.lock().holders(device, id);
        self.discard();
        cache.evict_from(device);
        let left = cache.lock().holders(device, id);
        others.difference(&left).next().is_some()
    }

    /// What other models hold of each device now.
    pub(super) fn others(&self) -> BTreeMap<String, u64> {
        let state = self.cache.lock();
        let mut all = state.policy.held();
        for (_, bytes) in state.policy.parts(self.id) {
            for (device, bytes) in bytes {
                if let Some(all) = all.get_mut(device) {
                    *all = all.saturating_sub(*bytes);
                }
            }
        }
        all
    }

    /// Reads the weights that the first picture would read.
    pub(super) fn preload(&self, sink: &dyn JobCallbacks) -> Result<(), CallError> {
        let own: Vec<Module> = {
            let state = self.cache.lock();
            state.policy.held_by(self.id).filter(|(owner, _)| *owner == self.id).map(|(_, module)| module).collect()
        };
        self.context.preload(&own, sink)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let (holdings, encodings) = (self.context.module_memory(), self.context.conditioning_counts());
        let mut state = self.cache.lock();
        state.set_module_memory(self.id, &holdings);
        if let Some(loaded) = state.contexts.get_mut(&self.id) {
            loaded.used_at = SystemTime::now();
            loaded.encodings = encodings.unwrap_or(loaded.encodings);
        }
        if self.is_poisoned {
            state.poison(self.id);
        }
        state.policy.end_use(self.id);
        state.collect();
        drop(state);
        self.cache.ended.notify_all();
    }
}

impl Cache {
    /// The context for these files and settings, opened now where it is not there, with room made for it, and held to its budgets.
    /// `waits` is told which models hold the memory that it waits for.
    pub(super) fn lease(
        &self,
        want: &LeaseRequest<'_>,
        sink: &dyn JobCallbacks,
        waits: &dyn Fn(&[String]),
    ) -> Result<Lease<'_>, CallError> {
        let key = Key::new(want.params);
        let mut state = self.lock();
        let found = state.find(&key);
        let id = match found {
            Some(id) => {
                state.policy.begin_use(id);
                id
            }
            None => state.reserve_entry(&key),
        };
        let need = want.bytes();
        state = self.make_room(state, id, &need, sink, waits)?;
        if found.is_none()
            && let Err(error) = state.open(id, key, want.params, &self.encodings, sink)
        {
            self.give_up(state, id);
            return Err(error);
        }
        let Some(loaded) = state.contexts.get(&id) else { unreachable!("it was found or opened above, and is in use") };
        let (context, limits) = (Arc::clone(&loaded.context), want.budgets.limits(&loaded.devices_before));
        drop(state);
        let lease = Lease { cache: self, id, context, is_poisoned: false };
        match lease.context.set_limits(&limits) {
            Ok(()) => Ok(lease),
            Err(error) => {
                lease.discard();
                Err(error)
            }
        }
    }

    fn make_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        id: ResidentId,
        need: &Bytes,
        sink: &dyn JobCallbacks,
        waits: &dyn Fn(&[String]),
    ) -> Result<MutexGuard<'a, State>, CallError> {
        let mut waited_for = Vec::new();
        loop {
            let (missing, memory) = (state.missing(id, need), state.memory());
            match state.policy.decide(&missing, &memory, Some(id)) {
                Decision::Admit | Decision::Try => return Ok(state),
                Decision::Evict(victim) => state.evict(victim),
                Decision::Wait(_) if sink.cancelled() => {
                    self.give_up(state, id);
                    return Err(CallError::cancelled());
                }
                Decision::Wait(busy) => {
                    if busy != waited_for {
                        waits(&state.names(&busy));
                        waited_for = busy;
                    }
                    self.ended.wait_for(&mut state, POLL_INTERVAL);
                }
            }
        }
    }

    /// Ends a use that did not come to a lease.
    fn give_up(&self, mut state: MutexGuard<'_, State>, id: ResidentId) {
        state.policy.end_use(id);
        if !state.contexts.contains_key(&id) {
            state.policy.remove(id);
        }
        state.collect();
        drop(state);
        self.ended.notify_all();
    }

    /// Frees every context that nobody uses, also those that are kept, and forgets text encodings.
    pub(super) fn clear(&self) {
        self.encodings.clear();
        let mut state = self.lock();
        for id in state.policy.by_use() {
            state.unload(id);
        }
    }

    /// Frees every context that nobody uses and that holds something on this device, unless it is kept.
    fn evict_from(&self, device: &str) {
        let mut state = self.lock();
        let all_of_it = BTreeMap::from([(device.to_owned(), Memory { free_bytes: 0, reserve_bytes: 1 })]);
        while let Some(id) = state.policy.surplus(&all_of_it) {
            state.evict(id);
        }
    }

    /// Frees one context, unless it is in use.
    pub(super) fn unload(&self, id: ResidentId) {
        self.lock().unload(id);
    }

    /// Whether a context must stay until it is let go.
    pub(super) fn keep(&self, id: ResidentId, kept: bool) {
        self.lock().policy.keep(id, kept);
    }

    /// How much of each device is left to other programs.
    pub(super) fn set_reserve(&self, reserve: Reserve) {
        self.lock().reserve = reserve;
    }

    /// Frees contexts where other programs need the memory. Returns whether one went.
    pub(super) fn evict_for_others(&self) -> bool {
        let mut state = self.lock();
        let mut went = false;
        if state.contexts.is_empty() {
            return false;
        }
        while let Some(id) = state.policy.surplus(&state.memory()) {
            state.evict(id);
            went = true;
        }
        went
    }

    /// The devices of the resident model as they were before it was opened, and what each took for itself since then: what is not free any
    /// more, less the buffers that are counted. Nothing without a model or beside another one, or where only memory that is counted was used.
    pub(super) fn overhead(&self) -> (Vec<Device>, BTreeMap<String, u64>) {
        let state = self.lock();
        let mut contexts = state.contexts.values();
        let (Some(only), None) = (contexts.next(), contexts.next()) else { return Default::default() };
        let used: Vec<_> = only.devices_before.iter().filter(|device| ffi::allocated_bytes(&device.name) > 0).cloned().collect();
        if used.iter().all(|device| device.kind == DeviceKind::Cpu) {
            return Default::default();
        }
        let now = devices::list();
        let overhead = used.iter().filter_map(|before| {
            let now = now.iter().find(|now| now.name == before.name)?;
            let gone = before.memory_free_bytes.checked_sub(now.memory_free_bytes)?;
            Some((before.name.clone(), gone.saturating_sub(ffi::allocated_bytes(&before.name))))
        });
        let overhead = overhead.collect();
        (used, overhead)
    }

    /// What is in memory, the latest used first.
    pub(super) fn residency(&self) -> Residency {
        let state = self.lock();
        let models = state.policy.by_use().into_iter().filter_map(|id| state.resident(id)).collect();
        let ConditioningCacheStats { hits, misses, bytes } = self.encodings.stats();
        let encodings = RememberedTexts { found: hits, made: misses, bytes };
        Residency { models, unreturned_bytes: state.unreturned.clone(), encodings }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn find(&self, key: &Key) -> Option<ResidentId> {
        let mut found = self.contexts.iter().filter(|(id, loaded)| self.policy.is_open(**id) && !loaded.is_poisoned && loaded.key == *key);
        found.next().map(|(id, _)| *id)
    }

    /// A new entry, in use, with the parts that it will hold: room is made for it before it is opened, and what it borrows must stay.
    fn reserve_entry(&mut self, key: &Key) -> ResidentId {
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

    fn open(
        &mut self,
        id: ResidentId,
        key: Key,
        load: &ContextParams,
        encodings: &ConditioningCache,
        sink: &dyn JobCallbacks,
    ) -> Result<(), CallError> {
        let devices_before = devices::list();
        let mut context = Context::new(load, encodings, &key.encoders(), sink)?;
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

    fn set_module_memory(&mut self, id: ResidentId, holdings: &[ffi::ModuleMemory]) {
        let own: Vec<Part> = self.policy.parts_of_owner(id).collect();
        for (owner, module) in own {
            let of_module = holdings.iter().filter(|holding| holding.module == module);
            let bytes = of_module.map(|holding| (holding.device.clone(), holding.bytes)).collect();
            self.policy.set_bytes((owner, module), bytes);
        }
    }

    /// What is needed beside what the model holds already.
    fn missing(&self, id: ResidentId, need: &Bytes) -> Bytes {
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

    fn memory(&self) -> BTreeMap<String, Memory> {
        // One that does not say what it has cannot be asked for room.
        let known = devices::list().into_iter().filter(|device| device.memory_total_bytes > 0);
        let memory = known.map(|device| {
            let reserve_bytes = self.reserve.bytes(&device);
            (device.name, Memory { free_bytes: device.memory_free_bytes, reserve_bytes })
        });
        memory.collect()
    }

    /// A model goes, and what its device does not give back is noted.
    fn evict(&mut self, id: ResidentId) {
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

    fn unload(&mut self, id: ResidentId) {
        if self.policy.is_open(id) && !self.policy.is_in_use(id) && !self.policy.lends_to_one_in_use(id) {
            self.evict(id);
        }
    }

    /// A model failed: it and those that share parts with it go as soon as nobody uses them.
    fn poison(&mut self, id: ResidentId) {
        let parts: Vec<Part> = self.policy.held_by(id).collect();
        let sharing: BTreeSet<ResidentId> =
            parts.iter().flat_map(|part| self.policy.others(*part, id).chain([part.0])).chain([id]).collect();
        for id in sharing {
            if let Some(loaded) = self.contexts.get_mut(&id) {
                loaded.is_poisoned = true;
            }
        }
    }

    /// Drops what is is_poisoned and unused, and frees what nobody holds.
    fn collect(&mut self) {
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

    /// Other models that hold something on this device.
    fn holders(&self, device: &str, but: ResidentId) -> BTreeSet<ResidentId> {
        let holds = |id: &ResidentId| self.policy.parts(*id).any(|(_, bytes)| bytes.get(device).is_some_and(|bytes| *bytes > 0));
        self.policy.by_use().into_iter().filter(|id| *id != but && holds(id)).collect()
    }

    fn names(&self, ids: &[ResidentId]) -> Vec<String> {
        ids.iter().filter_map(|id| self.contexts.get(id)).map(|loaded| loaded.key.name()).collect()
    }

    fn resident(&self, id: ResidentId) -> Option<Resident> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_bytes_or_what_was_free_less_some_and_never_nothing() {
        let (kind, description) = (DeviceKind::Gpu, String::new());
        let devices = [Device {
            name: "GPU0".into(),
            description,
            kind,
            card: None,
            memory_total_bytes: 8 << 30,
            memory_free_bytes: 6 << 30,
            memory_allocated_bytes: 0,
        }];
        let limits = |gib| {
            let budgets = vec![Budget { module: Module::Te, device: "GPU0".into(), gib }];
            ContextBudgets { budgets, stream_layers: true }.limits(&devices)
        };
        assert_eq!(limits(1.5), Limits { te: 3 << 29, stream_layers: true, ..Limits::default() });
        assert_eq!((limits(-1.0).te, limits(-7.0).te), (5 << 30, 1));
        let silent = [Device { memory_total_bytes: 0, memory_free_bytes: 0, ..devices[0].clone() }];
        assert_eq!(Budget { module: Module::Te, device: "GPU0".into(), gib: -1.0 }.bytes(&silent), 0);
    }
}
