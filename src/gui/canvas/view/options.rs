//! Settings of the tool in use, over the canvas.

use eframe::egui::{Align, DragValue, Label, Layout, RichText, Slider, SliderClamping, Ui, vec2};

use super::area::area_button;
use crate::gui::canvas::Command;
use crate::gui::canvas::tool::{Tool, ToolOptions};
use crate::gui::command::Commands;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT};
use atelier_core::canvas::BRUSH_SIZES;

/// Width of a slider, in points.
const SLIDER_WIDTH: f32 = 72.0;
/// Width of the words for a strength, in points.
const WORD_WIDTH: f32 = 52.0;
/// Points below which strength and area have a row of their own, below which opacity and smoothing
/// have no room, and below which hardness has none either.
const WIDE: f32 = 970.0;
const NARROW: f32 = 670.0;
const NARROWEST: f32 = 350.0;

pub(crate) fn options_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let mut options = state.canvas.options;
    let tool = state.canvas.tool;
    let width = ui.available_width();
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let paints = tool == Tool::Brush || tool.fills() || tool == Tool::Pipette;
        if paints {
            ui.color_edit_button_srgb(&mut options.colour)
                .on_hover_text("Paint colour. Alt picks a colour from the picture.")
                .accessible_name("Colour");
        }
        if matches!(tool, Tool::Brush | Tool::Eraser | Tool::Mask) {
            brush(ui, &mut options, tool, width);
        }
        if tool == Tool::Bucket {
            let tip = "Tolerance of the fill, 0 to 255.";
            number(ui, "Tolerance", &mut options.tolerance, tip, 0..=255, 1.0);
        }
        if let (Tool::Frame, Some(document)) = (tool, state.canvas.edited()) {
            let content = document.document.content();
            let words = format!("{} × {} · drag a border", content.width(), content.height());
            ui.add(Label::new(RichText::new(words).color(theme::palette(ui).weak)).truncate());
        }
        if width >= WIDE {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                area_button(ui, &mut options.area);
                strength(ui, &mut options);
            });
        }
    });
    if width < WIDE {
        ui.allocate_ui_with_layout(vec2(width, ROW_HEIGHT), Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            area_button(ui, &mut options.area);
            strength(ui, &mut options);
        });
    }
    if options != state.canvas.options {
        commands.push(Command::SetOptions(Box::new(options)));
    }
}

fn brush(ui: &mut Ui, options: &mut ToolOptions, tool: Tool, width: f32) {
    let brush = options.brush_of_mut(tool);
    slider(ui, "Size", &mut brush.size, BRUSH_SIZES.0..=500.0, true, "Diameter of the brush in pixels. Keys: [ and ].");
    ui.label(RichText::new(format!("{:.0} px", brush.size)).size(theme::SMALL).color(theme::palette(ui).weak));
    if width >= NARROWEST {
        slider(ui, "Hardness", &mut brush.hardness, 0.0..=1.0, false, "How sharp the edge of the brush is. Keys: Shift with [ and ].");
    }
    if width >= NARROW {
        if tool != Tool::Mask {
            slider(ui, "Opacity", &mut brush.opacity, 0.0..=1.0, false, "Opacity of a stroke.");
        }
        slider(
            ui,
            "Smoothing",
            &mut brush.smoothing,
            0.0..=0.95,
            false,
            "Smoothing: how far the stroke lags behind the pointer. Increase for shaky hands.",
        );
    }
}

/// How much may change where the picture is generated.
fn strength(ui: &mut Ui, options: &mut ToolOptions) {
    let palette = theme::palette(ui);
    // From right to left.
    let words = options.strength_words();
    ui.add_sized(vec2(WORD_WIDTH, ROW_HEIGHT), Label::new(RichText::new(words).size(theme::SMALL).color(palette.text)));
    let tip = "Denoising strength: touch up keeps nearly everything, replace keeps nothing.";
    bare_slider(ui, "Strength", &mut options.strength, 0.05..=1.0, false, tip);
    ui.label(RichText::new("Strength").size(theme::SMALL).color(palette.weak));
}

fn slider(ui: &mut Ui, label: &str, value: &mut f32, range: std::ops::RangeInclusive<f32>, logarithmic: bool, tip: &str) {
    let palette = theme::palette(ui);
    ui.label(RichText::new(label).size(theme::SMALL).color(palette.weak));
    bare_slider(ui, label, value, range, logarithmic, tip);
}

fn bare_slider(ui: &mut Ui, label: &str, value: &mut f32, range: std::ops::RangeInclusive<f32>, logarithmic: bool, tip: &str) {
    ui.scope(|ui| {
        ui.spacing_mut().slider_width = SLIDER_WIDTH;
        let slider = Slider::new(value, range)
            .step_by(if logarithmic { 1.0 } else { 0.01 })
            .show_value(false)
            .logarithmic(logarithmic)
            .clamping(SliderClamping::Edits);
        widgets::slider(ui, slider).on_hover_text(tip).accessible_name(label);
    });
}

fn number(ui: &mut Ui, label: &str, value: &mut u8, tip: &str, range: std::ops::RangeInclusive<u8>, speed: f64) {
    ui.label(RichText::new(label).size(theme::SMALL).color(theme::palette(ui).weak));
    ui.add(DragValue::new(value).range(range).speed(speed)).on_hover_text(tip).accessible_name(label);
}
