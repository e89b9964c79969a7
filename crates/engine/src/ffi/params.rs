//! Parameters of the engine's calls: plain Rust values, and the C structs that are built from them
//! for one call.

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr::null;

use ggml_sys::{prediction_t, rng_type_t, sample_method_t, scheduler_t, sd_cache_mode_t, sd_hires_upscaler_t, sd_type_t, sd_vae_format_t};

use super::direct_convolutions::direct_convolutions;
use super::error::CallError;
use crate::job::embeddings::{Embedding, Embeddings};
use atelier_core::canvas::Mask;
use atelier_core::placement::{Module, ModuleSet, Placement};
use atelier_core::recipe::{
    Affects, CacheMode, FileRole, Hires, LatentUpscaler, Lora, LoraMode, ModelFiles, PlacementText, PredictionType, Recipe, Rgb8, Rng,
    Sampler, Scheduler, Seed, SeedBlend, StepCache, TensorType, VaeFormat,
};
use atelier_library::Adapters;

/// Parameters of a context. Jobs with equal values can share one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContextParams {
    pub(crate) files: ModelFiles,
    pub(crate) threads: u32,
    /// The settings with which a model is opened; all others are the usual ones.
    pub(crate) settings: Recipe,
    /// Every device by its whole name, since the engine's default is the first GPU, even a remote
    /// one; without budgets and batch split.
    pub(crate) placement: Placement,
}

impl ContextParams {
    /// Those of a recipe, whose files were checked.
    pub(crate) fn new(recipe: &Recipe, threads: u32, placement: Placement) -> Self {
        let settings = recipe.only(Affects::Opening);
        // Files, threads and devices stand beside them.
        let settings = Recipe { files: ModelFiles::default(), threads: None, placement: PlacementText::default(), ..settings };
        Self { files: recipe.files.clone(), threads, settings, placement }
    }
}

/// Maximum bytes of its device that a module's graph may use, weights included; 0 is no limit. They
/// can change between images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// By module.
    pub(crate) bytes: [u64; Module::ALL.len()],
    /// Modules whose layers are streamed that do not fit; needs a limit, and weights in RAM.
    pub(crate) streamed: ModuleSet,
    /// Copy the next layers while these are computed, where the device can.
    pub(crate) prefetch: bool,
    /// Packed weights of the diffusion module that the processor may keep while it computes steps.
    pub(crate) packed_bytes: u64,
}

impl Limits {
    pub(super) const fn raw(&self) -> ggml_sys::atelier_limits {
        let &Self { bytes, streamed, prefetch, packed_bytes } = self;
        ggml_sys::atelier_limits { bytes, streamed: streamed.bits(), prefetch, packed_bytes }
    }
}

/// Parameters of one image.
pub(crate) struct GenerateParams<'a> {
    pub(crate) recipe: &'a Recipe,
    /// Pixels; a multiple of the model's alignment.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) seed: Seed,
    pub(crate) vae_tiling: bool,
    /// Exactly `width` x `height`.
    pub(crate) init: Option<&'a Rgb8>,
    pub(crate) mask: Option<&'a Mask>,
    pub(crate) references: &'a [Rgb8],
    pub(crate) control: Option<&'a Rgb8>,
    /// Pictures of the recipe's person, `PERSON_SIDE` wide and high; none: nobody.
    pub(crate) person: &'a [Rgb8],
    /// The image is a part of another.
    pub(crate) area: Option<AreaParams<'a>>,
    /// A second pass over the upscaled latents.
    pub(crate) second: Option<SecondPass<'a>>,
    /// Identifies the set of LoRAs: part of the key of a cached text encoding.
    pub(crate) lora_key: &'a str,
    /// What the tensors of the recipe's LoRAs change.
    pub(crate) adapters: &'a Adapters,
    /// Those that the prompts name.
    pub(crate) embeddings: &'a Embeddings,
}

/// The least strength of a second pass over latents: its schedule is as many times longer than what is
/// run of it.
const MIN_SECOND_STRENGTH: f32 = 0.01;

