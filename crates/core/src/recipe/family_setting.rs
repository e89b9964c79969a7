//! Settings that some models do not use.

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use super::Recipe;

/// A setting that models of some families alone use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FamilySetting {
    /// [`Recipe::image_guidance`].
    ImageGuidance,
    /// [`Recipe::skip_layers`].
    SkipLayers,
    /// [`Recipe::timestep_shift`].
    TimestepShift,
    /// [`Recipe::step_cache`].
    StepCache,
    /// [`Recipe::zero_cond_t`].
    ZeroCondT,
    /// [`Recipe::chroma_dit_mask`], [`Recipe::chroma_t5_mask`] and [`Recipe::chroma_t5_padding`].
    ChromaMasks,
    /// [`Recipe::vae_format`].
    VaeFormat,
    /// [`Recipe::flow_shift`].
    FlowShift,
    /// [`Recipe::clip_skip`].
    ClipSkip,
    /// [`Recipe::distilled_guidance`].
    DistilledGuidance,
    /// [`Recipe::vae_conv_scale`].
    VaeConvScale,
}

impl FamilySetting {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::ImageGuidance,
        Self::SkipLayers,
        Self::TimestepShift,
        Self::StepCache,
        Self::ZeroCondT,
        Self::ChromaMasks,
        Self::VaeFormat,
        Self::FlowShift,
        Self::ClipSkip,
        Self::DistilledGuidance,
        Self::VaeConvScale,
    ];

    /// Its name within a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ImageGuidance => tr!("core-image-guidance"),
            Self::SkipLayers => tr!("core-skip-layer-guidance"),
            Self::TimestepShift => tr!("core-timestep-shift"),
            Self::StepCache => tr!("core-step-cache"),
            Self::ZeroCondT => tr!("core-zero-timestep-of-references"),
            Self::ChromaMasks => tr!("core-chromas-masks"),
            Self::VaeFormat => "VAE format",
            Self::FlowShift => tr!("core-flow-shift"),
            Self::ClipSkip => "CLIP skip",
            Self::DistilledGuidance => tr!("core-distilled-guidance"),
            Self::VaeConvScale => "VAE range",
        }
    }

    /// True where it has another value than the usual one.
    #[must_use]
    pub fn is_set(self, recipe: &Recipe) -> bool {
        let usual = Recipe::default();
        match self {
            Self::ImageGuidance => recipe.image_guidance != usual.image_guidance,
            Self::SkipLayers => recipe.skip_layers != usual.skip_layers,
            Self::TimestepShift => recipe.timestep_shift != usual.timestep_shift,
            Self::StepCache => recipe.step_cache != usual.step_cache,
            Self::ZeroCondT => recipe.zero_cond_t != usual.zero_cond_t,
            Self::ChromaMasks => {
                let masks = |it: &Recipe| (it.chroma_dit_mask, it.chroma_t5_mask, it.chroma_t5_padding);
                masks(recipe) != masks(&usual)
            }
            Self::VaeFormat => recipe.vae_format != usual.vae_format,
            Self::FlowShift => recipe.flow_shift != usual.flow_shift,
            Self::ClipSkip => recipe.clip_skip != usual.clip_skip,
            Self::DistilledGuidance => recipe.distilled_guidance != usual.distilled_guidance,
            Self::VaeConvScale => recipe.vae_conv_scale != usual.vae_conv_scale,
        }
    }

    /// Gives it the usual value. Returns true where it had another one.
    pub fn unset(self, recipe: &mut Recipe) -> bool {
        let usual = Recipe::default();
        let was_set = self.is_set(recipe);
        match self {
            Self::ImageGuidance => recipe.image_guidance = usual.image_guidance,
            Self::SkipLayers => recipe.skip_layers = usual.skip_layers,
            Self::TimestepShift => recipe.timestep_shift = usual.timestep_shift,
            Self::StepCache => recipe.step_cache = usual.step_cache,
            Self::ZeroCondT => recipe.zero_cond_t = usual.zero_cond_t,
            Self::ChromaMasks => {
                recipe.chroma_dit_mask = usual.chroma_dit_mask;
                recipe.chroma_t5_mask = usual.chroma_t5_mask;
                recipe.chroma_t5_padding = usual.chroma_t5_padding;
            }
            Self::VaeFormat => recipe.vae_format = usual.vae_format,
            Self::FlowShift => recipe.flow_shift = usual.flow_shift,
            Self::ClipSkip => recipe.clip_skip = usual.clip_skip,
            Self::DistilledGuidance => recipe.distilled_guidance = usual.distilled_guidance,
            Self::VaeConvScale => recipe.vae_conv_scale = usual.vae_conv_scale,
        }
        was_set
    }
}
