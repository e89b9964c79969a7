//! Time of a device in a phase, predicted and measured, below its memory.

use eframe::egui::{Align2, FontId, Painter, Pos2, Rect, Sense, Ui, vec2};

use crate::gui::devices::board::Board;
use crate::gui::devices::view::memory_bar::marker;
use crate::gui::theme;
use crate::gui::theme::Palette;
use atelier_core::format::{decimal, duration, seconds};
use atelier_core::placement::Phase;
use atelier_language::tr;

/// Height of a row of times, in points.
pub(crate) const ROW: f32 = 13.0;

/// Rows of times that a column has.
pub(crate) fn rows(board: &Board) -> f32 {
    match board.times.predicted() {
        None => 0.0,
        Some(_) if board.times.has_measured() => 2.0,
        Some(_) => 1.0,
    }
}

/// Height of the line of time, in points.
const LINE: f32 = 4.0;

/// Height that the line of time takes with the space above it, in points.
pub(crate) fn line_height(board: &Board) -> f32 {
    if board.times.predicted().is_some() { LINE + 5.0 } else { 0.0 }
}

/// Line of a picture's whole time, with the parts in which a device works; those of the phase that
/// all bars show stand out.
pub(crate) fn line(ui: &mut Ui, board: &Board, device: &str, shown: Option<Phase>) {
    let Some(time) = board.times.predicted() else { return };
    let palette = theme::palette(ui);
    ui.add_space(2.0);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    ui.painter().rect_filled(rect, LINE / 2.0, palette.line);
    let x = |part: f64| rect.left() + rect.width() * part as f32;
    for (phase, start, end) in board.times.timeline(device) {
        let color = if shown.is_none_or(|shown| shown == phase) { palette.accent } else { palette.accent.gamma_multiply(0.45) };
        // A gap between two parts, and something to see of a short one.
        let right = (x(end) - 1.0).max(x(start) + 1.0).min(rect.right());
        ui.painter().rect_filled(Rect::from_x_y_ranges(x(start)..=right, rect.y_range()), LINE / 2.0, color);
    }
    response.on_hover_text(tr!("devices-when-is-busy-in", device, seconds = seconds(time.total_secs)));
}

/// Seconds of a device in a phase.
pub(crate) struct PhaseTimes {
    predicted: f64,
    measured: Option<f64>,
}

impl PhaseTimes {
    /// Times of a device in a phase; `None` where they are not known, or it has nothing to do.
    pub(crate) fn of(board: &Board, device: &str, phase: Phase) -> Option<Self> {
        Some(Self { predicted: board.times.phase_secs(device, phase)?, measured: board.times.measured_phase_secs(device, phase) })
    }

    /// Both in words: "8.2 s, measured 8.9 s (8.5 % more)".
    pub(crate) fn words(&self) -> String {
        match self.measured {
            Some(measured) => {
                tr!(
                    "devices-measured-2",
                    seconds = seconds(self.predicted),
                    seconds_2 = seconds(measured),
                    error_text = error_text(measured, self.predicted)
                )
            }
            None => seconds(self.predicted),
        }
    }

    /// The words behind the pointer; of denoising, with the time of a step.
    pub(crate) fn hover(&self, board: &Board, phase: Phase) -> String {
        let step =
            board.times.predicted().filter(|_| phase == Phase::Denoise).map(|it| tr!("devices-a-step", seconds = seconds(it.step_secs)));
        tr!("devices-time", value = self.words(), step = step.unwrap_or_default())
    }

    /// Paints what is predicted, and below it what was measured, behind the mark of measured
    /// values.
    pub(crate) fn paint(&self, painter: &Painter, at: Pos2, palette: &Palette) {
        let font = || FontId::proportional(theme::SMALL);
        painter.text(at, Align2::LEFT_TOP, short(self.predicted), font(), palette.text);
        if let Some(measured) = self.measured {
            let row = at + vec2(0.0, ROW);
            marker(painter, row + vec2(3.5, 6.0), palette.strong);
            painter.text(row + vec2(10.0, 0.0), Align2::LEFT_TOP, short(measured), font(), palette.text);
        }
    }
}

/// Seconds where there is little room, in their largest unit: `1.8 min`.
fn short(secs: f64) -> String {
    match secs {
        ..0.05 => format!("<{} s", decimal(0.1, 1)),
        ..60.0 => duration(secs as f32),
        ..3600.0 => format!("{} min", decimal(secs / 60.0, 1)),
        _ => format!("{} h", decimal(secs / 3600.0, 1)),
    }
}

/// Error of a prediction in words: " (1.3 % more)"; empty if there is none.
pub(crate) fn error_text(measured: f64, predicted: f64) -> String {
    if predicted <= 0.0 {
        return String::new();
    }
    let percent = (measured / predicted - 1.0) * 100.0;
    let shown = format!("{:.1}", percent.abs());
    match percent {
        _ if percent.abs() < 0.05 => String::new(),
        0.0.. => tr!("devices-percent-more", percent = shown),
        _ => tr!("devices-percent-less", percent = shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_in_per_cent_and_none_is_not_told() {
        assert_eq!(error_text(1013.0, 1000.0), " (1.3 % more)");
        assert_eq!(error_text(900.0, 1000.0), " (10.0 % less)");
        assert_eq!((error_text(1000.0, 1000.0), error_text(5.0, 0.0)), (String::new(), String::new()));
    }

    #[test]
    fn times_say_what_was_measured_beside_what_was_predicted() {
        assert_eq!(PhaseTimes { predicted: 8.2, measured: None }.words(), "8.2 s");
        assert_eq!(PhaseTimes { predicted: 8.0, measured: Some(8.4) }.words(), "8 s, measured 8.4 s (5.0 % more)");
        assert_eq!([0.01, 6.0, 75.0, 9000.0].map(short), ["<0.1 s", "6 s", "1.2 min", "2.5 h"]);
    }
}
