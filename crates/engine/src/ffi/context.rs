//! A loaded model.

use std::ffi::CString;
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::callbacks::{Callbacks, Sink, copy_rgb, module_of};
use super::encodings::Encodings;
use super::error::CallError;
use super::params::{Limits, Load, PreviewMode, RawLoad, RawShot, Shot};
use atelier_core::placement::Module;
use atelier_core::recipe::Rgb8;

/// A model in the engine. Weights are read when they are first needed and stay until they are released or this is dropped.
pub(crate) struct Context {
    raw: Arc<Raw>,
    /// Contexts whose modules this one uses; they outlive it.
    lenders: Vec<Arc<Raw>>,
}

struct Raw {
    pointer: NonNull<ggml_sys::atelier_context>,
    /// Held during each call: a context computes one thing at a time, and so do those that share a module with it.
    busy: Mutex<()>,
}

impl Raw {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: the engine ties no context to a thread, and `busy` lets one thread in at a time.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_context_new` and is freed once; whoever borrowed from it holds an `Arc` of it.
        unsafe { ggml_sys::atelier_context_free(self.pointer.as_ptr()) };
    }
}

/// Weights of a module in a device's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) module: Module,
    /// The device's whole name.
    pub(crate) device: String,
    pub(crate) bytes: u64,
}

/// More than seven modules on a few devices each are not to be had.
const MOST_HOLDINGS: usize = 64;

impl Context {
    /// Reads the headers of the model's files and prepares its modules. Texts that were encoded by encoders of this name are found in
    /// `encodings`.
    pub(crate) fn new(load: &Load, encodings: &Encodings, encoders: &str, sink: &dyn Sink) -> Result<Self, CallError> {
        let raw = RawLoad::new(load)?;
        let encoders = CString::new(encoders).map_err(|_| CallError::new("a file's name holds a NUL character"))?;
        let callbacks = Callbacks::new(&sink);
        let mut context = null_mut();
        // SAFETY: `raw` owns its strings and lives past the call, as do the encodings and their name; `callbacks` borrows `sink`; `context` is
        // ours to be written.
        let status = unsafe {
            let (raw, encodings) = (&raw const raw.raw, encodings.as_ptr());
            ggml_sys::atelier_context_new(raw, encodings, encoders.as_ptr(), callbacks.as_ptr(), &raw mut context)
        };
        CallError::check(status)?;
        let pointer = NonNull::new(context).ok_or_else(|| CallError::new("the engine gave no context"))?;
        Ok(Self { raw: Arc::new(Raw { pointer, busy: Mutex::default() }), lenders: Vec::new() })
    }

    /// Sets what each module may use of its device, for the pictures that follow.
    pub(crate) fn limit(&self, limits: &Limits) -> Result<(), CallError> {
        let _alone = self.alone();
        let raw = limits.raw();
        // SAFETY: a live context that no other thread uses now, and a whole struct of ours.
        CallError::check(unsafe { ggml_sys::atelier_context_limit(self.pointer(), &raw const raw) })
    }

    /// Uses modules of another context, of the same files and settings, in place of its own. To be called before the first picture.
    ///
    /// # Errors
    /// Where the engine finds that they differ; then nothing was changed for the module that it found different.
    pub(crate) fn borrow(&mut self, lender: &Self, modules: &[Module]) -> Result<(), CallError> {
        // Both are held together only here, where the borrower is nobody else's yet: no two threads can wait for each other.
        let _alone = lender.alone();
        // SAFETY: two live contexts that no other thread uses now; the lender is kept alive below.
        CallError::check(unsafe { ggml_sys::atelier_context_borrow(self.pointer(), lender.pointer(), bits(modules)) })?;
        if !self.lenders.iter().any(|known| Arc::ptr_eq(known, &lender.raw)) {
            self.lenders.push(Arc::clone(&lender.raw));
        }
        Ok(())
    }

    /// Frees the weights of these modules of its own. They are read again when they are next needed.
    pub(crate) fn release(&self, modules: &[Module]) -> Result<(), CallError> {
        let _alone = self.raw.lock();
        // SAFETY: a live context that no other thread uses now; nothing of its lenders is touched.
        CallError::check(unsafe { ggml_sys::atelier_context_release(self.pointer(), bits(modules)) })
    }

    /// Reads the weights of these modules of its own now, where they live in memory.
    pub(crate) fn warm(&self, modules: &[Module], sink: &dyn Sink) -> Result<(), CallError> {
        let _alone = self.alone();
        let callbacks = Callbacks::new(&sink);
        // SAFETY: a live context that no other thread uses now; `callbacks` borrows `sink`.
        CallError::check(unsafe { ggml_sys::atelier_context_warm(self.pointer(), bits(modules), callbacks.as_ptr()) })
    }

    /// The weights of its own that are in memory now.
    pub(crate) fn holdings(&self) -> Vec<Holding> {
        let _alone = self.raw.lock();
        let mut raw = [ggml_sys::atelier_holding { module: 0, device: std::ptr::null(), bytes: 0 }; MOST_HOLDINGS];
        // SAFETY: a live context that no other thread uses now; the array is ours and as long as we say.
        let count = unsafe { ggml_sys::atelier_context_holdings(self.pointer(), raw.as_mut_ptr(), raw.len()) };
        let holding = |raw: &ggml_sys::atelier_holding| {
            Some(Holding { module: module_of(raw.module)?, device: super::text(raw.device), bytes: raw.bytes })
        };
        raw.iter().take(count).filter_map(holding).collect()
    }

    /// Makes one picture.
    pub(crate) fn generate(&self, shot: &Shot<'_>, preview: Option<(PreviewMode, u32)>, sink: &dyn Sink) -> Result<Rgb8, CallError> {
        let _alone = self.alone();
        let raw = RawShot::new(shot)?;
        let callbacks = Callbacks::new(&sink);
        let (mode, every) = preview.map_or((ggml_sys::preview_t::PREVIEW_NONE, 0), |(mode, every)| {
            let every = i32::try_from(every).unwrap_or(i32::MAX).max(1);
            match mode {
                PreviewMode::Projection => (ggml_sys::preview_t::PREVIEW_PROJ, every),
                PreviewMode::TinyAutoencoder => (ggml_sys::preview_t::PREVIEW_TAE, every),
                PreviewMode::Thrifty => (ggml_sys::preview_t::PREVIEW_TAE, ggml_sys::ATELIER_PREVIEW_THRIFTY),
            }
        });
        let mut image = ggml_sys::sd_image_t { width: 0, height: 0, channel: 0, data: null_mut() };
        // SAFETY: a live context that no other thread uses now; `raw` owns what it points to, except pixels, which `shot` borrows for longer
        // than this call; `callbacks` borrows `sink`; `image` is ours to be written.
        let status = unsafe {
            ggml_sys::atelier_context_generate(
                self.pointer(),
                &raw const raw.raw,
                raw.lora_key,
                mode,
                every,
                callbacks.as_ptr(),
                &raw mut image,
            )
        };
        let made = CallError::check(status);
        // SAFETY: the shim sets `data` to null or to width x height x 3 bytes, which it gives to us to free.
        let pixels = unsafe {
            let pixels = copy_rgb(image.width, image.height, image.data);
            ggml_sys::atelier_image_free(&raw mut image);
            pixels
        };
        made?;
        pixels.ok_or_else(|| CallError::new("the engine made an empty picture"))
    }

    /// How many text encodings its encoder found, and how many it had to make; `None` while it computes, or a lender of its.
    pub(crate) fn encodings(&self) -> Option<(u64, u64)> {
        let all = self.lenders.iter().chain([&self.raw]);
        let _alone = all.map(|raw| raw.busy.try_lock().ok()).collect::<Option<Vec<_>>>()?;
        let (mut hits, mut misses) = (0, 0);
        // SAFETY: a live context that no other thread uses now, and two numbers of ours.
        unsafe { ggml_sys::atelier_context_encodings(self.pointer(), &raw mut hits, &raw mut misses) };
        Some((hits, misses))
    }

    fn pointer(&self) -> *mut ggml_sys::atelier_context {
        self.raw.pointer.as_ptr()
    }

    /// Keeps every other thread out of this context and of those that it borrows from.
    fn alone(&self) -> Vec<MutexGuard<'_, ()>> {
        let mut all: Vec<&Raw> = self.lenders.iter().map(|lender| &**lender).chain([&*self.raw]).collect();
        // In one order, so that no two threads wait for each other.
        all.sort_by_key(|raw| raw.pointer);
        all.into_iter().map(Raw::lock).collect()
    }
}

/// A bit for each module, by its place in `atelier_module`.
fn bits(modules: &[Module]) -> u32 {
    let bit = |module: &Module| Module::ALL.iter().position(|it| it == module).map_or(0, |at| 1 << at);
    modules.iter().map(bit).fold(0, |bits, bit| bits | bit)
}
