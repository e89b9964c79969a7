//! Raw bindings of Atelier's C++ shim around stable-diffusion.cpp and ggml. No policy: see the
//! crate `atelier-engine`.
//!
//! `shim/shim.h` documents every function and struct; the engine's own types come from
//! `diffusion-rs-sys`. `tests/layout.rs` compares sizes, offsets and constants with those of the
//! C++ compiler.

#![allow(unsafe_code, reason = "bindings of a C interface")]
#![allow(non_camel_case_types, reason = "names of C")]

use std::ffi::{c_char, c_int, c_void};

pub use diffusion_rs_sys::{
    lora_apply_mode_t, prediction_t, preview_t, rng_type_t, sample_method_t, scheduler_t, sd_cache_mode_t, sd_cache_params_t,
    sd_ctx_params_init, sd_ctx_params_t, sd_guidance_params_t, sd_hires_params_t, sd_hires_upscaler_t, sd_image_t, sd_img_gen_params_init,
    sd_img_gen_params_t, sd_lora_t, sd_pm_params_t, sd_sample_params_t, sd_slg_params_t, sd_tiling_params_t, sd_type_t, sd_vae_format_t,
};

/// Result of a call.
pub type atelier_status = c_int;
/// Success.
pub const ATELIER_OK: atelier_status = 0;
/// The engine reported a failure; the context can be used again.
pub const ATELIER_FAILED: atelier_status = 1;
/// `cancelled` returned true; the context can be used again.
pub const ATELIER_CANCELLED: atelier_status = 2;
/// An assert or exception was caught; the context must be freed.
pub const ATELIER_ABORTED: atelier_status = 3;
/// An allocation failed; the context must be freed.
pub const ATELIER_NO_MEMORY: atelier_status = 4;
/// An argument is null or out of range.
pub const ATELIER_INVALID_ARGUMENT: atelier_status = 5;
/// The connection to a remote device broke; the context must be freed.
pub const ATELIER_CONNECTION_LOST: atelier_status = 6;
/// A device stopped answering for good; the context must be freed.
pub const ATELIER_DEVICE_LOST: atelier_status = 7;

/// Reads headers or weights.
pub const ATELIER_PHASE_LOADING: c_int = 0;
/// Encodes the prompt or the init image.
pub const ATELIER_PHASE_ENCODING: c_int = 1;
/// Sampling steps.
pub const ATELIER_PHASE_DENOISING: c_int = 2;
/// Decodes the latents.
pub const ATELIER_PHASE_DECODING: c_int = 3;
/// Upscales an image.
pub const ATELIER_PHASE_UPSCALING: c_int = 4;

/// No module that Atelier knows.
pub const ATELIER_MODULE_NONE: c_int = -1;
/// Diffusion model.
pub const ATELIER_MODULE_DIFFUSION: c_int = 0;
/// Text encoder: CLIP L, and the only one of SD1 and SD2.
pub const ATELIER_MODULE_CLIP_L: c_int = 1;
/// Text encoder: CLIP G.
pub const ATELIER_MODULE_CLIP_G: c_int = 2;
/// Text encoder: T5.
pub const ATELIER_MODULE_T5: c_int = 3;
/// Text encoder: a language model.
pub const ATELIER_MODULE_LLM: c_int = 4;
/// CLIP vision encoder.
pub const ATELIER_MODULE_CLIP_VISION: c_int = 5;
/// VAE or tiny autoencoder.
pub const ATELIER_MODULE_VAE: c_int = 6;
/// `ControlNet`.
pub const ATELIER_MODULE_CONTROLNET: c_int = 7;
/// `PhotoMaker`.
pub const ATELIER_MODULE_PHOTOMAKER: c_int = 8;
/// Upscaler.
pub const ATELIER_MODULE_UPSCALER: c_int = 9;
/// Number of modules.
pub const ATELIER_MODULE_COUNT: c_int = 10;

/// `sd_log_level_t` of the engine.
pub const SD_LOG_DEBUG: c_int = 0;
/// `sd_log_level_t` of the engine.
pub const SD_LOG_INFO: c_int = 1;
/// `sd_log_level_t` of the engine.
pub const SD_LOG_WARN: c_int = 2;
/// `sd_log_level_t` of the engine.
pub const SD_LOG_ERROR: c_int = 3;