/// Side in pixels of the pictures of a person, as `PhotoMaker`'s vision encoder takes them.
pub(crate) const PERSON_SIDE: u32 = 224;

/// How an image changes a part of another.
#[derive(Clone, Copy)]
pub(crate) struct AreaParams<'a> {
    /// Start noise in the place of the recipe's strength; all steps run.
    pub(crate) strength: f32,
    /// Exactly the image's size: the part of the steps that each pixel takes part in. `None`: all
    /// of them take part in all.
    pub(crate) soft_mask: Option<&'a Mask>,
}

/// A second pass over upscaled latents.
#[derive(Clone, Copy)]
pub(crate) struct SecondPass<'a> {
    pub(crate) upscaler: LatentUpscaler,
    /// Pixels; a multiple of the model's alignment.
    pub(crate) size: (u32, u32),
    pub(crate) settings: &'a Hires,
}

/// Owner of the strings that C reads during a call.
#[derive(Default)]
pub(super) struct Strings(Vec<CString>);

impl Strings {
    pub(super) fn text(&mut self, text: &str) -> Result<*const c_char, CallError> {
        let owned = CString::new(text).map_err(|_| CallError::new("a text holds a NUL character"))?;
        // The bytes of a `CString` do not move when the vector grows.
        let pointer = owned.as_ptr();
        self.0.push(owned);
        Ok(pointer)
    }

