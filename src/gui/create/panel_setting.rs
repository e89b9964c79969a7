//! The settings of the panel that the command palette finds: the names of their rows, and what
//! other programs call them. Pure.

use crate::gui::axes::axis_of_row;
use crate::gui::shared::Shared;
use crate::settings::Fold;
use atelier_core::recipe::{FamilySetting, LoraMode, Recipe};
use atelier_language::{self as language, tr};

impl Fold {
    /// Label of the command that folds it, or unfolds it.
    pub(crate) fn label(self, opens: bool) -> &'static str {
        match (self, opens) {
            (Self::Sampling, true) => tr!("create-unfold-sampling"),
            (Self::Sampling, false) => tr!("create-fold-sampling"),
            (Self::Upscale, true) => tr!("create-unfold-upscale"),
            (Self::Upscale, false) => tr!("create-fold-upscale"),
            (Self::Guides, true) => tr!("create-unfold-guides"),
            (Self::Guides, false) => tr!("create-fold-guides"),
            (Self::Loras, true) => tr!("create-unfold-loras"),
            (Self::Loras, false) => tr!("create-fold-loras"),
            (Self::More, true) => tr!("create-unfold-more-settings"),
            (Self::More, false) => tr!("create-fold-more-settings"),
            (Self::Steps, true) => tr!("create-unfold-the-ruler-of"),
            (Self::Steps, false) => tr!("create-fold-the-ruler-of"),
        }
    }
}

/// A setting: the name of its row, where that is folded, and the words of its command. Of a section
/// whose rows come and go with what is chosen there, it is the section.
pub struct PanelSetting {
    /// The text of the name of its row, or of the tooltip of its section.
    row: &'static str,
    pub(crate) fold: Fold,
    label: &'static str,
    /// The text of a sentence with the names that people know it by.
    names: &'static str,
    /// When its row is drawn.
    pub(crate) shown: Shown,
}

/// When the row of a setting is drawn. What is set stays in sight.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    Always,
    /// Unless it is known that the chosen model has no use for it.
    Used(FamilySetting),
    /// Where it is known that the chosen model uses it.
    KnownUse(FamilySetting),
    Loras,
    Control,
    References,
    /// Where a prompt may have choices.
    Choices,
}

impl Shown {
    /// `Ok` where it is drawn.
    ///
    /// # Errors
    /// The reason, in a sentence for a person.
    pub(crate) fn check(self, shared: &Shared, recipe: &Recipe) -> Result<(), &'static str> {
        let (is_shown, reason) = match self {
            Self::Always => return Ok(()),
            Self::Used(setting) => (setting.is_set(recipe) || shared.uses(setting), tr!("create-the-chosen-model-has")),
            Self::KnownUse(setting) => (setting.is_set(recipe) || shared.is_known_to_use(setting), tr!("create-the-chosen-model-is")),
            Self::Loras => (recipe.has_any_lora() || recipe.lora_mode != LoraMode::Auto, tr!("create-choose-a-lora-first")),
            // A model that reads the picture itself has no ControlNet.
            Self::Control if shared.next.reads_control() => (false, tr!("create-the-chosen-model-has")),
            Self::Control => (recipe.control.is_some(), tr!("create-choose-a-control-picture")),
            Self::References => {
                let is_set = !recipe.resize_references || recipe.number_references;
                (is_set || !recipe.reference_images.is_empty(), tr!("create-choose-a-reference-picture"))
            }
            Self::Choices => {
                // It is asked in each frame: the letters that choices begin with will do.
                let may_choose = [&recipe.prompt, &recipe.negative_prompt].iter().any(|text| text.contains('{') || text.contains("__"));
                (recipe.words_seed.is_some() || may_choose, tr!("create-write-a-choice-into"))
            }
        };
        is_shown.then_some(()).ok_or(reason)
    }
}

impl PanelSetting {
    /// The name of its row, or the tooltip of its section.
    pub(crate) fn row(&self) -> &'static str {
        language::text(self.row)
    }

    /// The axis of a sheet that its row can be put on.
    pub(crate) fn axis(&self) -> Option<&'static str> {
        axis_of_row(self.row)
    }

    /// Its name in no language.
    pub(crate) const fn id(&self) -> &'static str {
        self.label
    }

    /// Label and tooltip of the command that shows it.
    pub(crate) fn words(&self) -> (&'static str, &'static str) {
        (language::text(self.label), language::text(self.names))
    }
}

macro_rules! shown {
    () => {
        Shown::Always
    };
    ($shown:expr) => {
        $shown
    };
}

macro_rules! panel_settings {
    ($($row:literal, $fold:ident $(, if ($shown:expr))?, $label:literal, $names:literal;)*) => {
        /// All of them, in the order of their rows.
        pub(crate) const PANEL_SETTINGS: &[PanelSetting] = &[$(PanelSetting {
            row: $row,
            fold: Fold::$fold,
            label: $label,
            names: $names,
            shown: shown!($($shown)?),
        },)*];
    };
}

