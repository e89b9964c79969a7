//! Where panels lie beside and over the view. Those that a person opens over a picture take no room
//! of it, so it keeps its size and place.

use eframe::egui::{Area, Context, Frame, Id, Margin, Order, Rect, Stroke, Ui};

use crate::gui::shared::Screen;
use crate::gui::side_panel::SIDE_WIDTH;
use crate::gui::state::State;
use crate::gui::theme;

/// Width of the queue's panel, in points; it fits into the place of the one on the left.
pub(crate) const QUEUE_WIDTH: f32 = 336.0;
/// Width of the panel of layers, in points.
pub(crate) const LAYERS_WIDTH: f32 = 256.0;
/// Points that the view keeps beside the panels: where it cannot, the queue takes the place of the
/// settings.
const MIN_VIEW_WIDTH: f32 = 300.0;
/// Points from which on a bar of buttons has room beside the panels.
const MIN_BAR_WIDTH: f32 = 240.0;

/// Where the queue's panel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueuePlace {
    Closed,
    /// In the place of the panel on the left.
    Settings,
    /// Beside the view, which gets narrower.
    Beside,
    /// Over the right edge of the view.
    Over,
}

impl QueuePlace {
    pub(crate) fn of(state: &State, ctx: &Context) -> Self {
        let is_crowded = ctx.content_rect().width() < SIDE_WIDTH + QUEUE_WIDTH + MIN_VIEW_WIDTH;
        match state.shared.screen {
            _ if !state.queue.is_open => Self::Closed,
            _ if is_crowded && state.shared.side_panel.is_shown(ctx) => Self::Settings,
            Screen::Create => Self::Over,
            Screen::Devices | Screen::Models | Screen::Gallery => Self::Beside,
        }
    }
}

/// The part of the view, which lies here, that the queue does not lie over.
pub(crate) fn beside_queue(state: &State, ctx: &Context, view: Rect) -> Rect {
    // Where everything but the picture is hidden, the queue is too.
    let is_over = QueuePlace::of(state, ctx) == QueuePlace::Over && !state.canvas.hides_panels;
    if is_over { without_right(view, QUEUE_WIDTH) } else { view }
}

/// The part of the canvas, which lies here, that neither queue nor layers lie over; all of it where
/// a bar of buttons would have no room in that.
pub(crate) fn beside_panels(state: &State, ctx: &Context, canvas: Rect) -> Rect {
    let mut free = beside_queue(state, ctx, canvas);
    if state.canvas.has_layers_panel() {
        free = without_right(free, LAYERS_WIDTH);
    }
    if free.width() < MIN_BAR_WIDTH { canvas } else { free }
}

/// A rectangle without so many points at its right edge.
pub(crate) fn without_right(rect: Rect, width: f32) -> Rect {
    rect.with_max_x((rect.right() - width).max(rect.left()))
}

/// Draws a panel that lies over a view, here.
pub(crate) fn panel_over(ui: &Ui, id: Id, place: Rect, margin: Margin, add: impl FnOnce(&mut Ui)) {
    let palette = theme::palette(ui);
    let area = Area::new(id).order(Order::Middle).fixed_pos(place.min).default_size(place.size()).constrain(false).fade_in(false);
    area.show(ui.ctx(), |ui| {
        ui.set_clip_rect(place);
        Frame::new().fill(palette.panel).inner_margin(margin).show(ui, |ui| {
            let size = place.size() - margin.sum();
            ui.set_min_size(size);
            ui.set_max_size(size);
            add(ui);
        });
        ui.painter().vline(place.left() + 0.5, place.y_range(), Stroke::new(1.0, palette.line));
    });
}
