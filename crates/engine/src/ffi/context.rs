//! Engine context: an open model.

use std::ffi::CString;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::callbacks::{JobCallbacks, RawCallbacks, module_number, module_of, take_pixels};
use super::conditioning_cache::ConditioningCache;
use super::error::CallError;
use super::params::{ContextParams, GenerateParams, Limits, RawContextParams, RawGenerateParams};
use super::step_records::{StepRecords, StepsParams};
use super::text::text;
use crate::protocol::PreviewOptions;
use atelier_core::placement::Module;
use atelier_core::recipe::Rgb8;

/// Interval at which a call that waits for another one of the same context looks for a cancel.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An open model. Weights are read at the first graph that needs them and stay until they are
/// released or the context is dropped.
pub(crate) struct Context {
    raw: Arc<Raw>,
    /// Tensors of the model's files that no module asks for, in the engine's names.
    unused_tensors: Vec<String>,
    /// Has weights on the processor that can be multiplied in eight bits.
    has_int8_weights: bool,
    /// Contexts whose modules this one uses: kept alive for as long as it lives.
    lenders: Vec<Arc<Raw>>,
}

struct Raw {
    pointer: NonNull<ggml_sys::atelier_context>,
    /// Locked during each call: the engine's context is not reentrant, and neither is a module that
    /// two contexts share.
    busy: Mutex<()>,
    /// Weights of its own modules, as of the end of its last call that may have read or freed some.
    module_memory: Mutex<Vec<ModuleMemory>>,
}

impl Raw {
    /// Waits for other calls, unless this one is cancelled.
    fn lock(&self, callbacks: &dyn JobCallbacks) -> Result<MutexGuard<'_, ()>, CallError> {
        loop {
            if let Some(lock) = self.busy.try_lock_for(POLL_INTERVAL) {
                return Ok(lock);
            }
            if callbacks.cancelled() {
                return Err(CallError::cancelled());
            }
        }
    }
}

// SAFETY: the engine binds no context to a thread, and `busy` serialises the calls.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_context_new` and is freed once; borrowers hold an
        // `Arc` of it.
        unsafe { ggml_sys::atelier_context_free(self.pointer.as_ptr()) };
    }
}

/// Bytes of a module's weights in the memory of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleMemory {
    pub(crate) module: Module,
    /// ggml's name of the device.
    pub(crate) device: String,
    pub(crate) bytes: u64,
}

/// Capacity of the array for C: seven modules, each on a few devices, fit.
const MAX_MODULE_MEMORY: usize = 64;

impl Context {
    /// Opens a model: reads the headers of its files and builds its modules. Texts encoded by a
    /// context with equal `encoders` are found in `conditioning`.
    pub(crate) fn new(
        params: &ContextParams,
        conditioning: &ConditioningCache,
        encoders: &str,
        callbacks: &dyn JobCallbacks,
    ) -> Result<Self, CallError> {
        let raw = RawContextParams::new(params)?;
        let encoders = CString::new(encoders).map_err(|_| CallError::new("a file's name holds a NUL character"))?;
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let mut context = null_mut();
        // SAFETY: `raw` owns its strings and outlives the call, as do the cache and `encoders`;
        // `raw_callbacks` borrows `callbacks`; `context` is a local to be written.
        let status = unsafe {
            let (raw, conditioning) = (&raw const raw.raw, conditioning.as_ptr());
            ggml_sys::atelier_context_new(raw, conditioning, encoders.as_ptr(), raw_callbacks.as_ptr(), &raw mut context)
        };
        CallError::check(status)?;
        let pointer = NonNull::new(context).ok_or_else(|| CallError::new("the engine returned no context"))?;
        let unused_tensors = (0..).map_while(|index| {
            // SAFETY: a live context that nobody else knows yet; a name lives as long as it.
            let name = unsafe { ggml_sys::atelier_context_unused_tensor(context, index) };
            // SAFETY: as above.
            (!name.is_null()).then(|| unsafe { text(name) })
        });
        let unused_tensors = unused_tensors.collect();
        // SAFETY: as above.
        let has_int8_weights = unsafe { ggml_sys::atelier_context_has_known_format(context) };
        let raw = Arc::new(Raw { pointer, busy: Mutex::default(), module_memory: Mutex::default() });
        Ok(Self { raw, unused_tensors, has_int8_weights, lenders: Vec::new() })
    }

    /// Tensors of the model's files that no module asks for, in the engine's names.
    pub(crate) fn unused_tensors(&self) -> &[String] {
        &self.unused_tensors
    }

    /// True where a module that the processor computes has weights that can be multiplied in eight
    /// bits.
    pub(crate) const fn has_int8_weights(&self) -> bool {
        self.has_int8_weights
    }

