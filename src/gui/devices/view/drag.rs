//! Dragging of cards: drop zones with their outcomes, the card under the pointer, and movement to a
//! new place.

use std::collections::HashMap;

use eframe::egui::{Align2, CursorIcon, FontId, Id, LayerId, Order, Pos2, Rect, Stroke, StrokeKind, Ui, Vec2, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::board::{Board, CardMove, CardPart, MoveOutcome};
use crate::gui::devices::command::Command;
use crate::gui::devices::view::card_paint::{CardContent, RUNTIME_HEIGHT, WEIGHTS_HEIGHT, paint_runtime, paint_weights};
use crate::gui::devices::view::grid::{Grid, PART_GAP};
use crate::gui::theme;
use atelier_core::format::memory_size;
use atelier_core::placement::Module;
use atelier_language::tr;

/// Duration of a card's movement to its place, in seconds.
pub(crate) const MOVE_SECS: f64 = 0.13;

/// Payload of a drag: the card under the pointer.
#[derive(Clone, Debug)]
pub(crate) struct DraggedCard {
    pub(crate) module: Module,
    pub(crate) part: CardPart,
    /// Offset of the pointer from the card's corner.
    pointer_offset: Vec2,
    width: f32,
}

pub(crate) fn start_drag(response: &eframe::egui::Response, module: Module, part: CardPart, rect: Rect) {
    if response.drag_started()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        response.dnd_set_drag_payload(DraggedCard { module, part, pointer_offset: pointer - rect.min, width: rect.width() });
    }
}

/// Drop zones of the dragged card, each with its outcome. A whole column takes the card, as its first
/// zone does where the pointer is beside all.
pub(crate) fn drop_zones(ui: &mut Ui, board: &Board, commands: &mut Commands, grid: &Grid, row: usize, dragged: &DraggedCard) {
    let palette = theme::palette(ui);
    let parts: &[CardPart] = if dragged.part == CardPart::Runtime { &[CardPart::Runtime, CardPart::Weights] } else { &[CardPart::Weights] };
    let (pointer, released) = ui.input(|input| (input.pointer.latest_pos(), input.pointer.any_released()));
    let over = pointer.filter(|pointer| ui.clip_rect().contains(*pointer)).and_then(|pointer| grid.place_at(pointer, row, parts));
    for (location, _) in &grid.columns {
        for part in parts {
            let Some(rect) = grid.rect(location, row, *part) else { continue };
            let card_move = CardMove { module: dragged.module, part: *part, to: location.clone() };
            let outcome = board.outcome(&card_move);
            let pointed = over.as_ref() == Some(&(location, *part));
            let what = if *part == CardPart::Runtime { tr!("devices-run-here") } else { tr!("devices-weights-here") };
            let (words, color) = match outcome {
                MoveOutcome::Unchanged => (String::new(), palette.weak),
                MoveOutcome::Fits => (what.to_owned(), palette.accent),
                MoveOutcome::Exceeds(bytes) => (tr!("devices-too-much-3", what, bytes = memory_size(bytes)), palette.warn),
                MoveOutcome::Impossible(_) => (tr!("devices-not-here").to_owned(), palette.weak),
            };
            let painter = ui.painter();
            if outcome != MoveOutcome::Unchanged {
                let strength = if pointed { 0.30 } else { 0.08 };
                painter.rect_filled(rect, 7.0, color.gamma_multiply(strength));
                painter.rect_stroke(rect, 7.0, Stroke::new(if pointed { 2.0 } else { 1.0 }, color), StrokeKind::Inside);
                let text = if pointed { palette.strong } else { palette.text };
                let inside = painter.with_clip_rect(rect.shrink(2.0).intersect(painter.clip_rect()));
                inside.text(rect.center(), Align2::CENTER_CENTER, words, FontId::proportional(theme::SMALL), text);
            }
            if pointed {
                let icon = if outcome.is_allowed() { CursorIcon::Grabbing } else { CursorIcon::NoDrop };
                ui.ctx().set_cursor_icon(icon);
                if let MoveOutcome::Impossible(reason) = outcome {
                    eframe::egui::Tooltip::always_open(
                        ui.ctx().clone(),
                        ui.layer_id(),
                        Id::unique("why not"),
                        eframe::egui::PopupAnchor::Pointer,
                    )
                    .show(|ui| ui.label(reason));
                }
            }
            if pointed && released && outcome.is_allowed() {
                if let Some(pointer) = pointer {
                    start_animation(ui, dragged, pointer);
                }
                commands.push(Command::Move(card_move));
            }
        }
    }
}

