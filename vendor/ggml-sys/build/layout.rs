//! Sizes, offsets and constants that C++ and Rust must agree on.
//!
//! Both compilers print the same list; `tests/layout.rs` compares the two.

use std::fmt::Write;

/// Structs that both sides read, with the fields that are named on the Rust side.
const STRUCTS: &[(&str, &[&str])] = &[
    (
        "sd_ctx_params_t",
        &[
            "model_path",
            "clip_l_path",
            "clip_g_path",
            "clip_vision_path",
            "t5xxl_path",
            "llm_path",
            "llm_vision_path",
            "diffusion_model_path",
            "uncond_diffusion_model_path",
            "vae_path",
            "taesd_path",
            "control_net_path",
            "photo_maker_path",
            "n_threads",
            "tensor_type_rules",
            "wtype",
            "lora_apply_mode",
            "enable_mmap",
            "flash_attn",
            "diffusion_flash_attn",
            "diffusion_conv_direct",
            "vae_conv_direct",
            "tae_preview_only",
            "force_sdxl_vae_conv_scale",
            "vae_format",
            "max_vram",
            "stream_layers",
            "backend",
            "params_backend",
        ],
    ),
    (
        "sd_img_gen_params_t",
        &[
            "loras",
            "lora_count",
            "prompt",
            "negative_prompt",
            "clip_skip",
            "init_image",
            "ref_images",
            "ref_images_count",
            "auto_resize_ref_image",
            "mask_image",
            "width",
            "height",
            "sample_params",
            "strength",
            "seed",
            "batch_count",
            "control_image",
            "control_strength",
            "pm_params",
            "vae_tiling_params",
            "cache",
            "hires",
        ],
    ),
    (
        "sd_sample_params_t",
        &[
            "guidance",
            "scheduler",
            "sample_method",
            "sample_steps",
            "eta",
            "shifted_timestep",
            "custom_sigmas",
            "flow_shift",
            "extra_sample_args",
        ],
    ),
    ("sd_guidance_params_t", &["txt_cfg", "img_cfg", "distilled_guidance", "slg"]),
    ("sd_slg_params_t", &["layers", "layer_count", "layer_start", "layer_end", "scale"]),
    ("sd_tiling_params_t", &["enabled", "temporal_tiling", "tile_size_x", "target_overlap", "rel_size_x", "extra_tiling_args"]),
    ("sd_image_t", &["width", "height", "channel", "data"]),
    ("sd_lora_t", &["is_high_noise", "multiplier", "path"]),
    ("sd_cache_params_t", &["mode", "spectrum_stop_percent"]),
    (
        "sd_hires_params_t",
        &["enabled", "upscaler", "target_width", "target_height", "steps", "denoising_strength", "custom_sigmas", "custom_sigmas_count"],
    ),
    ("sd_pm_params_t", &["id_images", "id_images_count", "id_embed_path", "style_strength"]),
    ("atelier_callbacks", &["user", "log", "phase", "load", "step", "preview", "cancelled"]),
    ("atelier_device", &["name", "description", "type", "memory_free", "memory_total", "remote", "card"]),
    ("atelier_module_memory", &["module", "device", "bytes"]),
    ("atelier_conditioning_stats", &["hits", "misses", "bytes"]),
    ("atelier_weights_cache", &["user", "store", "contains", "load"]),
    ("atelier_shortage", &["device", "phase", "bytes_wanted", "bytes_free"]),
    ("atelier_operation", &["kind", "weights", "size", "nodes"]),
    ("atelier_adapter_names", &["path", "from", "to", "count", "encoder_strength", "is_merged"]),
    ("atelier_lora_use", &["path", "applied", "total"]),
    ("atelier_text_entry", &["key", "value"]),
    ("atelier_device_peak", &["device", "phase", "bytes"]),
    (
        "atelier_module_estimate",
        &["module", "phase", "weight_bytes", "lora_bytes", "compute_bytes", "peak_bytes", "graphs", "input_bytes", "output_bytes"],
    ),
    ("atelier_work", &["module", "phase", "kind", "size", "type", "nodes", "operations", "bytes"]),
    ("atelier_copies", &["module", "bytes", "count", "waited_us", "hidden_us"]),
    ("atelier_limits", &["bytes", "streamed", "prefetch"]),
    ("atelier_embedding", &["token", "count", "width", "vectors", "width_2", "vectors_2"]),
    ("atelier_area", &["strength", "soft_mask", "width", "height"]),
    ("atelier_steps", &["record", "replay", "replay_steps", "restart", "restart_after", "stop_after", "shows_last_step"]),
    ("atelier_noise_blend", &["seed", "amount"]),
    ("atelier_control_steps", &["start", "end"]),
    ("atelier_step_counts", &["steps", "bytes", "computed"]),
    ("atelier_rows", &["data", "stride", "values", "block_values", "block_bytes", "unpack"]),
    ("atelier_epilogue", &["constants", "addend", "negative_slope"]),
    ("atelier_product", &["weights", "activations", "out", "out_stride", "tokens", "features", "depth", "epilogue"]),
    (
        "atelier_convolution",
        &[
            "weights",
            "image",
            "out",
            "width",
            "height",
            "channels",
            "out_channels",
            "kernel",
            "stride",
            "padding",
            "dilation",
            "out_size",
            "epilogue",
        ],
    ),
    (
        "atelier_attention",
        &[
            "queries",
            "keys",
            "values",
            "query_head_stride",
            "key_head_stride",
            "value_head_stride",
            "mask",
            "mask_stride",
            "mask_head_stride",
            "out",
            "out_stride",
            "out_head_stride",
            "scale",
            "heads",
            "key_heads",
            "query_count",
            "key_count",
            "key_size",
            "value_size",
        ],
    ),
    ("atelier_group_norm", &["from", "to", "group_size", "total", "epsilon", "channel_size", "row_size", "factors", "terms", "activate"]),
    ("atelier_cpu_kernels", &["multiply", "convolve", "attend", "normalise", "apply_constant", "combine", "spread", "transpose"]),
];

