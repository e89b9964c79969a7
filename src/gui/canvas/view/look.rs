//! A canvas that was left, shown as the picture that it composes, without its tools.

use atelier_language::tr;
use eframe::egui::{Id, Rect, Role, Sense, Ui, WidgetInfo, pos2};

use super::bar::bar;
use super::room::picture_room;
use super::surface::{corners, ground, menu, quad};
use crate::gui::canvas::Command;
use crate::gui::canvas::transform::Transform;
use crate::gui::command::Commands;
use crate::gui::create;
use crate::gui::panels;
use crate::gui::state::State;
use crate::gui::widgets::command_button;
use crate::gui::{theme, viewport};

/// Draws the picture, with a way back to the tools.
pub(crate) fn look_panel(ui: &Ui, state: &State, commands: &mut Commands) {
    let Some(document) = state.canvas.looked_at() else { return };
    let Some(size) = state.canvas.shown_size_px() else { return };
    let whole = ui.available_rect_before_wrap();
    let room = picture_room(state, whole);
    viewport::set_canvas_rect(ui.ctx(), room);
    let transform = Transform::new(state.create.view, size, room, 0.0, false);
    let response = ui.interact(whole, Id::unique("canvas"), Sense::click_and_drag());
    let name = tr!("canvas-picture-of-the-canvas", x = size.x, y = size.y);
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
    let painter = ui.painter_at(whole);
    let bounds = document.document.content().bounds();
    ground(ui, &painter, transform, bounds);
    let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    for (rect, texture) in document.surface.parts() {
        quad(&painter, transform, rect, texture.id(), all);
    }
    let view = state.create.view.after(ui, &response, size, room);
    if view != state.create.view {
        commands.push(create::Command::SetView(view));
    }
    menu(state, commands, &response, &[&[Command::Resume]]);
    let drawn = Rect::from_points(&corners(transform, bounds));
    bar(ui, tr!("canvas-canvas-bar"), drawn, panels::beside_queue(state, ui.ctx(), room), |ui| {
        theme::accented(ui, |ui| command_button(ui, state, commands, Command::Resume));
    });
}