/// `ggml_backend_dev_type`: the CPU.
pub const GGML_BACKEND_DEVICE_TYPE_CPU: c_int = 0;
/// `ggml_backend_dev_type`: a GPU with memory of its own.
pub const GGML_BACKEND_DEVICE_TYPE_GPU: c_int = 1;
/// `ggml_backend_dev_type`: a GPU that uses RAM.
pub const GGML_BACKEND_DEVICE_TYPE_IGPU: c_int = 2;
/// `ggml_backend_dev_type`: an accelerator used with the CPU.
pub const GGML_BACKEND_DEVICE_TYPE_ACCEL: c_int = 3;
/// `ggml_backend_dev_type`: a device made of others.
pub const GGML_BACKEND_DEVICE_TYPE_META: c_int = 4;

/// Value of `preview_every`: previews through the decoder, as large and as often as a fifth of the
/// image's time allows.
pub const ATELIER_PREVIEW_ADAPTIVE: c_int = -1;

/// An open model.
#[repr(C)]
pub struct atelier_context {
    _private: [u8; 0],
}

/// Cache of text encodings.
#[repr(C)]
pub struct atelier_conditioning_cache {
    _private: [u8; 0],
}

/// Use and size of a cache of text encodings.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct atelier_conditioning_stats {
    /// Lookups that found an encoding.
    pub hits: u64,
    /// Lookups that ran the text encoder.
    pub misses: u64,
    /// Size now.
    pub bytes: u64,
}

/// An open upscaler.
#[repr(C)]
pub struct atelier_upscaler {
    _private: [u8; 0],
}

/// Callbacks of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_callbacks {
    /// First argument of each function.
    pub user: *mut c_void,
    /// `SD_LOG_*` and a line that ends with a line break.
    pub log: Option<unsafe extern "C" fn(user: *mut c_void, level: c_int, text: *const c_char)>,
    /// `ATELIER_PHASE_*` that begins or continues.
    pub phase: Option<unsafe extern "C" fn(user: *mut c_void, phase: c_int)>,
    /// `ATELIER_MODULE_*`, bytes read, bytes in all.
    pub load: Option<unsafe extern "C" fn(user: *mut c_void, module: c_int, done: u64, total: u64)>,
    /// Steps done, steps in all, fraction of the running step, seconds of the last.
    pub step: Option<unsafe extern "C" fn(user: *mut c_void, done: c_int, total: c_int, fraction: f32, seconds: f32)>,
    /// Step, width, height, and width x height x 3 bytes.
    pub preview: Option<unsafe extern "C" fn(user: *mut c_void, step: c_int, width: u32, height: u32, rgb: *const u8)>,
    /// True where the job should stop.
    pub cancelled: Option<unsafe extern "C" fn(user: *mut c_void) -> bool>,
}

/// Device and its free memory now. The strings live as long as the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_device {
    /// ggml's name.
    pub name: *const c_char,
    /// Vendor's name, or address and index of a remote device.
    pub description: *const c_char,
    /// `GGML_BACKEND_DEVICE_TYPE_*`.
    pub type_: c_int,
    /// Free bytes.
    pub memory_free: u64,
    /// Total bytes; 0 where the server of a remote device does not answer.
    pub memory_total: u64,
    /// On another machine: the description is the server's address, `#` and the index there.
    pub remote: bool,
    /// PCI address; null where unknown.
    pub card: *const c_char,
}

/// Connects to a server, handshake included; a socket, or -1.
pub type atelier_dialer = Option<unsafe extern "C" fn(endpoint: *const c_char, is_stock: *mut bool) -> i64>;

/// Writes the 32 bytes of a SHA-256.
pub type atelier_hasher = Option<unsafe extern "C" fn(data: *const u8, size: usize, hash: *mut u8)>;

/// Weights that a lender keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_weights_cache {
    /// Passed to each function.
    pub user: *mut c_void,
    /// Keeps weights.
    pub store: Option<unsafe extern "C" fn(user: *mut c_void, data: *const u8, size: usize)>,
    /// True where weights of this hash and size seem to be there.
    pub contains: Option<unsafe extern "C" fn(user: *mut c_void, hash: *const u8, size: usize) -> bool>,
    /// Fills `data` with weights of this hash, or returns false.
    pub load: Option<unsafe extern "C" fn(user: *mut c_void, hash: *const u8, data: *mut u8, size: usize) -> bool>,
}

/// An allocation that failed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_shortage {
    /// The device's name; it lives as long as the process.
    pub device: *const c_char,
    /// `ATELIER_PHASE_*`.
    pub phase: c_int,
    /// Size of the allocation.
    pub bytes_wanted: u64,
    /// Free bytes; 0 for the CPU.
    pub bytes_free: u64,
}

