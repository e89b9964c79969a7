//! Summary of the board for the Create view: a line for each device in use, and a hint if memory
//! does not suffice.

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Align2, FontId, Id, Label, Rect, RichText, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::board::{Board, Suggestion, is_too_slow, time_sentence};
use crate::gui::devices::command::Command;
use crate::gui::devices::view::memory_bar::Bar;
use crate::gui::devices::view::names::column_title;
use crate::gui::devices::view::{memory_bar, suggestion};
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::widgets::command_button;
use crate::gui::window_command::WindowCommand;
use crate::gui::{theme, widgets};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::format::{gib_with_tenth, memory_size, seconds};
use atelier_core::placement::Phase;
use atelier_core::time::TimePrediction;
use atelier_language::tr;

/// Most devices shown; the others are in the Devices view.
const MAX_DEVICES: usize = 3;

/// Height of a line, in points.
const LINE: f32 = 27.0;

/// Draws a line for each device in use; none where another studio makes the pictures.
pub(crate) fn compact(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let board = &state.devices.board;
    if board.modules.is_empty() || state.shared.next.studio.is_some() {
        return;
    }
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        for device in in_use(board).into_iter().take(MAX_DEVICES) {
            line(ui, state, commands, device);
        }
    });
}

/// Devices that a module runs on or has its weights in.
fn in_use(board: &Board) -> Vec<&Device> {
    let used = |device: &&Device| !modules_on(board, device).is_empty();
    let devices: Vec<&Device> = board.columns().into_iter().filter(used).collect();
    devices
}

/// Modules that run on a device, and those with weights only.
fn modules_on(board: &Board, device: &Device) -> Vec<String> {
    let Some(placement) = &board.placement else { return Vec::new() };
    let on = board.modules.iter().filter_map(|module| {
        let assignment = placement.assignment(*module);
        let (runs, lives) = (assignment.runs_on == device.name, assignment.weights.is(&device.name));
        match (runs, lives) {
            (true, _) => Some(module.label().to_owned()),
            (false, true) => Some(tr!("devices-weights-3", module = module.label())),
            (false, false) => None,
        }
    });
    on.collect()
}

fn line(ui: &mut Ui, state: &State, commands: &mut Commands, device: &Device) {
    let (palette, board) = (theme::palette(ui), &state.devices.board);
    let bar = Bar::of(state, device, None);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::click());
    let on = modules_on(board, device).join(", ");
    let over = if bar.over() > 0 { tr!("devices-too-much-2", over = memory_size(bar.over())) } else { String::new() };
    let name = format!("{}: {on}{over}", device.name);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect.expand2(vec2(6.0, 1.0)), theme::RADIUS, palette.control);
    }
    let painter = ui.painter_at(rect);
    let name = if device.kind == DeviceKind::Cpu { column_title(device) } else { device.name.clone() };
    let y = rect.top() + 8.0;
    let name = painter.layout_job(theme::bold_job(&name, theme::SMALL, palette.text));
    let after = rect.left() + name.size().x + 8.0;
    painter.galley(pos2(rect.left(), y - name.size().y / 2.0), name, palette.text);
    let color = if bar.over() > 0 { palette.error } else { palette.weak };
    let value = tr!("devices-gib", gib_with_tenth = gib_with_tenth(bar.sum()), gib_with_tenth_2 = gib_with_tenth(bar.total_bytes));
    let value = painter.text(pos2(rect.right(), y), Align2::RIGHT_CENTER, value, FontId::proportional(theme::SMALL), color);
    let mut words = LayoutJob::simple_singleline(on, FontId::proportional(theme::SMALL), palette.weak);
    words.wrap = TextWrapping::truncate_at_width((value.left() - 8.0 - after).max(0.0));
    let words = painter.layout_job(words);
    painter.galley(pos2(after, y - words.size().y / 2.0), words, palette.weak);
    let small = Rect::from_min_max(pos2(rect.left(), rect.bottom() - 9.0), pos2(rect.right(), rect.bottom() - 3.0));
    memory_bar::paint(
        ui,
        small,
        &Bar { measured_bytes: None, ..bar.clone() },
        Id::unique(("small bar", &device.name)),
        board.estimate_pending,
    );
    let devices = WindowCommand::SetScreen(Screen::Devices);
    let hover = format!("{}\n{}", bar.words(&palette), widgets::tooltip(ui.ctx(), &devices.into()));
    if response.on_hover_text(hover).clicked() {
        commands.push(devices);
    }
}