/// Paints the dragged card under the pointer.
pub(crate) fn paint_dragged_card(ui: &Ui, content: &CardContent, dragged: &DraggedCard) {
    let Some(pointer) = ui.input(|input| input.pointer.latest_pos()) else { return };
    let palette = theme::palette(ui);
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, Id::unique("lifted card")));
    let min = pointer - dragged.pointer_offset;
    match dragged.part {
        CardPart::Runtime => {
            let rect = Rect::from_min_size(min, vec2(dragged.width, RUNTIME_HEIGHT));
            paint_runtime(&painter, rect, content, &palette, true, false);
            if content.joined {
                let below = Rect::from_min_size(rect.left_bottom() - vec2(0.0, 1.0), vec2(dragged.width, WEIGHTS_HEIGHT + PART_GAP));
                paint_weights(&painter, below, content, &palette, true, false);
            }
        }
        CardPart::Weights => {
            let content = CardContent { joined: false, ..content.clone() };
            paint_weights(&painter, Rect::from_min_size(min, vec2(dragged.width, WEIGHTS_HEIGHT)), &content, &palette, true, false);
        }
    }
    ui.ctx().request_repaint();
}

/// Movement of a card, in points from the board's corner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CardAnimation {
    from: Vec2,
    to: Vec2,
    start_secs: f64,
}

impl CardAnimation {
    fn at(&self, now_secs: f64) -> Vec2 {
        let done = ((now_secs - self.start_secs) / MOVE_SECS).clamp(0.0, 1.0) as f32;
        // Ease-out.
        self.from + (self.to - self.from) * (1.0 - (1.0 - done).powi(3))
    }
}

/// Present rectangle of a card that moves to `to`.
pub(crate) fn animated_rect(ui: &Ui, id: Id, to: Rect, origin: Pos2) -> Rect {
    let now = ui.input(|input| input.time);
    let target = to.min - origin;
    let dropped: Option<Pos2> = ui.data_mut(|data| data.remove_temp(id.with("dropped")));
    let known: Option<CardAnimation> = ui.data(|data| data.get_temp(id));
    let animation = match known {
        Some(known) if (known.to - target).length() < 0.5 => CardAnimation { to: target, ..known },
        Some(known) => CardAnimation { from: dropped.map_or_else(|| known.at(now), |at| at - origin), to: target, start_secs: now },
        None => CardAnimation { from: target, to: target, start_secs: now - MOVE_SECS },
    };
    ui.data_mut(|data| data.insert_temp(id, animation));
    if now - animation.start_secs < MOVE_SECS {
        ui.ctx().request_repaint();
    }
    Rect::from_min_size(origin + animation.at(now), to.size())
}

/// Starts the movement of a dropped card at the pointer.
pub(crate) fn start_animation(ui: &Ui, dragged: &DraggedCard, pointer: Pos2) {
    let min = pointer - dragged.pointer_offset;
    let below = if dragged.part == CardPart::Runtime { vec2(0.0, RUNTIME_HEIGHT) } else { Vec2::ZERO };
    let all: HashMap<CardPart, Pos2> = [(CardPart::Runtime, min), (CardPart::Weights, min + below)].into();
    ui.data_mut(|data| {
        for (part, at) in all {
            data.insert_temp(Id::unique(("glide", dragged.module, part)).with("dropped"), at);
        }
    });
}
