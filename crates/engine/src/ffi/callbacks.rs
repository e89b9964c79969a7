//! Translation of the engine's C callbacks into calls of [`JobCallbacks`].

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::protocol::{LogLevel, PhaseKind};
use atelier_core::placement::Module;
use atelier_core::recipe::Rgb8;

/// Progress of one call into the engine. All are called on the thread of that call, except `log`
/// and `cancelled`, which the engine's loading threads call too, and what text encoders tell that
/// compute beside each other.
pub(crate) trait JobCallbacks: Sync {
    fn log(&self, level: LogLevel, text: &str);
    fn phase(&self, phase: PhaseKind);
    /// Bytes read of the weights of one module.
    fn load(&self, module: Option<Module>, done: u64, total: u64);
    /// `fraction` of the running step, 0 to 1; `secs` of the last finished one.
    fn step(&self, done: u32, total: u32, fraction: f32, secs: f32);
    fn preview(&self, step: u32, image: Rgb8);
    /// True where the engine should stop.
    fn cancelled(&self) -> bool;
}

/// C struct of function pointers for one `JobCallbacks`, which it borrows for as long as C may call
/// them.
pub(super) struct RawCallbacks<'a> {
    raw: ggml_sys::atelier_callbacks,
    callbacks: PhantomData<&'a &'a dyn JobCallbacks>,
}

impl<'a> RawCallbacks<'a> {
    /// Takes a reference to a reference: `void*` carries only a thin pointer.
    pub(super) fn new(callbacks: &'a &'a dyn JobCallbacks) -> Self {
        let raw = ggml_sys::atelier_callbacks {
            user: std::ptr::from_ref(callbacks).cast_mut().cast(),
            log: Some(on_log),
            phase: Some(on_phase),
            load: Some(on_load),
            step: Some(on_step),
            preview: Some(on_preview),
            cancelled: Some(on_cancelled),
        };
        Self { raw, callbacks: PhantomData }
    }

    pub(super) const fn as_ptr(&self) -> *const ggml_sys::atelier_callbacks {
        &raw const self.raw
    }
}

/// Calls `call` with the callbacks behind `user`; returns `default` if it panics, since no panic
/// may enter C++.
///
/// # Safety
/// `user` is the `user` of a [`RawCallbacks`] that lives during the call.
unsafe fn with_callbacks<T>(user: *mut c_void, default: T, call: impl FnOnce(&dyn JobCallbacks) -> T) -> T {
    // SAFETY: `RawCallbacks::new` stores a `&&dyn JobCallbacks`, which the caller keeps alive.
    let callbacks: &dyn JobCallbacks = unsafe { *user.cast::<&dyn JobCallbacks>() };
    catch_unwind(AssertUnwindSafe(|| call(callbacks))).unwrap_or(default)
}

unsafe extern "C" fn on_log(user: *mut c_void, level: c_int, text: *const c_char) {
    let level = match level {
        ggml_sys::SD_LOG_DEBUG => LogLevel::Debug,
        ggml_sys::SD_LOG_INFO => LogLevel::Info,
        ggml_sys::SD_LOG_WARN => LogLevel::Warn,
        _ => LogLevel::Error,
    };
    // SAFETY: the shim passes a NUL-terminated string that lives during this call.
    let text = unsafe { super::text::text(text) };
    let log = |callbacks: &dyn JobCallbacks| {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            callbacks.log(level, line.trim_end());
        }
    };
    // SAFETY: the shim passes the `user` of the `RawCallbacks` of the running call.
    unsafe { with_callbacks(user, (), log) }
}

unsafe extern "C" fn on_phase(user: *mut c_void, phase: c_int) {
    if let Some(phase) = phase_kind(phase) {
        // SAFETY: as in `on_log`.
        unsafe { with_callbacks(user, (), |callbacks| callbacks.phase(phase)) }
    }
}

