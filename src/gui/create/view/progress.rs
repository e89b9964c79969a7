//! Progress of the running jobs: a thin line, and in words phase, step, pace and time left.

use atelier_language::tr;
use eframe::egui::{Rect, RichText, Role, Sense, Ui, WidgetInfo, vec2};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::due;
use crate::gui::icons::Icon;
use crate::gui::shared::EngineJob;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bare_icon, command_button, command_control, row_of_sides};

/// Places of the piece that shows that something is done, side by side on the line.
const PLACES: u64 = 6;
/// Thickness of the line, in points.
const LINE: f32 = 3.0;
/// Space below each line, in points.
const LINE_GAP: f32 = 1.0;

/// Draws the progress of every job that the engine is at.
pub(crate) fn progress_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let several = state.shared.jobs.at_work().nth(1).is_some();
    // One line has the height of what stands here while no job runs, so that no picture moves.
    ui.spacing_mut().item_spacing.y = LINE_GAP;
    for (n, job) in state.shared.jobs.at_work().enumerate() {
        ui.push_id(job.id, |ui| line(ui, state, commands, job, several, n == 0));
    }
}

fn line(ui: &mut Ui, state: &State, commands: &mut Commands, job: &EngineJob, several: bool, first: bool) {
    let palette = theme::palette(ui);
    let fraction = job.progress.fraction().filter(|_| !job.stopping);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    response.widget_info(|| WidgetInfo {
        value: fraction.map(|it| f64::from(it * 100.0)),
        ..WidgetInfo::labeled(Role::ProgressIndicator, true, tr!("create-progress"))
    });
    ui.painter().rect_filled(rect, LINE / 2.0, palette.line);
    let bar = if let Some(done) = fraction {
        Rect::from_min_size(rect.min, vec2(rect.width() * done, LINE))
    } else {
        // Nobody knows how long: a piece that goes on with each second. One that glides would take
        // more of the processor than a picture can spare.
        due::wake_next_second(ui.ctx());
        let place = ui.input(|input| input.time) as u64 % PLACES;
        let width = rect.width() / PLACES as f32;
        Rect::from_min_size(rect.min + vec2(width * place as f32, 0.0), vec2(width, LINE))
    };
    if bar.is_positive() {
        ui.painter().rect_filled(bar, LINE / 2.0, palette.accent);
    }
    ui.add_space(2.0);
    let left = |ui: &mut Ui| {
        let what = if job.stopping {
            tr!("create-stopping").to_owned()
        } else if !job.begun && state.memory.preloading.is_loading() {
            // The job waits for the very model that is being loaded beforehand.
            tr!("create-loading-the-model").to_owned()
        } else {
            job.progress.what()
        };
        let what = if several { format!("{} · {what}", title(job)) } else { what };
        ui.add(eframe::egui::Label::new(RichText::new(what).color(palette.text)).truncate());
    };
    row_of_sides(ui, ROW_HEIGHT, "progress", left, |ui| {
        if let Some(pace) = job.progress.pace().filter(|_| !job.stopping) {
            ui.label(RichText::new(pace).color(palette.weak));
        }
        if first && !state.create.session.following() {
            command_button(ui, state, commands, Command::Follow);
        }
        if several {
            let name = tr!("create-cancel", title = title(job));
            command_control(ui, state, commands, Command::CancelJob(job.id), |ui| bare_icon(ui, Icon::Close, &name));
        }
    });
}

/// Title of a job among several: the beginning of its prompt.
fn title(job: &EngineJob) -> String {
    const MAX: usize = 32;
    let prompt = job.recipe.prompt.trim();
    match prompt.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", prompt[..at].trim_end()),
        None if prompt.is_empty() => tr!("create-a-picture").to_owned(),
        None => prompt.to_owned(),
    }
}