panel_settings! {
    "create-steps", Sampling, "create-setting-steps", "create-show-the-number-of";
    "create-guidance", Sampling, "create-setting-guidance", "create-show-guidance-cfg-scale";
    "create-stop-early", Sampling, "create-setting-stop-early", "create-show-drafts-which-stop";
    "create-sampler", Sampling, "create-setting-sampler", "create-show-the-sampling-method";
    "create-scheduler", Sampling, "create-setting-scheduler", "create-show-the-noise-schedule";
    "create-seed-2", Sampling, "create-setting-seed", "create-show-the-seed-of";
    "create-blend", Sampling, "create-setting-second-seed", "create-show-the-variation-seed";
    "create-choices", Sampling, if (Shown::Choices), "create-setting-choices", "create-show-the-seed-of-choices";
    "create-a-second-pass-at", Upscale, "create-setting-second-pass", "create-show-the-second-pass";
    "guides-pictures-that-guide-the", Guides, "create-setting-guides", "create-show-pictures-that-guide";
    "create-additions-to-the-model", Loras, "create-setting-lora-strengths", "create-show-loras-and-their";
    "create-previews", More, "create-setting-previews", "create-show-how-a-picture";
    "create-distilled", More, if (Shown::Used(FamilySetting::DistilledGuidance)), "create-setting-distilled-guidance", "create-show-distilled-guidance-flux";
    "create-flow-shift", More, if (Shown::Used(FamilySetting::FlowShift)), "create-setting-flow-shift", "create-show-the-shift-of";
    "create-eta", More, "create-setting-eta", "create-show-the-noise-of";
    "create-clip-skip", More, if (Shown::Used(FamilySetting::ClipSkip)), "create-setting-clip-skip", "create-show-how-many-clip";
    "create-image-cfg", More, if (Shown::Used(FamilySetting::ImageGuidance)), "create-setting-image-guidance", "create-show-guidance-by-the";
    "create-skip-layers", More, if (Shown::Used(FamilySetting::SkipLayers)), "create-setting-skip-layer-guidance", "create-show-skip-layer-guidance";
    "create-step-shift", More, if (Shown::Used(FamilySetting::TimestepShift)), "create-setting-timestep-shift", "create-show-the-timestep-shift";
    "create-seamless", More, "create-setting-seamless-tiling", "create-show-seamless-tiling-circular";
    "create-step-cache", More, "create-setting-step-cache", "create-show-step-caches-easycache";
    "create-sigmas", More, "create-setting-sigmas", "create-show-noise-levels-of";
    "create-arguments", More, "create-setting-sampler-arguments", "create-show-further-arguments-of";
    "guides-control-start", More, if (Shown::Control), "create-setting-control-start", "create-show-the-steps-in-which";
    "create-references", More, if (Shown::References), "create-setting-reference-pictures", "create-show-how-reference-pictures";
    "create-prediction", More, "create-setting-prediction", "create-show-what-the-model";
    "create-zero-timestep", More, if (Shown::KnownUse(FamilySetting::ZeroCondT)), "create-setting-zero-timestep-of", "create-show-the-timestep-of";
    "create-chroma-masks", More, if (Shown::KnownUse(FamilySetting::ChromaMasks)), "create-setting-chromas-masks", "create-show-which-padding-chroma";
    "create-vae-format", More, if (Shown::KnownUse(FamilySetting::VaeFormat)), "create-setting-vae-format", "create-show-which-latents-pids";
    "create-weight-type", More, "create-setting-weight-type", "create-show-the-number-type";
    "create-type-rules", More, "create-setting-type-rules", "create-show-number-types-by";
    "create-noise", More, "create-setting-noise-generator", "create-show-the-random-number";
    "create-sampler-noise", More, "create-setting-samplers-noise-generator", "create-show-the-random-number-generator-of";
    "create-loras", More, if (Shown::Loras), "create-setting-lora-mode", "create-show-when-loras-are";
    "create-threads", More, "create-setting-threads", "create-show-how-many-cpu";
    "create-loading", More, "create-setting-map-files", "create-show-whether-model-files";
    "create-vae-tiling", More, "create-setting-vae-tiling", "create-show-decoding-in-tiles";
    "create-vae-range", More, if (Shown::Used(FamilySetting::VaeConvScale)), "create-setting-vae-range", "create-show-the-safe-range";
    "create-attention", More, "create-setting-flash-attention", "create-show-flash-attention-xformers";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the names of the rows, as the source of the panel has them.
    fn rows() -> Vec<&'static str> {
        let source = include_str!("view/settings_panel.rs");
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let calls = ["row(ui, tr!(\"", "row_or(ui, tr!(\"", "_row(\n", "_row_or(\n"]
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
        const PARTS: [&str; 6] =
            ["create-amount", "create-tile-size", "create-tile-overlap", "create-skipped-layers", "create-skip-start", "create-skip-end"];
        /// What draws other rows, and the sections.
        const OTHERS: [&str; 4] = [
            include_str!("view/larger.rs"),
            include_str!("view/loras.rs"),
            include_str!("view/step_cache.rs"),
            include_str!("../guides/view.rs"),
        ];
        let rows = rows();
        assert!(rows.len() > 25, "{rows:?}");
        for row in &rows {
            assert!(PARTS.contains(row) || PANEL_SETTINGS.iter().any(|it| it.row == *row), "{row} is not found by the command palette");
        }
        for (at, it) in PANEL_SETTINGS.iter().enumerate() {
            let drawn = format!("tr!(\"{}\")", it.row);
            let is_there = rows.contains(&it.row) || OTHERS.iter().any(|source| source.contains(&drawn));
            assert!(is_there, "there is no row {}", it.row);
            assert!(PANEL_SETTINGS[..at].iter().all(|other| other.label != it.label && other.row != it.row), "{}", it.row);
        }
    }
}