/// Number of a module in `atelier_module` (shim.h).
pub(super) const fn module_number(module: Module) -> c_int {
    match module {
        Module::Diffusion => ggml_sys::ATELIER_MODULE_DIFFUSION,
        Module::ClipL => ggml_sys::ATELIER_MODULE_CLIP_L,
        Module::ClipG => ggml_sys::ATELIER_MODULE_CLIP_G,
        Module::T5 => ggml_sys::ATELIER_MODULE_T5,
        Module::Llm => ggml_sys::ATELIER_MODULE_LLM,
        Module::ClipVision => ggml_sys::ATELIER_MODULE_CLIP_VISION,
        Module::Vae => ggml_sys::ATELIER_MODULE_VAE,
        Module::Controlnet => ggml_sys::ATELIER_MODULE_CONTROLNET,
        Module::Photomaker => ggml_sys::ATELIER_MODULE_PHOTOMAKER,
        Module::Upscaler => ggml_sys::ATELIER_MODULE_UPSCALER,
    }
}

/// `Module` of a number of `atelier_module`; `None` for `ATELIER_MODULE_NONE`.
pub(super) fn module_of(number: c_int) -> Option<Module> {
    Module::ALL.into_iter().find(|module| module_number(*module) == number)
}

/// `PhaseKind` of a number of `atelier_phase` (shim.h).
pub(super) const fn phase_kind(phase: c_int) -> Option<PhaseKind> {
    match phase {
        ggml_sys::ATELIER_PHASE_LOADING => Some(PhaseKind::Loading),
        ggml_sys::ATELIER_PHASE_ENCODING => Some(PhaseKind::Encoding),
        ggml_sys::ATELIER_PHASE_DENOISING => Some(PhaseKind::Denoising),
        ggml_sys::ATELIER_PHASE_DECODING => Some(PhaseKind::Decoding),
        ggml_sys::ATELIER_PHASE_UPSCALING => Some(PhaseKind::Upscaling),
        _ => None,
    }
}

unsafe extern "C" fn on_load(user: *mut c_void, module: c_int, done: u64, total: u64) {
    // SAFETY: as in `on_log`.
    unsafe { with_callbacks(user, (), |callbacks| callbacks.load(module_of(module), done, total)) }
}

unsafe extern "C" fn on_step(user: *mut c_void, done: c_int, total: c_int, fraction: f32, secs: f32) {
    let (done, total) = (u32::try_from(done).unwrap_or(0), u32::try_from(total).unwrap_or(0));
    // SAFETY: as in `on_log`.
    unsafe { with_callbacks(user, (), |callbacks| callbacks.step(done, total, fraction, secs)) }
}

unsafe extern "C" fn on_preview(user: *mut c_void, step: c_int, width: u32, height: u32, rgb: *const u8) {
    // SAFETY: the shim passes width x height x 3 bytes that live during this call.
    let Some(image) = (unsafe { copy_rgb(width, height, rgb) }) else { return };
    // SAFETY: as in `on_log`.
    unsafe { with_callbacks(user, (), |callbacks| callbacks.preview(u32::try_from(step).unwrap_or(0), image)) }
}

unsafe extern "C" fn on_cancelled(user: *mut c_void) -> bool {
    // SAFETY: as in `on_log`.
    unsafe { with_callbacks(user, true, |callbacks| callbacks.cancelled()) }
}

/// Copies pixels that C owns; `None` for null or an image without pixels.
///
/// # Safety
/// `rgb` is null or points to `width * height * 3` bytes that live during the call.
unsafe fn copy_rgb(width: u32, height: u32, rgb: *const u8) -> Option<Rgb8> {
    let bytes = usize::try_from(u64::from(width) * u64::from(height) * 3).ok()?;
    if rgb.is_null() || bytes == 0 {
        return None;
    }
    // SAFETY: as the caller promises.
    let pixels = unsafe { std::slice::from_raw_parts(rgb, bytes) }.to_vec();
    Rgb8::new(width, height, pixels)
}

/// Takes the pixels of `image` and frees them; `None` without looking at them where the call that
/// filled it failed.
///
/// # Safety
/// The shim filled `image`. After success its pointer is null or has width x height x 3 bytes.
pub(super) unsafe fn take_pixels(has_succeeded: bool, image: &mut ggml_sys::sd_image_t) -> Option<Rgb8> {
    // SAFETY: as the caller promises; the pixels are freed once.
    unsafe {
        let pixels = has_succeeded.then(|| copy_rgb(image.width, image.height, image.data)).flatten();
        ggml_sys::atelier_image_free(&raw mut *image);
        pixels
    }
}
