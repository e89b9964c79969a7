//! Settings of a part that is generated: what the model sees of its surroundings, its edge, and
//! what it begins with.

use eframe::egui::{Button, Popup, PopupCloseBehavior, Ui, vec2};

use crate::gui::icons::Icon;
use crate::gui::widgets::{ROW_HEIGHT, Scale, bare_icon, row, slider_row, whole_number};
use atelier_core::canvas::{AreaFill, AreaSettings};
use atelier_language::tr;

/// Width of the menu, in points.
const WIDTH: f32 = 300.0;
/// The most context that the slider gives: with more, the part is a few pixels of what the model
/// sees.
const MAX_CONTEXT: f32 = 4.0;
/// Width of a soft edge where it is first set by hand, in pixels.
const USUAL_FEATHER: u32 = 16;

/// The button that opens the menu.
pub(super) fn area_button(ui: &mut Ui, area: &mut AreaSettings) {
    let button = bare_icon(ui, Icon::Dots, tr!("canvas-inpainting-settings")).on_hover_text(tr!("canvas-how-much-the-model"));
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(tr!("canvas-inpainting-settings")).show(
        |ui| {
            ui.set_width(WIDTH);
            let scale = Scale { step: 0.1, decimals: 1, logarithmic: false };
            let hover = tr!("canvas-how-much-of-the");
            slider_row(ui, tr!("canvas-context"), &mut area.context, AreaSettings::CONTEXT_RANGE.0..=MAX_CONTEXT, &scale, hover);
            feather_row(ui, &mut area.feather);
            fill_rows(ui, &mut area.fill);
            ui.checkbox(&mut area.soft_mask, tr!("canvas-change-the-edge-less")).on_hover_text(tr!("canvas-regenerate-the-soft-edge"));
            ui.checkbox(&mut area.seam_correction, tr!("canvas-match-the-colours-around"))
                .on_hover_text(tr!("canvas-match-the-colours-of"));
            let usual = AreaSettings::default();
            let reset = Button::new(tr!("canvas-reset")).min_size(vec2(0.0, ROW_HEIGHT));
            if ui.add_enabled(*area != usual, reset).on_hover_text(tr!("canvas-reset-these-settings")).clicked() {
                *area = usual;
            }
        },
    );
}

fn feather_row(ui: &mut Ui, feather: &mut Option<u32>) {
    let hover = tr!("canvas-width-of-the-soft");
    row(ui, tr!("canvas-soft-edge"), |ui| {
        let mut is_automatic = feather.is_none();
        ui.checkbox(&mut is_automatic, tr!("canvas-automatic")).on_hover_text(tr!("canvas-automatic-a-tenth-of"));
        match (is_automatic, &mut *feather) {
            (true, _) => *feather = None,
            (false, None) => *feather = Some(USUAL_FEATHER),
            (false, Some(pixels)) => {
                let number = whole_number(pixels, 0..=AreaSettings::MAX_FEATHER).suffix(" px");
                ui.add(number).on_hover_text(hover).accessible_name(tr!("canvas-width-of-the-soft-edge"));
            }
        }
    });
}

/// A menu within the menu would close it: all choices are seen.
fn fill_rows(ui: &mut Ui, fill: &mut Option<AreaFill>) {
    row(ui, tr!("canvas-begins-with"), |ui| {
        ui.vertical(|ui| {
            for choice in std::iter::once(None).chain(AreaFill::ALL.map(Some)) {
                ui.selectable_value(fill, choice, words(choice)).on_hover_text(tr!("canvas-starting-content-of-the"));
            }
        });
    });
}

fn words(fill: Option<AreaFill>) -> &'static str {
    match fill {
        None => tr!("canvas-automatic-by-strength"),
        Some(AreaFill::Original) => tr!("canvas-the-picture"),
        Some(AreaFill::Blur) => tr!("canvas-colours-around-blurred"),
        Some(AreaFill::Border) => tr!("canvas-edge-colours-drawn-inwards"),
        Some(AreaFill::Neutral) => tr!("canvas-grey"),
        Some(AreaFill::Noise) => tr!("canvas-random-colours"),
    }
}
