//! Download queue: a row for each download, moved by dragging or with the arrow keys.

use atelier_language::tr;
use eframe::egui::{DragAndDrop, EventFilter, Frame, Id, Key, Label, Margin, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::models;
use crate::gui::models::view::controls::named_icon;
use crate::gui::models::{Cause, DownloadsState, JobSnapshot, Status, queue};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{command_button, heading, icon_button, row_of_sides, small};

/// Height of a progress bar, in points.
const BAR_HEIGHT: f32 = 4.0;

/// Drag payload: id of a download.
#[derive(Clone, Debug)]
struct DraggedDownload(String);

/// Progress bar of a download. `name`: part of its accessible name.
pub(crate) fn bar(ui: &mut Ui, entry: &JobSnapshot, name: &str) {
    let palette = theme::palette(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), BAR_HEIGHT), Sense::hover());
    let fraction = queue::fraction(entry);
    response.widget_info(|| WidgetInfo {
        value: fraction.map(|it| f64::from(it * 100.0)),
        ..WidgetInfo::labeled(Role::ProgressIndicator, true, tr!("models-progress-of", name))
    });
    ui.painter().rect_filled(rect, BAR_HEIGHT / 2.0, palette.line);
    let done = Rect::from_min_size(rect.min, vec2(rect.width() * fraction.unwrap_or(0.0), BAR_HEIGHT));
    let colour = match entry.status {
        Status::Running => palette.accent,
        Status::Failed(_) => palette.error,
        Status::Waiting | Status::Paused(_) => palette.weak,
    };
    if done.is_positive() {
        ui.painter().rect_filled(done, BAR_HEIGHT / 2.0, colour);
    }
}

/// Icon buttons of a download, from left to right.
pub(crate) fn controls(ui: &mut Ui, state: &State, commands: &mut Commands, entry: &JobSnapshot) {
    let (id, name) = (entry.id.clone(), &entry.name);
    match entry.status {
        Status::Waiting | Status::Running => named_icon(ui, state, commands, Icon::Pause, models::Command::Pause(id.clone()), name),
        Status::Paused(_) => named_icon(ui, state, commands, Icon::Play, models::Command::Resume(id.clone()), name),
        Status::Failed(_) => named_icon(ui, state, commands, Icon::Reuse, models::Command::Retry(id.clone()), name),
    }
    named_icon(ui, state, commands, Icon::Close, models::Command::Cancel(id), name);
}

/// Buttons that help with a download that a gated server refused.
pub(crate) fn advice(ui: &mut Ui, state: &State, commands: &mut Commands, entry: &JobSnapshot) {
    if let Status::Failed(failure) = &entry.status
        && let Cause::Gated { licence_url } = &failure.cause
    {
        ui.horizontal_wrapped(|ui| {
            if let Some(url) = licence_url {
                command_button(ui, state, commands, Command::Models(models::Command::OpenLicence(url.clone())));
            }
            command_button(ui, state, commands, Command::Models(models::Command::FocusToken));
        });
    }
}

/// Section with the queue.
pub(crate) fn downloads_section(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let view = &state.models;
    heading(ui, tr!("models-downloads"), |ui| {
        if !view.queue.is_empty() {
            icon_button(ui, state, commands, Icon::Pause, Command::Models(models::Command::PauseAll));
            icon_button(ui, state, commands, Icon::Play, Command::Models(models::Command::ResumeAll));
        }
    });
    if let DownloadsState::Refused(why) = &view.downloads {
        ui.add(Label::new(small(why, palette.warn)).wrap());
        command_button(ui, state, commands, Command::Models(models::Command::StartDownloads));
    }
    let Some(total) = queue::summary(&view.queue) else {
        if view.downloads == DownloadsState::Ready {
            ui.label(small(tr!("models-nothing-is-downloading"), palette.weak));
        }
        return;
    };
    ui.add(Label::new(small(total, palette.text)).wrap());
    for (at, entry) in view.queue.iter().enumerate() {
        row(ui, state, commands, entry, at);
    }
    // The end of the queue is a drop target too.
    if DragAndDrop::has_payload_of_type::<DraggedDownload>(ui.ctx()) {
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 14.0), Sense::hover());
        if let Some(dragged) = response.dnd_release_payload::<DraggedDownload>() {
            commands.push(Command::Models(models::Command::MoveDownload(dragged.0.clone(), None)));
        }
        if response.contains_pointer() {
            ui.painter().hline(rect.x_range(), rect.top(), Stroke::new(2.0, palette.accent));
        }
    }
}