/// Bytes of a module's weights in the memory of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_module_memory {
    /// `ATELIER_MODULE_*`.
    pub module: c_int,
    /// The device's name; it lives as long as the process.
    pub device: *const c_char,
    /// Bytes.
    pub bytes: u64,
}

/// Peak of the bytes allocated on a device in a phase, other jobs included.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_device_peak {
    /// The device's name; it lives as long as the process.
    pub device: *const c_char,
    /// `ATELIER_PHASE_*`.
    pub phase: c_int,
    /// Bytes.
    pub bytes: u64,
}

/// Names of the tensors in a LoRA's file, and the engine's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_adapter_names {
    /// Its file.
    pub path: *const c_char,
    /// Names in the file.
    pub from: *const *const c_char,
    /// The engine's: `lora.<weight>#<first row>.<part>`.
    pub to: *const *const c_char,
    /// Names in each list; 0: by the engine's own.
    pub count: usize,
    /// What its changes of text encoders are multiplied by; not a number: as those of other modules.
    pub encoder_strength: f32,
    /// Its changes become a part of the diffusion module's weights.
    pub is_merged: bool,
}

/// Tensors of a LoRA's file, and how many of them an image was made with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_lora_use {
    /// Its file.
    pub path: *const c_char,
    /// Tensors that were used.
    pub applied: u64,
    /// Tensors of the file; 0: none is of a module of this model.
    pub total: u64,
}

/// An entry of a GGUF file's metadata.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_text_entry {
    /// Its key.
    pub key: *const c_char,
    /// Its text.
    pub value: *const c_char,
}

/// Predicted memory of a module in a phase, in bytes, on the device where it runs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct atelier_module_estimate {
    /// `ATELIER_MODULE_*`.
    pub module: c_int,
    /// `ATELIER_PHASE_*`.
    pub phase: c_int,
    /// Peak of weights.
    pub weight_bytes: u64,
    /// Peak of LoRA weights.
    pub lora_bytes: u64,
    /// Peak of all other buffers.
    pub compute_bytes: u64,
    /// Peak of weights and other buffers together, without LoRAs.
    pub peak_bytes: u64,
    /// Of packed weights that the processor may keep from step to step, beside the others.
    pub packed_bytes: u64,
    /// Number of computed graphs.
    pub graphs: c_int,
    /// Copied to the device for its graphs, weights apart.
    pub input_bytes: u64,
    /// Copied from the device.
    pub output_bytes: u64,
}

/// Matrix products.
pub const ATELIER_WORK_PRODUCT: c_int = 0;
/// Convolutions: direct, or an unfolded image and its product.
pub const ATELIER_WORK_CONVOLUTION: c_int = 1;
/// Attention in one node.
pub const ATELIER_WORK_ATTENTION: c_int = 2;
/// Sums, products by elements, quick activations.
pub const ATELIER_WORK_ELEMENTWISE: c_int = 3;
/// Softmax, GELU, tanh and other functions that are computed value by value.
pub const ATELIER_WORK_TRANSCENDENTAL: c_int = 4;
/// Norms.
pub const ATELIER_WORK_NORMALIZATION: c_int = 5;
/// Copies, changes of layout, lookups.
pub const ATELIER_WORK_COPY: c_int = 6;

/// Fewer than 16 rows or columns.
pub const ATELIER_NODE_NARROW: c_int = 0;
/// Less than 2^27 operations, or 2^20 bytes.
pub const ATELIER_NODE_SMALL: c_int = 1;
/// Less than 2^32 operations, or 2^26 bytes.
pub const ATELIER_NODE_MEDIUM: c_int = 2;
/// All others.
pub const ATELIER_NODE_LARGE: c_int = 3;

/// Nodes of one class in the graphs of a module in a phase.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_work {
    /// `ATELIER_MODULE_*`.
    pub module: c_int,
    /// `ATELIER_PHASE_*`.
    pub phase: c_int,
    /// `ATELIER_WORK_*`.
    pub kind: c_int,
    /// `ATELIER_NODE_*`.
    pub size: c_int,
    /// ggml's name of the number type of the weights, or of the first operand; `f32` where memory
    /// limits the kind.
    pub type_: *const c_char,
    /// Their number.
    pub nodes: u64,
    /// Floating point operations; 0 where memory limits the kind.
    pub operations: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// Maximum bytes of its device that each module's graph may use; 0: no limit.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_limits {
    /// By module.
    pub bytes: [u64; ATELIER_MODULE_COUNT as usize],
    /// Bit n streams the layers of module n that do not fit.
    pub streamed: u32,
    /// Copy the next layers while these are computed, where the device can.
    pub prefetch: bool,
    /// Packed weights that the processor may keep while it computes the steps of an image.
    pub packed_bytes: u64,
}

