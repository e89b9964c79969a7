//! Use of a device by phase, and the phase that all bars show.

use eframe::egui::{Id, Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::gui::devices::board::Board;
use crate::gui::devices::view::memory_bar::Bar;
use crate::gui::devices::view::phase_times::{PhaseTimes, ROW, error_text, rows};
use crate::gui::state::State;
use crate::gui::theme;
use atelier_core::device::Device;
use atelier_core::format::{gib_with_tenth, memory_size};
use atelier_core::placement::Phase;
use atelier_language::tr;

/// Height of the uses by phase, in points: memory, and below it the times that are known.
pub(crate) fn height(board: &Board) -> f32 {
    33.0 + ROW * rows(board)
}

/// Use by phase; all bars show the phase under the pointer.
pub(crate) fn phases(ui: &mut Ui, state: &State, device: &Device, wide: f32) {
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let Some(prediction) = board.prediction.as_ref().and_then(|it| it.device(&device.name)) else {
        ui.allocate_exact_size(vec2(wide, height(board)), Sense::hover());
        return;
    };
    let (whole, _) = ui.allocate_exact_size(vec2(wide, height(board)), Sense::hover());
    let width = wide / Phase::ALL.len() as f32;
    let shown = visible_phase(ui);
    for (n, phase) in Phase::ALL.into_iter().enumerate() {
        let rect = Rect::from_min_size(whole.min + vec2(width * n as f32, 0.0), vec2(width - 2.0, whole.height()));
        let used = prediction.in_phase(phase).total_bytes();
        let measured = board.measured_bytes(&device.name, phase);
        let response = ui.interact(rect, Id::unique(("phase", &device.name, phase)), Sense::click());
        let value_text = match measured {
            Some(bytes) => tr!(
                "devices-measured-3",
                used = memory_size(used),
                bytes = memory_size(bytes),
                error_text = error_text(bytes as f64, used as f64)
            ),
            None => memory_size(used),
        };
        let time = PhaseTimes::of(board, &device.name, phase);
        let time_text = time.as_ref().map_or_else(String::new, |it| format!("; {}", it.words()));
        let name = format!("{} {}: {value_text}{time_text}", device.name, phase.label());
        response.widget_info(|| WidgetInfo::selected(Role::Button, true, shown == Some(phase), &name));
        update_phase(ui, &response, phase);
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
        let label = if width < 46.0 { short_label(phase) } else { phase.label() };
        painter.text(
            rect.min + vec2(4.0, 2.0),
            eframe::egui::Align2::LEFT_TOP,
            label,
            eframe::egui::FontId::proportional(theme::SMALL),
            palette.weak,
        );
        let value = if used == 0 { "–".to_owned() } else { gib_with_tenth(used) };
        painter.text(
            rect.min + vec2(4.0, 14.0),
            eframe::egui::Align2::LEFT_TOP,
            value,
            eframe::egui::FontId::proportional(theme::SMALL),
            color,
        );
        if let Some(time) = &time {
            time.paint(&painter, rect.min + vec2(4.0, 14.0 + ROW), &palette);
        }
        let share = (used as f64 / prediction.limit_bytes.max(1) as f64).min(1.0) as f32;
        let line = Rect::from_min_size(pos2(rect.left() + 4.0, rect.bottom() - 3.5), vec2((rect.width() - 8.0) * share, 2.5));
        ui.painter().rect_filled(line, 1.0, if over { palette.error } else { palette.resident });
        let memory = Bar::of(state, device, Some(phase)).words(&palette);
        response.on_hover_text(time.map_or(memory.clone(), |it| format!("{memory}\n{}", it.hover(board, phase))));
    }
}

fn short_label(phase: Phase) -> &'static str {
    match phase {
        Phase::Load => tr!("devices-load"),
        Phase::Encode => tr!("devices-enc"),
        Phase::Denoise => tr!("devices-den"),
        Phase::Decode => tr!("devices-dec"),
    }
}

fn chosen_phase_id() -> Id {
    Id::unique("phase chosen")
}

fn hovered_phase_id() -> Id {
    Id::unique("phase pointed at")
}

/// Phase that all bars show: the one under the pointer in this frame or the last, else the chosen
/// one.
pub(crate) fn visible_phase(ui: &Ui) -> Option<Phase> {
    let frame = ui.ctx().cumulative_frame_nr();
    let pointed: Option<(Phase, u64)> = ui.data(|data| data.get_temp(hovered_phase_id()));
    let pointed = pointed.filter(|(_, at)| frame <= at + 1).map(|(phase, _)| phase);
    pointed.or_else(|| ui.data(|data| data.get_temp::<Option<Phase>>(chosen_phase_id())).flatten())
}

pub(crate) fn update_phase(ui: &Ui, response: &Response, phase: Phase) {
    let frame = ui.ctx().cumulative_frame_nr();
    if response.hovered() || response.has_focus() {
        let before: Option<(Phase, u64)> = ui.data(|data| data.get_temp(hovered_phase_id()));
        if before.map(|(phase, _)| phase) != Some(phase) {
            // Columns on the left are already drawn.
            ui.ctx().request_repaint();
        }
        ui.data_mut(|data| data.insert_temp(hovered_phase_id(), (phase, frame)));
    }
    if response.clicked() {
        ui.data_mut(|data| {
            let chosen = data.get_temp_mut_or_default::<Option<Phase>>(chosen_phase_id());
            *chosen = if *chosen == Some(phase) { None } else { Some(phase) };
        });
    }
}

/// Forgets the phase under the pointer once the pointer has left it.
pub(crate) fn end_of_frame(ui: &Ui) {
    let frame = ui.ctx().cumulative_frame_nr();
    let last: Option<(Phase, u64)> = ui.data(|data| data.get_temp(hovered_phase_id()));
    if last.is_some_and(|(_, at)| at != frame) {
        ui.data_mut(|data| data.remove::<(Phase, u64)>(hovered_phase_id()));
        ui.ctx().request_repaint();
    }
}
