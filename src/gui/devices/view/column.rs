//! The head of a column: a device's name, its bar with the budget's handle, and what each phase takes of it.

use eframe::egui::{
    Align, Button, ComboBox, CursorIcon, DragValue, EventFilter, Id, Key, Label, Layout, Rect, Response, Role, Sense, Stroke, Ui,
    UiBuilder, WidgetInfo, pos2, vec2,
};

use crate::gui::command::{Command, Commands};
use crate::gui::devices::board::{BoardCommand, is_unreachable};
use crate::gui::devices::view::bar;
use crate::gui::devices::view::bar::{Bar, small};
use crate::gui::icons;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{bare_icon, bold, command_control};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::format::{GIB, memory_size};
use atelier_core::placement::Phase;

/// Height of a head, in points.
pub(crate) const HEIGHT: f32 = 148.0;
/// Height of the bar, in points.
const BAR: f32 = 20.0;
/// GiB by which an arrow key moves a budget, and with Shift.
const KEY_STEPS: [f64; 2] = [0.1, 1.0];

/// What a column is called.
pub(crate) fn title(device: &Device) -> String {
    if device.kind == DeviceKind::Cpu { format!("{} · RAM", device.name) } else { device.name.clone() }
}

/// Draws the head of a device's column.
pub(crate) fn head(ui: &mut Ui, state: &State, commands: &mut Commands, device: &Device, rect: Rect) {
    let mut ui = ui.new_child(UiBuilder::new().max_rect(rect.shrink2(vec2(12.0, 9.0))).layout(Layout::top_down(Align::LEFT)));
    let ui = &mut ui;
    ui.spacing_mut().item_spacing = vec2(4.0, 3.0);
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let silent = is_unreachable(device);
    let bar = Bar::of(state, device, phase_shown(ui));
    let wide = ui.available_width();
    ui.allocate_ui_with_layout(vec2(wide, 19.0), Layout::right_to_left(Align::Center), |ui| {
        if !silent && bar.total > 0 {
            let unit = if wide > 190.0 { " GiB" } else { "" };
            let text = format!("{} / {}{unit}", tenths(bar.sum()), tenths(bar.total));
            let color = if bar.over() > 0 { palette.error } else { palette.text };
            ui.add(Label::new(small(text, color).size(theme::SMALL))).on_hover_text("GiB in use, of all there are.");
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let color = if silent { palette.weak } else { palette.strong };
            ui.add(Label::new(bold(title(device)).size(theme::BODY).color(color)).truncate());
        });
    });
    let others = board.other_backends(device);
    if others.is_empty() {
        ui.add(Label::new(small(&device.description, palette.weak)).truncate()).on_hover_text(kind_words(device));
    } else {
        backends(ui, commands, device, &others);
    }
    ui.add_space(if others.is_empty() { 5.0 } else { 0.0 });
    if silent {
        let text = "It does not answer now. Look under Remote devices.";
        ui.add(Label::new(small(text, palette.warn)).wrap());
        return;
    }
    let (rect, response) = ui.allocate_exact_size(vec2(wide, BAR), Sense::hover());
    let percent = bar.sum() as f64 * 100.0 / bar.total.max(1) as f64;
    let over = if bar.over() > 0 { format!(", {} too much", memory_size(bar.over())) } else { String::new() };
    let name = format!("Memory of {}{over}", device.name);
    response.widget_info(|| WidgetInfo { value: Some(percent), ..WidgetInfo::labeled(Role::ProgressIndicator, true, &name) });
    response.on_hover_text(bar.words(&palette));
    bar::paint(ui, rect, &bar, Id::unique(("bar", &device.name)), board.waiting);
    if bar.budget.is_some() {
        handle(ui, commands, device, &bar, rect);
    }
    ui.add_space(4.0);
    phases(ui, state, device, wide);
    budget_row(ui, state, commands, device, &bar);
}

