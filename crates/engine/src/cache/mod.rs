//! Models in memory: as many as fit, the least recently used evicted first.
//!
//! A job leases a context for its files and settings; the lease counts as use until it is dropped, however the job ends. What a model has in
//! common with one that is there (text encoder, VAE, of the same files in the same places) it borrows. Room is made before a context is used:
//! memory is measured, models go one by one, and it is measured again. Opening and evicting happen under one lock.
//! `policy` decides what is evicted when; nothing here knows jobs or events.

mod budget;
mod key;
mod models;
mod policy;
mod request;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::devices;
use crate::ffi::{self, CallError, ConditioningCache, ConditioningCacheStats, Context, JobCallbacks};
use crate::protocol::{RememberedTexts, Residency, ResidentId};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Module, Reserve};
pub(crate) use budget::{Budget, ContextBudgets};
use key::Key;
use models::Models;
use policy::{Bytes, Decision, Memory};
pub(crate) use request::LeaseRequest;

/// Interval at which a job that waits for memory looks for a cancel.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The contexts in memory.
#[derive(Default)]
pub(super) struct Cache {
    state: Mutex<Models>,
    /// A lease ended.
    ended: Condvar,
    /// They outlive the models that made them.
    encodings: ConditioningCache,
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

    /// Frees the context, and those that share modules with it, after their last use: they can no longer be trusted.
    pub(super) fn discard(mut self) {
        self.is_poisoned = true;
    }

    /// As [`discard`](Self::discard); also evicts every other context that nobody uses from this device, unless it is kept. Returns true
    /// where one was evicted.
    pub(super) fn discard_for_room(self, device: &str) -> bool {
        let (cache, id) = (self.cache, self.id);
        let others = cache.lock().holders(device, id);
        self.discard();
        cache.evict_from(device);
        let left = cache.lock().holders(device, id);
        others.difference(&left).next().is_some()
    }

    /// Bytes of other models on each device now.
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

    /// Reads the weights of the context's own modules.
    pub(super) fn preload(&self, callbacks: &dyn JobCallbacks) -> Result<(), CallError> {
        let own: Vec<Module> = {
            let state = self.cache.lock();
            state.policy.held_by(self.id).filter(|(owner, _)| *owner == self.id).map(|(_, module)| module).collect()
        };
        self.context.preload(&own, callbacks)
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
    /// Calls `waits` with the names of the models whose memory it waits for.
    pub(super) fn lease(
        &self,
        request: &LeaseRequest<'_>,
        callbacks: &dyn JobCallbacks,
        waits: &dyn Fn(&[String]),
    ) -> Result<Lease<'_>, CallError> {
        let key = Key::new(request.params);
        let mut state = self.lock();
        let found = state.find(&key);
        let id = match found {
            Some(id) => {
                state.policy.begin_use(id);
                id
            }
            None => state.reserve_entry(&key),
        };
        let need = request.bytes();
        state = self.make_room(state, id, &need, callbacks, waits)?;
        if found.is_none()
            && let Err(error) = state.open(id, key, request.params, &self.encodings, callbacks)
        {
            self.give_up(state, id);
            return Err(error);
        }
        let Some(loaded) = state.contexts.get(&id) else { unreachable!("it was found or opened above, and is in use") };
        let (context, limits) = (Arc::clone(&loaded.context), request.budgets.limits(&loaded.devices_before));
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
        mut state: MutexGuard<'a, Models>,
        id: ResidentId,
        need: &Bytes,
        callbacks: &dyn JobCallbacks,
        waits: &dyn Fn(&[String]),
    ) -> Result<MutexGuard<'a, Models>, CallError> {
        let mut waited_for = Vec::new();
        loop {
            let (missing, memory) = (state.missing(id, need), state.memory());
            match state.policy.decide(&missing, &memory, Some(id)) {
                Decision::Admit | Decision::Try => return Ok(state),
                Decision::Evict(victim) => state.evict(victim),
                Decision::Wait(_) if callbacks.cancelled() => {
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

    /// Ends a use without a lease.
    fn give_up(&self, mut state: MutexGuard<'_, Models>, id: ResidentId) {
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
        let all_of_device = BTreeMap::from([(device.to_owned(), Memory { free_bytes: 0, reserve_bytes: 1 })]);
        while let Some(id) = state.policy.surplus(&all_of_device) {
            state.evict(id);
        }
    }

    /// Frees one context, unless it is in use.
    pub(super) fn unload(&self, id: ResidentId) {
        self.lock().unload(id);
    }

    /// Exempts a context from eviction, or no longer.
    pub(super) fn keep(&self, id: ResidentId, keep: bool) {
        self.lock().policy.keep(id, keep);
    }

    /// Sets the memory of each device that stays free for other programs.
    pub(super) fn set_reserve(&self, reserve: Reserve) {
        self.lock().reserve = reserve;
    }

    /// Evicts contexts where other programs need the memory. Returns true where one was evicted.
    pub(super) fn evict_for_others(&self) -> bool {
        let mut state = self.lock();
        let mut evicted = false;
        if state.contexts.is_empty() {
            return false;
        }
        while let Some(id) = state.policy.surplus(&state.memory()) {
            state.evict(id);
            evicted = true;
        }
        evicted
    }

    /// The devices of the only resident model as they were before it was opened, and the overhead of each: bytes that are no longer free, less
    /// the buffers that are counted. Nothing where there is another number of models, or only RAM was used.
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

    /// The models in memory, the latest used first.
    pub(super) fn residency(&self) -> Residency {
        let state = self.lock();
        let models = state.policy.by_use().into_iter().filter_map(|id| state.resident(id)).collect();
        let ConditioningCacheStats { hits, misses, bytes } = self.encodings.stats();
        let encodings = RememberedTexts { found: hits, made: misses, bytes };
        Residency { models, unreturned_bytes: state.unreturned.clone(), encodings }
    }

    fn lock(&self) -> MutexGuard<'_, Models> {
        self.state.lock()
    }
}
