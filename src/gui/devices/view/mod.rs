//! The Devices view: the board of cards, the placement as text below it, and a side panel. It reads the state and pushes commands.

mod bar;
mod card;
mod column;
mod compact;
mod remote;
mod side;
mod text;

use std::collections::HashMap;

use eframe::egui::{
    Align, Align2, CursorIcon, DragAndDrop, FontId, Frame, Id, LayerId, Layout, Margin, Order, Panel, Pos2, Rect, RichText, ScrollArea,
    Sense, Shape, Stroke, StrokeKind, Ui, UiBuilder, Vec2, pos2, vec2,
};

use crate::gui::devices::board::{Board, Command, CardMove, CardPart, MoveOutcome};
use crate::gui::state::State;
use crate::gui::widgets::bold;
use crate::gui::command::{Command, Commands};
use crate::gui::theme;
use atelier_core::format::memory_size;
use atelier_core::placement::{Home, Module};
use card::{CardContent, RUNTIME_HEIGHT, WEIGHTS_HEIGHT};

pub(crate) use compact::{compact, shortage_hint};
pub(crate) use side::{remedies, side_panel};

/// Space between columns, in points.
const GAP: f32 = 8.0;
/// Space between the halves of a split card, in points.
const PART_GAP: f32 = 2.0;
/// Space between rows, in points.
const ROW_GAP: f32 = 13.0;
/// Least and greatest width of a device's column, in points.
const COLUMN_WIDTH: (f32, f32) = (164.0, 300.0);
/// Width of the disk's column relative to a device's.
const DISK_SHARE: f32 = 0.72;
/// Space around the board, in points.
const EDGE: f32 = 14.0;
/// Duration of a card's movement to its place, in seconds.
const MOVE_SECS: f64 = 0.13;

/// Payload of a drag: the card under the pointer.
#[derive(Clone, Debug)]
struct DraggedCard {
    module: Module,
    part: CardPart,
    /// Offset of the pointer from the card's corner.
    pointer_offset: Vec2,
    width: f32,
}

/// Positions of columns and rows.
struct Grid {
    columns: Vec<(Home, Rect)>,
    rows_top: f32,
}

impl Grid {
    fn lane(&self, home: &Home, row: usize, part: CardPart) -> Option<Rect> {
        let (_, column) = self.columns.iter().find(|(it, _)| it == home)?;
        let top = self.rows_top + row as f32 * (RUNTIME_HEIGHT + WEIGHTS_HEIGHT + PART_GAP + ROW_GAP);
        let (top, height) = match part {
            CardPart::Runtime => (top, RUNTIME_HEIGHT),
            CardPart::Weights => (top + RUNTIME_HEIGHT + PART_GAP, WEIGHTS_HEIGHT),
        };
        Some(Rect::from_min_size(pos2(column.left() + 8.0, top), vec2(column.width() - 16.0, height)))
    }
}

/// Draws the view beside the side panel.
pub(crate) fn board_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let whole = ui.available_rect_before_wrap();
    let margin = Margin { left: 14, right: 14, top: 8, bottom: 12 };
    Panel::bottom("placement text")
        .resizable(false)
        .show_separator_line(false)
        .frame(Frame::new().fill(palette.canvas).inner_margin(margin))
        .show(ui, |ui| text::text_panel(ui, state, commands));
    if state.devices.board.devices.is_empty() {
        ui.scope_builder(UiBuilder::new().layout(Layout::top_down(Align::Center)), |ui| {
            ui.add_space(whole.height() * 0.3);
            ui.label(bold("Looking for devices").size(theme::HEADING).color(palette.strong));
            ui.label(RichText::new("This takes a moment.").color(palette.weak));
        });
    } else {
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            ui.add_space(EDGE);
            bar::legend(ui);
        });
        ScrollArea::both().id_salt("board scroll").auto_shrink([false, false]).show(ui, |ui| board(ui, state, commands));
    }
    column::end_of_frame(ui);
}