/// Line above the Generate button: seconds of the next picture, and to its first preview. Nothing
/// while they are not known.
pub(crate) fn time_line(ui: &mut Ui, state: &State) {
    let (palette, board) = (theme::palette(ui), &state.devices.board);
    let Some(time) = board.times.predicted().filter(|_| state.shared.screen != Screen::Devices) else { return };
    let recipe = &state.shared.next.recipe;
    let upscales = recipe.hires.as_ref().is_some_and(|hires| hires.upscaler.is_some());
    let is_loaded = state.shared.chosen_resident().is_some();
    let words = time_sentence(time, state.shared.picture_count(), is_loaded, upscales);
    let color = if is_too_slow(time.loaded_secs()) { palette.warn } else { palette.weak };
    let hover = tr!("devices-predicted-from-measurements-on", details = details(time));
    ui.add(Label::new(RichText::new(words).color(color)).wrap()).on_hover_text(hover);
}

/// Seconds of each phase of a picture.
fn details(time: &TimePrediction) -> String {
    let parts = [
        (tr!("devices-load"), time.load_secs),
        (tr!("devices-encode"), time.encode_secs),
        (tr!("devices-denoise"), time.denoise_secs),
        (tr!("devices-decode"), time.decode_secs),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(_, secs)| *secs > 0.0).map(|(what, secs)| format!("{what} {}", seconds(*secs))).collect();
    tr!("devices-of-a-picture-a", parts = parts.join(", "), seconds = seconds(time.step_secs))
}

/// Hint beside the Generate button that memory does not suffice, with a remedy. It does not block
/// the button.
pub(crate) fn shortage_hint(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let (palette, board) = (theme::palette(ui), &state.devices.board);
    if board.estimate_pending || state.shared.screen == Screen::Devices {
        return;
    }
    let Some(shortage) = board.shortage() else { return };
    let has_remedy = board.visible_plan().is_some() || !board.remedies.is_empty();
    let technical: Vec<String> = board.shortfalls().iter().map(|(device, phase, bytes)| shortfall(device, *phase, *bytes)).collect();
    let words = RichText::new(shortage.sentence(has_remedy)).color(palette.warn);
    ui.add(Label::new(words).wrap()).on_hover_text(technical.join("\n"));
    if matches!(board.suggestion, Suggestion::Plan(_)) {
        ui.horizontal(|ui| {
            if board.visible_plan().is_some() {
                command_button(ui, state, commands, Command::ApplyPlan);
            }
            command_button(ui, state, commands, WindowCommand::SetScreen(Screen::Devices));
        });
    } else {
        let best = board.remedies.get(..1).unwrap_or_default();
        suggestion::remedies(ui, state, commands, best, Command::ApplyRemedy);
    }
}

/// What a device lacks, in the words of the board.
pub(super) fn shortfall(device: &str, phase: Phase, bytes: u64) -> String {
    tr!("devices-lacks-in-the-phase", device, bytes = memory_size(bytes), phase = phase.label())
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::format::GIB;
    use atelier_core::placement::{Assignment, Module, Placement, WeightLocation};

    #[test]
    fn a_device_is_told_with_what_runs_and_what_only_lives_there() {
        let device = |name: &str, kind| Device {
            name: name.into(),
            description: String::new(),
            kind,
            gpu: None,
            memory_total_bytes: GIB,
            memory_free_bytes: GIB,
            memory_allocated_bytes: 0,
        };
        let mut placement = Placement::all_on("GPU0");
        placement.set(Module::Llm, Assignment { runs_on: "GPU0".into(), weights: WeightLocation::Device("CPU".into()) });
        let devices = vec![device("GPU0", DeviceKind::Gpu), device("GPU1", DeviceKind::Gpu), device("CPU", DeviceKind::Cpu)];
        let mut board = Board::default();
        (board.devices, board.modules, board.placement) = (devices, vec![Module::Diffusion, Module::Llm], Some(placement));
        let summary: Vec<_> = in_use(&board).into_iter().map(|it| (it.name.as_str(), modules_on(&board, it).join(", "))).collect();
        assert_eq!(summary, [("GPU0", "diffusion, text encoder".to_owned()), ("CPU", "text encoder weights".to_owned())]);
    }
}