/// The head of the disk's column.
pub(crate) fn disk_head(ui: &mut Ui, rect: Rect) {
    let mut ui = ui.new_child(UiBuilder::new().max_rect(rect.shrink2(vec2(12.0, 9.0))).layout(Layout::top_down(Align::LEFT)));
    ui.spacing_mut().item_spacing = vec2(4.0, 3.0);
    let palette = theme::palette(&ui);
    ui.allocate_ui_with_layout(vec2(ui.available_width(), 19.0), Layout::left_to_right(Align::Center), |ui| {
        ui.add(Label::new(bold("Disk").size(theme::BODY).color(palette.strong)));
    });
    ui.add(Label::new(small("Takes no memory. Weights are read again each time they are needed.", palette.weak)).wrap());
}

fn kind_words(device: &Device) -> String {
    let memory = if device.memory_total_bytes > 0 { format!(", {}", memory_size(device.memory_total_bytes)) } else { String::new() };
    format!("{}\n{}{memory}", device.description, device.kind.label())
}

/// The choice of a backend for a card that several offer.
fn backends(ui: &mut Ui, commands: &mut Commands, device: &Device, others: &[&Device]) {
    let palette = theme::palette(ui);
    let wide = ui.available_width();
    ui.scope(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        ui.spacing_mut().button_padding = vec2(6.0, 0.0);
        let command = |other: &Device| BoardCommand::Backend(device.name.clone(), other.name.clone());
        let combo = ComboBox::from_id_salt(("backend", &device.name))
            .icon(widgets::chevron)
            .width(wide)
            .truncate()
            .selected_text(small(&device.description, palette.text))
            .show_ui(ui, |ui| {
                let _ = ui.selectable_label(true, &device.name);
                for other in others {
                    let tooltip = command(other).tooltip();
                    if ui.selectable_label(false, &other.name).on_hover_text(tooltip).clicked() {
                        commands.push(Command::Board(command(other)));
                    }
                }
            });
        let words = format!("{}\nThis card is offered by several backends. Choose one.", device.description);
        combo.response.on_hover_text(words).accessible_name(format!("Backend of {}", device.description));
    });
}

/// GiB with one decimal.
fn tenths(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / GIB as f64)
}

/// The handle on the bar with which the budget is moved.
fn handle(ui: &mut Ui, commands: &mut Commands, device: &Device, bar: &Bar, rect: Rect) {
    let palette = theme::palette(ui);
    let Some(budget) = bar.budget else { return };
    let id = Id::unique(("budget", &device.name));
    let per_byte = f64::from(rect.width()) / bar.scale() as f64;
    let x = rect.left() + (bar.others.saturating_add(budget) as f64 * per_byte) as f32;
    let grip = Rect::from_center_size(pos2(x, rect.center().y), vec2(12.0, rect.height() + 10.0));
    let response = ui.interact(grip, id, Sense::click_and_drag()).on_hover_cursor(CursorIcon::ResizeHorizontal);
    let gib_now = budget as f64 / GIB as f64;
    let name = format!("Budget of {}", device.name);
    response.widget_info(|| WidgetInfo { value: Some(gib_now), ..WidgetInfo::labeled(Role::Slider, true, &name) });
    let most = bar.total.max(GIB / 10) as f64 / GIB as f64;
    let set = |commands: &mut Commands, gib: f64| {
        let gib = (gib.clamp(0.1, most) * 10.0).round() / 10.0;
        if (gib - gib_now).abs() > 0.04 {
            commands.push(Command::Board(BoardCommand::Budget(device.name.clone(), Some(gib))));
        }
    };
    if response.dragged()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let bytes = f64::from(pointer.x - rect.left()) / per_byte - bar.others as f64;
        set(commands, bytes / GIB as f64);
    }
    if response.has_focus() {
        ui.memory_mut(|it| it.set_focus_lock_filter(id, EventFilter { horizontal_arrows: true, ..EventFilter::default() }));
        let (left, right, shift, delete) = ui.input(|input| {
            let pressed = |key| input.num_presses(key) as f64;
            (pressed(Key::ArrowLeft), pressed(Key::ArrowRight), input.modifiers.shift, input.key_pressed(Key::Delete))
        });
        let step = if shift { KEY_STEPS[1] } else { KEY_STEPS[0] };
        if left != right {
            set(commands, gib_now + (right - left) * step);
        }
        if delete {
            commands.push(Command::Board(BoardCommand::Budget(device.name.clone(), None)));
        }
    }
    let hot = response.hovered() || response.dragged() || response.has_focus();
    let color = if hot { palette.accent_hover } else { palette.strong };
    let painter = ui.painter();
    painter.vline(x, (rect.top() - 4.0)..=(rect.bottom() + 2.0), Stroke::new(2.0, color));
    painter.rect_filled(Rect::from_center_size(pos2(x, rect.top() - 4.0), vec2(9.0, 5.0)), 2.0, color);
    response.on_hover_text(format!("Budget: {}. Drag, or use the arrow keys; Delete removes it.", memory_size(budget)));
}