fn board(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let (homes, modules) = (card::homes(board), &board.modules);
    let room = ui.available_size();
    let parts = homes.len() as f32 - 1.0 + DISK_SHARE;
    let width = ((room.x - 2.0 * EDGE - GAP * (homes.len() as f32 - 1.0)) / parts).clamp(COLUMN_WIDTH.0, COLUMN_WIDTH.1);
    let rows = modules.len() as f32 * (RUNTIME_HEIGHT + WEIGHTS_HEIGHT + PART_GAP + ROW_GAP);
    let height = (column::HEIGHT + rows + 10.0).max(room.y - 6.0);
    let wide = width * parts + GAP * (homes.len() as f32 - 1.0) + 2.0 * EDGE;
    let (area, _) = ui.allocate_exact_size(vec2(wide.max(room.x), height), Sense::hover());
    let mut left = area.left() + EDGE;
    let columns = homes.into_iter().map(|home| {
        let width = if home == Home::Disk { width * DISK_SHARE } else { width };
        let rect = Rect::from_min_size(pos2(left, area.top()), vec2(width, height));
        left += width + GAP;
        (home, rect)
    });
    let grid = Grid { columns: columns.collect(), rows_top: area.top() + column::HEIGHT };
    for (home, rect) in &grid.columns {
        ui.painter().rect_filled(*rect, 10.0, palette.panel);
        let head = Rect::from_min_size(rect.min, vec2(rect.width(), column::HEIGHT));
        match board.devices.iter().find(|device| home.is(&device.name)) {
            Some(device) => column::head(ui, state, commands, device, head),
            None => column::disk_head(ui, head),
        }
    }
    if modules.is_empty() {
        let at = pos2(area.center().x, grid.rows_top + 60.0);
        let words = "Choose a model, and its parts appear here as cards.";
        ui.painter().text(at, Align2::CENTER_CENTER, words, FontId::proportional(theme::TITLE), palette.weak);
    }
    let lifted = DragAndDrop::payload::<DraggedCard>(ui.ctx());
    for (row, module) in modules.iter().enumerate() {
        let Some(content) = CardContent::of(board, *module) else { continue };
        let held = lifted.as_deref().filter(|lifted| lifted.module == *module);
        match held {
            Some(held) => zones(ui, board, commands, &grid, row, held),
            None => ghosts(ui, board, &grid, row, *module),
        }
        cards_of(ui, state, commands, &grid, row, *module, &content, held, area.min);
        if let Some(held) = held {
            in_the_air(ui, &content, held);
        }
    }
}

/// Both halves of a module's card, with an arrow between them if they are apart.
#[expect(clippy::too_many_arguments, reason = "all of them belong to one row of the board")]
fn cards_of(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    grid: &Grid,
    row: usize,
    module: Module,
    content: &CardContent,
    held: Option<&DraggedCard>,
    origin: Pos2,
) {
    let Some(seat) = state.devices.board.placement.as_ref().map(|it| it.seat(module).clone()) else { return };
    let Some(runs) = grid.lane(&Home::Device(seat.runs_on.clone()), row, CardPart::Runtime) else { return };
    let Some(weights) = grid.lane(&seat.weights, row, CardPart::Weights) else { return };
    // The halves of an undivided card touch.
    let weights = if content.joined { weights.with_min_y(runs.bottom() - 1.0) } else { weights };
    let runs = glide(ui, Id::unique(("glide", module, CardPart::Runtime)), runs, origin);
    let weights = glide(ui, Id::unique(("glide", module, CardPart::Weights)), weights, origin);
    if !content.joined {
        way(ui, runs, weights);
    }
    // A child UI, so that the cards do not enlarge the board.
    let mut ui = ui.new_child(UiBuilder::new().max_rect(ui.max_rect()));
    let lifts_both = held.is_some_and(|held| held.part == CardPart::Runtime);
    ui.set_opacity(if lifts_both { 0.35 } else { 1.0 });
    let response = card::runs(&mut ui, state, commands, module, runs, content);
    lift(&response, module, CardPart::Runtime, runs);
    let lifts_weights = held.is_some_and(|held| held.part == CardPart::Weights || content.joined);
    ui.set_opacity(if lifts_weights { 0.35 } else { 1.0 });
    let response = card::weights(&mut ui, state, commands, module, weights, content);
    lift(&response, module, CardPart::Weights, weights);
}

fn lift(response: &eframe::egui::Response, module: Module, part: CardPart, rect: Rect) {
    if response.drag_started()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        response.dnd_set_drag_payload(DraggedCard { module, part, pointer_offset: pointer - rect.min, width: rect.width() });
    }
}

/// Arrow from weights to the device that they are copied to.
fn way(ui: &Ui, runs: Rect, weights: Rect) {
    let palette = theme::palette(ui);
    let to_the_right = weights.center().x < runs.center().x;
    let (from, to) = if to_the_right { (weights.right_center(), runs.left_bottom()) } else { (weights.left_center(), runs.right_bottom()) };
    let to = to - vec2(0.0, 10.0);
    let bend = vec2((to.x - from.x) * 0.5, 0.0);
    let stroke = Stroke::new(2.0, palette.staged);
    let curve = eframe::egui::epaint::CubicBezierShape::from_points_stroke(
        [from, from + bend, to - bend, to],
        false,
        eframe::egui::Color32::TRANSPARENT,
        stroke,
    );
    ui.painter().add(curve);
    let back = if to_the_right { -6.0 } else { 6.0 };
    let head = vec![to, to + vec2(back, -4.0), to + vec2(back, 4.0)];
    ui.painter().add(Shape::convex_polygon(head, palette.staged, Stroke::NONE));
}

/// The plan's places for a card, where they differ from its own.
fn ghosts(ui: &Ui, board: &Board, grid: &Grid, row: usize, module: Module) {
    let palette = theme::palette(ui);
    let (Some(plan), Some(now)) = (board.visible_plan(), board.placement.as_ref().map(|it| it.seat(module))) else { return };
    let then = plan.placement.seat(module);
    if then.runs_on != now.runs_on
        && let Some(rect) = grid.lane(&Home::Device(then.runs_on.clone()), row, CardPart::Runtime)
    {
        card::paint_ghost(ui.painter(), rect, &format!("{} here", card::title(module)), &palette);
    }
    if then.weights != now.weights
        && let Some(rect) = grid.lane(&then.weights, row, CardPart::Weights)
    {
        card::paint_ghost(ui.painter(), rect, "weights here", &palette);
    }
}

