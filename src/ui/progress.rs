//! How far the running job is: a thin line, and in words the phase, the step, the pace and the time left.

use eframe::egui::{Align, Layout, Rect, RichText, Role, Sense, Ui, WidgetInfo, vec2};

use super::parts::command_button;
use super::theme;
use crate::app::state::State;
use crate::app::{Command, Commands};

/// Thickness of the line, in points.
const LINE: f32 = 3.0;

/// Draws the progress of the running job.
pub(super) fn progress_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(job) = state.jobs.running() else { return };
    let palette = theme::palette(ui);
    let fraction = job.progress.fraction().filter(|_| !job.stopping);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    response.widget_info(|| WidgetInfo {
        value: fraction.map(|it| f64::from(it * 100.0)),
        ..WidgetInfo::labeled(Role::ProgressIndicator, true, "Progress")
    });
    ui.painter().rect_filled(rect, LINE / 2.0, palette.line);
    let bar = if let Some(done) = fraction {
        Rect::from_min_size(rect.min, vec2(rect.width() * done, LINE))
    } else {
        // Nobody knows how long: a piece that glides.
        let time = ui.input(|input| input.time);
        ui.ctx().request_repaint_after_secs(1.0 / 30.0);
        let at = (time * 0.6).fract() as f32;
        let width = rect.width() * 0.22;
        let left = rect.left() - width + (rect.width() + width) * at;
        Rect::from_min_size(eframe::egui::pos2(left, rect.top()), vec2(width, LINE)).intersect(rect)
    };
    if bar.is_positive() {
        ui.painter().rect_filled(bar, LINE / 2.0, palette.accent);
    }
    ui.add_space(2.0);
    ui.allocate_ui_with_layout(vec2(ui.available_width(), 26.0), Layout::right_to_left(Align::Center), |ui| {
        if !state.session.following() {
            command_button(ui, state, commands, Command::Follow);
        }
        if let Some(pace) = job.progress.pace().filter(|_| !job.stopping) {
            ui.label(RichText::new(pace).color(palette.weak));
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let what = if job.stopping { "Stopping".to_owned() } else { job.progress.what() };
            ui.add(eframe::egui::Label::new(RichText::new(what).color(palette.text)).truncate());
        });
    });
}