/// What each phase takes; the one under the pointer is shown on every bar.
fn phases(ui: &mut Ui, state: &State, device: &Device, wide: f32) {
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let Some(prediction) = board.prediction.as_ref().and_then(|it| it.device(&device.name)) else {
        ui.allocate_exact_size(vec2(wide, 33.0), Sense::hover());
        return;
    };
    let (whole, _) = ui.allocate_exact_size(vec2(wide, 33.0), Sense::hover());
    let width = wide / Phase::ALL.len() as f32;
    let shown = phase_shown(ui);
    for (n, phase) in Phase::ALL.into_iter().enumerate() {
        let rect = Rect::from_min_size(whole.min + vec2(width * n as f32, 0.0), vec2(width - 2.0, whole.height()));
        let used = prediction.in_phase(phase).total_bytes();
        let measured = board.measured(&device.name, phase);
        let response = ui.interact(rect, Id::unique(("phase", &device.name, phase)), Sense::click());
        let told = match measured {
            Some(bytes) => format!("{}, measured {}{}", memory_size(used), memory_size(bytes), error_words(bytes, used)),
            None => memory_size(used),
        };
        let name = format!("{} {}: {told}", device.name, phase.label());
        response.widget_info(|| WidgetInfo::selected(Role::Button, true, shown == Some(phase), &name));
        point_at(ui, &response, phase);
        let over = used > prediction.limit_bytes;
        if shown == Some(phase) {
            ui.painter().rect_filled(rect, 4.0, palette.control);
        }
        if response.has_focus() {
            ui.painter().rect_stroke(rect, 4.0, Stroke::new(1.0, palette.accent), eframe::egui::StrokeKind::Inside);
        }
        let color = if over {
            palette.error
        } else if used == 0 {
            palette.weak
        } else {
            palette.text
        };
        let painter = ui.painter_at(rect);
        let label = if width < 46.0 { short(phase) } else { phase.label() };
        painter.text(
            rect.min + vec2(4.0, 2.0),
            eframe::egui::Align2::LEFT_TOP,
            label,
            eframe::egui::FontId::proportional(theme::SMALL),
            palette.weak,
        );
        let value = if used == 0 { "–".to_owned() } else { tenths(used) };
        painter.text(
            rect.min + vec2(4.0, 14.0),
            eframe::egui::Align2::LEFT_TOP,
            value,
            eframe::egui::FontId::proportional(theme::SMALL),
            color,
        );
        let share = (used as f64 / prediction.limit_bytes.max(1) as f64).min(1.0) as f32;
        let line = Rect::from_min_size(pos2(rect.left() + 4.0, rect.bottom() - 3.5), vec2((rect.width() - 8.0) * share, 2.5));
        ui.painter().rect_filled(line, 1.0, if over { palette.error } else { palette.resident });
        response.on_hover_text(Bar::of(state, device, Some(phase)).words(&palette));
    }
}

/// How far the prediction was off, where it was: " (1.3 % more)".
fn error_words(measured: u64, predicted: u64) -> String {
    if predicted == 0 || measured == predicted {
        return String::new();
    }
    let percent = (measured as f64 / predicted as f64 - 1.0) * 100.0;
    let word = if percent > 0.0 { "more" } else { "less" };
    if percent.abs() < 0.05 { String::new() } else { format!(" ({:.1} % {word})", percent.abs()) }
}

const fn short(phase: Phase) -> &'static str {
    match phase {
        Phase::Load => "load",
        Phase::Encode => "enc.",
        Phase::Denoise => "den.",
        Phase::Decode => "dec.",
    }
}