/// Types other than structs that stand in signatures.
const TYPES: &[&str] = &[
    "atelier_status",
    "prediction_t",
    "preview_t",
    "rng_type_t",
    "sample_method_t",
    "scheduler_t",
    "lora_apply_mode_t",
    "sd_type_t",
    "sd_vae_format_t",
];

/// Constants of the same name on both sides.
const CONSTANTS: &[&str] = &[
    "ATELIER_OK",
    "ATELIER_FAILED",
    "ATELIER_CANCELLED",
    "ATELIER_ABORTED",
    "ATELIER_NO_MEMORY",
    "ATELIER_INVALID_ARGUMENT",
    "ATELIER_CONNECTION_LOST",
    "ATELIER_DEVICE_LOST",
    "ATELIER_PHASE_LOADING",
    "ATELIER_PHASE_ENCODING",
    "ATELIER_PHASE_DENOISING",
    "ATELIER_PHASE_DECODING",
    "ATELIER_PHASE_UPSCALING",
    "ATELIER_MODULE_NONE",
    "ATELIER_MODULE_DIFFUSION",
    "ATELIER_MODULE_CLIP_L",
    "ATELIER_MODULE_CLIP_G",
    "ATELIER_MODULE_T5",
    "ATELIER_MODULE_LLM",
    "ATELIER_MODULE_CLIP_VISION",
    "ATELIER_MODULE_VAE",
    "ATELIER_MODULE_CONTROLNET",
    "ATELIER_MODULE_PHOTOMAKER",
    "ATELIER_MODULE_UPSCALER",
    "ATELIER_MODULE_COUNT",
    "ATELIER_PREVIEW_ADAPTIVE",
    "ATELIER_WORK_PRODUCT",
    "ATELIER_WORK_CONVOLUTION",
    "ATELIER_WORK_ATTENTION",
    "ATELIER_WORK_ELEMENTWISE",
    "ATELIER_WORK_TRANSCENDENTAL",
    "ATELIER_WORK_NORMALIZATION",
    "ATELIER_WORK_COPY",
    "ATELIER_NODE_NARROW",
    "ATELIER_NODE_SMALL",
    "ATELIER_NODE_MEDIUM",
    "ATELIER_NODE_LARGE",
    "ATELIER_OPERATION_PRODUCT",
    "ATELIER_OPERATION_CONVOLUTION",
    "ATELIER_OPERATION_ATTENTION",
    "ATELIER_OPERATION_ADD",
    "ATELIER_OPERATION_NORM",
    "ATELIER_OPERATION_SOFT_MAX",
    "ATELIER_OPERATION_GELU",
    "ATELIER_OPERATION_PERMUTE",
    "ATELIER_OPERATION_UNFOLDED",
    "ATELIER_OPERATION_UPLOAD",
    "ATELIER_OPERATION_DOWNLOAD",
    "ATELIER_OPERATION_TRANSPOSE",
    "ATELIER_OPERATION_CONVERT",
    "ATELIER_OPERATION_SILU",
    "ATELIER_OPERATION_ALLOCATE",
    "ATELIER_OPERATION_UPLOAD_NEW",
    "ATELIER_VALUES_F32",
    "ATELIER_VALUES_F16",
    "ATELIER_VALUES_BF16",
    "ATELIER_VALUES_BLOCKS",
    "SD_LOG_DEBUG",
    "SD_LOG_INFO",
    "SD_LOG_WARN",
    "SD_LOG_ERROR",
    "GGML_BACKEND_DEVICE_TYPE_CPU",
    "GGML_BACKEND_DEVICE_TYPE_GPU",
    "GGML_BACKEND_DEVICE_TYPE_IGPU",
    "GGML_BACKEND_DEVICE_TYPE_ACCEL",
    "GGML_BACKEND_DEVICE_TYPE_META",
];

