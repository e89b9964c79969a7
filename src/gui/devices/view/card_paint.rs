//! Content and painting of a card.

use eframe::egui::{Align2, Color32, CornerRadius, FontId, Painter, Rect, Response, Shape, Stroke, StrokeKind, Ui, pos2, vec2};

use crate::gui::devices::board::Board;
use crate::gui::devices::view::names::module_title;
use crate::gui::theme;
use crate::gui::theme::Palette;
use atelier_core::format::memory_size;
use atelier_core::placement::{Module, WeightLocation};
use atelier_language::tr;

/// Height of the runtime half, in points.
pub(crate) const RUNTIME_HEIGHT: f32 = 46.0;

/// Height of the weights half, in points.
pub(crate) const WEIGHTS_HEIGHT: f32 = 27.0;

/// Side of a small button on a card, in points.
pub(crate) const BUTTON: f32 = 22.0;

pub(crate) const RADIUS: u8 = 7;

/// Content of a card, taken from the board.
#[derive(Clone, Debug)]
pub(crate) struct CardContent {
    pub(crate) title: String,
    pub(crate) label: &'static str,
    /// Bytes of compute buffers; `None` if not known.
    pub(crate) compute: Option<u64>,
    /// Bytes of weights copied to the runtime device.
    pub(crate) staged: u64,
    /// Weights are copied in pieces.
    pub(crate) in_pieces: bool,
    pub(crate) weights: Option<u64>,
    pub(crate) on_disk: bool,
    /// Both halves are on one device.
    pub(crate) joined: bool,
    pub(crate) dim: bool,
}

impl CardContent {
    pub(crate) fn of(board: &Board, module: Module) -> Option<Self> {
        let assignment = board.placement.as_ref()?.assignment(module);
        let predicted = board.prediction.as_ref().and_then(|it| it.modules.get(&module));
        Some(Self {
            title: module_title(module),
            label: module.label(),
            compute: predicted.map(|it| it.compute_bytes),
            staged: predicted.map_or(0, |it| if it.weights.is(&it.runs_on) { 0 } else { it.staged_bytes }),
            in_pieces: predicted.is_some_and(|it| it.in_pieces),
            weights: predicted.map(|it| it.weight_bytes),
            on_disk: assignment.weights == WeightLocation::Disk,
            joined: assignment.weights.is(&assignment.runs_on),
            dim: board.estimate_pending,
        })
    }
}

const fn corners(top: bool, bottom: bool) -> CornerRadius {
    let (top, bottom) = (if top { RADIUS } else { 0 }, if bottom { RADIUS } else { 0 });
    CornerRadius { nw: top, ne: top, sw: bottom, se: bottom }
}

/// Paints the runtime half.
pub(crate) fn paint_runtime(painter: &Painter, rect: Rect, content: &CardContent, palette: &Palette, dragged: bool, hovered: bool) {
    let fill = if hovered || dragged { palette.control } else { palette.raised };
    let corner = corners(true, !content.joined);
    if dragged {
        painter.rect_filled(rect.translate(vec2(0.0, 5.0)).expand(2.0), corner, palette.shadow);
    }
    painter.rect(rect, corner, fill, Stroke::new(1.0, if dragged { palette.accent } else { palette.line }), StrokeKind::Inside);
    let color = |color: Color32| if content.dim { palette.weak } else { color };
    let inside = painter.with_clip_rect(rect.with_max_x(rect.right() - 2.0 * BUTTON - 2.0).intersect(painter.clip_rect()));
    let left = rect.left() + 11.0;
    let name = painter.layout_job(theme::bold_job(&content.title, theme::BODY, palette.strong));
    inside.galley(pos2(left, rect.top() + 6.0), name, palette.strong);
    let line = painter.with_clip_rect(rect.shrink(3.0).intersect(painter.clip_rect()));
    let y = rect.top() + 33.0;
    let mut x = left;
    match content.compute {
        Some(bytes) => {
            x = dotted(&line, pos2(x, y), palette.compute, &memory_size(bytes), color(palette.text));
            if content.staged > 0 {
                let words = if content.in_pieces {
                    tr!("devices-in-pieces", staged = memory_size(content.staged))
                } else {
                    memory_size(content.staged)
                };
                dotted(&line, pos2(x + 8.0, y), palette.staged, &words, color(palette.text));
            }
        }
        None => {
            line.text(pos2(x, y), Align2::LEFT_CENTER, tr!("devices-not-known-yet"), FontId::proportional(theme::SMALL), palette.weak);
        }
    }
}

