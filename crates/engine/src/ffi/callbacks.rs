//! From the engine's callbacks to a [`Sink`].

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::event::{LogLevel, PhaseKind};
use atelier_core::placement::Module;
use atelier_core::recipe::Rgb8;

/// Where a job's news go. `log` and `cancelled` also come from the engine's loading threads.
pub(crate) trait Sink: Sync {
    fn log(&self, level: LogLevel, text: &str);
    fn phase(&self, phase: PhaseKind);
    fn load(&self, module: Option<Module>, done: u64, total: u64);
    fn step(&self, done: u32, total: u32, fraction: f32, secs: f32);
    fn preview(&self, step: u32, image: Rgb8);
    fn cancelled(&self) -> bool;
}

/// The C struct for a sink, borrowed for as long as C may call it.
pub(super) struct Callbacks<'a> {
    raw: ggml_sys::atelier_callbacks,
    sink: PhantomData<&'a &'a dyn Sink>,
}

impl<'a> Callbacks<'a> {
    /// `sink` is a reference to a reference, so that a thin pointer can carry it.
    pub(super) fn new(sink: &'a &'a dyn Sink) -> Self {
        let raw = ggml_sys::atelier_callbacks {
            user: std::ptr::from_ref(sink).cast_mut().cast(),
            log: Some(on_log),
            phase: Some(on_phase),
            load: Some(on_load),
            step: Some(on_step),
            preview: Some(on_preview),
            cancelled: Some(on_cancelled),
        };
        Self { raw, sink: PhantomData }
    }

    pub(super) const fn as_ptr(&self) -> *const ggml_sys::atelier_callbacks {
        &raw const self.raw
    }
}

/// Calls the sink behind `user`; a panic stays on this side and gives `otherwise`.
fn with_sink<T>(user: *mut c_void, otherwise: T, call: impl FnOnce(&dyn Sink) -> T) -> T {
    // SAFETY: `user` is what `Callbacks::new` put there: a `&&dyn Sink` that its lifetime keeps alive during the call into C.
    let sink: &dyn Sink = unsafe { *user.cast::<&dyn Sink>() };
    catch_unwind(AssertUnwindSafe(|| call(sink))).unwrap_or(otherwise)
}

unsafe extern "C" fn on_log(user: *mut c_void, level: c_int, text: *const c_char) {
    let level = match level {
        0 => LogLevel::Debug,
        1 => LogLevel::Info,
        2 => LogLevel::Warn,
        _ => LogLevel::Error,
    };
    let text = super::text(text);
    with_sink(user, (), |sink| {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            sink.log(level, line.trim_end());
        }
    });
}

unsafe extern "C" fn on_phase(user: *mut c_void, phase: c_int) {
    if let Some(phase) = phase_kind(phase) {
        with_sink(user, (), |sink| sink.phase(phase));
    }
}

/// `atelier_module` of shim.h, which has the order of `Module`.
pub(super) fn module_of(number: c_int) -> Option<Module> {
    usize::try_from(number).ok().and_then(|index| Module::ALL.get(index).copied())
}

/// `atelier_phase` of shim.h.
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
    with_sink(user, (), |sink| sink.load(module_of(module), done, total));
}

unsafe extern "C" fn on_step(user: *mut c_void, done: c_int, total: c_int, fraction: f32, secs: f32) {
    let (done, total) = (u32::try_from(done).unwrap_or(0), u32::try_from(total).unwrap_or(0));
    with_sink(user, (), |sink| sink.step(done, total, fraction, secs));
}

unsafe extern "C" fn on_preview(user: *mut c_void, step: c_int, width: u32, height: u32, rgb: *const u8) {
    // SAFETY: the shim passes width x height x 3 bytes that live during this call.
    let Some(image) = (unsafe { copy_rgb(width, height, rgb) }) else { return };
    with_sink(user, (), |sink| sink.preview(u32::try_from(step).unwrap_or(0), image));
}

unsafe extern "C" fn on_cancelled(user: *mut c_void) -> bool {
    with_sink(user, true, |sink| sink.cancelled())
}

/// Copies pixels that C owns.
///
/// # Safety
/// `rgb` is null or points to `width * height * 3` bytes that live during the call.
pub(super) unsafe fn copy_rgb(width: u32, height: u32, rgb: *const u8) -> Option<Rgb8> {
    let bytes = usize::try_from(u64::from(width) * u64::from(height) * 3).ok()?;
    if rgb.is_null() || bytes == 0 {
        return None;
    }
    // SAFETY: as the caller promises.
    let pixels = unsafe { std::slice::from_raw_parts(rgb, bytes) }.to_vec();
    Rgb8::new(width, height, pixels)
}