fn row(ui: &mut Ui, state: &State, commands: &mut Commands, entry: &JobSnapshot, at: usize) {
    let palette = theme::palette(ui);
    let queue = &state.models.queue;
    let id = Id::unique(("download", &entry.id));
    let frame = Frame::new().fill(palette.field).stroke((1.0, palette.line)).corner_radius(theme::RADIUS);
    let margin = Margin { left: 10, right: 4, top: 4, bottom: 8 };
    // Its interaction is registered before that of its buttons, so that these come first.
    let last: Option<Rect> = ui.data(|data| data.get_temp(id));
    let response = last.map(|rect| {
        let here = Rect::from_min_size(ui.cursor().min, rect.size());
        let response = ui.interact(here, id, Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, tr!("models-place-of-in-the", name = entry.name, at = at + 1)));
        response
    });
    let is_dragged = DragAndDrop::payload::<DraggedDownload>(ui.ctx()).is_some_and(|it| it.0 == entry.id);
    let shown = ui.scope(|ui| {
        if is_dragged {
            ui.set_opacity(0.4);
        }
        frame.inner_margin(margin).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing = vec2(2.0, 2.0);
            let name = |ui: &mut Ui| {
                ui.add(Label::new(eframe::egui::RichText::new(&entry.name).color(palette.text)).truncate());
            };
            row_of_sides(ui, 24.0, &entry.id, name, |ui| controls(ui, state, commands, entry));
            let failed = matches!(entry.status, Status::Failed(_));
            ui.add(Label::new(small(queue::status_line(entry), if failed { palette.error } else { palette.weak })).wrap());
            advice(ui, state, commands, entry);
            ui.add_space(3.0);
            ui.scope(|ui| {
                ui.set_width(ui.available_width() - 6.0);
                bar(ui, entry, &entry.name);
            });
        })
    });
    let rect = shown.response.rect;
    ui.data_mut(|data| data.insert_temp(id, rect));
    let Some(response) = response else {
        ui.ctx().request_repaint();
        return;
    };
    if response.has_focus() {
        ui.painter().rect_stroke(rect, f32::from(theme::RADIUS), Stroke::new(1.5, palette.accent), StrokeKind::Inside);
        ui.memory_mut(|it| it.set_focus_lock_filter(id, EventFilter { vertical_arrows: true, ..EventFilter::default() }));
        let (up, down) = ui.input(|input| (input.key_pressed(Key::ArrowUp), input.key_pressed(Key::ArrowDown)));
        if up && let Some(before) = at.checked_sub(1).and_then(|at| queue.get(at)) {
            commands.push(Command::Models(models::Command::MoveDownload(entry.id.clone(), Some(before.id.clone()))));
        }
        if down && at + 1 < queue.len() {
            let before = queue.get(at + 2).map(|it| it.id.clone());
            commands.push(Command::Models(models::Command::MoveDownload(entry.id.clone(), before)));
        }
    }
    response.dnd_set_drag_payload(DraggedDownload(entry.id.clone()));
    if response.dnd_hover_payload::<DraggedDownload>().is_some_and(|it| it.0 != entry.id) {
        ui.painter().hline(rect.x_range(), rect.top() - 3.0, Stroke::new(2.0, palette.accent));
    }
    if let Some(dragged) = response.dnd_release_payload::<DraggedDownload>().filter(|it| it.0 != entry.id) {
        commands.push(Command::Models(models::Command::MoveDownload(dragged.0.clone(), Some(entry.id.clone()))));
    }
    if !response.dragged() {
        let hint = models::Command::MoveDownload(String::new(), None);
        response.on_hover_text(hint.tooltip());
    }
}
