//! Settings of a part that is generated: what the model sees of its surroundings, its edge, and
//! what it begins with.

use eframe::egui::{Button, DragValue, Popup, PopupCloseBehavior, Ui, vec2};

use crate::gui::icons::Icon;
use crate::gui::widgets::{ROW_HEIGHT, Scale, bare_icon, row, slider_row};
use atelier_core::canvas::{AreaFill, AreaSettings};

/// Width of the menu, in points.
const WIDTH: f32 = 300.0;
/// The most context that the slider gives: with more, the part is a few pixels of what the model
/// sees.
const MAX_CONTEXT: f32 = 4.0;
/// Width of a soft edge where it is first set by hand, in pixels.
const USUAL_FEATHER: u32 = 16;
const NAME: &str = "Inpainting settings";

/// The button that opens the menu.
pub(super) fn area_button(ui: &mut Ui, area: &mut AreaSettings) {
    let button = bare_icon(ui, Icon::Dots, NAME)
        .on_hover_text("How much the model sees around the masked part, its soft edge, and its starting content.");
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(NAME).show(|ui| {
        ui.set_width(WIDTH);
        let scale = Scale { step: 0.1, decimals: 1, logarithmic: false };
        let hover = "How much of the picture the model sees around the masked part: more fits in better, less gives finer detail.";
        slider_row(ui, "Context", &mut area.context, AreaSettings::CONTEXT_RANGE.0..=MAX_CONTEXT, &scale, hover);
        feather_row(ui, &mut area.feather);
        fill_rows(ui, &mut area.fill);
        ui.checkbox(&mut area.soft_mask, "Change the edge less than the middle")
            .on_hover_text("Regenerate the soft edge in later steps only (differential diffusion). Off: the whole mask changes equally.");
        ui.checkbox(&mut area.seam_correction, "Match the colours around")
            .on_hover_text("Match the colours of the result to the surrounding picture.");
        let usual = AreaSettings::default();
        let reset = Button::new("Reset").min_size(vec2(0.0, ROW_HEIGHT));
        if ui.add_enabled(*area != usual, reset).on_hover_text("Reset these settings.").clicked() {
            *area = usual;
        }
    });
}

fn feather_row(ui: &mut Ui, feather: &mut Option<u32>) {
    let hover = "Width of the soft edge, in pixels of the picture.";
    row(ui, "Soft edge", |ui| {
        let mut is_automatic = feather.is_none();
        ui.checkbox(&mut is_automatic, "Automatic")
            .on_hover_text("Automatic: a tenth of the masked part, less at a low denoising strength.");
        match (is_automatic, &mut *feather) {
            (true, _) => *feather = None,
            (false, None) => *feather = Some(USUAL_FEATHER),
            (false, Some(pixels)) => {
                let number = DragValue::new(pixels).range(0..=AreaSettings::MAX_FEATHER).suffix(" px");
                ui.add(number).on_hover_text(hover).accessible_name("Width of the soft edge");
            }
        }
    });
}

/// A menu within the menu would close it: all choices are seen.
fn fill_rows(ui: &mut Ui, fill: &mut Option<AreaFill>) {
    row(ui, "Begins with", |ui| {
        ui.vertical(|ui| {
            for choice in std::iter::once(None).chain(AreaFill::ALL.map(Some)) {
                ui.selectable_value(fill, choice, words(choice)).on_hover_text("Starting content of the masked part.");
            }
        });
    });
}

const fn words(fill: Option<AreaFill>) -> &'static str {
    match fill {
        None => "Automatic, by strength",
        Some(AreaFill::Original) => "The picture",
        Some(AreaFill::Blur) => "Colours around, blurred",
        Some(AreaFill::Border) => "Edge colours, drawn inwards",
        Some(AreaFill::Neutral) => "Grey",
        Some(AreaFill::Noise) => "Random colours",
    }
}
