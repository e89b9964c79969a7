//! The candidates of the canvas that is edited, as cells of the filmstrip.

use atelier_language::tr;
use eframe::egui::{Role, ScrollArea, Sense, StrokeKind, Ui, WidgetInfo, vec2};

use crate::gui::canvas::Command;
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::{theme, widgets};
use atelier_core::recipe::SeedNumber;

/// Most of the room that candidates take; more of them scroll.
const MOST_OF_STRIP: f32 = 0.6;

/// Draws a cell of this side for each candidate, and a line behind them.
pub(crate) fn candidate_cells(ui: &mut Ui, state: &State, commands: &mut Commands, side: f32) {
    let Some(document) = state.canvas.edited().filter(|document| !document.candidates.is_empty()) else { return };
    let palette = theme::palette(ui);
    let width = ui.available_width() * MOST_OF_STRIP;
    ScrollArea::horizontal().id_salt("candidate cells").max_width(width).auto_shrink([true, true]).show(ui, |ui| {
        ui.horizontal(|ui| {
            for (at, candidate) in document.candidates.iter().enumerate() {
                let is_shown = document.shown_candidate == Some(at);
                let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::click());
                let name = tr!("canvas-candidate-seed", at = at + 1, seed = SeedNumber(candidate.seed));
                response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_shown, &name));
                widgets::paint_square(ui, &candidate.thumbnail, rect);
                ui.painter().rect_stroke(rect, 5.0, widgets::picture_ring(&response, is_shown, &palette), StrokeKind::Inside);
                if response.has_focus() && ui.clip_rect().intersect(rect).area() < rect.area() {
                    response.scroll_to_me(None);
                }
                let response = response.on_hover_text(format!("{name}\n{}", Command::ShowCandidate(at).tooltip()));
                if response.clicked() {
                    commands.push(Command::ShowCandidate(at));
                }
            }
        });
    });
    let (line, _) = ui.allocate_exact_size(vec2(1.0, side), Sense::hover());
    ui.painter().rect_filled(line, 0.0, palette.line);
}
