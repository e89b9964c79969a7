//! Raw bindings to stable-diffusion.cpp and ggml, and to Atelier's C++ shim round them. No policy: see `atelier::engine`.
//!
//! What each function does, needs and returns stands in `shim/shim.h`; the engine's own types come from `diffusion-rs-sys`.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

pub use diffusion_rs_sys::{
    lora_apply_mode_t, preview_t, sample_method_t, scheduler_t, sd_cache_params_t, sd_ctx_params_init, sd_ctx_params_t,
    sd_guidance_params_t, sd_hires_params_t, sd_image_t, sd_img_gen_params_init, sd_img_gen_params_t, sd_lora_t, sd_pm_params_t,
    sd_sample_params_t, sd_slg_params_t, sd_tiling_params_t, sd_vae_format_t,
};

/// How a call went.
pub type atelier_status = c_int;
/// It worked.
pub const ATELIER_OK: atelier_status = 0;
/// The engine said no; the context can be used again.
pub const ATELIER_FAILED: atelier_status = 1;
/// It was cancelled; the context can be used again.
pub const ATELIER_CANCELLED: atelier_status = 2;
/// An assert or exception was caught; the context must be freed.
pub const ATELIER_ABORTED: atelier_status = 3;
/// An allocation failed; the context must be freed.
pub const ATELIER_NO_MEMORY: atelier_status = 4;
/// A null or meaningless argument.
pub const ATELIER_BAD_CALL: atelier_status = 5;
/// A remote device went away; the context must be freed.
pub const ATELIER_LOST: atelier_status = 6;

/// Reading headers or weights.
pub const ATELIER_PHASE_LOADING: c_int = 0;
/// Reading the prompt or the init image.
pub const ATELIER_PHASE_ENCODING: c_int = 1;
/// Denoising.
pub const ATELIER_PHASE_DENOISING: c_int = 2;
/// Decoding.
pub const ATELIER_PHASE_DECODING: c_int = 3;
/// Enlarging.
pub const ATELIER_PHASE_UPSCALING: c_int = 4;

/// For `preview_every`: through the decoder, as large and as often as a fifth of the picture's time pays for.
pub const ATELIER_PREVIEW_THRIFTY: c_int = -1;

/// A loaded model.
#[repr(C)]
pub struct atelier_context {
    _private: [u8; 0],
}

/// Text encodings that contexts remember.
#[repr(C)]
pub struct atelier_encodings {
    _private: [u8; 0],
}

/// How many text encodings were remembered and made, and the bytes of those that are remembered now.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct atelier_encoding_counts {
    /// Found.
    pub found: u64,
    /// Made.
    pub made: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A loaded upscaler.
#[repr(C)]
pub struct atelier_upscaler {
    _private: [u8; 0],
}

/// Where a job's news go.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_callbacks {
    /// Given to each of the others.
    pub user: *mut c_void,
    /// Level (0 debug to 3 error) and a line that ends with a line break.
    pub log: Option<unsafe extern "C" fn(user: *mut c_void, level: c_int, text: *const c_char)>,
    /// A phase begins or goes on.
    pub phase: Option<unsafe extern "C" fn(user: *mut c_void, phase: c_int)>,
    /// Module, bytes read, bytes in all.
    pub load: Option<unsafe extern "C" fn(user: *mut c_void, module: c_int, done: u64, total: u64)>,
    /// Steps done, steps in all, fraction of the running step, seconds of the last.
    pub step: Option<unsafe extern "C" fn(user: *mut c_void, done: c_int, total: c_int, fraction: f32, seconds: f32)>,
    /// Step, width, height, and width x height x 3 bytes.
    pub preview: Option<unsafe extern "C" fn(user: *mut c_void, step: c_int, width: u32, height: u32, rgb: *const u8)>,
    /// True where the job should stop.
    pub cancelled: Option<unsafe extern "C" fn(user: *mut c_void) -> bool>,
}

/// A device, as it is now. The strings live as long as the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_device {
    /// Name for placement.
    pub name: *const c_char,
    /// The maker's name.
    pub description: *const c_char,
    /// ggml's device type: 0 CPU, 1 GPU, 2 integrated GPU, 3 accelerator, 4 meta.
    pub type_: c_int,
    /// Free bytes.
    pub memory_free: u64,
    /// All bytes; 0 where the server of a remote device does not answer.
    pub memory_total: u64,
    /// Whether it is another machine's; then the description is its server's address, `#`, and its number there.
    pub remote: bool,
    /// The PCI address of the card; null where it is not known.
    pub card: *const c_char,
}

/// Opens and greets a connection to a server; a socket, or -1.
pub type atelier_dialer = Option<unsafe extern "C" fn(endpoint: *const c_char) -> i64>;

/// Memory that a device did not have.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_shortage {
    /// The device's name; it lives as long as the process.
    pub device: *const c_char,
    /// The phase in which it was wanted.
    pub phase: c_int,
    /// Bytes asked for at once.
    pub bytes_wanted: u64,
    /// Bytes that were free; 0 for the processor.
    pub bytes_free: u64,
}

/// Weights of a module in a device's memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_holding {
    /// `atelier_module`.
    pub module: c_int,
    /// The device's name; it lives as long as the process.
    pub device: *const c_char,
    /// How many bytes.
    pub bytes: u64,
}

/// The most that was held of a device in a phase.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_peak {
    /// The device's name; it lives as long as the process.
    pub device: *const c_char,
    /// The phase.
    pub phase: c_int,
    /// Of this job's model and of others.
    pub bytes: u64,
}

