//! Large look: one picture with zoom and position.

use atelier_language::tr;
use eframe::egui::{Align2, FontId, Id, Label, Rect, RichText, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::gallery;
use crate::gui::gallery::state::LargePicture;
use crate::gui::gallery::view::{cell, grid};
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::viewport::{self, View};
use crate::gui::widgets::{ROW_HEIGHT, command_button, file_name, icon_button, row_of_sides};

/// Space round the whole picture, in points.
const MARGIN: f32 = 14.0;

pub(super) fn look_panel(ui: &mut Ui, state: &State, commands: &mut Commands, view: View) {
    bar(ui, state, commands);
    let whole = ui.available_rect_before_wrap();
    let room = whole.shrink(MARGIN);
    viewport::set_canvas_rect(ui.ctx(), room);
    let Some(id) = state.gallery.current() else { return };
    let response = ui.interact(whole, Id::unique("gallery look"), Sense::click_and_drag());
    let palette = theme::palette(ui);
    match state.gallery.pixels.get(&id) {
        Some(Ok(picture)) => {
            let size = vec2(picture.width as f32, picture.height as f32);
            let name = tr!("gallery-picture-by-pixels", width = picture.width, height = picture.height);
            response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
            draw(ui, picture, view.rect(size, room), whole);
            let next = view.after(ui, &response, size, room);
            if next != view {
                commands.push(Command::Gallery(gallery::Command::SetView(next)));
            }
        }
        Some(Err(sentence)) => {
            ui.painter().text(whole.center(), Align2::CENTER_CENTER, sentence, FontId::proportional(theme::BODY), palette.weak);
        }
        None => {
            if let Some(texture) = state.gallery.thumbnails.get(id) {
                cell::thumbnail(ui, texture, room, false);
            }
        }
    }
    response.context_menu(|ui| grid::menu(ui, state, commands));
}

/// Draws a picture so that it fills this rectangle.
pub(super) fn draw(ui: &Ui, picture: &LargePicture, rect: Rect, clip: Rect) {
    let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    ui.painter_at(clip).image(picture.texture.id(), rect, uv, theme::UNTINTED);
}

/// The line over the picture: the way back, its place, its name.
fn bar(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let view = &state.gallery;
    let mut chosen = Commands::default();
    let left = |ui: &mut Ui| {
        ui.add_space(MARGIN);
        command_button(ui, state, &mut chosen, gallery::Command::CloseLook);
        let place = view.cursor.map_or(0, |at| at + 1);
        let name = view.current().and_then(|id| view.summaries.get(&id)).map(|it| file_name(&it.path)).unwrap_or_default();
        let words = tr!("gallery-of", place, ids = view.found.ids.len(), name);
        ui.add(Label::new(RichText::new(words).color(palette.weak)).truncate());
    };
    row_of_sides(ui, ROW_HEIGHT, "look bar", left, |ui| {
        icon_button(ui, state, commands, Icon::Reuse, gallery::Command::UseSettings);
        icon_button(ui, state, commands, Icon::Picture, gallery::Command::StartFrom);
        icon_button(ui, state, commands, Icon::Copy, gallery::Command::CopyPicture);
        icon_button(ui, state, commands, Icon::Fit, gallery::Command::ToggleActualSize);
        ui.add_space(MARGIN);
    });
    commands.append(chosen);
}