fn budget_row(ui: &mut Ui, state: &State, commands: &mut Commands, device: &Device, bar: &Bar) {
    let palette = theme::palette(ui);
    let wide = ui.available_width();
    ui.allocate_ui_with_layout(vec2(wide, 22.0), Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().interact_size.y = 20.0;
        if let Some(budget) = bar.budget {
            let label = ui.label(small("Budget", palette.weak));
            let before = (budget as f64 / GIB as f64 * 10.0).round() / 10.0;
            let mut gib = before;
            let most = (bar.total.max(GIB / 10) as f64 / GIB as f64).max(before);
            let number = DragValue::new(&mut gib).range(0.1..=most).speed(0.05).fixed_decimals(1).suffix(" GiB");
            let set = BoardCommand::Budget(device.name.clone(), Some(0.0));
            ui.add(number).labelled_by(label.id).on_hover_text(set.tooltip());
            if (gib - before).abs() > 0.04 {
                commands.push(Command::Board(BoardCommand::Budget(device.name.clone(), Some((gib * 10.0).round() / 10.0))));
            }
            let remove = Command::Board(BoardCommand::Budget(device.name.clone(), None));
            command_control(ui, state, commands, remove, |ui| bare_icon(ui, Icon::Close, &format!("Remove the budget of {}", device.name)));
        } else {
            // Begins where nothing is cut yet: at all that is free.
            let gib = (bar.limit as f64 / GIB as f64 * 10.0).floor() / 10.0;
            let set = Command::Board(BoardCommand::Budget(device.name.clone(), Some(gib.max(0.1))));
            let name = format!("Set a budget for {}", device.name);
            command_control(ui, state, commands, set, |ui| {
                ui.spacing_mut().button_padding.x = 4.0;
                ui.add(Button::new(small("Set a budget", palette.weak)).frame_when_inactive(false)).accessible_name(name)
            });
        }
        if bar.over() > 0 {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if wide > 190.0 {
                    ui.label(small(format!("+{}", memory_size(bar.over())), palette.error)).on_hover_text("So much is missing.");
                }
                let (rect, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
                icons::paint(ui.painter(), rect, Icon::Warning, Stroke::new(1.0, palette.error));
            });
        }
    });
}

fn locked_id() -> Id {
    Id::unique("phase chosen")
}

fn pointed_id() -> Id {
    Id::unique("phase pointed at")
}

/// The phase that all bars show: the one pointed at in this frame or the last, else the chosen one.
fn phase_shown(ui: &Ui) -> Option<Phase> {
    let frame = ui.ctx().cumulative_frame_nr();
    let pointed: Option<(Phase, u64)> = ui.data(|data| data.get_temp(pointed_id()));
    let pointed = pointed.filter(|(_, at)| frame <= at + 1).map(|(phase, _)| phase);
    pointed.or_else(|| ui.data(|data| data.get_temp::<Option<Phase>>(locked_id())).flatten())
}

fn point_at(ui: &Ui, response: &Response, phase: Phase) {
    let frame = ui.ctx().cumulative_frame_nr();
    if response.hovered() || response.has_focus() {
        let before: Option<(Phase, u64)> = ui.data(|data| data.get_temp(pointed_id()));
        if before.map(|(phase, _)| phase) != Some(phase) {
            // Columns on the left are drawn already.
            ui.ctx().request_repaint();
        }
        ui.data_mut(|data| data.insert_temp(pointed_id(), (phase, frame)));
    }
    if response.clicked() {
        ui.data_mut(|data| {
            let chosen = data.get_temp_mut_or_default::<Option<Phase>>(locked_id());
            *chosen = if *chosen == Some(phase) { None } else { Some(phase) };
        });
    }
}

/// A phase that is not pointed at any more is not shown any more.
pub(crate) fn end_of_frame(ui: &Ui) {
    let frame = ui.ctx().cumulative_frame_nr();
    let last: Option<(Phase, u64)> = ui.data(|data| data.get_temp(pointed_id()));
    if last.is_some_and(|(_, at)| at != frame) {
        ui.data_mut(|data| data.remove::<(Phase, u64)>(pointed_id()));
        ui.ctx().request_repaint();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_in_per_cent_and_none_is_not_told() {
        assert_eq!(error_words(1013, 1000), " (1.3 % more)");
        assert_eq!(error_words(900, 1000), " (10.0 % less)");
        assert_eq!((error_words(1000, 1000), error_words(5, 0)), (String::new(), String::new()));
    }
}
