//! Models in memory: as many as fit, the least recently used evicted first.
//!
//! A job leases a context for its files and settings; the lease counts as use until it is dropped,
//! however the job ends. What a model has in common with one that is there (text encoder, VAE, of
//! the same files in the same places) it borrows. Room is made before a context is used: memory is
//! measured, models go one by one, and it is measured again. The lock protects the books alone:
//! nothing that may wait for a device, a server or a disk happens while it is held. `policy`
//! decides what is evicted when; nothing here knows jobs or events.

mod books;
mod budget;
mod key;
mod models;
mod open;
mod policy;
mod request;
mod upscalers;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use parking_lot::MutexGuard;

use crate::devices;
use crate::ffi::{self, CallError, ConditioningCache, ConditioningCacheStats, Context, JobCallbacks, Status, Upscaler};
use crate::protocol::{RememberedTexts, Residency, ResidentId};
use crate::stores::steps::StepStore;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Module, Placement, Reserve};
use atelier_core::recipe::ModelFiles;
use books::{BackgroundWork, Books, POLL_INTERVAL};
pub(crate) use budget::ContextBudgets;
use key::Key;
use models::Models;
use policy::{Bytes, Decision, Memory};
pub(crate) use request::LeaseRequest;
use upscalers::IdleUpscaler;
pub(crate) use upscalers::UpscalerKey;

/// Time after which compute buffers that nobody uses go back to the system: a person who looks at a
/// picture and asks for the next one finds them.
const KEPT_UNUSED: Duration = Duration::from_secs(30);

/// The contexts in memory.
#[derive(Default)]
pub(super) struct Cache {
    books: Arc<Books>,
    /// They outlive the models that made them.
    encodings: Arc<ConditioningCache>,
    steps: StepStore,
    upscaler: IdleUpscaler,
}

impl Drop for Cache {
    /// Waits for threads that jobs left behind: a process must not end while one is in the engine.
    fn drop(&mut self) {
        let mut state = self.lock();
        while state.background_work > 0 {
            self.books.changed.wait(&mut state);
        }
    }
}

/// A context in use. Dropping it lets the context be evicted again.
pub(super) struct Lease<'a> {
    cache: &'a Cache,
    id: ResidentId,
    /// Taken when it is dropped.
    context: Option<Arc<Context>>,
    is_poisoned: bool,
    frees_later: bool,
}

impl Lease<'_> {
    pub(super) fn context(&self) -> &Context {
        let Some(context) = &self.context else { unreachable!("it is there until the lease is dropped") };
        context
    }

    /// Frees the context, and those that share modules with it, after their last use: they can no
    /// longer be trusted.
    pub(super) fn discard(mut self) {
        self.is_poisoned = true;
    }

    /// As [`discard`](Self::discard), on another thread: a cancelled job need not wait for a device
    /// or a server to free memory.
    pub(super) fn discard_later(mut self) {
        self.is_poisoned = true;
        self.frees_later = true;
    }

    /// As [`discard`](Self::discard); also evicts every other context that nobody uses from this
    /// device, unless it is kept. Returns true where one was evicted.
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
        self.context().preload(&own, callbacks)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let Some(context) = self.context.take() else { return };
        let (holdings, encodings, is_lost) = (context.module_memory(), context.conditioning_counts(), context.is_lost());
        let mut state = self.cache.lock();
        state.set_module_memory(self.id, &holdings);
        if let Some(loaded) = state.contexts.get_mut(&self.id) {
            loaded.used_at = SystemTime::now();
            loaded.encodings = encodings.unwrap_or(loaded.encodings);
        }
        if self.is_poisoned || is_lost {
            state.poison(self.id);
        }
        state.policy.end_use(self.id);
        if self.frees_later {
            self.cache.free_later(state, context);
        } else {
            drop(context);
            self.cache.free_and_notify(state);
        }
    }
}