    /// Sets the memory limits of the modules for the images that follow. Waits for other calls of
    /// the context, unless it is cancelled.
    pub(crate) fn set_limits(&self, limits: &Limits, callbacks: &dyn JobCallbacks) -> Result<(), CallError> {
        let _locks = self.lock_all(callbacks)?;
        let raw = limits.raw();
        // SAFETY: a live context, locked; `raw` is an initialised struct that outlives the call.
        CallError::check(unsafe { ggml_sys::atelier_context_set_limits(self.pointer(), &raw const raw) })
    }

    /// Replaces modules of this context by those of `lender`, opened from the same files with the
    /// same settings. Only before the first image. Never waits.
    ///
    /// # Errors
    /// Modules of different kinds, or a lender in use; the module is not replaced.
    pub(crate) fn borrow(&mut self, lender: &Self, modules: &[Module]) -> Result<(), CallError> {
        // The borrower needs no lock: `&mut self`, and no other context shares its modules yet.
        let _locks = lender.try_lock_all().ok_or_else(|| CallError::new("the lender is in use"))?;
        // SAFETY: two live contexts, the lender locked and the borrower exclusive; the lender is
        // kept alive below.
        CallError::check(unsafe { ggml_sys::atelier_context_borrow(self.pointer(), lender.pointer(), bits(modules)) })?;
        if !self.lenders.iter().any(|known| Arc::ptr_eq(known, &lender.raw)) {
            self.lenders.push(Arc::clone(&lender.raw));
        }
        Ok(())
    }

    /// Frees the weights of its own modules among `modules`. The engine reads them again when they
    /// are next needed. `None` while the context is in use; never waits for it.
    pub(crate) fn release(&self, modules: &[Module]) -> Option<Result<(), CallError>> {
        let _lock = self.raw.busy.try_lock()?;
        // SAFETY: a live context, locked; modules of its lenders are not touched.
        let released = CallError::check(unsafe { ggml_sys::atelier_context_release(self.pointer(), bits(modules)) });
        self.measure();
        Some(released)
    }

    /// Reads the weights of its own modules among `modules` now, except those that stay on disk.
    pub(crate) fn preload(&self, modules: &[Module], callbacks: &dyn JobCallbacks) -> Result<(), CallError> {
        let _locks = self.lock_all(callbacks)?;
        let raw_callbacks = RawCallbacks::new(&callbacks);
        // SAFETY: a live context, locked; `raw_callbacks` borrows `callbacks`.
        let preloaded =
            CallError::check(unsafe { ggml_sys::atelier_context_preload(self.pointer(), bits(modules), raw_callbacks.as_ptr()) });
        self.measure();
        preloaded
    }

    /// True where weights were on a server whose connection has broken since: they are gone. False
    /// while the context is in use.
    pub(crate) fn is_lost(&self) -> bool {
        let Some(_locks) = self.try_lock_all() else { return false };
        let mut all = self.lenders.iter().chain([&self.raw]);
        // SAFETY: live contexts, locked.
        all.any(|raw| unsafe { ggml_sys::atelier_context_is_lost(raw.pointer.as_ptr()) })
    }

    /// Weights of its own modules that were in memory at the end of its last call.
    pub(crate) fn module_memory(&self) -> Vec<ModuleMemory> {
        self.raw.module_memory.lock().clone()
    }

    /// Notes the weights of its own modules. The context is locked by the caller.
    fn measure(&self) {
        let mut raw = [ggml_sys::atelier_module_memory { module: 0, device: null(), bytes: 0 }; MAX_MODULE_MEMORY];
        // SAFETY: a live context, locked; the array has the length that is passed.
        let count = unsafe { ggml_sys::atelier_context_module_memory(self.pointer(), raw.as_mut_ptr(), raw.len()) };
        let module_memory = |raw: &ggml_sys::atelier_module_memory| {
            // SAFETY: null or a device's name, which lives as long as the process.
            let device = unsafe { text(raw.device) };
            Some(ModuleMemory { module: module_of(raw.module)?, device, bytes: raw.bytes })
        };
        *self.raw.module_memory.lock() = raw.iter().take(count).filter_map(module_memory).collect();
    }

    /// Generates one image. `preview` asks for no more than the model's files can decode. Waits for
    /// other calls of the context and of those that share its modules, unless it is cancelled.
    #[cfg(test)]
    pub(crate) fn generate(
        &self,
        params: &GenerateParams<'_>,
        preview: PreviewOptions,
        callbacks: &dyn JobCallbacks,
    ) -> Result<Rgb8, CallError> {
        let image = self.call_generate(params, None, preview, callbacks)?;
        image.ok_or_else(|| CallError::new("the engine made an empty picture"))
    }