/// Weights that were copied to the device of their module while an image was made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_copies {
    /// `ATELIER_MODULE_*`.
    pub module: c_int,
    /// Bytes.
    pub bytes: u64,
    /// Buffers.
    pub count: u64,
    /// Microseconds in which the device computed nothing.
    pub waited_us: u64,
    /// Microseconds beside computing.
    pub hidden_us: u64,
}

/// A textual inversion: vectors that take the place of a text in a prompt.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_embedding {
    /// The text, of lower-case ASCII.
    pub token: *const c_char,
    /// The number of vectors.
    pub count: c_int,
    /// Values of a vector of the first encoder.
    pub width: c_int,
    /// count x width values.
    pub vectors: *const f32,
    /// Values of a vector of the second encoder.
    pub width_2: c_int,
    /// count x `width_2` values, or null.
    pub vectors_2: *const f32,
}

/// How an image changes a part of the one that it starts from.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_area {
    /// The part of the schedule that is run.
    pub strength: f32,
    /// One byte a pixel, or null.
    pub soft_mask: *const u8,
    /// Width of the soft mask.
    pub width: c_int,
    /// Height of the soft mask.
    pub height: c_int,
}

/// Estimates of the steps of an image.
#[repr(C)]
pub struct atelier_step_records {
    _private: [u8; 0],
}

/// What is kept of the steps of an image.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct atelier_step_counts {
    /// Whole steps.
    pub steps: c_int,
    /// Bytes.
    pub bytes: u64,
    /// Evaluations that the image computed.
    pub computed: u64,
}

/// The steps that an image does not compute, and those that it keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_steps {
    /// Gets the estimates of this image; or null.
    pub record: *mut atelier_step_records,
    /// Of an earlier image, or null.
    pub replay: *const atelier_step_records,
    /// First steps that take their estimates from there.
    pub replay_steps: c_int,
    /// Of an earlier image whose estimate gets this one's noise, or null.
    pub restart: *const atelier_step_records,
    /// The step after which it does.
    pub restart_after: c_int,
    /// The last step that is run; 0: all are run.
    pub stop_after: c_int,
    /// The picture is the estimate of that step; else none comes.
    pub shows_last_step: bool,
}

/// Start noise between those of two seeds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_noise_blend {
    /// The other seed.
    pub seed: i64,
    /// 0: the image's own noise, 1: that of the other seed.
    pub amount: f32,
}

/// The steps in which a `ControlNet` acts: those that begin after `start` of all and before `end`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_control_steps {
    /// 0 to 1.
    pub start: f32,
    /// 0 to 1.
    pub end: f32,
}

/// `atelier_operation_kind`: a product of matrices.
pub const ATELIER_OPERATION_PRODUCT: c_int = 0;
/// `atelier_operation_kind`: a convolution of 3 x 3.
pub const ATELIER_OPERATION_CONVOLUTION: c_int = 1;
/// `atelier_operation_kind`: attention.
pub const ATELIER_OPERATION_ATTENTION: c_int = 2;
/// `atelier_operation_kind`: a sum.
pub const ATELIER_OPERATION_ADD: c_int = 3;
/// `atelier_operation_kind`: rows brought to one size.
pub const ATELIER_OPERATION_NORM: c_int = 4;
/// `atelier_operation_kind`: softmax of rows.
pub const ATELIER_OPERATION_SOFT_MAX: c_int = 5;
/// `atelier_operation_kind`: an activation that ggml computes value by value.
pub const ATELIER_OPERATION_GELU: c_int = 6;
/// `atelier_operation_kind`: a copy in another order.
pub const ATELIER_OPERATION_PERMUTE: c_int = 7;
/// `atelier_operation_kind`: a convolution as a product with the unfolded image.
pub const ATELIER_OPERATION_UNFOLDED: c_int = 8;
/// `atelier_operation_kind`: a copy to the device.
pub const ATELIER_OPERATION_UPLOAD: c_int = 9;
/// `atelier_operation_kind`: a copy from the device.
pub const ATELIER_OPERATION_DOWNLOAD: c_int = 10;
/// `atelier_operation_kind`: a copy of columns as rows.
pub const ATELIER_OPERATION_TRANSPOSE: c_int = 11;
/// `atelier_operation_kind`: a copy as binary16.
pub const ATELIER_OPERATION_CONVERT: c_int = 12;
/// `atelier_operation_kind`: an activation that ggml computes in vectors.
pub const ATELIER_OPERATION_SILU: c_int = 13;
/// `atelier_operation_kind`: the first use of new memory.
pub const ATELIER_OPERATION_ALLOCATE: c_int = 14;
/// `atelier_operation_kind`: a copy to a buffer that is allocated for it.
pub const ATELIER_OPERATION_UPLOAD_NEW: c_int = 15;

