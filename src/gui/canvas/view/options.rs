//! Settings of the tool in use, over the canvas.

use eframe::egui::{Align, Label, Layout, Margin, RichText, Slider, SliderClamping, Ui, vec2};

use super::area::area_button;
use crate::gui::canvas::Command;
use crate::gui::canvas::tool::{Tool, ToolOptions};
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, command_control};
use atelier_core::canvas::{BRUSH_SIZES, MAX_SELECTION_PX};
use atelier_language::tr;

/// Width of a slider, in points.
const SLIDER_WIDTH: f32 = 72.0;
/// Width of the words for a strength, in points.
const WORD_WIDTH: f32 = 52.0;
/// Points below which strength and area have a row of their own, below which opacity and smoothing
/// have no room, and below which hardness has none either.
const WIDE: f32 = 970.0;
const NARROW: f32 = 670.0;
const NARROWEST: f32 = 350.0;
/// Points from which on there is room for all that changes the mask.
const ROOMY: f32 = 720.0;
/// Space between the rows, in points.
const ROW_GAP: f32 = 7.0;
/// Space round the options.
pub(super) const OPTIONS_MARGIN: Margin = Margin { left: 6, right: 10, top: 2, bottom: 4 };

/// Height of the options within this width, in points; both with their margins. It is the same for
/// every tool.
pub(super) fn height(width: f32) -> f32 {
    let rows = if width - OPTIONS_MARGIN.sum().x < WIDE { 2.0 } else { 1.0 };
    rows * ROW_HEIGHT + (rows - 1.0) * ROW_GAP + OPTIONS_MARGIN.sum().y
}

pub(crate) fn options_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let mut options = state.canvas.options;
    let tool = state.canvas.tool;
    let width = ui.available_width();
    ui.spacing_mut().item_spacing.y = ROW_GAP;
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let paints = tool == Tool::Brush || tool.fills() || tool == Tool::Pipette;
        if paints {
            widgets::colour_button(ui, &mut options.colour)
                .on_hover_text(tr!("canvas-paint-colour-alt-picks"))
                .accessible_name(tr!("canvas-colour"));
        }
        if matches!(tool, Tool::Brush | Tool::Eraser | Tool::Mask) {
            brush(ui, &mut options, tool, width);
        }
        if tool == Tool::Bucket {
            let tip = tr!("canvas-tolerance-of-the-fill");
            number(ui, tr!("canvas-tolerance"), &mut options.tolerance, tip, 0..=255, 1.0);
        }
        if tool == Tool::Wand {
            wand(ui, &mut options);
        }
        if matches!(tool, Tool::Wand | Tool::Mask) && width >= NARROWEST {
            selection(ui, state, commands, &mut options, width);
        }
        if tool == Tool::Move {
            let words = tr!("canvas-drag-the-layer-a");
            ui.add(Label::new(RichText::new(words).color(theme::palette(ui).weak)).truncate());
        }
        if let (Tool::Frame, Some(document)) = (tool, state.canvas.edited()) {
            let content = document.document.content();
            let words = tr!("canvas-drag-a-border", width = content.width(), height = content.height());
            ui.add(Label::new(RichText::new(words).color(theme::palette(ui).weak)).truncate());
        }
        if width >= WIDE {
            widgets::sides(ui, "strength", |_| {}, |ui| strength(ui, &mut options));
        }
    });
    if width < WIDE {
        let right = |ui: &mut Ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            strength(ui, &mut options);
        };
        widgets::row_of_sides(ui, ROW_HEIGHT, "strength", |_| {}, right);
    }
    if options != state.canvas.options {
        commands.push(Command::SetOptions(Box::new(options)));
    }
}

fn brush(ui: &mut Ui, options: &mut ToolOptions, tool: Tool, width: f32) {
    let brush = options.brush_of_mut(tool);
    slider(ui, tr!("common-size"), &mut brush.size, BRUSH_SIZES.0..=500.0, true, tr!("canvas-diameter-of-the-brush"));
    ui.label(RichText::new(format!("{:.0} px", brush.size)).size(theme::SMALL).color(theme::palette(ui).weak));
    if width >= NARROWEST {
        slider(ui, tr!("canvas-hardness"), &mut brush.hardness, 0.0..=1.0, false, tr!("canvas-how-sharp-the-edge"));
    }
    if width >= NARROW {
        if tool != Tool::Mask {
            slider(ui, tr!("canvas-opacity"), &mut brush.opacity, 0.0..=1.0, false, tr!("canvas-opacity-of-a-stroke"));
        }
        slider(ui, tr!("canvas-smoothing"), &mut brush.smoothing, 0.0..=0.95, false, tr!("canvas-smoothing-how-far-the"));
    }
}

/// Where the magic wand ends.
fn wand(ui: &mut Ui, options: &mut ToolOptions) {
    for (by_edges, words, tip) in [
        (false, tr!("canvas-colour"), tr!("canvas-mask-colours-that-are")),
        (true, tr!("canvas-edges"), tr!("canvas-mask-everything-up-to")),
    ] {
        ui.selectable_value(&mut options.wand_by_edges, by_edges, words).on_hover_text(tip);
    }
    number(ui, tr!("canvas-tolerance"), &mut options.wand_tolerance, tr!("canvas-how-different-colours-may"), 0..=255, 1.0);
}

/// The edge of the mask, moved and softened.
fn selection(ui: &mut Ui, state: &State, commands: &mut Commands, options: &mut ToolOptions, width: f32) {
    let amount = widgets::whole_number(&mut options.selection_px, 1..=MAX_SELECTION_PX).suffix(" px");
    let tip = tr!("canvas-by-how-many-pixels");
    ui.add(amount).on_hover_text(tip).accessible_name(tr!("canvas-pixels-of-the-edge"));
    let narrow = [(Command::GrowMask, "+"), (Command::ShrinkMask, "−")];
    let wide = [(Command::FeatherMask, tr!("canvas-feather")), (Command::InvertMask, tr!("canvas-invert"))];
    for (command, words) in narrow.into_iter().chain(wide.into_iter().filter(|_| width >= ROOMY)) {
        let name = command.label();
        command_control(ui, state, commands, command, |ui| ui.button(words).accessible_name(name));
    }
}

/// How much may change where the picture is generated, and what is looked at.
fn strength(ui: &mut Ui, options: &mut ToolOptions) {
    let palette = theme::palette(ui);
    let tip = tr!("canvas-denoising-strength-touch-up");
    slider(ui, tr!("canvas-strength"), &mut options.strength, 0.05..=1.0, false, tip);
    let words = options.strength_words();
    ui.add_sized(vec2(WORD_WIDTH, ROW_HEIGHT), Label::new(RichText::new(words).size(theme::SMALL).color(palette.text)));
    area_button(ui, &mut options.area);
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
    ui.add(widgets::number_field(value).range(range).speed(speed)).on_hover_text(tip).accessible_name(label);
}
