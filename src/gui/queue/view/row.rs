//! A job as a row of constant height: picture, prompt, state, and what can be done with it.

use eframe::egui::{
    DragAndDrop, EventFilter, Id, Image, Key, Label, Layout, Modifiers, Popup, Rect, RichText, Role, Sense, Stroke, StrokeKind,
    TextureHandle, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::words;
use crate::gui::command::Commands;
use crate::gui::create::session::PictureFile;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::{self, Icon};
use crate::gui::queue::command::Command;
use crate::gui::shared::EngineJob;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bare_icon, command_control, sides};
use atelier_gallery::queue::{JobState, QueuedJobId};
use atelier_language::tr;
use atelier_studio::queue::QueueRow;

/// Height of a row, in points.
pub(super) const HEIGHT: f32 = 68.0;
/// Side of the picture, in points.
const PICTURE: f32 = 52.0;
/// Thickness of the progress line, in points.
const LINE: f32 = 3.0;
/// Width of the menu, in points.
const MENU_WIDTH: f32 = 190.0;

/// Drag payload: a job that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct DraggedJob(pub(super) QueuedJobId);

/// Draws the row of this index.
pub(super) fn draw(ui: &mut Ui, state: &State, commands: &mut Commands, at: usize) {
    let palette = theme::palette(ui);
    let Some(row) = state.shared.queue.rows.get(at) else { return };
    let id = row.job.id;
    let title = words::title(row);
    let running = state.shared.jobs.iter().chain(state.shared.jobs_of_others.iter()).find(|job| Some(job.id) == row.engine_job);
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    // Before its buttons, so that these come first.
    let response =
        ui.interact(rect, Id::unique(("queued job", id.0)), if row.can_change() { Sense::click_and_drag() } else { Sense::click() });
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, tr!("queue-job", at = at + 1, title)));
    if response.clicked() {
        response.request_focus();
    }
    let is_edited = state.queue.editing.as_ref().is_some_and(|edited| edited.id == id);
    let edge = if is_edited || running.is_some_and(|job| job.begun) { palette.accent } else { palette.line };
    let is_faint = row.job.state.is_ended() || DragAndDrop::payload::<DraggedJob>(ui.ctx()).is_some_and(|it| it.0 == id);
    ui.painter().rect(rect, f32::from(theme::RADIUS), palette.field, Stroke::new(1.0, edge), StrokeKind::Inside);
    ui.scope_builder(UiBuilder::new().max_rect(rect.shrink2(vec2(8.0, 6.0))).id_salt(id.0), |ui| {
        if is_faint {
            ui.set_opacity(0.6);
        }
        contents(ui, state, commands, row, running, &title);
    });
    if let Some(fraction) = running.and_then(|job| job.progress.fraction()) {
        let bar = Rect::from_min_max(pos2(rect.left() + 6.0, rect.bottom() - LINE - 2.0), pos2(rect.right() - 6.0, rect.bottom() - 2.0));
        ui.painter().rect_filled(bar, LINE / 2.0, palette.line);
        ui.painter().rect_filled(Rect::from_min_size(bar.min, vec2(bar.width() * fraction, LINE)), LINE / 2.0, palette.accent);
    }
    keys(ui, state, commands, at, &response, rect);
    if row.can_change() {
        drag(ui, commands, id, &response, rect);
    }
    if !response.dragged() {
        let tip = if row.can_change() { Command::Move(id, None).tooltip() } else { "" };
        response.on_hover_ui_at_pointer(|ui| {
            ui.set_max_width(360.0);
            ui.label(title);
            ui.label(RichText::new(words::status(row, running)).color(palette.weak));
            if !tip.is_empty() {
                ui.label(RichText::new(tip).size(theme::SMALL).color(palette.weak));
            }
        });
    }
}

fn contents(ui: &mut Ui, state: &State, commands: &mut Commands, row: &QueueRow, running: Option<&EngineJob>, title: &str) {
    let palette = theme::palette(ui);
    let age_secs = state.shared.queue.at.elapsed().as_secs_f64();
    ui.with_layout(Layout::left_to_right(eframe::egui::Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 8.0;
        let (rect, _) = ui.allocate_exact_size(vec2(PICTURE, PICTURE), Sense::hover());
        if let Some(texture) = picture(state, row) {
            let size = texture.size_vec2();
            let scale = (PICTURE / size.x).min(PICTURE / size.y);
            Image::new(texture).paint_at(ui, Rect::from_center_size(rect.center(), size * scale));
        } else {
            ui.painter().rect_filled(rect, f32::from(theme::RADIUS), palette.panel);
            icons::paint(ui.painter(), rect, Icon::Picture, palette.weak);
        }
        let left = |ui: &mut Ui| {
            ui.with_layout(Layout::top_down(eframe::egui::Align::Min), |ui| {
                ui.spacing_mut().item_spacing.y = 1.0;
                ui.add(Label::new(RichText::new(title).color(palette.text)).truncate().selectable(false));
                let colour = if matches!(row.job.state, JobState::Failed | JobState::Held) { palette.warn } else { palette.weak };
                let small =
                    |text: String, colour| Label::new(RichText::new(text).size(theme::SMALL).color(colour)).truncate().selectable(false);
                ui.add(small(words::status(row, running), colour));
                ui.add(small(words::details(row, age_secs), palette.weak));
            });
        };
        sides(ui, "job", left, |ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            menu(ui, state, commands, row, title);
            let cancel = if row.job.state.is_ended() { Command::Retry(row.job.id) } else { Command::Cancel(row.job.id) };
            let icon = if row.job.state.is_ended() { Icon::Reuse } else { Icon::Close };
            let name = format!("{} “{title}”", cancel.label());
            command_control(ui, state, commands, cancel, |ui| bare_icon(ui, icon, &name));
        });
    });
}