/// An operation that is timed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_operation {
    /// `ATELIER_OPERATION_*`.
    pub kind: c_int,
    /// ggml's name of the type of weights, or null.
    pub weights: *const c_char,
    /// Sizes, by kind.
    pub size: [i64; 3],
    /// Operations of the graph.
    pub nodes: c_int,
}

/// A device that is measured.
#[repr(C)]
pub struct atelier_measurement {
    _private: [u8; 0],
}

/// `atelier_values`: 32 bits.
pub const ATELIER_VALUES_F32: c_int = 0;
/// `atelier_values`: IEEE binary16.
pub const ATELIER_VALUES_F16: c_int = 1;
/// `atelier_values`: bfloat16.
pub const ATELIER_VALUES_BF16: c_int = 2;
/// `atelier_values`: quantised blocks.
pub const ATELIER_VALUES_BLOCKS: c_int = 3;
/// `atelier_format`: any other, which `unpack` alone reads.
pub const ATELIER_FORMAT_OTHER: c_int = 0;
/// `atelier_format`: 8 bits.
pub const ATELIER_FORMAT_Q8_0: c_int = 1;
/// `atelier_format`: 5 bits.
pub const ATELIER_FORMAT_Q5_0: c_int = 2;
/// `atelier_format`: 4 bits.
pub const ATELIER_FORMAT_Q4_0: c_int = 3;
/// `atelier_format`: 6 bits, blocks of 256.
pub const ATELIER_FORMAT_Q6_K: c_int = 4;
/// `atelier_format`: 5 bits, blocks of 256.
pub const ATELIER_FORMAT_Q5_K: c_int = 5;
/// `atelier_format`: 4 bits, blocks of 256.
pub const ATELIER_FORMAT_Q4_K: c_int = 6;

/// `atelier_tokenizer_kind`: CLIP.
pub const ATELIER_TOKENIZER_CLIP: c_int = 0;
/// `atelier_tokenizer_kind`: T5.
pub const ATELIER_TOKENIZER_T5: c_int = 1;
/// `atelier_tokenizer_kind`: umT5, of many languages.
pub const ATELIER_TOKENIZER_UMT5: c_int = 2;
/// `atelier_tokenizer_kind`: Qwen 2 and 3.
pub const ATELIER_TOKENIZER_QWEN2: c_int = 3;
/// `atelier_tokenizer_kind`: Mistral.
pub const ATELIER_TOKENIZER_MISTRAL: c_int = 4;
/// `atelier_tokenizer_kind`: GPT-OSS.
pub const ATELIER_TOKENIZER_GPT_OSS: c_int = 5;
/// `atelier_tokenizer_kind`: Gemma 3.
pub const ATELIER_TOKENIZER_GEMMA: c_int = 6;

/// `atelier_reading`: brackets weigh words.
pub const ATELIER_READING_WEIGHTED: c_int = 0;
/// `atelier_reading`: brackets with a number weigh words.
pub const ATELIER_READING_EMPHASISED: c_int = 1;
/// `atelier_reading`: the same, and each letter between quotes is read alone.
pub const ATELIER_READING_QUOTED: c_int = 2;
/// `atelier_reading`: letters, without the backslashes before brackets.
pub const ATELIER_READING_PLAIN: c_int = 3;
/// `atelier_reading`: letters.
pub const ATELIER_READING_LITERAL: c_int = 4;

/// Tokenizer of a text encoder.
#[repr(C)]
pub struct atelier_tokenizer {
    _private: [u8; 0],
}

/// A text that stands for several tokens.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_token_word {
    pub token: *const c_char,
    pub count: usize,
}

/// Tokens of a prompt.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct atelier_token_counts {
    /// Those of its words.
    pub tokens: usize,
    /// The same with the places that `BREAK` and `AND` leave empty.
    pub places: usize,
}

/// A matrix, row by row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_rows {
    pub data: *const c_void,
    pub stride: usize,
    pub values: c_int,
    pub format: c_int,
    pub block_values: usize,
    pub block_bytes: usize,
    pub unpack: Option<unsafe extern "C" fn(from: *const c_void, to: *mut f32, count: i64)>,
}