/// Variants of the engine's enums that the Rust side names.
const VARIANTS: &[(&str, &[&str])] = &[
    ("preview_t", &["PREVIEW_NONE", "PREVIEW_PROJ", "PREVIEW_TAE"]),
    ("lora_apply_mode_t", &["LORA_APPLY_AT_RUNTIME"]),
    ("prediction_t", &["EPS_PRED", "V_PRED", "EDM_V_PRED", "FLOW_PRED", "FLUX_FLOW_PRED", "FLUX2_FLOW_PRED", "PREDICTION_COUNT"]),
    (
        "sd_type_t",
        &[
            "SD_TYPE_F32",
            "SD_TYPE_F16",
            "SD_TYPE_BF16",
            "SD_TYPE_Q8_0",
            "SD_TYPE_Q6_K",
            "SD_TYPE_Q5_1",
            "SD_TYPE_Q5_0",
            "SD_TYPE_Q5_K",
            "SD_TYPE_Q4_1",
            "SD_TYPE_Q4_0",
            "SD_TYPE_Q4_K",
            "SD_TYPE_IQ4_NL",
            "SD_TYPE_IQ4_XS",
            "SD_TYPE_MXFP4",
            "SD_TYPE_NVFP4",
            "SD_TYPE_Q3_K",
            "SD_TYPE_IQ3_S",
            "SD_TYPE_IQ3_XXS",
            "SD_TYPE_Q2_K",
            "SD_TYPE_IQ2_S",
            "SD_TYPE_IQ2_XS",
            "SD_TYPE_IQ2_XXS",
            "SD_TYPE_TQ2_0",
            "SD_TYPE_IQ1_M",
            "SD_TYPE_TQ1_0",
            "SD_TYPE_IQ1_S",
            "SD_TYPE_Q1_0",
            "SD_TYPE_COUNT",
        ],
    ),
    (
        "sd_hires_upscaler_t",
        &[
            "SD_HIRES_UPSCALER_LATENT",
            "SD_HIRES_UPSCALER_LATENT_NEAREST",
            "SD_HIRES_UPSCALER_LATENT_NEAREST_EXACT",
            "SD_HIRES_UPSCALER_LATENT_ANTIALIASED",
            "SD_HIRES_UPSCALER_LATENT_BICUBIC",
            "SD_HIRES_UPSCALER_LATENT_BICUBIC_ANTIALIASED",
        ],
    ),
    ("rng_type_t", &["STD_DEFAULT_RNG", "CUDA_RNG", "CPU_RNG"]),
    (
        "sample_method_t",
        &[
            "EULER_SAMPLE_METHOD",
            "EULER_A_SAMPLE_METHOD",
            "HEUN_SAMPLE_METHOD",
            "DPM2_SAMPLE_METHOD",
            "DPMPP2S_A_SAMPLE_METHOD",
            "DPMPP2M_SAMPLE_METHOD",
            "DPMPP2Mv2_SAMPLE_METHOD",
            "IPNDM_SAMPLE_METHOD",
            "IPNDM_V_SAMPLE_METHOD",
            "LCM_SAMPLE_METHOD",
            "DDIM_TRAILING_SAMPLE_METHOD",
            "TCD_SAMPLE_METHOD",
            "RES_MULTISTEP_SAMPLE_METHOD",
            "RES_2S_SAMPLE_METHOD",
            "ER_SDE_SAMPLE_METHOD",
            "EULER_CFG_PP_SAMPLE_METHOD",
            "EULER_A_CFG_PP_SAMPLE_METHOD",
            "EULER_GE_SAMPLE_METHOD",
            "SAMPLE_METHOD_COUNT",
        ],
    ),
    (
        "scheduler_t",
        &[
            "DISCRETE_SCHEDULER",
            "KARRAS_SCHEDULER",
            "EXPONENTIAL_SCHEDULER",
            "AYS_SCHEDULER",
            "GITS_SCHEDULER",
            "SGM_UNIFORM_SCHEDULER",
            "SIMPLE_SCHEDULER",
            "SMOOTHSTEP_SCHEDULER",
            "KL_OPTIMAL_SCHEDULER",
            "LCM_SCHEDULER",
            "BONG_TANGENT_SCHEDULER",
            "LTX2_SCHEDULER",
            "SCHEDULER_COUNT",
        ],
    ),
];