/// The forming picture, or the last one that was kept in this session.
fn picture<'a>(state: &'a State, row: &QueueRow) -> Option<&'a TextureHandle> {
    let forming = row.engine_job.and_then(|job| state.create.forming.of_job(job));
    let kept = || {
        let last = row.job.pictures.last()?;
        let is_it = |stored: &PictureFile| matches!(stored, PictureFile::At(path) if *path == last.path);
        state.create.session.iter().find(|picture| is_it(&picture.stored))?.thumbnail.as_ref()
    };
    forming.map(|forming| &forming.texture).or_else(kept)
}

/// The button with everything else that can be done with a job.
fn menu(ui: &mut Ui, state: &State, commands: &mut Commands, row: &QueueRow, title: &str) {
    let id = row.job.id;
    let button = bare_icon(ui, Icon::Dots, &tr!("queue-more-for", title)).on_hover_text(tr!("queue-edit-duplicate-try-again"));
    Popup::menu(&button).accessible_name(tr!("queue-job-2")).show(|ui| {
        ui.set_width(MENU_WIDTH);
        for command in [Command::Edit(id), Command::Duplicate(id), Command::Retry(id)] {
            let label = command.label().to_owned();
            entry(ui, state, commands, command, &label, false);
        }
        ui.separator();
        ui.label(RichText::new(tr!("queue-runs-on")).size(theme::SMALL).color(theme::palette(ui).weak));
        let any = Command::Pin(id, None);
        let label = any.label().to_owned();
        entry(ui, state, commands, any, &label, row.job.device.is_none());
        for device in &state.devices.board.devices {
            let pinned = row.job.device.as_deref().is_some_and(|pin| pin.eq_ignore_ascii_case(&device.name));
            entry(ui, state, commands, Command::Pin(id, Some(device.name.clone())), &device.name, pinned);
        }
    });
}

fn entry(ui: &mut Ui, state: &State, commands: &mut Commands, command: Command, label: &str, is_chosen: bool) {
    let chosen = command_control(ui, state, commands, command, |ui| {
        let button = eframe::egui::Button::selectable(is_chosen, label).right_text("");
        ui.add(button.min_size(vec2(MENU_WIDTH, crate::gui::widgets::ROW_HEIGHT))).accessible_name(label)
    });
    if chosen.clicked() {
        ui.close();
    }
}

/// Keys of the row that has the keyboard.
fn keys(ui: &mut Ui, state: &State, commands: &mut Commands, at: usize, response: &eframe::egui::Response, rect: Rect) {
    if !response.has_focus() {
        return;
    }
    let palette = theme::palette(ui);
    let rows = &state.shared.queue.rows;
    let id = rows[at].job.id;
    ui.painter().rect_stroke(rect, f32::from(theme::RADIUS), Stroke::new(1.5, palette.accent), StrokeKind::Inside);
    ui.memory_mut(|it| it.set_focus_lock_filter(response.id, EventFilter { vertical_arrows: true, ..EventFilter::default() }));
    let pressed = |modifiers: Modifiers, key: Key| ui.input_mut(|input| input.consume_key(modifiers, key));
    let can_move = |at: usize| rows.get(at).filter(|row| row.can_change()).map(|row| row.job.id);
    if pressed(Modifiers::NONE, Key::ArrowUp)
        && rows[at].can_change()
        && let Some(before) = at.checked_sub(1).and_then(can_move)
    {
        commands.push(Command::Move(id, Some(before)));
    }
    if pressed(Modifiers::NONE, Key::ArrowDown) && rows[at].can_change() && can_move(at + 1).is_some() {
        commands.push(Command::Move(id, can_move(at + 2)));
    }
    for (modifiers, key, command) in [
        (Modifiers::NONE, Key::Delete, Command::Cancel(id)),
        (Modifiers::NONE, Key::Enter, Command::Edit(id)),
        (Modifiers::COMMAND, Key::D, Command::Duplicate(id)),
    ] {
        if pressed(modifiers, key) {
            commands.push(command);
        }
    }
}

fn drag(ui: &mut Ui, commands: &mut Commands, id: QueuedJobId, response: &eframe::egui::Response, rect: Rect) {
    response.dnd_set_drag_payload(DraggedJob(id));
    if response.dnd_hover_payload::<DraggedJob>().is_some_and(|it| it.0 != id) {
        ui.painter().hline(rect.x_range(), rect.top() - 3.0, Stroke::new(2.0, theme::palette(ui).accent));
    }
    if let Some(dragged) = response.dnd_release_payload::<DraggedJob>().filter(|it| it.0 != id) {
        commands.push(Command::Move(dragged.0, Some(id)));
    }
}