/// What is done to each value of a result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_epilogue {
    pub constants: *const f32,
    pub addend: *const f32,
    pub negative_slope: f32,
    pub has_gelu: bool,
}

/// Product of matrices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_product {
    pub weights: atelier_rows,
    pub activations: atelier_rows,
    pub out: *mut f32,
    pub out_stride: usize,
    pub tokens: usize,
    pub features: usize,
    pub depth: usize,
    pub epilogue: atelier_epilogue,
}

/// Convolution of an image.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_convolution {
    pub weights: atelier_rows,
    pub image: *const f32,
    pub out: *mut f32,
    pub width: usize,
    pub height: usize,
    pub channels: usize,
    pub out_channels: usize,
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
    pub out_size: [usize; 2],
    pub epilogue: atelier_epilogue,
}

/// Attention of the heads of one batch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_attention {
    pub queries: atelier_rows,
    pub keys: atelier_rows,
    pub values: atelier_rows,
    pub query_head_stride: usize,
    pub key_head_stride: usize,
    pub value_head_stride: usize,
    pub mask: *const c_void,
    pub mask_stride: usize,
    pub mask_head_stride: usize,
    pub out: *mut f32,
    pub out_stride: usize,
    pub out_head_stride: usize,
    pub scale: f32,
    pub heads: usize,
    pub key_heads: usize,
    pub query_count: usize,
    pub key_count: usize,
    pub key_size: usize,
    pub value_size: usize,
}

/// Group normalisation of an image.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_group_norm {
    pub from: *const f32,
    pub to: *mut f32,
    pub group_size: usize,
    pub total: usize,
    pub epsilon: f32,
    pub channel_size: usize,
    pub row_size: usize,
    pub factors: *const f32,
    pub terms: *const f32,
    pub activate: Option<unsafe extern "C" fn(count: c_int, to: *mut f32, from: *const f32)>,
}

/// Normalisation of rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_layer_norm {
    pub from: *const f32,
    pub to: *mut f32,
    pub rows: usize,
    pub length: usize,
    pub epsilon: f32,
    pub factors: *const f32,
    pub terms: *const f32,
}

/// Sum of rows and of the product of others with factors of places.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_modulation {
    pub from: *const f32,
    pub factors: *const f32,
    pub addend: *const f32,
    pub terms: *const f32,
    pub to: *mut f32,
    pub rows: usize,
    pub length: usize,
}

/// Kernels of the processor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct atelier_cpu_kernels {
    pub multiply: unsafe extern "C" fn(product: *const atelier_product, index: usize, count: usize) -> atelier_status,
    pub convolve: unsafe extern "C" fn(convolution: *const atelier_convolution, index: usize, count: usize) -> atelier_status,
    pub attend: unsafe extern "C" fn(attention: *const atelier_attention, index: usize, count: usize) -> atelier_status,
    pub normalise: unsafe extern "C" fn(norm: *const atelier_group_norm, index: usize, count: usize) -> atelier_status,
    pub normalise_rows: unsafe extern "C" fn(norm: *const atelier_layer_norm, index: usize, count: usize) -> atelier_status,
    pub modulate: unsafe extern "C" fn(modulation: *const atelier_modulation, index: usize, count: usize) -> atelier_status,
    pub gelu: unsafe extern "C" fn(from: *const f32, count: usize, to: *mut f32) -> atelier_status,
    pub apply_constant:
        unsafe extern "C" fn(multiplies: bool, from: *const f32, count: usize, constant: f32, to: *mut f32) -> atelier_status,
    pub combine: unsafe extern "C" fn(multiplies: bool, from: *const f32, other: *const f32, count: usize, to: *mut f32) -> atelier_status,
    pub spread: unsafe extern "C" fn(from: *const f32, stride: usize, count: usize, times: usize, to: *mut f32) -> atelier_status,
    pub transpose: unsafe extern "C" fn(
        from: *const f32,
        from_stride: usize,
        rows: usize,
        columns: usize,
        to: *mut f32,
        to_stride: usize,
    ) -> atelier_status,
    pub packed_product_bytes: unsafe extern "C" fn(product: *const atelier_product) -> usize,
    pub packed_convolution_bytes: unsafe extern "C" fn(convolution: *const atelier_convolution) -> usize,
    pub keep_packed: unsafe extern "C" fn(start: *const c_void, size: usize, owner: usize, limit: usize),
    pub forget_packed: unsafe extern "C" fn(start: *const c_void, size: usize),
    pub packed_total: unsafe extern "C" fn() -> usize,
}

