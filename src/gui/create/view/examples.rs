//! What an empty start shows: pictures that the chosen model has made, each one click from being
//! made again.

use atelier_language::tr;
use eframe::egui::text::LayoutJob;
use eframe::egui::{Align, Rect, RichText, Role, Sense, Stroke, StrokeKind, TextStyle, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use crate::gui::command::{Command as AnyCommand, Commands};
use crate::gui::create::Command;
use crate::gui::create::sheet::{GAP, SheetLayout};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bold, paint_square, tooltip};

/// Height of the words above the pictures, in points.
const HEADING_HEIGHT: f32 = 62.0;
/// Height of a prompt below its picture, in points.
const CAPTION_HEIGHT: f32 = 34.0;
/// Largest side of a picture, in points.
const MAX_SIDE: f32 = 300.0;

/// Draws the examples of the built-in model; false where there are none to be shown.
pub(crate) fn examples_panel(ui: &mut Ui, state: &State, commands: &mut Commands, whole: Rect) -> bool {
    let is_idle = state.shared.jobs.is_empty() && !state.live.is_running();
    let Some(builtin) = state.shared.next.builtin.as_ref().ok().filter(|_| state.shared.next.uses_builtin() && is_idle) else {
        return false;
    };
    let examples = &builtin.manifest().examples;
    if examples.is_empty() || state.create.examples.len() != examples.len() {
        return false;
    }
    let palette = theme::palette(ui);
    let room = whole.shrink(24.0);
    let columns = if room.width() > room.height() * 1.3 { 3 } else { 2 };
    let rows = examples.len().div_ceil(columns);
    let high = (room.height() - HEADING_HEIGHT) / rows as f32 - CAPTION_HEIGHT - GAP;
    let side = high.min((room.width() - GAP * (columns - 1) as f32) / columns as f32).min(MAX_SIDE);
    if side < 40.0 {
        return false;
    }
    let size = vec2(side * columns as f32 + GAP * (columns - 1) as f32, (side + CAPTION_HEIGHT) * rows as f32 + GAP * (rows - 1) as f32);
    let below = Rect::from_min_max(room.min + vec2(0.0, HEADING_HEIGHT), room.max);
    let place = Rect::from_center_size(below.center(), size);
    let layout = SheetLayout::of(examples.len(), side / (side + CAPTION_HEIGHT), place);
    let top = (place.top() - HEADING_HEIGHT).max(room.top());
    let heading = Rect::from_min_size(pos2(room.left(), top), vec2(room.width(), HEADING_HEIGHT));
    ui.scope_builder(UiBuilder::new().max_rect(heading), |ui| {
        ui.vertical_centered(|ui| {
            ui.label(bold(tr!("create-describe-your-picture")).size(theme::HEADING).color(palette.strong));
            ui.label(RichText::new(tr!("create-write-a-prompt-and-press-generate")).color(palette.weak));
        });
    });
    for (at, (example, texture)) in examples.iter().zip(&state.create.examples).enumerate() {
        let rect = layout.rect(at);
        let command = Command::MakeExample(at);
        let response =
            ui.scope_builder(UiBuilder::new().max_rect(rect).id_salt(("example", at)), |ui| ui.allocate_rect(rect, Sense::click())).inner;
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &example.prompt));
        let picture = Rect::from_min_size(rect.min, vec2(rect.width(), rect.width()));
        paint_square(ui, texture, picture);
        if response.hovered() || response.has_focus() {
            ui.painter().rect_stroke(picture, 5.0, Stroke::new(2.0, palette.accent), StrokeKind::Outside);
        }
        let font = TextStyle::Small.resolve(ui.style());
        let colour = if response.hovered() { palette.text } else { palette.weak };
        let mut job = LayoutJob::simple(example.prompt.clone(), font, colour, rect.width());
        job.halign = Align::Center;
        let galley = ui.painter().layout_job(job);
        let words = Rect::from_min_max(picture.left_bottom() + vec2(0.0, 4.0), rect.max);
        ui.painter().with_clip_rect(words).galley(words.center_top(), galley, colour);
        if response.on_hover_text(tooltip(ui.ctx(), &AnyCommand::from(command.clone()))).clicked() {
            commands.push(command);
        }
    }
    true
}