/// Drop zones of the dragged card, each with its outcome.
fn zones(ui: &mut Ui, board: &Board, commands: &mut Commands, grid: &Grid, row: usize, held: &DraggedCard) {
    let palette = theme::palette(ui);
    let parts: &[CardPart] = if held.part == CardPart::Runtime { &[CardPart::Runtime, CardPart::Weights] } else { &[CardPart::Weights] };
    let (pointer, released) = ui.input(|input| (input.pointer.latest_pos(), input.pointer.any_released()));
    for (home, _) in &grid.columns {
        for part in parts {
            let Some(rect) = grid.lane(home, row, *part) else { continue };
            let wanted = CardMove { module: held.module, part: *part, to: home.clone() };
            let outcome = board.outcome(&wanted);
            let pointed = pointer.is_some_and(|pointer| rect.expand(2.0).contains(pointer) && ui.clip_rect().contains(pointer));
            let what = if *part == CardPart::Runtime { "Run here" } else { "Weights here" };
            let (words, color) = match outcome {
                MoveOutcome::Unchanged => (String::new(), palette.weak),
                MoveOutcome::Fits => (what.to_owned(), palette.accent),
                MoveOutcome::Exceeds(bytes) => (format!("{what}: {} too much", memory_size(*bytes)), palette.warn),
                MoveOutcome::Impossible(_) => ("Not here".to_owned(), palette.weak),
            };
            let painter = ui.painter();
            if *outcome != MoveOutcome::Unchanged {
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
                    .show(|ui| ui.label(*reason));
                }
            }
            if pointed && released && outcome.is_allowed() {
                if let Some(pointer) = pointer {
                    start_glide(ui, held, pointer);
                }
                commands.push(Command::Move(wanted));
            }
        }
    }
}

/// Paints the dragged card under the pointer.
fn in_the_air(ui: &Ui, content: &CardContent, held: &DraggedCard) {
    let Some(pointer) = ui.input(|input| input.pointer.latest_pos()) else { return };
    let palette = theme::palette(ui);
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, Id::unique("lifted card")));
    let min = pointer - held.pointer_offset;
    match held.part {
        CardPart::Runtime => {
            let rect = Rect::from_min_size(min, vec2(held.width, RUNTIME_HEIGHT));
            card::paint_runs(&painter, rect, content, &palette, true, false);
            if content.joined {
                let below = Rect::from_min_size(rect.left_bottom() - vec2(0.0, 1.0), vec2(held.width, WEIGHTS_HEIGHT + PART_GAP));
                card::paint_weights(&painter, below, content, &palette, true, false);
            }
        }
        CardPart::Weights => {
            let content = CardContent { joined: false, ..content.clone() };
            card::paint_weights(&painter, Rect::from_min_size(min, vec2(held.width, WEIGHTS_HEIGHT)), &content, &palette, true, false);
        }
    }
    ui.ctx().request_repaint();
}

/// Movement of a card, in points from the board's corner.
#[derive(Clone, Copy, Debug)]
struct CardAnimation {
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
fn glide(ui: &Ui, id: Id, to: Rect, origin: Pos2) -> Rect {
    let now = ui.input(|input| input.time);
    let target = to.min - origin;
    let dropped: Option<Pos2> = ui.data_mut(|data| data.remove_temp(id.with("dropped")));
    let known: Option<CardAnimation> = ui.data(|data| data.get_temp(id));
    let glide = match known {
        Some(known) if (known.to - target).length() < 0.5 => CardAnimation { to: target, ..known },
        Some(known) => CardAnimation { from: dropped.map_or_else(|| known.at(now), |at| at - origin), to: target, start_secs: now },
        None => CardAnimation { from: target, to: target, start_secs: now - MOVE_SECS },
    };
    ui.data_mut(|data| data.insert_temp(id, glide));
    if now - glide.start_secs < MOVE_SECS {
        ui.ctx().request_repaint();
    }
    Rect::from_min_size(origin + glide.at(now), to.size())
}

/// Starts the movement of a dropped card at the pointer.
fn start_glide(ui: &Ui, held: &DraggedCard, pointer: Pos2) {
    let min = pointer - held.pointer_offset;
    let below = if held.part == CardPart::Runtime { vec2(0.0, RUNTIME_HEIGHT) } else { Vec2::ZERO };
    let all: HashMap<CardPart, Pos2> = [(CardPart::Runtime, min), (CardPart::Weights, min + below)].into();
    ui.data_mut(|data| {
        for (part, at) in all {
            data.insert_temp(Id::unique(("glide", held.module, part)).with("dropped"), at);
        }
    });
}