impl Cache {
    /// The context for these files and settings, opened now where it is not there, with room made
    /// for it, and held to its budgets. Calls `waits` with the names of the models whose memory it
    /// waits for.
    pub(super) fn lease(
        &self,
        request: &LeaseRequest<'_>,
        callbacks: &dyn JobCallbacks,
        waits: &dyn Fn(&[String]),
    ) -> Result<Lease<'_>, CallError> {
        let (key, need) = (Key::new(request.params), request.bytes());
        let (id, found) = self.enter(&key, callbacks)?;
        self.make_room(id, &need, callbacks, waits)?;
        let context = match found {
            Some(context) => context,
            None => self.open(id, key, request, callbacks)?,
        };
        let lease = Lease { cache: self, id, context: Some(context), is_poisoned: false, frees_later: false };
        let state = self.lock();
        let Some(loaded) = state.contexts.get(&id) else { unreachable!("it was found or opened above, and is in use") };
        let mut limits = request.budgets.limits(&loaded.devices_before);
        let missing = state.missing(id, &need);
        drop(state);
        limits.packed_bytes = request.packed().map_or(0, |(device, wanted)| {
            let room = self.memory().get(device).map_or(0, |memory| memory.free_bytes.saturating_sub(memory.reserve_bytes));
            wanted.min(room.saturating_sub(missing.get(device).copied().unwrap_or(0)))
        });
        match lease.context().set_limits(&limits, callbacks) {
            Ok(()) => Ok(lease),
            Err(error) => {
                if error.status != Status::Cancelled {
                    lease.discard();
                }
                Err(error)
            }
        }
    }

    /// Begins the use of a model: of one that is there, with its context, or of a new entry. Waits
    /// while another job opens the same.
    fn enter(&self, key: &Key, callbacks: &dyn JobCallbacks) -> Result<(ResidentId, Option<Arc<Context>>), CallError> {
        let mut state = self.lock();
        loop {
            if let Some((id, context)) = state.find(key) {
                state.policy.begin_use(id);
                drop(state);
                if !context.is_lost() {
                    return Ok((id, Some(context)));
                }
                state = self.lock();
                state.poison(id);
                state.policy.end_use(id);
                drop(context);
                self.free_and_notify(state);
                state = self.lock();
            } else if state.is_opening(key) {
                if callbacks.cancelled() {
                    return Err(CallError::cancelled());
                }
                self.books.changed.wait_for(&mut state, POLL_INTERVAL);
            } else {
                return Ok((state.reserve_entry(key), None));
            }
        }
    }

    fn open(&self, id: ResidentId, key: Key, request: &LeaseRequest<'_>, callbacks: &dyn JobCallbacks) -> Result<Arc<Context>, CallError> {
        /// Ends an opening that did not come to its end, also by a panic.
        struct Opening<'a>(&'a Cache, Option<ResidentId>);
        impl Drop for Opening<'_> {
            fn drop(&mut self) {
                if let Some(id) = self.1 {
                    self.0.give_up(id);
                }
            }
        }
        let mut opening = Opening(self, Some(id));
        let devices_before = devices::list();
        let context = open::open(request.params, &self.encodings, key.encoders(), callbacks, BackgroundWork::new(&self.books))?;
        opening.1 = None;
        let context = self.lock().insert(id, key, context, devices_before);
        self.books.changed.notify_all();
        Ok(context)
    }

    fn make_room(&self, id: ResidentId, need: &Bytes, callbacks: &dyn JobCallbacks, waits: &dyn Fn(&[String])) -> Result<(), CallError> {
        let mut waited_for = Vec::new();
        loop {
            if callbacks.cancelled() {
                self.give_up(id);
                return Err(CallError::cancelled());
            }
            let mut state = self.lock();
            // What is about to be freed is not there to be measured yet.
            if state.frees_pending > 0 {
                self.books.changed.wait_for(&mut state, POLL_INTERVAL);
                continue;
            }
            drop(state);
            let memory = self.memory();
            let mut state = self.lock();
            match state.policy.decide(&state.missing(id, need), &memory, Some(id)) {
                Decision::Admit | Decision::Try => return Ok(()),
                Decision::Evict(victim) => {
                    drop(state);
                    // It is small, and read again in a moment.
                    if !self.upscaler.free() {
                        self.evict(self.lock(), victim);
                    }
                }
                Decision::Wait(busy) => {
                    if busy != waited_for {
                        waits(&state.names(&busy));
                        waited_for = busy;
                    }
                    self.books.changed.wait_for(&mut state, POLL_INTERVAL);
                }
            }
        }
    }

    /// Ends a use without a lease.
    fn give_up(&self, id: ResidentId) {
        let mut state = self.lock();
        state.policy.end_use(id);
        state.end_opening(id);
        self.free_and_notify(state);
    }

    /// Memory of the devices that say what they have, as of now. What the engine keeps for compute
    /// buffers is as good as free: the next ones and weights take its place.
    fn memory(&self) -> BTreeMap<String, Memory> {
        let reserve = self.lock().reserve;
        let known = devices::list().into_iter().filter(|device| device.memory_total_bytes > 0);
        let memory = known.map(|device| {
            let reserve_bytes = reserve.bytes(&device);
            let kept = if device.kind == DeviceKind::Cpu { ffi::kept_bytes() } else { 0 };
            (device.name, Memory { free_bytes: device.memory_free_bytes.saturating_add(kept), reserve_bytes })
        });
        memory.collect()
    }

    /// Removes a model, frees its memory without the lock, and notes the bytes that the driver does
    /// not return.
    fn evict(&self, mut state: MutexGuard<'_, Models>, id: ResidentId) {
        let (garbage, held) = state.remove(id);
        drop(state);
        let before = devices::list();
        let freed = garbage.free();
        ffi::release_kept_buffers(Duration::ZERO);
        let after = devices::list();
        let mut state = self.lock();
        state.note_freed(freed);
        state.note_unreturned(&held, &before, &after);
        drop(state);
        self.books.changed.notify_all();
    }

    /// Frees what nobody needs any more, without the lock, and wakes those who wait.
    fn free_and_notify(&self, mut state: MutexGuard<'_, Models>) {
        let garbage = state.collect();
        drop(state);
        self.books.free(garbage);
    }

    /// The same on a thread of its own, with the context of a lease that ended.
    fn free_later(&self, mut state: MutexGuard<'_, Models>, context: Arc<Context>) {
        let garbage = state.collect();
        state.frees_pending += 1;
        drop(state);
        let (books, work) = (Arc::clone(&self.books), BackgroundWork::new(&self.books));
        let free = move || {
            let _work = work;
            drop(context);
            let freed = garbage.free();
            let mut state = books.state.lock();
            state.note_freed(freed);
            state.frees_pending -= 1;
            drop(state);
            books.changed.notify_all();
        };
        if thread::Builder::new().name("engine freeing".into()).spawn(free).is_err() {
            // What was to be freed went with the closure.
            self.lock().frees_pending -= 1;
            self.books.changed.notify_all();
        }
    }

    /// Steps of the last pictures.
    pub(super) const fn steps(&self) -> &StepStore {
        &self.steps
    }

    /// The upscaler of this key, where it was used last.
    pub(super) fn take_upscaler(&self, key: &UpscalerKey) -> Option<Upscaler> {
        self.upscaler.take(key)
    }

    /// Keeps an upscaler open for its next use.
    pub(super) fn keep_upscaler(&self, key: UpscalerKey, upscaler: Upscaler) {
        self.upscaler.set(key, upscaler);
    }

    /// Frees every context that nobody uses, also those that are kept, and the upscaler, and
    /// forgets text encodings and steps.
    pub(super) fn clear(&self) {
        self.encodings.clear();
        self.steps.clear();
        self.upscaler.free();
        let ids = self.lock().policy.by_use();
        for id in ids {
            self.unload(id);
        }
        let mut state = self.lock();
        while state.frees_pending > 0 {
            self.books.changed.wait(&mut state);
        }
        drop(state);
        ffi::release_kept_buffers(Duration::ZERO);
    }

    /// Frees every context that nobody uses and that holds something on this device, unless it is
    /// kept, and the upscaler. True where something was freed.
    pub(super) fn evict_from(&self, device: &str) -> bool {
        let mut freed = self.upscaler.free();
        let all_of_device = BTreeMap::from([(device.to_owned(), Memory { free_bytes: 0, reserve_bytes: 1 })]);
        while self.evict_surplus(&all_of_device) {
            freed = true;
        }
        freed
    }

    /// Evicts one context where less memory is free than must stay free. False where none may go.
    fn evict_surplus(&self, memory: &BTreeMap<String, Memory>) -> bool {
        let state = self.lock();
        let surplus = state.policy.surplus(memory);
        if let Some(id) = surplus {
            self.evict(state, id);
        }
        surplus.is_some()
    }

    /// Frees one context, unless it is in use.
    pub(super) fn unload(&self, id: ResidentId) {
        let state = self.lock();
        if state.may_unload(id) {
            self.evict(state, id);
        }
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
    /// Before them goes what is kept for compute buffers.
    pub(super) fn evict_for_others(&self) -> bool {
        let reserve = self.lock().reserve;
        let is_short = |device: &Device| device.kind == DeviceKind::Cpu && device.memory_free_bytes < reserve.bytes(device);
        if ffi::kept_bytes() > 0 && devices::list().iter().any(is_short) {
            ffi::release_kept_buffers(Duration::ZERO);
        }
        let mut evicted = false;
        while !self.lock().contexts.is_empty() && self.evict_surplus(&self.memory()) {
            evicted = true;
        }
        evicted
    }

    /// Gives memory back that was kept for compute buffers, once it was not used for a while.
    pub(super) fn release_unused_buffers() {
        ffi::release_kept_buffers(KEPT_UNUSED);
    }

    /// The devices of the only resident model as they were before it was opened, and the overhead
    /// of each: bytes that are no longer free, less the buffers that are counted. Nothing where
    /// there is another number of models, or only RAM was used.
    pub(super) fn overhead(&self) -> (Vec<Device>, BTreeMap<String, u64>) {
        let devices_before = {
            let state = self.lock();
            let mut contexts = state.contexts.values();
            let (Some(only), None) = (contexts.next(), contexts.next()) else { return Default::default() };
            only.devices_before.clone()
        };
        let used: Vec<_> = devices_before.into_iter().filter(|device| ffi::allocated_bytes(&device.name) > 0).collect();
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

    /// The placement, without budgets, with which a model of these files is in memory; of several
    /// the latest used.
    pub(super) fn placement_of(&self, files: &ModelFiles) -> Option<Placement> {
        self.lock().placement_of(files)
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
        self.books.state.lock()
    }
}