unsafe extern "C" {
    pub fn atelier_init();
    pub fn atelier_set_cpu_kernels(kernels: *const atelier_cpu_kernels);
    pub fn atelier_set_compute_hook(nodes: c_int, force: bool);
    pub fn atelier_last_error() -> *const c_char;
    pub fn atelier_last_shortage(out: *mut atelier_shortage) -> bool;
    pub fn atelier_last_lost_server() -> *const c_char;
    pub fn atelier_last_lost_device() -> *const c_char;
    pub fn atelier_lose_simulated_device(name: *const c_char);
    pub fn atelier_device_count() -> usize;
    pub fn atelier_device_get(index: usize, out: *mut atelier_device) -> atelier_status;
    pub fn atelier_driver_version(name: *const c_char, out: *mut c_char, capacity: usize) -> atelier_status;
    pub fn atelier_conditioning_cache_new() -> *mut atelier_conditioning_cache;
    pub fn atelier_conditioning_cache_free(cache: *mut atelier_conditioning_cache);
    pub fn atelier_conditioning_cache_clear(cache: *mut atelier_conditioning_cache);
    pub fn atelier_conditioning_cache_stats(cache: *const atelier_conditioning_cache) -> atelier_conditioning_stats;
    pub fn atelier_convert(
        input: *const c_char,
        prefix: *const c_char,
        type_: c_int,
        rules: *const c_char,
        threads: c_int,
        entries: *const atelier_text_entry,
        entry_count: usize,
        output: *const c_char,
        callbacks: *const atelier_callbacks,
        bytes: *mut u64,
    ) -> atelier_status;
    pub fn atelier_read_file(path: *const c_char, offset: u64, to: *mut c_void, count: usize, announced: u64, free_bytes: u64) -> i64;
    pub fn atelier_context_new(
        params: *const sd_ctx_params_t,
        conditioning: *const atelier_conditioning_cache,
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
        adapters: *const atelier_adapter_names,
        adapter_count: usize,
        embeddings: *const atelier_embedding,
        embedding_count: usize,
        limits: *const atelier_limits,
        callbacks: *const atelier_callbacks,
        out: *mut atelier_module_estimate,
        capacity: usize,
        count: *mut usize,
    ) -> atelier_status;
    pub fn atelier_estimator_work(estimator: *const atelier_context, out: *mut atelier_work, capacity: usize) -> usize;
    pub fn atelier_last_peaks(out: *mut atelier_device_peak, capacity: usize) -> usize;
    pub fn atelier_last_copies(out: *mut atelier_copies, capacity: usize) -> usize;
    pub fn atelier_last_loras(out: *mut atelier_lora_use, capacity: usize) -> usize;
    pub fn atelier_last_missing_numbers() -> u64;
    pub fn atelier_allocated_bytes(device: *const c_char) -> u64;
    pub fn atelier_kept_bytes() -> u64;
    pub fn atelier_release_kept_buffers(unused_ms: u64) -> u64;
    pub fn atelier_fill_kept_buffers(value: u8);
    pub fn atelier_simulate_device(
        name: *const c_char,
        memory_bytes: u64,
        card: *const c_char,
        largest_buffer_bytes: u64,
        without: *const c_char,
        speed: f64,
    ) -> atelier_status;
    pub fn atelier_measurement_new(
        device: *const c_char,
        threads: c_int,
        callbacks: *const atelier_callbacks,
        out: *mut *mut atelier_measurement,
    ) -> atelier_status;
    pub fn atelier_measurement_free(measurement: *mut atelier_measurement);
    pub fn atelier_measurement_run(
        measurement: *mut atelier_measurement,
        operation: *const atelier_operation,
        limit_seconds: f64,
        callbacks: *const atelier_callbacks,
        seconds: *mut f64,
        repeats: usize,
        count: *mut usize,
    ) -> atelier_status;
    #[cfg(feature = "vulkan")]
    pub fn atelier_has_vulkan_loader() -> bool;
    pub fn atelier_context_set_limits(context: *mut atelier_context, limits: *const atelier_limits) -> atelier_status;
    pub fn atelier_context_free(context: *mut atelier_context);
    pub fn atelier_context_generate(
        context: *mut atelier_context,
        params: *const sd_img_gen_params_t,
        area: *const atelier_area,
        steps: *const atelier_steps,
        blend: *const atelier_noise_blend,
        control_steps: *const atelier_control_steps,
        lora_key: *const c_char,
        adapters: *const atelier_adapter_names,
        adapter_count: usize,
        embeddings: *const atelier_embedding,
        embedding_count: usize,
        rng: rng_type_t,
        sampler_rng: rng_type_t,
        preview_mode: preview_t,
        preview_every: c_int,
        callbacks: *const atelier_callbacks,
        out: *mut sd_image_t,
    ) -> atelier_status;
    pub fn atelier_draw_outlines(image: sd_image_t) -> atelier_status;
    pub fn atelier_step_records_new(max_bytes: u64) -> *mut atelier_step_records;
    pub fn atelier_step_records_free(records: *mut atelier_step_records);
    pub fn atelier_step_records_counts(records: *const atelier_step_records) -> atelier_step_counts;
    pub fn atelier_context_module_memory(context: *const atelier_context, out: *mut atelier_module_memory, capacity: usize) -> usize;
    pub fn atelier_context_release(context: *mut atelier_context, modules: u32) -> atelier_status;
    pub fn atelier_context_borrow(context: *mut atelier_context, lender: *mut atelier_context, modules: u32) -> atelier_status;
    pub fn atelier_context_is_lost(context: *const atelier_context) -> bool;
    pub fn atelier_context_has_known_format(context: *const atelier_context) -> bool;
    pub fn atelier_context_unused_tensor(context: *const atelier_context, index: usize) -> *const c_char;
    pub fn atelier_context_preload(context: *mut atelier_context, modules: u32, callbacks: *const atelier_callbacks) -> atelier_status;
    pub fn atelier_context_conditioning_counts(context: *const atelier_context, hits: *mut u64, misses: *mut u64);
    pub fn atelier_upscaler_new(
        path: *const c_char,
        direct: bool,
        n_threads: c_int,
        tile_size: c_int,
        backend: *const c_char,
        params_backend: *const c_char,
        limit: u64,
        stream: bool,
        callbacks: *const atelier_callbacks,
        out: *mut *mut atelier_upscaler,
    ) -> atelier_status;
    pub fn atelier_upscaler_free(upscaler: *mut atelier_upscaler);
    pub fn atelier_upscaler_estimate(
        path: *const c_char,
        direct: bool,
        tile_size: c_int,
        backend: *const c_char,
        width: u32,
        height: u32,
        callbacks: *const atelier_callbacks,
        out: *mut atelier_module_estimate,
        tiles: *mut c_int,
        work: *mut atelier_work,
        capacity: usize,
        count: *mut usize,
    ) -> atelier_status;
    pub fn atelier_upscaler_run(
        upscaler: *mut atelier_upscaler,
        image: sd_image_t,
        callbacks: *const atelier_callbacks,
        out: *mut sd_image_t,
    ) -> atelier_status;
    pub fn atelier_image_free(image: *mut sd_image_t);
    pub fn atelier_is_cancelled() -> bool;
    pub fn atelier_rpc_set_dialer(dial: atelier_dialer);
    pub fn atelier_rpc_set_hasher(hash: atelier_hasher);
    pub fn atelier_rpc_set_timeout(milliseconds: u64);
    pub fn atelier_rpc_version() -> *const c_char;
    pub fn atelier_rpc_tensor_bytes() -> u32;
    pub fn atelier_rpc_connect(endpoint: *const c_char) -> atelier_status;
    pub fn atelier_rpc_add_server(endpoint: *const c_char) -> atelier_status;
    pub fn atelier_device_warm_up(name: *const c_char) -> atelier_status;
    pub fn atelier_rpc_serve(
        socket: i64,
        devices: *const *const c_char,
        count: usize,
        threads: c_int,
        memory_bytes: u64,
        cache: *const atelier_weights_cache,
    ) -> atelier_status;
    pub fn atelier_tokenizer_new(kind: c_int, out: *mut *mut atelier_tokenizer) -> atelier_status;
    pub fn atelier_tokenizer_free(tokenizer: *mut atelier_tokenizer);
    pub fn atelier_shared_vocabularies() -> u64;
    pub fn atelier_tokenizer_count(
        tokenizer: *mut atelier_tokenizer,
        text: *const c_char,
        size: usize,
        reading: c_int,
        chunk: usize,
        tokens: *const atelier_token_word,
        token_count: usize,
        out: *mut atelier_token_counts,
    ) -> atelier_status;
}

include!(concat!(env!("OUT_DIR"), "/layout.rs"));

unsafe extern "C" {
    /// The C++ compiler's values for [`LAYOUT`], in its order.
    #[link_name = "atelier_layout"]
    pub static LAYOUT_IN_CPP: [i64; LAYOUT.len()];
}