/// Paints the weights half.
pub(crate) fn paint_weights(painter: &Painter, rect: Rect, content: &CardContent, palette: &Palette, dragged: bool, hovered: bool) {
    let fill = if hovered || dragged { palette.control } else { palette.raised };
    let corner = corners(!content.joined, true);
    if dragged && !content.joined {
        painter.rect_filled(rect.translate(vec2(0.0, 5.0)).expand(2.0), corner, palette.shadow);
    }
    painter.rect(rect, corner, fill, Stroke::new(1.0, if dragged { palette.accent } else { palette.line }), StrokeKind::Inside);
    let line = painter.with_clip_rect(rect.shrink(3.0).intersect(painter.clip_rect()));
    let words = match content.weights {
        Some(bytes) if content.joined => tr!("devices-weights", bytes = memory_size(bytes)),
        Some(bytes) => format!("{} {}", memory_size(bytes), content.label),
        None => tr!("devices-weights-2").to_owned(),
    };
    let color = if content.dim { palette.weak } else { palette.text };
    let dot = if content.on_disk { palette.weak } else { palette.resident };
    dotted(&line, pos2(rect.left() + 11.0, rect.center().y), dot, &words, color);
}

/// Paints the card of a whole model, with words below its name.
pub(crate) fn paint_model(painter: &Painter, rect: Rect, title: &str, words: &str, palette: &Palette, dragged: bool, hovered: bool) {
    let fill = if hovered || dragged { palette.control } else { palette.raised };
    if dragged {
        painter.rect_filled(rect.translate(vec2(0.0, 5.0)).expand(2.0), RADIUS, palette.shadow);
    }
    painter.rect(rect, RADIUS, fill, Stroke::new(1.0, if dragged { palette.accent } else { palette.line }), StrokeKind::Inside);
    let inside = painter.with_clip_rect(rect.shrink(3.0).intersect(painter.clip_rect()));
    let name = painter.layout_job(theme::bold_job(title, theme::BODY, palette.strong));
    inside.galley(pos2(rect.left() + 11.0, rect.top() + 6.0), name, palette.strong);
    let at = pos2(rect.left() + 11.0, rect.top() + 33.0);
    inside.text(at, Align2::LEFT_CENTER, words, FontId::proportional(theme::SMALL), palette.text);
}

/// Paints a dot in a colour of the legend, and words; returns the right end of the words.
fn dotted(painter: &Painter, at: eframe::egui::Pos2, dot: Color32, words: &str, color: Color32) -> f32 {
    painter.rect_filled(Rect::from_center_size(at + vec2(4.0, 0.0), vec2(8.0, 8.0)), 2.0, dot);
    painter.text(at + vec2(12.0, 0.0), Align2::LEFT_CENTER, words, FontId::proportional(theme::SMALL), color).right()
}

/// Paints the ring of a card that has the keyboard.
pub(crate) fn focus_ring(ui: &Ui, response: &Response, rect: Rect, palette: &Palette) {
    if response.has_focus() {
        ui.painter().rect_stroke(rect, RADIUS, Stroke::new(1.5, palette.accent), StrokeKind::Inside);
    }
}

/// Paints a planned card, dashed.
pub(crate) fn paint_planned(painter: &Painter, rect: Rect, words: &str, palette: &Palette) {
    let rect = rect.shrink(1.0);
    painter.rect_filled(rect, RADIUS, palette.accent.gamma_multiply(0.12));
    let corners = [rect.left_top(), rect.right_top(), rect.right_bottom(), rect.left_bottom(), rect.left_top()];
    painter.extend(Shape::dashed_line(&corners, Stroke::new(1.5, palette.accent), 5.0, 4.0));
    let inside = painter.with_clip_rect(rect.shrink(3.0).intersect(painter.clip_rect()));
    inside.text(pos2(rect.left() + 10.0, rect.center().y), Align2::LEFT_CENTER, words, FontId::proportional(theme::SMALL), palette.text);
}
