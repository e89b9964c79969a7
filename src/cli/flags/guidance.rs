//! The flags of what guides and shortens the sampling.

use std::collections::BTreeMap;
use std::str::FromStr;

use clap::Args;

use super::{SAMPLING, finite, guidance_range, one_of, unit, within};
use atelier_core::recipe::{CacheMode, GuidanceRange, ROWS, SkipLayers, StepCache, TensorType, TensorTypeRules, VaeFormat};
use atelier_core::sd_cli::numbers;

#[derive(Debug, Args)]
pub(in crate::cli) struct GuidanceFlags {
    #[arg(long, value_name = "X", value_parser = finite, help_heading = SAMPLING, help = within(&ROWS.image_guidance))]
    pub(in crate::cli) img_cfg_scale: Option<f32>,
    /// Another guidance in a part of the steps; of several that overlap, the last counts
    #[arg(long, value_name = "X@START-END", value_parser = guidance_range, help_heading = SAMPLING)]
    pub(in crate::cli) cfg_range: Vec<GuidanceRange>,
    /// Strength of skip-layer guidance (SLG), 0 to 100; 2.5 suits SD3.5 Medium
    #[arg(long, value_name = "X", value_parser = finite, help_heading = SAMPLING)]
    pub(in crate::cli) slg_scale: Option<f32>,
    /// Layers that skip-layer guidance leaves out [default: 7,8,9]
    #[arg(long, value_name = "N,...", value_parser = list::<u32>, requires = "slg_scale", help_heading = SAMPLING)]
    pub(in crate::cli) skip_layers: Option<List<u32>>,
    /// Part of the steps after which skip-layer guidance begins, 0 to 1 [default: 0.01]
    #[arg(long, value_name = "X", value_parser = unit, requires = "slg_scale", help_heading = SAMPLING)]
    pub(in crate::cli) skip_layer_start: Option<f32>,
    /// Part of the steps after which skip-layer guidance ends, 0 to 1 [default: 0.2]
    #[arg(long, value_name = "X", value_parser = unit, requires = "slg_scale", help_heading = SAMPLING)]
    pub(in crate::cli) skip_layer_end: Option<f32>,
    #[arg(long, value_name = "X,...", value_parser = list::<f32>, help_heading = SAMPLING, help = ROWS.sigmas.help())]
    pub(in crate::cli) sigmas: Option<List<f32>>,
    #[arg(long, value_name = "N", help_heading = SAMPLING, help = within(&ROWS.timestep_shift))]
    pub(in crate::cli) timestep_shift: Option<u32>,
    #[arg(long, value_name = "NAME=X,...", help_heading = SAMPLING, help = ROWS.sampler_arguments.help())]
    pub(in crate::cli) extra_sample_args: Option<String>,
    #[arg(long, value_name = "NAME", help_heading = SAMPLING, help = cache_help())]
    pub(in crate::cli) cache_mode: Option<CacheMode>,
    /// Options of the step cache: threshold=0.25,start=0.15 and others of its mode
    #[arg(long, value_name = "NAME=X,...", value_parser = StepCache::read_options, requires = "cache_mode", help_heading = SAMPLING)]
    pub(in crate::cli) cache_option: Option<BTreeMap<String, f32>>,
    /// Steps that Cache-DiT computes (1) and those that it may reuse (0)
    #[arg(long, value_name = "0|1,...", value_parser = mask, requires = "cache_mode", help_heading = SAMPLING)]
    pub(in crate::cli) scm_mask: Option<List<bool>>,
    /// Whether steps of the mask are reused only where little changed: dynamic or static
    #[arg(long, value_name = "NAME", value_parser = ["dynamic", "static"], requires = "scm_mask", help_heading = SAMPLING)]
    pub(in crate::cli) scm_policy: Option<String>,
    /// Seamless tiling: each edge continues the opposite one
    #[arg(long, help_heading = SAMPLING)]
    pub(in crate::cli) circular: bool,
    #[arg(long, help_heading = SAMPLING, help = ROWS.seamless_x.help())]
    pub(in crate::cli) circularx: bool,
    #[arg(long, help_heading = SAMPLING, help = ROWS.seamless_y.help())]
    pub(in crate::cli) circulary: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FamilyFlags {
    #[arg(long, help_heading = super::MODEL, help = ROWS.zero_cond_t.help())]
    pub(in crate::cli) qwen_image_zero_cond_t: bool,
    /// Let Chroma's diffusion module see padding
    #[arg(long, help_heading = super::MODEL)]
    pub(in crate::cli) chroma_disable_dit_mask: bool,
    #[arg(long, help_heading = super::MODEL, help = ROWS.chroma_t5_mask.help())]
    pub(in crate::cli) chroma_enable_t5_mask: bool,
    #[arg(long, value_name = "N", help_heading = super::MODEL, help = within(&ROWS.chroma_t5_padding))]
    pub(in crate::cli) chroma_t5_mask_pad: Option<u32>,
    #[arg(long, value_name = "NAME", help_heading = super::MODEL, help = one_of(ROWS.vae_format.help(), VaeFormat::ALL.iter().map(|it| it.key())))]
    pub(in crate::cli) vae_format: Option<VaeFormat>,
    #[arg(long = "type", alias = "weight-type", value_name = "TYPE", help_heading = super::MODEL, help = one_of(ROWS.weight_type.help(), TensorType::ALL.iter().map(|it| it.key())))]
    pub(in crate::cli) weight_type: Option<TensorType>,
    #[arg(long, value_name = "PATTERN=TYPE,...", help_heading = super::MODEL, help = ROWS.tensor_type_rules.help())]
    pub(in crate::cli) tensor_type_rules: Option<TensorTypeRules>,
    #[arg(long, help_heading = super::INPUTS, help = ROWS.number_references.help())]
    pub(in crate::cli) increase_ref_index: bool,
    /// Keep the size of reference pictures
    #[arg(long, help_heading = super::INPUTS)]
    pub(in crate::cli) disable_auto_resize_ref_image: bool,
}

/// A list that one value of a flag holds, which clap would take for several values.
#[derive(Clone, Debug)]
pub(in crate::cli) struct List<T>(pub(in crate::cli) Vec<T>);

impl GuidanceFlags {
    /// The skip-layer guidance that is asked for.
    pub(in crate::cli) fn skip(&self) -> Option<SkipLayers> {
        let usual = SkipLayers::default();
        let layers = self.skip_layers.as_ref().map_or(usual.layers, |layers| layers.0.clone());
        let (start, end) = (self.skip_layer_start.unwrap_or(usual.start), self.skip_layer_end.unwrap_or(usual.end));
        self.slg_scale.map(|scale| SkipLayers { scale, layers, start, end })
    }

    /// The step cache that is asked for.
    pub(in crate::cli) fn cache(&self) -> Option<StepCache> {
        let cache = StepCache::of(self.cache_mode?);
        let options = self.cache_option.clone().unwrap_or_default();
        let mask = self.scm_mask.as_ref().map(|mask| mask.0.clone()).unwrap_or_default();
        Some(StepCache { options, mask, is_mask_static: self.scm_policy.as_deref() == Some("static"), ..cache })
    }
}

fn cache_help() -> String {
    let names = CacheMode::ALL.iter().map(|it| it.key()).collect::<Vec<_>>().join(", ");
    format!("{}: {names} [default: none]", ROWS.step_cache.help())
}

pub(super) fn list<T: FromStr>(text: &str) -> Result<List<T>, String> {
    numbers(text).map(List)
}

fn mask(text: &str) -> Result<List<bool>, String> {
    StepCache::read_mask(text).map(List)
}
