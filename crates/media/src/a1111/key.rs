//! Keys of the pairs that are written into `parameters`, and read from it. Keys are read in any
//! letter case; those that other programs alone write stand where they are read.

/// Steps of the first pass.
pub(crate) const STEPS: &str = "Steps";
pub(crate) const SAMPLER: &str = "Sampler";
pub(crate) const SCHEDULE_TYPE: &str = "Schedule type";
pub(crate) const CFG_SCALE: &str = "CFG scale";
/// Another guidance in parts of the steps; Atelier's own.
pub(crate) const CFG_RANGES: &str = "CFG ranges";
pub(crate) const DISTILLED_CFG_SCALE: &str = "Distilled CFG Scale";
pub(crate) const IMAGE_CFG_SCALE: &str = "Image CFG scale";
pub(crate) const SEED: &str = "Seed";
/// Of what was chosen in the prompts; Atelier's own.
pub(crate) const SEED_OF_CHOICES: &str = "Seed of choices";
pub(crate) const VARIATION_SEED: &str = "Variation seed";
pub(crate) const VARIATION_SEED_STRENGTH: &str = "Variation seed strength";
/// Of the first pass.
pub(crate) const SIZE: &str = "Size";
pub(crate) const RNG: &str = "RNG";
/// sd-cli's.
pub(crate) const SAMPLER_RNG: &str = "Sampler RNG";
pub(crate) const MODEL: &str = "Model";
pub(crate) const VAE: &str = "VAE";
/// Of a second pass, or without one of the start picture.
pub(crate) const DENOISING_STRENGTH: &str = "Denoising strength";
pub(crate) const HIRES_RESIZE: &str = "Hires resize";
/// The factor; in sd-cli's texts, what upscales.
pub(crate) const HIRES_UPSCALE: &str = "Hires upscale";
pub(crate) const HIRES_STEPS: &str = "Hires steps";
pub(crate) const HIRES_UPSCALER: &str = "Hires upscaler";
/// sd-cli's.
pub(crate) const HIRES_CUSTOM_SIGMAS: &str = "Hires custom sigmas";
pub(crate) const POSTPROCESS_UPSCALER: &str = "Postprocess upscaler";
pub(crate) const CLIP_SKIP: &str = "Clip skip";
pub(crate) const TILING: &str = "Tiling";
pub(crate) const ETA: &str = "Eta";
pub(crate) const SHIFT: &str = "Shift";
/// sd-cli's, as the next ones.
pub(crate) const SLG_SCALE: &str = "SLG scale";
pub(crate) const SKIP_LAYERS: &str = "Skip layers";
pub(crate) const SKIP_LAYER_START: &str = "Skip layer start";
pub(crate) const SKIP_LAYER_END: &str = "Skip layer end";
pub(crate) const EXTRA_SAMPLE_ARGS: &str = "Extra sample args";
pub(crate) const CUSTOM_SIGMAS: &str = "Custom Sigmas";
/// sd-cli's, whose value is JSON.
pub(crate) const SDCPP: &str = "SDCPP";
/// A unit of ControlNet, whose value is pairs.
pub(crate) const CONTROLNET: &str = "ControlNet 0";
pub(crate) const UNIT_MODULE: &str = "Module";
pub(crate) const UNIT_MODEL: &str = "Model";
pub(crate) const UNIT_WEIGHT: &str = "Weight";
pub(crate) const UNIT_START: &str = "Guidance Start";
pub(crate) const UNIT_END: &str = "Guidance End";
/// How the processor computed; Atelier's own.
pub(crate) const CPU_MATH: &str = "CPU math";
pub(crate) const VERSION: &str = "Version";
