//! The strip of candidates under the canvas.

use atelier_language::tr;
use eframe::egui::{Rect, Role, ScrollArea, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2};

use crate::gui::canvas::Command;
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::widgets::command_button;
use crate::gui::{theme, widgets};

/// Side of a candidate in the strip, in points.
const SIDE: f32 = 52.0;

pub(crate) fn candidates_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(document) = state.canvas.edited() else { return };
    ui.horizontal(|ui| {
        command_button(ui, state, commands, Command::DiscardAll);
        ScrollArea::horizontal().id_salt("candidates scroll").auto_shrink([false, true]).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 5.0;
                for (at, candidate) in document.candidates.iter().enumerate() {
                    let is_shown = document.shown_candidate == Some(at);
                    let (rect, response) = ui.allocate_exact_size(vec2(SIDE, SIDE), Sense::click());
                    let name = tr!("canvas-candidate-seed", at = at + 1, seed = candidate.seed);
                    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_shown, &name));
                    tile(ui, rect, &candidate.thumbnail, is_shown, response.hovered() || response.has_focus());
                    let response = response.on_hover_text(format!("{name}\n{}", Command::ShowCandidate(at).tooltip()));
                    if response.clicked() {
                        commands.push(Command::ShowCandidate(at));
                    }
                }
            });
        });
    });
}

fn tile(ui: &Ui, rect: Rect, texture: &eframe::egui::TextureHandle, is_shown: bool, is_near: bool) {
    let palette = theme::palette(ui);
    widgets::paint_square(ui, texture, rect);
    if is_shown {
        ui.painter().rect_stroke(rect, 5.0, Stroke::new(2.0, palette.accent), StrokeKind::Inside);
    } else if is_near {
        ui.painter().rect_stroke(rect, 5.0, Stroke::new(1.5, palette.weak), StrokeKind::Inside);
    }
}
