//! Settings whose names are dragged onto an axis of a sheet, or put there by their menu.

use atelier_language::{self as language, tr};
use eframe::egui::{DragAndDrop, Id, Label, Response, Sense, Ui};

/// The texts of rows and headings whose settings can be an axis of a sheet, with the names of those.
const AXES_OF_ROWS: [(&str, &str); 54] = [
    ("create-model", "model"),
    ("create-prompt-2", "words"),
    ("common-size", "size"),
    ("create-width", "width"),
    ("create-height", "height"),
    ("create-steps", "steps"),
    ("create-guidance", "guidance"),
    ("create-sampler", "sampler"),
    ("create-scheduler", "scheduler"),
    ("create-seed-2", "seed"),
    ("create-blend", "seed_blend.amount"),
    ("create-amount", "seed_blend.amount"),
    ("create-factor", "hires.scale"),
    ("create-denoise-2", "hires.strength"),
    ("create-hires-steps", "hires.steps"),
    ("create-hires-sigmas", "hires.sigmas"),
    ("create-repeats", "upscale.repeats"),
    ("guides-strength", "init.strength"),
    ("guides-resize", "start_fit"),
    ("guides-control", "control.strength"),
    ("guides-control-start", "control.start"),
    ("guides-control-end", "control.end"),
    ("guides-preprocessor", "control.preprocessor"),
    ("guides-style-strength", "person.style_strength"),
    ("create-distilled", "distilled_guidance"),
    ("create-flow-shift", "flow_shift"),
    ("create-eta", "eta"),
    ("create-clip-skip", "clip_skip"),
    ("create-image-cfg", "image_guidance"),
    ("create-skip-layers", "skip_layers.scale"),
    ("create-skip-start", "skip_layers.start"),
    ("create-skip-end", "skip_layers.end"),
    ("create-step-shift", "timestep_shift"),
    ("create-seamless", "seamless_x"),
    ("create-step-cache", "step_cache"),
    ("create-sigmas", "sigmas"),
    ("create-arguments", "sampler_arguments"),
    ("create-references", "resize_references"),
    ("create-prediction", "prediction"),
    ("create-zero-timestep", "zero_cond_t"),
    ("create-chroma-masks", "chroma_dit_mask"),
    ("create-vae-format", "vae_format"),
    ("create-weight-type", "weight_type"),
    ("create-type-rules", "tensor_type_rules"),
    ("create-noise", "rng"),
    ("create-sampler-noise", "sampler_rng"),
    ("create-loras", "lora_mode"),
    ("create-threads", "threads"),
    ("create-loading", "memory_map"),
    ("create-vae-tiling", "vae_tiling"),
    ("create-tile-size", "vae_tile_size"),
    ("create-tile-overlap", "vae_tile_overlap"),
    ("create-vae-range", "vae_conv_scale"),
    ("create-attention", "flash_attention"),
];

/// A setting that is dragged onto an axis of a sheet: the beginning of the axis, as in `steps=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraggedAxis(pub(crate) String);

fn axis_id() -> Id {
    Id::unique("axis of a sheet")
}

/// The name of a row, or of a group of rows; where its setting can be an axis it can be put on one.
pub(crate) fn setting_label(ui: &mut Ui, name: Label, words: &str) -> Response {
    match AXES_OF_ROWS.iter().find(|(row, _)| language::text(row) == words) {
        Some((_, axis)) => axis_label(ui, name, axis),
        None => ui.add(name),
    }
}

/// The axis of a row or a heading, by the text of its name; `None` where it can be on none.
pub(crate) fn axis_of_row(text: &str) -> Option<&'static str> {
    AXES_OF_ROWS.iter().find(|(row, _)| *row == text).map(|(_, axis)| *axis)
}

/// A name that can be put on this axis, by its menu or by dragging it.
pub(crate) fn axis_label(ui: &mut Ui, name: Label, axis: &str) -> Response {
    // Only by the pointer: it is no stop of the keyboard.
    let response = ui.add(name.sense(Sense::CLICK | Sense::DRAG));
    if response.drag_started() {
        DragAndDrop::set_payload(ui.ctx(), DraggedAxis(format!("{axis}=")));
    }
    response.context_menu(|ui| {
        for (index, words) in
            [tr!("window-put-on-x-axis"), tr!("window-put-on-y-axis"), tr!("window-put-on-z-axis")].into_iter().enumerate()
        {
            if ui.button(words).on_hover_text(tr!("window-compare-pictures-that-differ")).clicked() {
                ui.data_mut(|data| data.insert_temp(axis_id(), (index, format!("{axis}="))));
                ui.close();
            }
        }
    });
    response.on_hover_text(tr!("window-drag-it-onto-an"))
}

/// The axis that the menu of a name asked for since the last call, and the setting to put there.
pub(crate) fn take_axis(ui: &Ui) -> Option<(usize, String)> {
    ui.data_mut(|data| data.remove_temp::<(usize, String)>(axis_id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::create::panel_setting::PANEL_SETTINGS;
    use atelier_core::grid::axis_names;

    #[test]
    fn every_setting_of_the_panel_can_be_an_axis_whose_name_is_known() {
        /// Previews are no setting of a picture, a sheet makes drafts of its own and draws no words,
        /// and sections are not one setting.
        const NO_AXES: [&str; 6] = [
            "create-previews",
            "create-stop-early",
            "create-choices",
            "create-a-second-pass-at",
            "guides-pictures-that-guide-the",
            "create-additions-to-the-model",
        ];
        for setting in PANEL_SETTINGS {
            let is_there = AXES_OF_ROWS.iter().any(|(row, _)| language::text(row) == setting.row());
            let is_none = NO_AXES.iter().any(|row| language::text(row) == setting.row());
            assert!(is_there != is_none, "{}", setting.row());
        }
        let names = axis_names();
        for (at, (row, axis)) in AXES_OF_ROWS.iter().enumerate() {
            let setting = axis.split_once('.').map_or(*axis, |(setting, _)| setting);
            assert!(names.contains(&setting), "{axis} is no axis");
            assert!(AXES_OF_ROWS[..at].iter().all(|(other, _)| language::text(other) != language::text(row)), "{row} is there twice");
        }
    }
}
