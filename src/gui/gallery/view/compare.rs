//! Comparison of two pictures, and the settings in which they differ.

use atelier_language::tr;
use eframe::egui::{
    Align, Align2, Button, FontId, Frame, Id, Key, Layout, Margin, Panel, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2,
};

use crate::gui::command::{Command, Commands};
use crate::gui::due;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::gallery;
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::state::{Comparison, LargePicture};
use crate::gui::gallery::view::{look, settings_table};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::viewport::{self, View};
use crate::gui::widgets::{ROW_HEIGHT, command_button, command_control};

/// Space round the pictures, in points.
const MARGIN: f32 = 14.0;
/// Seconds that each picture is shown while they take turns.
const BLINK_SECS: f64 = 0.6;

pub(super) fn compare_panel(ui: &mut Ui, state: &State, commands: &mut Commands, comparison: &Comparison) {
    bar(ui, state, commands, comparison);
    let height = (ui.available_height() * 0.32).min(230.0);
    let frame = Frame::new().fill(theme::palette(ui).panel).inner_margin(Margin { left: 14, right: 14, top: 6, bottom: 6 });
    Panel::bottom("gallery differences").resizable(true).default_size(height).show_separator_line(false).frame(frame).show(ui, |ui| {
        settings_table::differences(ui, state, comparison);
    });
    let whole = ui.available_rect_before_wrap();
    let view = &state.gallery;
    let pictures = (view.pixels.get(&comparison.first), view.pixels.get(&comparison.second));
    let (Some(Ok(first)), Some(Ok(second))) = pictures else {
        let sentence = [pictures.0, pictures.1].into_iter().flatten().find_map(|it| it.as_ref().err());
        let words = sentence.map_or(tr!("gallery-reading-both-pictures"), String::as_str);
        let colour = theme::palette(ui).weak;
        ui.painter().text(whole.center(), Align2::CENTER_CENTER, words, FontId::proportional(theme::BODY), colour);
        return;
    };
    match comparison.mode {
        CompareMode::Slider => slider(ui, commands, comparison, first, second, whole),
        CompareMode::SideBySide => side_by_side(ui, commands, comparison, first, second, whole),
        CompareMode::Blink => blink(ui, commands, comparison, first, second, whole),
        CompareMode::Difference => difference(ui, state, commands, comparison, first, whole),
    }
}

/// The line over the pictures: the way back, and the ways to compare.
fn bar(ui: &mut Ui, state: &State, commands: &mut Commands, comparison: &Comparison) {
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        ui.add_space(MARGIN);
        command_button(ui, state, commands, gallery::Command::CloseLook);
        ui.add_space(8.0);
        for mode in CompareMode::ALL {
            command_control(ui, state, commands, gallery::Command::SetCompareMode(mode), |ui| {
                ui.add(Button::selectable(comparison.mode == mode, mode.label()))
            });
        }
        ui.add_space(8.0);
        command_button(ui, state, commands, gallery::Command::SwapCompared);
    });
}

/// Draws one of the two and returns where it is. Both have the first one's zoom and position, and
/// each its own shape.
fn draw(ui: &Ui, picture: &LargePicture, first: &LargePicture, view: View, clip: Rect, room: Rect) -> Rect {
    let rect = viewport::shape_within(view.rect(size(first), room), size(picture));
    look::draw(ui, picture, rect, clip);
    rect
}

/// Size in pixels.
fn size(picture: &LargePicture) -> eframe::egui::Vec2 {
    vec2(picture.width as f32, picture.height as f32)
}

fn interact(ui: &Ui, commands: &mut Commands, name: &str, comparison: &Comparison, first: &LargePicture, rect: Rect) -> Response {
    let response = ui.interact(rect, Id::unique(("gallery compare", name)), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, name));
    let room = rect.shrink(MARGIN);
    viewport::set_canvas_rect(ui.ctx(), room);
    let view = comparison.view.after(ui, &response, size(first), room);
    if view != comparison.view {
        commands.push(Command::Gallery(gallery::Command::SetView(view)));
    }
    response
}

