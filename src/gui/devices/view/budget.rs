//! Budget of a device: handle on the memory bar, number and buttons. Budget of a module: number and
//! buttons in its card's menu.

use eframe::egui::{
    Align, Button, CursorIcon, EventFilter, Id, Key, Layout, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2,
};

use crate::gui::command::Commands;
use crate::gui::devices::board::Board;
use crate::gui::devices::command::Command;
use crate::gui::devices::view::memory_bar::{Bar, small};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::widgets::{bare_icon, command_control, number_field};
use crate::gui::{icons, theme};
use atelier_core::device::Device;
use atelier_core::format::{GIB, memory_size};
use atelier_core::placement::{DeviceCapacity, Module, WeightLocation};
use atelier_language::tr;

/// Step of an arrow key for a budget, in GiB: without and with Shift.
pub(crate) const KEY_STEPS: [f64; 2] = [0.1, 1.0];

/// Handle on the bar that sets the budget by dragging and by keys.
pub(crate) fn handle(ui: &mut Ui, commands: &mut Commands, device: &Device, bar: &Bar, rect: Rect) {
    let palette = theme::palette(ui);
    let Some(budget) = bar.budget_bytes else { return };
    let id = Id::unique(("budget", &device.name));
    let per_byte = f64::from(rect.width()) / bar.scale() as f64;
    let x = rect.left() + (bar.other_programs_bytes.saturating_add(budget) as f64 * per_byte) as f32;
    let grip = Rect::from_center_size(pos2(x, rect.center().y), vec2(12.0, rect.height() + 10.0));
    let response = ui.interact(grip, id, Sense::click_and_drag()).on_hover_cursor(CursorIcon::ResizeHorizontal);
    let gib_now = budget as f64 / GIB as f64;
    let name = tr!("devices-budget-of", name = device.name);
    response.widget_info(|| WidgetInfo { value: Some(gib_now), ..WidgetInfo::labeled(Role::Slider, true, &name) });
    let most = bar.total_bytes.max(GIB / 10) as f64 / GIB as f64;
    let set = |commands: &mut Commands, gib: f64| {
        let gib = (gib.clamp(0.1, most) * 10.0).round() / 10.0;
        if (gib - gib_now).abs() > 0.04 {
            commands.push(Command::SetBudget(device.name.clone(), Some(gib)));
        }
    };
    if response.dragged()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let bytes = f64::from(pointer.x - rect.left()) / per_byte - bar.other_programs_bytes as f64;
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
            commands.push(Command::SetBudget(device.name.clone(), None));
        }
    }
    let hovered = response.hovered() || response.dragged() || response.has_focus();
    let color = if hovered { palette.accent_hover } else { palette.strong };
    let painter = ui.painter();
    painter.vline(x, (rect.top() - 4.0)..=(rect.bottom() + 2.0), Stroke::new(2.0, color));
    painter.rect_filled(Rect::from_center_size(pos2(x, rect.top() - 4.0), vec2(9.0, 5.0)), 2.0, color);
    response.on_hover_text(tr!("devices-budget-drag-or-use", budget = memory_size(budget)));
}

/// Draws a budget as a number in GiB, from `least` to all memory of its device; the number to which
/// a person changed it comes back beside.
fn number(ui: &mut Ui, before: f64, least: f64, total_bytes: u64) -> (Response, Option<f64>) {
    let mut gib = before;
    let most = (total_bytes.max(GIB / 10) as f64 / GIB as f64).max(before);
    let response = ui.add(number_field(&mut gib).range(least..=most).speed(0.05).fixed_decimals(1).suffix(" GiB"));
    (response, ((gib - before).abs() > 0.04).then(|| (gib * 10.0).round() / 10.0))
}