/// What a module takes in a phase, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct atelier_need {
    /// The module; -1 for none that Atelier knows.
    pub module: c_int,
    /// The phase.
    pub phase: c_int,
    /// The most weights at one time where it runs.
    pub weight_bytes: u64,
    /// LoRA weights beside them.
    pub lora_bytes: u64,
    /// The most of all else at one time.
    pub compute_bytes: u64,
    /// The most weights and else at one time.
    pub peak_bytes: u64,
    /// Graphs computed.
    pub graphs: c_int,
}

/// The most bytes of its device that each module's graph may use; 0: no limit.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_limits {
    /// For the diffusion module.
    pub diffusion: u64,
    /// For each text encoder.
    pub te: u64,
    /// For the CLIP vision encoder.
    pub clip_vision: u64,
    /// For the VAE.
    pub vae: u64,
    /// Whether diffusion layers that do not fit are streamed.
    pub stream_layers: bool,
}

unsafe extern "C" {
    pub fn atelier_init();
    pub fn atelier_set_hook(nodes: c_int, force: bool);
    pub fn atelier_last_error() -> *const c_char;
    pub fn atelier_last_shortage(out: *mut atelier_shortage) -> bool;
    pub fn atelier_last_lost() -> *const c_char;
    pub fn atelier_device_count() -> usize;
    pub fn atelier_device_get(index: usize, out: *mut atelier_device) -> atelier_status;
    pub fn atelier_encodings_new() -> *mut atelier_encodings;
    pub fn atelier_encodings_free(encodings: *mut atelier_encodings);
    pub fn atelier_encodings_forget(encodings: *mut atelier_encodings);
    pub fn atelier_encodings_counts(encodings: *const atelier_encodings) -> atelier_encoding_counts;
    pub fn atelier_context_new(
        params: *const sd_ctx_params_t,
        encodings: *const atelier_encodings,
        encoders: *const c_char,
        callbacks: *const atelier_callbacks,
        out: *mut *mut atelier_context,
    ) -> atelier_status;
    pub fn atelier_estimator_new(
        params: *const sd_ctx_params_t,
        callbacks: *const atelier_callbacks,
        out: *mut *mut atelier_context,
    ) -> atelier_status;
    pub fn atelier_estimator_run(
        estimator: *mut atelier_context,
        params: *const sd_img_gen_params_t,
        limits: *const atelier_limits,
        callbacks: *const atelier_callbacks,
        out: *mut atelier_need,
        capacity: usize,
        count: *mut usize,
    ) -> atelier_status;
    pub fn atelier_last_peaks(out: *mut atelier_peak, capacity: usize) -> usize;
    pub fn atelier_held(device: *const c_char) -> u64;
    pub fn atelier_simulate_device(name: *const c_char, memory_bytes: u64, card: *const c_char) -> atelier_status;
    #[cfg(feature = "vulkan")]
    pub fn atelier_vulkan_loader() -> bool;
    pub fn atelier_context_limit(context: *mut atelier_context, limits: *const atelier_limits) -> atelier_status;
    pub fn atelier_context_free(context: *mut atelier_context);
    pub fn atelier_context_generate(
        context: *mut atelier_context,
        params: *const sd_img_gen_params_t,
        lora_key: *const c_char,
        preview_mode: preview_t,
        preview_every: c_int,
        callbacks: *const atelier_callbacks,
        out: *mut sd_image_t,
    ) -> atelier_status;
    pub fn atelier_context_holdings(context: *const atelier_context, out: *mut atelier_holding, capacity: usize) -> usize;
    pub fn atelier_context_release(context: *mut atelier_context, modules: u32) -> atelier_status;
    pub fn atelier_context_borrow(context: *mut atelier_context, lender: *mut atelier_context, modules: u32) -> atelier_status;
    pub fn atelier_context_warm(context: *mut atelier_context, modules: u32, callbacks: *const atelier_callbacks) -> atelier_status;
    pub fn atelier_context_encodings(context: *const atelier_context, hits: *mut u64, misses: *mut u64);
    pub fn atelier_upscaler_new(
        path: *const c_char,
        n_threads: c_int,
        tile_size: c_int,
        backend: *const c_char,
        params_backend: *const c_char,
        callbacks: *const atelier_callbacks,
        out: *mut *mut atelier_upscaler,
    ) -> atelier_status;
    pub fn atelier_upscaler_free(upscaler: *mut atelier_upscaler);
    pub fn atelier_upscaler_run(
        upscaler: *mut atelier_upscaler,
        image: sd_image_t,
        callbacks: *const atelier_callbacks,
        out: *mut sd_image_t,
    ) -> atelier_status;
    pub fn atelier_image_free(image: *mut sd_image_t);
    pub fn atelier_rpc_set_dialer(dial: atelier_dialer);
    pub fn atelier_rpc_set_patience(milliseconds: u64);
    pub fn atelier_rpc_version() -> *const c_char;
    pub fn atelier_rpc_add_server(endpoint: *const c_char) -> atelier_status;
    pub fn atelier_rpc_serve(
        socket: i64,
        devices: *const *const c_char,
        count: usize,
        threads: c_int,
        cache_dir: *const c_char,
    ) -> atelier_status;
}

include!(concat!(env!("OUT_DIR"), "/layout.rs"));

unsafe extern "C" {
    /// The C++ compiler's values for [`LAYOUT`], in its order.
    #[link_name = "atelier_layout"]
    pub static LAYOUT_IN_CPP: [usize; LAYOUT.len()];
}