fn slider(ui: &Ui, commands: &mut Commands, comparison: &Comparison, first: &LargePicture, second: &LargePicture, whole: Rect) {
    let (room, size) = (whole.shrink(MARGIN), size(first));
    interact(ui, commands, tr!("gallery-two-pictures-under-a"), comparison, first, whole);
    let shown = comparison.view.rect(size, room).intersect(whole);
    let x = shown.left() + shown.width() * comparison.divider;
    let (left, right) = (Rect::from_min_max(whole.min, pos2(x, whole.bottom())), Rect::from_min_max(pos2(x, whole.top()), whole.max));
    draw(ui, first, first, comparison.view, left, room);
    draw(ui, second, first, comparison.view, right, room);
    let palette = theme::palette(ui);
    let handle = Rect::from_center_size(pos2(x, whole.center().y), vec2(18.0, whole.height()));
    let response = ui.interact(handle, Id::unique("gallery divider"), Sense::drag());
    response.widget_info(|| WidgetInfo::slider(true, f64::from(comparison.divider), gallery::Command::SetDivider(0.0).label()));
    ui.painter_at(whole).vline(x, whole.y_range(), Stroke::new(2.0, palette.accent));
    ui.painter_at(whole).circle_filled(pos2(x, whole.center().y), 9.0, palette.accent);
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(eframe::egui::CursorIcon::ResizeHorizontal);
    }
    if response.dragged() && shown.width() > 0.0 {
        let divider = comparison.divider + response.drag_delta().x / shown.width();
        commands.push(Command::Gallery(gallery::Command::SetDivider(divider)));
    }
    caption(ui, tr!("gallery-first"), Rect::from_min_max(shown.min, pos2(x, shown.bottom())), Align2::LEFT_TOP);
    caption(ui, tr!("gallery-second"), Rect::from_min_max(pos2(x, shown.top()), shown.max), Align2::RIGHT_TOP);
}

fn side_by_side(ui: &Ui, commands: &mut Commands, comparison: &Comparison, first: &LargePicture, second: &LargePicture, whole: Rect) {
    let (left, right) = whole.split_left_right_at_fraction(0.5);
    for (rect, picture, name) in [(left, first, tr!("gallery-first")), (right, second, tr!("gallery-second"))] {
        interact(ui, commands, name, comparison, first, rect);
        let room = rect.shrink(MARGIN);
        let drawn = draw(ui, picture, first, comparison.view, rect, room);
        caption(ui, name, drawn.intersect(rect), Align2::LEFT_TOP);
    }
}

fn blink(ui: &Ui, commands: &mut Commands, comparison: &Comparison, first: &LargePicture, second: &LargePicture, whole: Rect) {
    interact(ui, commands, tr!("gallery-two-pictures-in-turn"), comparison, first, whole);
    let (time, is_held) = ui.input(|input| (input.time, input.key_down(Key::B)));
    let is_second = is_held || (time / BLINK_SECS) as u64 % 2 == 1;
    let (picture, name) = if is_second { (second, tr!("gallery-second")) } else { (first, tr!("gallery-first")) };
    let room = whole.shrink(MARGIN);
    let drawn = draw(ui, picture, first, comparison.view, whole, room);
    caption(ui, name, drawn.intersect(whole), Align2::LEFT_TOP);
    let left = BLINK_SECS - time % BLINK_SECS;
    due::wake_in(ui.ctx(), left);
}

fn difference(ui: &Ui, state: &State, commands: &mut Commands, comparison: &Comparison, first: &LargePicture, whole: Rect) {
    interact(ui, commands, tr!("gallery-difference-of-two-pictures"), comparison, first, whole);
    let room = whole.shrink(MARGIN);
    match &state.gallery.difference {
        Some((a, b, texture)) if (*a, *b) == (comparison.first, comparison.second) => {
            let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            let view: View = comparison.view;
            ui.painter_at(whole).image(texture.id(), view.rect(size(first), room), uv, theme::UNTINTED);
        }
        Some(_) | None => {
            let colour = theme::palette(ui).weak;
            ui.painter().text(
                whole.center(),
                Align2::CENTER_CENTER,
                tr!("gallery-comparing-pixels"),
                FontId::proportional(theme::BODY),
                colour,
            );
        }
    }
}

/// Name of a picture in a corner of it.
fn caption(ui: &Ui, words: &str, picture: Rect, corner: Align2) {
    let palette = theme::palette(ui);
    let galley = ui.painter().layout_no_wrap(words.to_owned(), FontId::proportional(theme::SMALL), palette.text);
    let size = galley.size() + vec2(12.0, 6.0);
    if picture.width() < size.x + 8.0 || picture.height() < size.y + 8.0 {
        return;
    }
    let rect = corner.align_size_within_rect(size, picture.shrink(4.0));
    ui.painter().rect_filled(rect, 8, palette.raised.gamma_multiply(0.85));
    ui.painter().galley(rect.min + vec2(6.0, 3.0), galley, palette.text);
}
