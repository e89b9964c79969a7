//! Header of a column: name and backend of a device, its memory bar, its use by phase, and its
//! budget.

use eframe::egui::{Align, ComboBox, Id, Label, Layout, Rect, Role, Sense, Ui, UiBuilder, WidgetInfo, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::board::{Board, is_unreachable};
use crate::gui::devices::command::Command;
use crate::gui::devices::view::memory_bar::{Bar, small};
use crate::gui::devices::view::names::column_title;
use crate::gui::devices::view::{budget, memory_bar, phase_times, phases};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::widgets::bold;
use crate::gui::{theme, widgets};
use atelier_core::device::Device;
use atelier_core::format::{gib_with_tenth, memory_size};
use atelier_language::tr;

/// Height of a header, in points.
pub(crate) fn height(board: &Board) -> f32 {
    115.0 + phase_times::line_height(board) + phases::height(board)
}

/// Height of the bar, in points.
const BAR: f32 = 20.0;

/// Draws the header of a device's column.
pub(crate) fn header(ui: &mut Ui, state: &State, commands: &mut Commands, device: &Device, rect: Rect) {
    let mut ui = ui.new_child(UiBuilder::new().max_rect(rect.shrink2(vec2(12.0, 9.0))).layout(Layout::top_down(Align::LEFT)));
    let ui = &mut ui;
    ui.spacing_mut().item_spacing = vec2(4.0, 3.0);
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let unreachable = is_unreachable(device);
    let bar = Bar::of(state, device, phases::visible_phase(ui));
    let wide = ui.available_width();
    ui.allocate_ui_with_layout(vec2(wide, 19.0), Layout::right_to_left(Align::Center), |ui| {
        if !unreachable && bar.total_bytes > 0 {
            let unit = if wide > 190.0 { " GiB" } else { "" };
            let text = format!("{} / {}{unit}", gib_with_tenth(bar.sum()), gib_with_tenth(bar.total_bytes));
            let color = if bar.over() > 0 { palette.error } else { palette.text };
            ui.add(Label::new(small(text, color).size(theme::SMALL))).on_hover_text(tr!("devices-memory-in-use-and"));
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let color = if unreachable { palette.weak } else { palette.strong };
            ui.add(Label::new(bold(column_title(device)).size(theme::BODY).color(color)).truncate());
        });
    });
    let others = board.other_backends(device);
    if others.is_empty() {
        ui.add(Label::new(small(device.described(), palette.weak)).truncate()).on_hover_text(description_with_kind(device));
    } else {
        backends(ui, commands, device, &others);
    }
    ui.add_space(if others.is_empty() { 5.0 } else { 0.0 });
    if unreachable {
        let text = tr!("devices-not-responding-see-remote");
        ui.add(Label::new(small(text, palette.warn)).wrap());
        return;
    }
    let (rect, response) = ui.allocate_exact_size(vec2(wide, BAR), Sense::hover());
    let percent = bar.sum() as f64 * 100.0 / bar.total_bytes.max(1) as f64;
    let over = if bar.over() > 0 { tr!("devices-too-much-2", over = memory_size(bar.over())) } else { String::new() };
    let name = tr!("devices-memory-of", name = device.name, over);
    response.widget_info(|| WidgetInfo { value: Some(percent), ..WidgetInfo::labeled(Role::ProgressIndicator, true, &name) });
    response.on_hover_text(bar.words(&palette));
    memory_bar::paint(ui, rect, &bar, Id::unique(("bar", &device.name)), board.estimate_pending);
    if bar.budget_bytes.is_some() {
        budget::handle(ui, commands, device, &bar, rect);
    }
    // Another studio's pictures take nothing here.
    if state.shared.next.studio.is_none() {
        phase_times::line(ui, board, &device.name, phases::visible_phase(ui));
        ui.add_space(4.0);
        phases::phases(ui, state, device, wide);
    }
    budget::budget_row(ui, state, commands, device, &bar);
}

/// Draws the header of the disk's column.
pub(crate) fn disk_header(ui: &mut Ui, rect: Rect) {
    let mut ui = ui.new_child(UiBuilder::new().max_rect(rect.shrink2(vec2(12.0, 9.0))).layout(Layout::top_down(Align::LEFT)));
    ui.spacing_mut().item_spacing = vec2(4.0, 3.0);
    let palette = theme::palette(&ui);
    ui.allocate_ui_with_layout(vec2(ui.available_width(), 19.0), Layout::left_to_right(Align::Center), |ui| {
        ui.add(Label::new(bold(tr!("devices-disk")).size(theme::BODY).color(palette.strong)));
    });
    ui.add(Label::new(small(tr!("devices-uses-no-memory-weights"), palette.weak)).wrap());
}

fn description_with_kind(device: &Device) -> String {
    let memory = if device.memory_total_bytes > 0 { format!(", {}", memory_size(device.memory_total_bytes)) } else { String::new() };
    format!("{}\n{}{memory}", device.described(), device.kind.label())
}

/// Choice of a backend for a card that several offer.
fn backends(ui: &mut Ui, commands: &mut Commands, device: &Device, others: &[&Device]) {
    let palette = theme::palette(ui);
    let wide = ui.available_width();
    ui.scope(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        ui.spacing_mut().button_padding = vec2(6.0, 0.0);
        let command = |other: &Device| Command::ChangeBackend(device.name.clone(), other.name.clone());
        let combo = ComboBox::from_id_salt(("backend", &device.name))
            .icon(widgets::chevron)
            .width(wide)
            .truncate()
            .selected_text(small(device.described(), palette.text))
            .show_ui(ui, |ui| {
                let _ = ui.selectable_label(true, &device.name);
                for other in others {
                    let tooltip = command(other).tooltip();
                    if ui.selectable_label(false, &other.name).on_hover_text(tooltip).clicked() {
                        commands.push(command(other));
                    }
                }
            });
        let words = tr!("devices-this-gpu-is-available", description = device.described());
        combo.response.on_hover_text(words).accessible_name(tr!("devices-backend-of", description = device.described()));
    });
}
