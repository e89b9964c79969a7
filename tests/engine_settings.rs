//! Every field of the engine's parameters is a setting of Atelier, or has a reason not to be one.
//!
//! The list is the engine's own: the structs of its header, as the crate brings it. A field that is
//! not in the table below stops the test, so that a newer engine's settings are not overlooked.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use atelier_core::recipe::{FileRole, Recipe};
use serde_json::Value;

/// What becomes of a field of the engine.
enum Answer {
    /// It is this field of the recipe, or a part of it.
    Setting(&'static str),
    /// It is the file of this role.
    File(FileRole),
    /// Its fields are in the table themselves.
    Struct,
    /// It is none, for this reason.
    Not(&'static str),
}

use Answer::{File, Not, Setting, Struct};

/// Structs of the header whose fields are settings.
const STRUCTS: [&str; 10] = [
    "sd_ctx_params_t",
    "sd_img_gen_params_t",
    "sd_sample_params_t",
    "sd_guidance_params_t",
    "sd_slg_params_t",
    "sd_cache_params_t",
    "sd_tiling_params_t",
    "sd_hires_params_t",
    "sd_pm_params_t",
    "sd_lora_t",
];

/// Structs of the header that are none of a picture's settings.
const OTHERS: [(&str, &str); 4] = [
    ("sd_vid_gen_params_t", "videos"),
    ("sd_audio_t", "the sound of videos"),
    ("sd_image_t", "pixels"),
    ("sd_embedding_t", "Atelier reads embeddings itself"),
];

const VIDEO: Answer = Not("videos");
const COUNT: Answer = Not("the length of a list");

fn answer(of: &str, field: &str) -> Option<Answer> {
    Some(match (of, field) {
        ("sd_ctx_params_t", field) => match field {
            "model_path" => File(FileRole::Model),
            "clip_l_path" => File(FileRole::ClipL),
            "clip_g_path" => File(FileRole::ClipG),
            "clip_vision_path" => File(FileRole::ClipVision),
            "t5xxl_path" => File(FileRole::T5xxl),
            "llm_path" => File(FileRole::Llm),
            "llm_vision_path" => File(FileRole::LlmVision),
            "diffusion_model_path" => File(FileRole::Diffusion),
            "uncond_diffusion_model_path" => File(FileRole::UncondDiffusion),
            "vae_path" => File(FileRole::Vae),
            "taesd_path" => File(FileRole::Taesd),
            "control_net_path" => File(FileRole::Controlnet),
            "photo_maker_path" => File(FileRole::Photomaker),
            "high_noise_diffusion_model_path" | "embeddings_connectors_path" | "audio_vae_path" => VIDEO,
            "embeddings" => Setting("embeddings"),
            "embedding_count" => COUNT,
            "tensor_type_rules" => Setting("tensor_type_rules"),
            "n_threads" => Setting("threads"),
            "wtype" => Setting("weight_type"),
            "lora_apply_mode" => Setting("lora_mode"),
            "enable_mmap" => Setting("memory_map"),
            "rng_type" => Setting("rng"),
            "sampler_rng_type" => Setting("sampler_rng"),
            "prediction" => Setting("prediction"),
            "flash_attn" => Not("flash attention is for the diffusion module: others gain nothing"),
            "diffusion_flash_attn" => Setting("flash_attention"),
            "tae_preview_only" => Not("follows from the files: a tiny autoencoder beside a VAE decodes previews"),
            "diffusion_conv_direct" | "vae_conv_direct" => Not("chosen by the device"),
            "circular_x" => Setting("seamless_x"),
            "circular_y" => Setting("seamless_y"),
            "force_sdxl_vae_conv_scale" => Setting("vae_conv_scale"),
            "chroma_use_dit_mask" => Setting("chroma_dit_mask"),
            "chroma_use_t5_mask" => Setting("chroma_t5_mask"),
            "chroma_t5_mask_pad" => Setting("chroma_t5_padding"),
            "qwen_image_zero_cond_t" => Setting("zero_cond_t"),
            "vae_format" => Setting("vae_format"),
            "max_vram" => Setting("max_vram"),
            "stream_layers" => Setting("stream_layers"),
            "backend" => Setting("backend"),
            "params_backend" => Setting("params_backend"),
            _ => return None,
        },
        ("sd_img_gen_params_t", field) => match field {
            "loras" => Setting("loras"),
            "lora_count" | "ref_images_count" => COUNT,
            "prompt" => Setting("prompt"),
            "negative_prompt" => Setting("negative_prompt"),
            "clip_skip" => Setting("clip_skip"),
            "init_image" | "strength" => Setting("init"),
            "ref_images" => Setting("reference_images"),
            "auto_resize_ref_image" => Setting("resize_references"),
            "increase_ref_index" => Setting("number_references"),
            "mask_image" => Setting("mask"),
            "width" => Setting("width"),
            "height" => Setting("height"),
            "seed" => Setting("seed"),
            "batch_count" => Setting("batch_count"),
            "control_image" | "control_strength" => Setting("control"),
            "sample_params" | "pm_params" | "vae_tiling_params" | "cache" | "hires" => Struct,
            _ => return None,
        },
        ("sd_sample_params_t", field) => match field {
            "guidance" => Struct,
            "scheduler" => Setting("scheduler"),
            "sample_method" => Setting("sampler"),
            "sample_steps" => Setting("steps"),
            "eta" => Setting("eta"),
            "shifted_timestep" => Setting("timestep_shift"),
            "custom_sigmas" => Setting("sigmas"),
            "custom_sigmas_count" => COUNT,
            "flow_shift" => Setting("flow_shift"),
            "extra_sample_args" => Setting("sampler_arguments"),
            _ => return None,
        },
        ("sd_guidance_params_t", field) => match field {
            "txt_cfg" => Setting("guidance"),
            "img_cfg" => Setting("image_guidance"),
            "distilled_guidance" => Setting("distilled_guidance"),
            "slg" => Struct,
            _ => return None,
        },
        ("sd_slg_params_t", "layer_count") | ("sd_pm_params_t", "id_images_count") => COUNT,
        ("sd_slg_params_t", "layers" | "layer_start" | "layer_end" | "scale") => Setting("skip_layers"),
        (
            "sd_cache_params_t",
            "mode"
            | "reuse_threshold"
            | "start_percent"
            | "end_percent"
            | "error_decay_rate"
            | "use_relative_threshold"
            | "reset_error_on_compute"
            | "Fn_compute_blocks"
            | "Bn_compute_blocks"
            | "residual_diff_threshold"
            | "max_warmup_steps"
            | "max_cached_steps"
            | "max_continuous_cached_steps"
            | "taylorseer_n_derivatives"
            | "taylorseer_skip_interval"
            | "scm_mask"
            | "scm_policy_dynamic"
            | "spectrum_w"
            | "spectrum_m"
            | "spectrum_lam"
            | "spectrum_window_size"
            | "spectrum_flex_window"
            | "spectrum_warmup_steps"
            | "spectrum_stop_percent",
        ) => Setting("step_cache"),
        ("sd_tiling_params_t", field) => match field {
            "enabled" => Setting("vae_tiling"),
            "tile_size_x" | "tile_size_y" => Setting("vae_tile_size"),
            "target_overlap" => Setting("vae_tile_overlap"),
            "rel_size_x" | "rel_size_y" => Not("a part of the picture: the tile's size says the same"),
            "temporal_tiling" | "extra_tiling_args" => VIDEO,
            _ => return None,
        },
        ("sd_hires_params_t", field) => match field {
            "enabled" | "scale" | "steps" | "denoising_strength" | "model_path" | "upscaler" | "target_width" | "target_height"
            | "custom_sigmas" | "upscale_tile_size" => Setting("hires"),
            "custom_sigmas_count" => COUNT,
            _ => return None,
        },
        ("sd_pm_params_t", "id_images" | "id_embed_path" | "style_strength") => Setting("person"),
        ("sd_lora_t", "multiplier" | "path") => Setting("loras"),
        ("sd_lora_t", "is_high_noise") => VIDEO,
        _ => return None,
    })
}

/// The engine's header.
fn header() -> String {
    // Crates of other systems need not be on this machine.
    let compiler = Command::new("rustc").arg("-vV").output().unwrap();
    let compiler = String::from_utf8(compiler.stdout).unwrap();
    let host = compiler.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let package = metadata["packages"].as_array().unwrap().iter().find(|it| it["name"] == "diffusion-rs-sys").unwrap();
    let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
    std::fs::read_to_string(manifest.with_file_name("stable-diffusion.cpp").join("include/stable-diffusion.h")).unwrap()
}

/// Names of the structs of a header, each with the names of its fields.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let bodies = header.split("typedef struct {").skip(1);
    let of = |body: &str| {
        let (fields, rest) = body.split_once('}').unwrap();
        let name = rest.split_once(';').unwrap().0.trim().to_owned();
        let lines = fields.lines().map(|line| line.split("//").next().unwrap_or("").trim());
        let field = |line: &str| line.strip_suffix(';').and_then(|line| line.rsplit([' ', '*']).next()).map(str::to_owned);
        (name, lines.filter_map(field).collect())
    };
    bodies.map(of).collect()
}

#[test]
fn every_field_of_the_engine_is_a_setting_or_has_a_reason_not_to_be_one() {
    let recipe = serde_json::to_value(Recipe::default()).unwrap();
    let names = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let keys: BTreeSet<String> = names(&recipe).into_iter().chain(names(&recipe["placement"])).collect();
    let structs = structs(&header());
    for name in STRUCTS {
        let (_, fields) = structs.iter().find(|(it, _)| it == name).unwrap_or_else(|| panic!("{name} is not in the header any more"));
        assert!(!fields.is_empty(), "{name}");
        for field in fields {
            match answer(name, field) {
                Some(Setting(key)) => assert!(keys.contains(key), "{name}.{field}: there is no setting {key}"),
                Some(File(role)) => assert!(FileRole::ALL.contains(&role)),
                Some(Struct) => {}
                Some(Not(reason)) => assert!(!reason.is_empty()),
                None => panic!("{name}.{field} is new: make it a setting, or say here why it is none"),
            }
        }
    }
    for (name, fields) in &structs {
        let is_known = STRUCTS.contains(&name.as_str()) || OTHERS.iter().any(|(other, _)| other == name);
        assert!(is_known, "{name} is new, with {fields:?}: say here what becomes of it");
    }
}
