//! The settings of the panel that the command palette finds: the names of their rows, and what
//! other programs call them. Pure.

use crate::settings::Fold;
use atelier_core::recipe::FamilySetting;

impl Fold {
    /// Label of the command that folds it, or unfolds it.
    pub(crate) const fn label(self, opens: bool) -> &'static str {
        match (self, opens) {
            (Self::Sampling, true) => "Unfold sampling",
            (Self::Sampling, false) => "Fold sampling",
            (Self::Upscale, true) => "Unfold upscale",
            (Self::Upscale, false) => "Fold upscale",
            (Self::Guides, true) => "Unfold guides",
            (Self::Guides, false) => "Fold guides",
            (Self::Loras, true) => "Unfold LoRAs",
            (Self::Loras, false) => "Fold LoRAs",
            (Self::More, true) => "Unfold more settings",
            (Self::More, false) => "Fold more settings",
        }
    }
}

/// A setting: the name of its row, where that is folded, and the words of its command.
pub struct PanelSetting {
    /// The name of its row.
    pub(crate) row: &'static str,
    pub(crate) fold: Fold,
    label: &'static str,
    /// A sentence with the names that people know it by.
    names: &'static str,
    /// What models must use for it to be shown; `None`: all do.
    pub(crate) used_as: Option<FamilySetting>,
}

impl PanelSetting {
    /// Label and tooltip of the command that shows it.
    pub(crate) const fn words(&self) -> (&'static str, &'static str) {
        (self.label, self.names)
    }
}

macro_rules! used_as {
    () => {
        None
    };
    ($setting:ident) => {
        Some(FamilySetting::$setting)
    };
}

macro_rules! panel_settings {
    ($($row:literal, $fold:ident $(, if $used_as:ident)?, $label:literal, $names:literal;)*) => {
        /// All of them, in the order of their rows.
        pub(crate) const PANEL_SETTINGS: &[PanelSetting] = &[$(PanelSetting {
            row: $row,
            fold: Fold::$fold,
            label: concat!("Setting: ", $label),
            names: $names,
            used_as: used_as!($($used_as)?),
        },)*];
    };
}

panel_settings! {
    "Steps", Sampling, "steps", "Show the number of sampling steps (iterations).";
    "Guidance", Sampling, "guidance", "Show guidance (CFG scale, classifier-free guidance).";
    "Stop early", Sampling, "stop early", "Show drafts, which stop after a step.";
    "Sampler", Sampling, "sampler", "Show the sampling method: Euler, DPM++, LCM, UniPC.";
    "Scheduler", Sampling, "scheduler", "Show the noise schedule: Karras, exponential, AYS, SGM uniform, beta.";
    "Seed", Sampling, "seed", "Show the seed of the noise, or draw it at random.";
    "Blend", Sampling, "second seed", "Show the variation seed (subseed) and its strength.";
    "Previews", More, "previews", "Show how a picture is shown while it forms (live preview, TAESD).";
    "Distilled", More, if DistilledGuidance, "distilled guidance", "Show distilled guidance (Flux guidance, distilled CFG).";
    "Flow shift", More, if FlowShift, "flow shift", "Show the shift of flow models (ModelSamplingFlux, discrete flow shift).";
    "Eta", More, "eta", "Show the noise of ancestral samplers (eta, s_noise).";
    "CLIP skip", More, if ClipSkip, "CLIP skip", "Show how many CLIP layers are skipped (stop at CLIP layers).";
    "Image CFG", More, if ImageGuidance, "image guidance", "Show guidance by the start picture (image CFG, pix2pix, edit).";
    "Skip layers", More, if SkipLayers, "skip-layer guidance", "Show skip-layer guidance (SLG).";
    "Step shift", More, if TimestepShift, "timestep shift", "Show the timestep shift of distilled models (NitroSD).";
    "Seamless", More, "seamless tiling", "Show seamless tiling (circular padding, patterns, textures).";
    "Step cache", More, "step cache", "Show step caches (EasyCache, TeaCache, FBCache, TaylorSeer, Spectrum).";
    "Sigmas", More, "sigmas", "Show noise levels of your own (custom sigmas, AYS, turbo).";
    "Arguments", More, "sampler arguments", "Show further arguments of the sampling (APG, LCM noise, gamma).";
    "References", More, "reference pictures", "Show how reference pictures are resized and numbered.";
    "Prediction", More, "prediction", "Show what the model predicts (v-prediction, epsilon, flow, zero-SNR).";
    "Zero timestep", More, if ZeroCondT, "zero timestep of references", "Show the timestep of reference pictures (zero_cond_t, Qwen-Image-Edit 2511).";
    "Chroma masks", More, if ChromaMasks, "Chroma's masks", "Show which padding Chroma sees (DiT mask, T5 mask).";
    "VAE format", More, if VaeFormat, "VAE format", "Show which latents PiD's decoder reads.";
    "Weight type", More, "weight type", "Show the number type of weights (quantise at load, q8_0, fp8, --type).";
    "Type rules", More, "type rules", "Show number types by the names of weights (tensor type rules).";
    "Noise", More, "noise generator", "Show the random number generator of the noise (RNG, GPU or CPU noise).";
    "Sampler noise", More, "sampler's noise generator", "Show the random number generator of what samplers add (sampler RNG).";
    "LoRAs", More, "LoRA mode", "Show when LoRAs are applied (merge, bake, at run time).";
    "Threads", More, "threads", "Show how many CPU threads compute.";
    "Loading", More, "map files", "Show whether model files are mapped into memory (mmap).";
    "VAE tiling", More, "VAE tiling", "Show decoding in tiles (tiled VAE, tile size, tile overlap).";
    "VAE range", More, if VaeConvScale, "VAE range", "Show the safe range of SDXL's VAE (black pictures, no-half-vae, VAE conv scale).";
    "Attention", More, "flash attention", "Show flash attention (xformers, SDP).";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the rows of the panel, as its source has them.
    fn rows() -> Vec<&'static str> {
        let source = include_str!("view/settings_panel.rs");
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let calls = ["row(ui, \"", "row_or(ui, \"", "_row(\n"]
            .into_iter()
            .flat_map(|call| source.split(call).skip(1).map(move |rest| (call, rest)));
        let name = |(call, rest): (&str, &'static str)| {
            let rest = if call.ends_with('\n') { rest.split_once('"')?.1 } else { rest };
            rest.split_once('"').map(|(name, _)| name)
        };
        calls.filter_map(name).collect()
    }

    #[test]
    fn every_row_of_the_panel_is_found_and_every_one_that_is_found_is_there() {
        /// Rows that stand beneath the one that switches them on.
        const PARTS: [&str; 3] = ["Amount", "Tile size", "Tile overlap"];
        let rows = rows();
        assert!(rows.len() > 25, "{rows:?}");
        for row in &rows {
            assert!(PARTS.contains(row) || PANEL_SETTINGS.iter().any(|it| it.row == *row), "{row} is not found by the command palette");
        }
        for (at, it) in PANEL_SETTINGS.iter().enumerate() {
            assert!(rows.contains(&it.row), "there is no row {}", it.row);
            assert!(PANEL_SETTINGS[..at].iter().all(|other| other.label != it.label && other.row != it.row), "{}", it.row);
        }
    }
}