pub(crate) fn budget_row(ui: &mut Ui, state: &State, commands: &mut Commands, device: &Device, bar: &Bar) {
    let palette = theme::palette(ui);
    let wide = ui.available_width();
    ui.allocate_ui_with_layout(vec2(wide, 22.0), Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().interact_size.y = 20.0;
        if let Some(budget) = bar.budget_bytes {
            let label = ui.label(small(tr!("devices-budget"), palette.weak));
            let before = (budget as f64 / GIB as f64 * 10.0).round() / 10.0;
            let (number, changed) = number(ui, before, 0.1, bar.total_bytes);
            let set = Command::SetBudget(device.name.clone(), Some(0.0));
            number.labelled_by(label.id).on_hover_text(set.tooltip());
            if let Some(gib) = changed {
                commands.push(Command::SetBudget(device.name.clone(), Some(gib)));
            }
            let remove = Command::SetBudget(device.name.clone(), None);
            command_control(ui, state, commands, remove, |ui| {
                bare_icon(ui, Icon::Close, &tr!("devices-remove-the-budget-of", name = device.name))
            });
        } else {
            // Starts at all that is free, which changes nothing yet.
            let gib = (bar.limit_bytes as f64 / GIB as f64 * 10.0).floor() / 10.0;
            let set = Command::SetBudget(device.name.clone(), Some(gib.max(0.1)));
            let name = tr!("devices-set-a-budget-for", name = device.name);
            command_control(ui, state, commands, set, |ui| {
                ui.spacing_mut().button_padding.x = 4.0;
                ui.add(Button::new(small(tr!("devices-set-a-budget"), palette.weak)).frame_when_inactive(false)).accessible_name(name)
            });
        }
        if bar.over() > 0 {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if wide > 190.0 {
                    ui.label(small(format!("+{}", memory_size(bar.over())), palette.error)).on_hover_text(tr!("devices-missing-memory"));
                }
                let (rect, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
                icons::paint(ui.painter(), rect, Icon::Warning, palette.error);
            });
        }
    });
}

/// Draws the budget that a module has alone, where its weights wait in RAM and can be streamed. One
/// without effect is there to be removed.
pub(crate) fn module_budget(ui: &mut Ui, board: &Board, commands: &mut Commands, module: Module) {
    let palette = theme::palette(ui);
    let Some(placement) = &board.placement else { return };
    let assignment = placement.assignment(module);
    let Some(run) = board.capacity(&assignment.runs_on) else { return };
    let own = placement.budgets.modules().get(&module).copied();
    let has_layers = module.has_layers() && !board.whole.contains(module) && placement.stream_layers.cuts(module);
    let waits_in_ram = match &assignment.weights {
        WeightLocation::Device(name) => board.capacity(name).is_some_and(DeviceCapacity::is_ram),
        WeightLocation::Disk => false,
    };
    if own.is_none() && (!has_layers || run.is_ram() || !waits_in_ram) {
        return;
    }
    ui.horizontal(|ui| {
        ui.label(small(tr!("devices-budget"), palette.weak));
        if let Some(before) = own {
            let (number, changed) = number(ui, before, before.min(0.1), run.device.memory_total_bytes);
            let set = Command::SetModuleBudget(module, Some(0.0));
            number.on_hover_text(set.tooltip()).accessible_name(tr!("devices-budget-of-the", noun = module.noun()));
            if let Some(gib) = changed {
                commands.push(Command::SetModuleBudget(module, Some(gib)));
            }
            let remove = Command::SetModuleBudget(module, None);
            let name = tr!("devices-remove-the-budget-of-the", noun = module.noun());
            if bare_icon(ui, Icon::Close, &name).on_hover_text(remove.tooltip()).clicked() {
                commands.push(remove);
            }
        } else {
            // Starts at what it takes, which changes nothing yet.
            let taken = board.prediction.as_ref().and_then(|it| it.modules.get(&module));
            let taken = taken.map_or(GIB, |it| it.staged_bytes.saturating_add(it.compute_bytes));
            let set = Command::SetModuleBudget(module, Some(((taken as f64 / GIB as f64 * 10.0).ceil() / 10.0).max(0.1)));
            let name = tr!("devices-set-a-budget-for-the", noun = module.noun());
            if ui.button(tr!("devices-set-a-budget")).on_hover_text(set.tooltip()).accessible_name(name).clicked() {
                commands.push(set);
            }
        }
    });
    ui.separator();
}
