//! The first cells of the filmstrip: the canvases that are open.

use atelier_language::tr;
use eframe::egui::{Rect, Role, ScrollArea, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2};

use crate::gui::canvas::Command;
use crate::gui::canvas::command::DocumentAction;
use crate::gui::canvas::state::OpenDocument;
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::widgets::command_button;
use crate::gui::{icons, theme, widgets};

/// Most of the strip that canvases take; more of them scroll.
const MOST_OF_STRIP: f32 = 0.5;
/// Radius of the dot for what is in no file of the person's, in points.
const DOT: f32 = 4.5;

/// Draws a cell of this side for each open canvas, and a line behind them.
pub(crate) fn canvas_cells(ui: &mut Ui, state: &State, commands: &mut Commands, side: f32) {
    let documents = state.canvas.in_order();
    if documents.is_empty() {
        return;
    }
    let width = ui.available_width() * MOST_OF_STRIP;
    ScrollArea::horizontal().id_salt("canvas cells").max_width(width).auto_shrink([true, true]).show(ui, |ui| {
        for document in documents {
            ui.push_id(("canvas cell", document.number), |ui| cell(ui, state, commands, document, side));
        }
    });
    let (line, _) = ui.allocate_exact_size(vec2(1.0, side), Sense::hover());
    ui.painter().rect_filled(line, 0.0, theme::palette(ui).line);
}

fn cell(ui: &mut Ui, state: &State, commands: &mut Commands, document: &OpenDocument, side: f32) {
    let palette = theme::palette(ui);
    let is_in_sight = state.canvas.in_sight().is_some_and(|it| it.number == document.number);
    let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::click());
    let name = name(document);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_in_sight, &name));
    ui.painter().rect_filled(rect, 5.0, palette.control);
    if let Some(look) = &document.looks.whole {
        widgets::paint_square(ui, look, rect);
    }
    let badge = Rect::from_center_size(rect.left_top() + vec2(13.0, 13.0), vec2(20.0, 20.0));
    ui.painter().circle_filled(badge.center(), 10.0, palette.raised);
    icons::paint(ui.painter(), badge, Icon::Layers, palette.strong);
    if document.has_changes() {
        let at = rect.right_top() + vec2(-9.0, 9.0);
        ui.painter().circle_filled(at, DOT + 1.5, palette.raised);
        ui.painter().circle_filled(at, DOT, palette.accent);
    }
    let ring = if is_in_sight {
        Some(Stroke::new(2.0, palette.accent))
    } else {
        (response.hovered() || response.has_focus()).then(|| Stroke::new(1.5, palette.weak))
    };
    if let Some(stroke) = ring {
        ui.painter().rect_stroke(rect, 5.0, stroke, StrokeKind::Inside);
    }
    if response.has_focus() && ui.clip_rect().intersect(rect).area() < rect.area() {
        response.scroll_to_me(None);
    }
    let show = Command::ShowDocument(document.number);
    let clicked = response.clicked();
    let response = response.on_hover_text(tr!("create-right-click-for-a", name, tooltip = show.tooltip()));
    response.context_menu(|ui| {
        for action in DocumentAction::OFFERED {
            if command_button(ui, state, commands, Command::ForDocument(document.number, action)).clicked() {
                ui.close();
            }
        }
    });
    if clicked {
        commands.push(show);
    }
}

/// What a person is told of a document.
fn name(document: &OpenDocument) -> String {
    let content = document.document.content();
    let changes = match (document.has_changes(), document.file.is_some()) {
        (false, _) => "",
        (true, true) => tr!("create-unsaved-changes"),
        (true, false) => tr!("create-not-saved"),
    };
    let name = document.name();
    let name = if document.file.is_some() { tr!("create-canvas", name) } else { name };
    format!("{name}, {} × {}{changes}", content.width(), content.height())
}