/// C++ source of the array `atelier_layout`, and Rust source of the slice `LAYOUT`, in the same
/// order.
pub(crate) fn layout() -> (String, String) {
    let mut entries: Vec<(String, String, String)> = Vec::new();
    let mut add = |name: String, cpp: String, rust: String| entries.push((name, cpp, rust));
    for name in STRUCTS.iter().map(|(name, _)| name).chain(TYPES) {
        add(format!("size of {name}"), format!("sizeof({name})"), format!("::std::mem::size_of::<{name}>()"));
    }
    for (name, field) in STRUCTS.iter().flat_map(|(name, fields)| fields.iter().map(move |field| (name, field))) {
        let rust_field = if *field == "type" { "type_" } else { field };
        add(format!("{name}.{field}"), format!("offsetof({name}, {field})"), format!("::std::mem::offset_of!({name}, {rust_field})"));
    }
    for name in CONSTANTS {
        add((*name).to_owned(), (*name).to_owned(), (*name).to_owned());
    }
    for (name, variant) in VARIANTS.iter().flat_map(|(name, variants)| variants.iter().map(move |variant| (name, variant))) {
        add(format!("{name}::{variant}"), (*variant).to_owned(), format!("{name}::{variant}"));
    }

    let mut cpp = String::from(
        "#include <cstddef>\n#include <cstdint>\n#include \"ggml-backend.h\"\n#include \"shim.h\"\n\n\
         extern \"C\" const int64_t atelier_layout[] = {\n",
    );
    let mut rust =
        String::from("/// Name and value, as Rust sees it, of every entry of `atelier_layout`.\npub const LAYOUT: &[(&str, i64)] = &[\n");
    for (name, in_cpp, in_rust) in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(cpp, "    static_cast<int64_t>({in_cpp}),");
        let _ = writeln!(rust, "    ({name:?}, {in_rust} as i64),");
    }
    cpp += "};\n";
    rust += "];\n";
    (cpp, rust)
}