    /// A path as the engine opens it: its bytes on Unix, whatever their encoding; UTF-8 on Windows,
    /// the code page of the manifest. Null for `None`.
    pub(super) fn path(&mut self, path: Option<&Path>) -> Result<*const c_char, CallError> {
        let Some(path) = path else { return Ok(null()) };
        let owned = CString::new(path_bytes(path)?).map_err(|_| CallError::new("a file's name holds a NUL character"))?;
        let pointer = owned.as_ptr();
        self.0.push(owned);
        Ok(pointer)
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "fails on Windows")]
fn path_bytes(path: &Path) -> Result<&[u8], CallError> {
    Ok(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

#[cfg(not(unix))]
fn path_bytes(path: &Path) -> Result<&[u8], CallError> {
    let text = path.to_str().ok_or_else(|| CallError::new(format!("the engine cannot read the name of {}", path.display())))?;
    Ok(text.as_bytes())
}

/// The C form of [`ContextParams`].
pub(super) struct RawContextParams {
    pub(super) raw: ggml_sys::sd_ctx_params_t,
    _strings: Strings,
}

impl RawContextParams {
    pub(super) fn new(params: &ContextParams) -> Result<Self, CallError> {
        let mut strings = Strings::default();
        let mut raw = std::mem::MaybeUninit::uninit();
        // SAFETY: the engine's initialiser writes every field.
        let mut raw = unsafe {
            ggml_sys::sd_ctx_params_init(raw.as_mut_ptr());
            raw.assume_init()
        };
        let mut role = |role| strings.path(params.files.get(role));
        raw.model_path = role(FileRole::Model)?;
        raw.diffusion_model_path = role(FileRole::Diffusion)?;
        raw.uncond_diffusion_model_path = role(FileRole::UncondDiffusion)?;
        raw.llm_path = role(FileRole::Llm)?;
        raw.llm_vision_path = role(FileRole::LlmVision)?;
        raw.clip_l_path = role(FileRole::ClipL)?;
        raw.clip_g_path = role(FileRole::ClipG)?;
        raw.t5xxl_path = role(FileRole::T5xxl)?;
        raw.clip_vision_path = role(FileRole::ClipVision)?;
        raw.vae_path = role(FileRole::Vae)?;
        raw.taesd_path = role(FileRole::Taesd)?;
        raw.control_net_path = role(FileRole::Controlnet)?;
        raw.photo_maker_path = role(FileRole::Photomaker)?;
        let placement = params.placement.text();
        raw.backend = strings.text(&placement.backend)?;
        raw.params_backend = strings.text(&placement.params_backend)?;
        raw.n_threads = i32::try_from(params.threads).unwrap_or(1).max(1);
        let settings = &params.settings;
        raw.diffusion_flash_attn = settings.flash_attention;
        raw.force_sdxl_vae_conv_scale = settings.vae_conv_scale;
        raw.prediction = settings.prediction.map_or(prediction_t::PREDICTION_COUNT, raw_prediction);
        (raw.circular_x, raw.circular_y) = (settings.seamless_x, settings.seamless_y);
        raw.qwen_image_zero_cond_t = settings.zero_cond_t;
        raw.chroma_use_dit_mask = settings.chroma_dit_mask;
        raw.chroma_use_t5_mask = settings.chroma_t5_mask;
        raw.chroma_t5_mask_pad = i32::try_from(settings.chroma_t5_padding).unwrap_or(1);
        raw.vae_format = settings.vae_format.map_or(sd_vae_format_t::SD_VAE_FORMAT_AUTO, raw_vae_format);
        raw.wtype = settings.weight_type.map_or(sd_type_t::SD_TYPE_COUNT, raw_tensor_type);
        raw.enable_mmap = settings.memory_map;
        raw.tensor_type_rules = strings.text(&settings.tensor_type_rules.to_string())?;
        let is_direct = |module| direct_convolutions(&params.placement.assignment(module).runs_on).include(module);
        raw.diffusion_conv_direct = is_direct(Module::Diffusion) && is_direct(Module::Controlnet);
        raw.vae_conv_direct = is_direct(Module::Vae);
        // With a VAE present, the tiny autoencoder only decodes previews.
        raw.tae_preview_only = params.files.get(FileRole::Vae).is_some() && params.files.get(FileRole::Taesd).is_some();
        // The other mode frees all weights at every change of LoRAs.
        raw.lora_apply_mode = ggml_sys::lora_apply_mode_t::LORA_APPLY_AT_RUNTIME;
        Ok(Self { raw, _strings: strings })
    }
}

/// The C form of [`GenerateParams`].
pub(super) struct RawGenerateParams {
    pub(super) raw: ggml_sys::sd_img_gen_params_t,
    pub(super) lora_key: *const c_char,
    pub(super) adapters: Vec<ggml_sys::atelier_adapter_names>,
    pub(super) embeddings: Vec<ggml_sys::atelier_embedding>,
    pub(super) rng: rng_type_t,
    pub(super) sampler_rng: rng_type_t,
    pub(super) area: Option<ggml_sys::atelier_area>,
    pub(super) noise_blend: Option<ggml_sys::atelier_noise_blend>,
    pub(super) control_steps: Option<ggml_sys::atelier_control_steps>,
    _strings: Strings,
    _adapter_names: Vec<[Vec<*const c_char>; 2]>,
    _loras: Vec<ggml_sys::sd_lora_t>,
    _skipped: Vec<c_int>,
    _sigmas: [Vec<f32>; 2],
    _references: Vec<ggml_sys::sd_image_t>,
    _person: Vec<ggml_sys::sd_image_t>,
}

impl RawGenerateParams {
    /// The result points to the pixels and vectors of `params`: the caller keeps both for one call.
    pub(super) fn new(params: &GenerateParams<'_>) -> Result<Self, CallError> {
        let recipe = params.recipe;
        let mut strings = Strings::default();
        let mut raw = std::mem::MaybeUninit::uninit();
        // SAFETY: the engine's initialiser writes every field.
        let mut raw = unsafe {
            ggml_sys::sd_img_gen_params_init(raw.as_mut_ptr());
            raw.assume_init()
        };
        let mut loras = recipe.loras.iter().map(|lora| raw_lora(lora, &mut strings)).collect::<Result<Vec<_>, _>>()?;
        let mut references: Vec<_> = params.references.iter().map(raw_image).collect();
        let mut person: Vec<_> = params.person.iter().map(raw_image).collect();
        raw.loras = loras.as_mut_ptr();
        raw.lora_count = u32::try_from(loras.len()).unwrap_or(0);
        let (prompt, negative_prompt) = recipe.model_prompts();
        raw.prompt = strings.text(&params.embeddings.in_prompt(&prompt))?;
        raw.negative_prompt = strings.text(&params.embeddings.in_prompt(negative_prompt))?;
        raw.clip_skip = recipe.clip_skip.map_or(-1, |layers| i32::try_from(layers).unwrap_or(-1));
        raw.width = i32::try_from(params.width).unwrap_or(0);
        raw.height = i32::try_from(params.height).unwrap_or(0);
        raw.seed = params.seed.bits();
        raw.batch_count = 1;
        if let Some(init) = params.init {
            raw.init_image = raw_image(init);
            // An area has a start noise of its own.
            raw.strength = recipe.init.as_ref().filter(|_| params.area.is_none()).map_or(1.0, |init| init.strength);
        }
        if let Some(mask) = params.mask {
            let data = mask.pixels().as_ptr().cast_mut();
            raw.mask_image = ggml_sys::sd_image_t { width: mask.width(), height: mask.height(), channel: 1, data };
        }
        if let Some(control) = params.control {
            raw.control_image = raw_image(control);
            raw.control_strength = recipe.control.as_ref().map_or(1.0, |control| control.strength);
        }
        raw.ref_images = references.as_mut_ptr();
        raw.ref_images_count = i32::try_from(references.len()).unwrap_or(0);
        raw.auto_resize_ref_image = recipe.resize_references;
        raw.increase_ref_index = recipe.number_references;
        raw.pm_params.id_images = person.as_mut_ptr();
        raw.pm_params.id_images_count = i32::try_from(person.len()).unwrap_or(0);
        raw.pm_params.id_embed_path = strings.path(recipe.person.id_embedding.as_deref().filter(|_| !person.is_empty()))?;
        raw.pm_params.style_strength = recipe.person.style_strength;
        let tiles = &mut raw.vae_tiling_params;
        tiles.enabled = params.vae_tiling;
        if let Some(size) = recipe.vae_tile_size {
            tiles.tile_size_x = i32::try_from(size.width).unwrap_or(i32::MAX);
            tiles.tile_size_y = i32::try_from(size.height).unwrap_or(i32::MAX);
        }
        tiles.target_overlap = recipe.vae_tile_overlap.unwrap_or(tiles.target_overlap);

        let sample = &mut raw.sample_params;
        sample.sample_steps = i32::try_from(recipe.steps).unwrap_or(1);
        sample.sample_method = recipe.sampler.map_or(sample_method_t::SAMPLE_METHOD_COUNT, raw_sampler);
        sample.scheduler = recipe.scheduler.map_or(scheduler_t::SCHEDULER_COUNT, raw_scheduler);
        sample.eta = recipe.eta.unwrap_or(f32::INFINITY);
        sample.flow_shift = recipe.flow_shift.unwrap_or(f32::INFINITY);
        sample.guidance.txt_cfg = recipe.guidance;
        sample.guidance.img_cfg = recipe.image_guidance.unwrap_or(f32::INFINITY);
        sample.guidance.distilled_guidance = recipe.distilled_guidance;
        let skips = recipe.skip_layers.iter().flat_map(|skip| &skip.layers);
        let mut skipped: Vec<c_int> = skips.filter_map(|layer| c_int::try_from(*layer).ok()).collect();
        if let Some(skip) = &recipe.skip_layers {
            sample.guidance.slg = ggml_sys::sd_slg_params_t {
                layers: skipped.as_mut_ptr(),
                layer_count: skipped.len(),
                layer_start: skip.start,
                layer_end: skip.end,
                scale: skip.scale,
            };
        }
        let mut sigmas = recipe.sigmas.clone();
        if !sigmas.is_empty() {
            sample.custom_sigmas = sigmas.as_mut_ptr();
            sample.custom_sigmas_count = c_int::try_from(sigmas.len()).unwrap_or(0);
        }
        sample.shifted_timestep = recipe.timestep_shift.map_or(0, |shift| c_int::try_from(shift).unwrap_or(0));
        if !recipe.sampler_arguments.is_empty() {
            sample.extra_sample_args = strings.text(&recipe.sampler_arguments)?;
        }
        if let Some(cache) = &recipe.step_cache {
            take_step_cache(&mut raw.cache, cache, &mut strings)?;
        }

        let mut second_sigmas = params.second.map(|second| second.settings.sigmas.clone()).unwrap_or_default();
        if let Some(SecondPass { upscaler, size, settings }) = params.second {
            let number = |value: u32| c_int::try_from(value).unwrap_or(0);
            raw.hires.enabled = true;
            raw.hires.upscaler = raw_latent_upscaler(upscaler);
            (raw.hires.target_width, raw.hires.target_height) = (number(size.0), number(size.1));
            // 0: as many as the first pass.
            raw.hires.steps = settings.steps.map_or(0, number);
            // Of noise levels less than this share of all, none is left.
            raw.hires.denoising_strength = settings.strength.max(MIN_SECOND_STRENGTH);
            if !second_sigmas.is_empty() {
                raw.hires.custom_sigmas = second_sigmas.as_mut_ptr();
                raw.hires.custom_sigmas_count = c_int::try_from(second_sigmas.len()).unwrap_or(0);
            }
        }

        let lora_key = strings.text(params.lora_key)?;
        let adapter_names = raw_adapter_names(params, &mut strings)?;
        let mut adapters = Vec::new();
        for (path, [from, to], encoder_strength) in &adapter_names {
            adapters.push(ggml_sys::atelier_adapter_names {
                path: *path,
                from: from.as_ptr(),
                to: to.as_ptr(),
                count: from.len(),
                encoder_strength: encoder_strength.unwrap_or(f32::NAN),
                is_merged: recipe.lora_mode == LoraMode::Immediately,
            });
        }
        let embeddings = params.embeddings.iter().map(|it| raw_embedding(it, &mut strings)).collect::<Result<Vec<_>, _>>()?;
        let area = params.area.map(|AreaParams { strength, soft_mask }| ggml_sys::atelier_area {
            strength,
            soft_mask: soft_mask.map_or(null(), |mask| mask.pixels().as_ptr()),
            width: i32::try_from(soft_mask.map_or(0, Mask::width)).unwrap_or(0),
            height: i32::try_from(soft_mask.map_or(0, Mask::height)).unwrap_or(0),
        });
        let noise_blend = recipe.seed_blend.map(|SeedBlend { seed, amount }| ggml_sys::atelier_noise_blend { seed: seed.bits(), amount });
        let control_steps =
            recipe.control.as_ref().map(|control| ggml_sys::atelier_control_steps { start: control.start, end: control.end });
        let rng = raw_rng(recipe.rng);
        let sampler_rng = recipe.sampler_rng.map_or(rng_type_t::RNG_TYPE_COUNT, raw_rng);
        Ok(Self {
            raw,
            lora_key,
            adapters,
            embeddings,
            rng,
            sampler_rng,
            area,
            noise_blend,
            control_steps,
            _strings: strings,
            _adapter_names: adapter_names.into_iter().map(|(_, names, _)| names).collect(),
            _loras: loras,
            _skipped: skipped,
            _sigmas: [sigmas, second_sigmas],
            _references: references,
            _person: person,
        })
    }
}

/// Puts a step cache in the place of none; what it does not name stays the engine's own.
fn take_step_cache(raw: &mut ggml_sys::sd_cache_params_t, cache: &StepCache, strings: &mut Strings) -> Result<(), CallError> {
    raw.mode = raw_cache_mode(cache.mode);
    let real = |value: &mut f32, name: &str| *value = cache.option(name).unwrap_or(*value);
    // Values are within limits that an int holds.
    let whole = |value: &mut c_int, name: &str| *value = cache.option(name).map_or(*value, |value| value as c_int);
    let switch = |value: &mut bool, name: &str| *value = cache.option(name).map_or(*value, |value| value != 0.0);
    if matches!(cache.mode, CacheMode::EasyCache | CacheMode::UCache) {
        real(&mut raw.reuse_threshold, "threshold");
    } else {
        real(&mut raw.residual_diff_threshold, "threshold");
    }
    real(&mut raw.start_percent, "start");
    real(&mut raw.end_percent, "end");
    real(&mut raw.error_decay_rate, "decay");
    switch(&mut raw.use_relative_threshold, "relative");
    switch(&mut raw.reset_error_on_compute, "reset");
    whole(&mut raw.Fn_compute_blocks, "Fn");
    whole(&mut raw.Bn_compute_blocks, "Bn");
    whole(if cache.mode == CacheMode::Spectrum { &mut raw.spectrum_warmup_steps } else { &mut raw.max_warmup_steps }, "warmup");
    whole(&mut raw.taylorseer_n_derivatives, "derivatives");
    whole(&mut raw.taylorseer_skip_interval, "interval");
    real(&mut raw.spectrum_w, "w");
    whole(&mut raw.spectrum_m, "m");
    real(&mut raw.spectrum_lam, "lam");
    whole(&mut raw.spectrum_window_size, "window");
    real(&mut raw.spectrum_flex_window, "flex");
    real(&mut raw.spectrum_stop_percent, "stop");
    if !cache.mask.is_empty() {
        raw.scm_mask = strings.text(&cache.mask_text())?;
    }
    raw.scm_policy_dynamic = !cache.is_mask_static;
    Ok(())
}

const fn raw_cache_mode(mode: CacheMode) -> sd_cache_mode_t {
    match mode {
        CacheMode::EasyCache => sd_cache_mode_t::SD_CACHE_EASYCACHE,
        CacheMode::UCache => sd_cache_mode_t::SD_CACHE_UCACHE,
        CacheMode::DbCache => sd_cache_mode_t::SD_CACHE_DBCACHE,
        CacheMode::TaylorSeer => sd_cache_mode_t::SD_CACHE_TAYLORSEER,
        CacheMode::CacheDit => sd_cache_mode_t::SD_CACHE_CACHE_DIT,
        CacheMode::Spectrum => sd_cache_mode_t::SD_CACHE_SPECTRUM,
    }
}

const fn raw_latent_upscaler(upscaler: LatentUpscaler) -> sd_hires_upscaler_t {
    match upscaler {
        LatentUpscaler::Linear => sd_hires_upscaler_t::SD_HIRES_UPSCALER_LATENT,
        LatentUpscaler::Nearest => sd_hires_upscaler_t::SD_HIRES_UPSCALER_LATENT_NEAREST,
        LatentUpscaler::NearestExact => sd_hires_upscaler_t::SD_HIRES_UPSCALER_LATENT_NEAREST_EXACT,
        LatentUpscaler::Antialiased => sd_hires_upscaler_t::SD_HIRES_UPSCALER_LATENT_ANTIALIASED,
        LatentUpscaler::Bicubic => sd_hires_upscaler_t::SD_HIRES_UPSCALER_LATENT_BICUBIC,
        LatentUpscaler::BicubicAntialiased => sd_hires_upscaler_t::SD_HIRES_UPSCALER_LATENT_BICUBIC_ANTIALIASED,
    }
}

const fn raw_vae_format(format: VaeFormat) -> sd_vae_format_t {
    match format {
        VaeFormat::Flux => sd_vae_format_t::SD_VAE_FORMAT_FLUX,
        VaeFormat::Sd3 => sd_vae_format_t::SD_VAE_FORMAT_SD3,
        VaeFormat::Flux2 => sd_vae_format_t::SD_VAE_FORMAT_FLUX2,
    }
}

pub(super) const fn raw_tensor_type(of: TensorType) -> sd_type_t {
    match of {
        TensorType::F32 => sd_type_t::SD_TYPE_F32,
        TensorType::F16 => sd_type_t::SD_TYPE_F16,
        TensorType::Bf16 => sd_type_t::SD_TYPE_BF16,
        TensorType::Q8_0 => sd_type_t::SD_TYPE_Q8_0,
        TensorType::Q6K => sd_type_t::SD_TYPE_Q6_K,
        TensorType::Q5_1 => sd_type_t::SD_TYPE_Q5_1,
        TensorType::Q5_0 => sd_type_t::SD_TYPE_Q5_0,
        TensorType::Q5K => sd_type_t::SD_TYPE_Q5_K,
        TensorType::Q4_1 => sd_type_t::SD_TYPE_Q4_1,
        TensorType::Q4_0 => sd_type_t::SD_TYPE_Q4_0,
        TensorType::Q4K => sd_type_t::SD_TYPE_Q4_K,
        TensorType::Iq4Nl => sd_type_t::SD_TYPE_IQ4_NL,
        TensorType::Iq4Xs => sd_type_t::SD_TYPE_IQ4_XS,
        TensorType::Mxfp4 => sd_type_t::SD_TYPE_MXFP4,
        TensorType::Nvfp4 => sd_type_t::SD_TYPE_NVFP4,
        TensorType::Q3K => sd_type_t::SD_TYPE_Q3_K,
        TensorType::Iq3S => sd_type_t::SD_TYPE_IQ3_S,
        TensorType::Iq3Xxs => sd_type_t::SD_TYPE_IQ3_XXS,
        TensorType::Q2K => sd_type_t::SD_TYPE_Q2_K,
        TensorType::Iq2S => sd_type_t::SD_TYPE_IQ2_S,
        TensorType::Iq2Xs => sd_type_t::SD_TYPE_IQ2_XS,
        TensorType::Iq2Xxs => sd_type_t::SD_TYPE_IQ2_XXS,
        TensorType::Tq2_0 => sd_type_t::SD_TYPE_TQ2_0,
        TensorType::Iq1M => sd_type_t::SD_TYPE_IQ1_M,
        TensorType::Tq1_0 => sd_type_t::SD_TYPE_TQ1_0,
        TensorType::Iq1S => sd_type_t::SD_TYPE_IQ1_S,
        TensorType::Q1_0 => sd_type_t::SD_TYPE_Q1_0,
    }
}

fn raw_lora(lora: &Lora, strings: &mut Strings) -> Result<ggml_sys::sd_lora_t, CallError> {
    Ok(ggml_sys::sd_lora_t { is_high_noise: false, multiplier: lora.strength, path: strings.path(Some(&lora.path))? })
}

/// File of an adapter, the names of its tensors: in the file, and the engine's; and its strength in
/// text encoders.
type RawAdapterNames = (*const c_char, [Vec<*const c_char>; 2], Option<f32>);

fn raw_adapter_names(params: &GenerateParams<'_>, strings: &mut Strings) -> Result<Vec<RawAdapterNames>, CallError> {
    let mut all = Vec::new();
    for lora in &params.recipe.loras {
        let Some(names) = params.adapters.names(&lora.path) else { continue };
        let path = strings.path(Some(&lora.path))?;
        let mut raw = [Vec::with_capacity(names.len()), Vec::with_capacity(names.len())];
        let [from, to] = &mut raw;
        for (in_file, in_engine) in names {
            from.push(strings.text(in_file)?);
            to.push(strings.text(in_engine)?);
        }
        all.push((path, raw, lora.encoder_strength));
    }
    // The engine finds the LoRA in this file, and its tensors by their own names.
    if let Some(photomaker) = params.recipe.files.get(FileRole::Photomaker) {
        all.push((strings.path(Some(photomaker))?, [Vec::new(), Vec::new()], None));
    }
    Ok(all)
}

/// It points to the vectors of the embedding.
fn raw_embedding(embedding: &Embedding, strings: &mut Strings) -> Result<ggml_sys::atelier_embedding, CallError> {
    let number = |value: usize| c_int::try_from(value).unwrap_or(0);
    Ok(ggml_sys::atelier_embedding {
        token: strings.text(&embedding.token)?,
        count: number(embedding.count),
        width: number(embedding.width()),
        vectors: embedding.first.as_ptr(),
        width_2: number(embedding.second_width()),
        vectors_2: if embedding.second.is_empty() { null() } else { embedding.second.as_ptr() },
    })
}

/// The engine's type is mutable, but it only reads these pixels.
pub(super) fn raw_image(image: &Rgb8) -> ggml_sys::sd_image_t {
    ggml_sys::sd_image_t { width: image.width(), height: image.height(), channel: 3, data: image.pixels().as_ptr().cast_mut() }
}

const fn raw_sampler(sampler: Sampler) -> sample_method_t {
    match sampler {
        Sampler::Euler => sample_method_t::EULER_SAMPLE_METHOD,
        Sampler::EulerA => sample_method_t::EULER_A_SAMPLE_METHOD,
        Sampler::Heun => sample_method_t::HEUN_SAMPLE_METHOD,
        Sampler::Dpm2 => sample_method_t::DPM2_SAMPLE_METHOD,
        Sampler::Dpmpp2sA => sample_method_t::DPMPP2S_A_SAMPLE_METHOD,
        Sampler::Dpmpp2m => sample_method_t::DPMPP2M_SAMPLE_METHOD,
        Sampler::Dpmpp2mV2 => sample_method_t::DPMPP2Mv2_SAMPLE_METHOD,
        Sampler::Ipndm => sample_method_t::IPNDM_SAMPLE_METHOD,
        Sampler::IpndmV => sample_method_t::IPNDM_V_SAMPLE_METHOD,
        Sampler::Lcm => sample_method_t::LCM_SAMPLE_METHOD,
        Sampler::DdimTrailing => sample_method_t::DDIM_TRAILING_SAMPLE_METHOD,
        Sampler::Tcd => sample_method_t::TCD_SAMPLE_METHOD,
        Sampler::ResMultistep => sample_method_t::RES_MULTISTEP_SAMPLE_METHOD,
        Sampler::Res2s => sample_method_t::RES_2S_SAMPLE_METHOD,
        Sampler::ErSde => sample_method_t::ER_SDE_SAMPLE_METHOD,
        Sampler::EulerCfgPp => sample_method_t::EULER_CFG_PP_SAMPLE_METHOD,
        Sampler::EulerACfgPp => sample_method_t::EULER_A_CFG_PP_SAMPLE_METHOD,
        Sampler::EulerGe => sample_method_t::EULER_GE_SAMPLE_METHOD,
    }
}

const fn raw_prediction(prediction: PredictionType) -> prediction_t {
    match prediction {
        PredictionType::Eps => prediction_t::EPS_PRED,
        PredictionType::V => prediction_t::V_PRED,
        PredictionType::EdmV => prediction_t::EDM_V_PRED,
        PredictionType::Sd3Flow => prediction_t::FLOW_PRED,
        PredictionType::FluxFlow => prediction_t::FLUX_FLOW_PRED,
        PredictionType::Flux2Flow => prediction_t::FLUX2_FLOW_PRED,
    }
}

const fn raw_rng(rng: Rng) -> rng_type_t {
    match rng {
        Rng::StdDefault => rng_type_t::STD_DEFAULT_RNG,
        Rng::Cuda => rng_type_t::CUDA_RNG,
        Rng::Cpu => rng_type_t::CPU_RNG,
    }
}

const fn raw_scheduler(scheduler: Scheduler) -> scheduler_t {
    match scheduler {
        Scheduler::Discrete => scheduler_t::DISCRETE_SCHEDULER,
        Scheduler::Karras => scheduler_t::KARRAS_SCHEDULER,
        Scheduler::Exponential => scheduler_t::EXPONENTIAL_SCHEDULER,
        Scheduler::Ays => scheduler_t::AYS_SCHEDULER,
        Scheduler::Gits => scheduler_t::GITS_SCHEDULER,
        Scheduler::SgmUniform => scheduler_t::SGM_UNIFORM_SCHEDULER,
        Scheduler::Simple => scheduler_t::SIMPLE_SCHEDULER,
        Scheduler::Smoothstep => scheduler_t::SMOOTHSTEP_SCHEDULER,
        Scheduler::KlOptimal => scheduler_t::KL_OPTIMAL_SCHEDULER,
        Scheduler::Lcm => scheduler_t::LCM_SCHEDULER,
        Scheduler::BongTangent => scheduler_t::BONG_TANGENT_SCHEDULER,
        Scheduler::Ltx2 => scheduler_t::LTX2_SCHEDULER,
    }
}