    /// Generates one image, which may begin with steps of an earlier one, and keeps its steps.
    /// `None` where it stops early. Otherwise as [`generate`](Self::generate).
    pub(crate) fn generate_with_steps(
        &self,
        params: &GenerateParams<'_>,
        steps: &StepsParams<'_>,
        preview: PreviewOptions,
        callbacks: &dyn JobCallbacks,
    ) -> Result<(Option<Rgb8>, StepRecords), CallError> {
        let mut records = StepRecords::new(steps.max_bytes).ok_or_else(|| CallError::new("there is no memory"))?;
        let image = self.call_generate(params, Some(steps.raw(&mut records)), preview, callbacks)?;
        if image.is_none() && (steps.shows_last_step || steps.stop_after.is_none()) {
            return Err(CallError::new("the engine made an empty picture"));
        }
        Ok((image, records))
    }

    /// `steps` points to records that outlive the call. `None` where no image came.
    fn call_generate(
        &self,
        params: &GenerateParams<'_>,
        steps: Option<ggml_sys::atelier_steps>,
        preview: PreviewOptions,
        callbacks: &dyn JobCallbacks,
    ) -> Result<Option<Rgb8>, CallError> {
        let _locks = self.lock_all(callbacks)?;
        let raw = RawGenerateParams::new(params)?;
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let interval = |every: u32| i32::try_from(every).unwrap_or(i32::MAX).max(1);
        let (mode, every) = match preview {
            PreviewOptions::Off => (ggml_sys::preview_t::PREVIEW_NONE, 0),
            PreviewOptions::Projection { every } => (ggml_sys::preview_t::PREVIEW_PROJ, interval(every)),
            PreviewOptions::TinyAutoencoder { every } => (ggml_sys::preview_t::PREVIEW_TAE, interval(every)),
            PreviewOptions::Adaptive => (ggml_sys::preview_t::PREVIEW_TAE, ggml_sys::ATELIER_PREVIEW_ADAPTIVE),
        };
        let mut image = ggml_sys::sd_image_t { width: 0, height: 0, channel: 0, data: null_mut() };
        // SAFETY: a live context, locked; `raw` owns what it points to, except pixels and vectors,
        // which `params` borrows for longer than this call; `raw_callbacks` borrows `callbacks`;
        // `image` is a local to be written.
        let status = unsafe {
            ggml_sys::atelier_context_generate(
                self.pointer(),
                &raw const raw.raw,
                raw.area.as_ref().map_or(null(), std::ptr::from_ref),
                steps.as_ref().map_or(null(), std::ptr::from_ref),
                raw.noise_blend.as_ref().map_or(null(), std::ptr::from_ref),
                raw.control_steps.as_ref().map_or(null(), std::ptr::from_ref),
                raw.lora_key,
                raw.adapters.as_ptr(),
                raw.adapters.len(),
                raw.embeddings.as_ptr(),
                raw.embeddings.len(),
                raw.rng,
                raw.sampler_rng,
                mode,
                every,
                raw_callbacks.as_ptr(),
                &raw mut image,
            )
        };
        let result = CallError::check(status);
        // SAFETY: the shim filled it: after success `data` is null or has width x height x 3 bytes.
        let pixels = unsafe { take_pixels(result.is_ok(), &mut image) };
        self.measure();
        result?;
        Ok(pixels)
    }

    /// Hits and misses of its text encodings in the cache; `None` while the context or one of its
    /// lenders computes.
    pub(crate) fn conditioning_counts(&self) -> Option<(u64, u64)> {
        let _locks = self.try_lock_all()?;
        let (mut hits, mut misses) = (0, 0);
        // SAFETY: a live context, locked; two locals to be written.
        unsafe { ggml_sys::atelier_context_conditioning_counts(self.pointer(), &raw mut hits, &raw mut misses) };
        Some((hits, misses))
    }

    fn pointer(&self) -> *mut ggml_sys::atelier_context {
        self.raw.pointer.as_ptr()
    }

    /// This context and those that it borrows from, by address: the same order on every thread, so
    /// no deadlock.
    fn all(&self) -> Vec<&Raw> {
        let mut all: Vec<&Raw> = self.lenders.iter().map(|lender| &**lender).chain([&*self.raw]).collect();
        all.sort_by_key(|raw| raw.pointer);
        all
    }

    /// Locks this context and those that it borrows from.
    fn lock_all(&self, callbacks: &dyn JobCallbacks) -> Result<Vec<MutexGuard<'_, ()>>, CallError> {
        self.all().into_iter().map(|raw| raw.lock(callbacks)).collect()
    }

    /// The same, where none of them is in use.
    fn try_lock_all(&self) -> Option<Vec<MutexGuard<'_, ()>>> {
        self.all().into_iter().map(|raw| raw.busy.try_lock()).collect()
    }
}

/// Bit mask of modules: bit n is number n of `atelier_module` (shim.h).
fn bits(modules: &[Module]) -> u32 {
    modules.iter().fold(0, |bits, module| bits | 1 << module_number(*module))
}
