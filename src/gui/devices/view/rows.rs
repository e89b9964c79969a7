//! The board: column headers, and a row with the card of each module.

use eframe::egui::{Align2, DragAndDrop, FontId, Id, Pos2, Rect, Sense, Shape, Stroke, Ui, UiBuilder, pos2, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::board::{Board, CardPart};
use crate::gui::devices::view::card_paint::{CardContent, RUNTIME_HEIGHT, WEIGHTS_HEIGHT, paint_planned};
use crate::gui::devices::view::drag::{DraggedCard, animated_rect, drop_zones, paint_dragged_card, start_drag};
use crate::gui::devices::view::grid::{COLUMN_WIDTH, DISK_SHARE, EDGE, GAP, Grid, PART_GAP, ROW_GAP};
use crate::gui::devices::view::names::module_title;
use crate::gui::devices::view::{card, column_header, studio_column};
use crate::gui::state::State;
use crate::gui::theme;
use atelier_core::placement::{Module, WeightLocation};
use atelier_language::tr;

pub(crate) fn board(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let board = &state.devices.board;
    let (locations, modules) = (card::locations(board), &board.modules);
    let available = ui.available_size();
    let studios = state.studios.kept.iter().map(|studio| studio.name.clone()).collect::<Vec<_>>();
    // The disk has a column too, which is narrower.
    let wide_columns = (locations.len() + studios.len()) as f32 - 1.0;
    let parts = wide_columns + DISK_SHARE;
    let header_height = column_header::height(board);
    let width = ((available.x - 2.0 * EDGE - GAP * wide_columns) / parts).clamp(COLUMN_WIDTH.0, COLUMN_WIDTH.1);
    let rows = modules.len() as f32 * (RUNTIME_HEIGHT + WEIGHTS_HEIGHT + PART_GAP + ROW_GAP);
    let height = (header_height + rows + 10.0).max(available.y - 6.0);
    let wide = width * parts + GAP * wide_columns + 2.0 * EDGE;
    let (area, _) = ui.allocate_exact_size(vec2(wide.max(available.x), height), Sense::hover());
    let mut left = area.left() + EDGE;
    let mut next_column = |width: f32| {
        let rect = Rect::from_min_size(pos2(left, area.top()), vec2(width, height));
        left += width + GAP;
        rect
    };
    let columns = locations.into_iter().map(|location| {
        let share = if location == WeightLocation::Disk { DISK_SHARE } else { 1.0 };
        (location, next_column(width * share))
    });
    let columns = columns.collect();
    let studios = studios.into_iter().map(|name| (name, next_column(width))).collect();
    let grid = Grid { columns, studios, rows_top: area.top() + header_height };
    for (location, rect) in &grid.columns {
        ui.painter().rect_filled(*rect, 10.0, palette.panel);
        let head = Rect::from_min_size(rect.min, vec2(rect.width(), header_height));
        match board.devices.iter().find(|device| location.is(&device.name)) {
            Some(device) => column_header::header(ui, state, commands, device, head),
            None => column_header::disk_header(ui, head),
        }
    }
    for (name, rect) in &grid.studios {
        ui.painter().rect_filled(*rect, 10.0, palette.panel);
        if let Some(studio) = state.studios.kept.named(name) {
            studio_column::column(ui, state, commands, studio, *rect);
        }
    }
    if state.shared.next.studio.is_some() {
        // The whole model stands there, and nothing of it here.
        return studio_column::drop_zones_of_model(ui, state, commands, &grid);
    }
    if modules.is_empty() {
        let at = pos2(area.center().x, grid.rows_top + 60.0);
        let words = tr!("devices-choose-a-model-to");
        ui.painter().text(at, Align2::CENTER_CENTER, words, FontId::proportional(theme::TITLE), palette.weak);
    }
    let dragged = DragAndDrop::payload::<DraggedCard>(ui.ctx());
    for (row, module) in modules.iter().enumerate() {
        let Some(content) = CardContent::of(board, *module) else { continue };
        let dragged = dragged.as_deref().filter(|dragged| dragged.module == *module);
        match dragged {
            Some(dragged) => {
                drop_zones(ui, board, commands, &grid, row, dragged);
                studio_column::drop_zones(ui, state, commands, &grid);
            }
            None => planned_places(ui, board, &grid, row, *module),
        }
        module_card(ui, state, commands, &grid, row, *module, &content, dragged, area.min);
        if let Some(dragged) = dragged {
            paint_dragged_card(ui, &content, dragged);
        }
    }
}

/// Both halves of a module's card, with an arrow between them if they are apart.
#[expect(clippy::too_many_arguments, reason = "all of them belong to one row of the board")]
fn module_card(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    grid: &Grid,
    row: usize,
    module: Module,
    content: &CardContent,
    dragged: Option<&DraggedCard>,
    origin: Pos2,
) {
    let Some(assignment) = state.devices.board.placement.as_ref().map(|it| it.assignment(module).clone()) else { return };
    let Some(runs) = grid.rect(&WeightLocation::Device(assignment.runs_on.clone()), row, CardPart::Runtime) else { return };
    let Some(weights) = grid.rect(&assignment.weights, row, CardPart::Weights) else { return };
    // The halves of an undivided card touch.
    let weights = if content.joined { weights.with_min_y(runs.bottom() - 1.0) } else { weights };
    let runs = animated_rect(ui, Id::unique(("glide", module, CardPart::Runtime)), runs, origin);
    let weights = animated_rect(ui, Id::unique(("glide", module, CardPart::Weights)), weights, origin);
    if !content.joined {
        weights_arrow(ui, runs, weights);
    }
    // A child UI, so that the cards do not widen the board.
    let mut ui = ui.new_child(UiBuilder::new().max_rect(ui.max_rect()));
    let drags_both = dragged.is_some_and(|dragged| dragged.part == CardPart::Runtime);
    ui.set_opacity(if drags_both { 0.35 } else { 1.0 });
    let response = card::runtime_half(&mut ui, state, commands, module, runs, content);
    start_drag(&response, module, CardPart::Runtime, runs);
    let drags_weights = dragged.is_some_and(|dragged| dragged.part == CardPart::Weights || content.joined);
    ui.set_opacity(if drags_weights { 0.35 } else { 1.0 });
    let response = card::weights_half(&mut ui, state, commands, module, weights, content);
    start_drag(&response, module, CardPart::Weights, weights);
}

/// Arrow from weights to the device that they are copied to.
fn weights_arrow(ui: &Ui, runs: Rect, weights: Rect) {
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
fn planned_places(ui: &Ui, board: &Board, grid: &Grid, row: usize, module: Module) {
    let palette = theme::palette(ui);
    let (Some(plan), Some(now)) = (board.visible_plan(), board.placement.as_ref().map(|it| it.assignment(module))) else { return };
    let then = plan.placement.assignment(module);
    if then.runs_on != now.runs_on
        && let Some(rect) = grid.rect(&WeightLocation::Device(then.runs_on.clone()), row, CardPart::Runtime)
    {
        paint_planned(ui.painter(), rect, &tr!("devices-here", module_title = module_title(module)), &palette);
    }
    if then.weights != now.weights
        && let Some(rect) = grid.rect(&then.weights, row, CardPart::Weights)
    {
        paint_planned(ui.painter(), rect, tr!("devices-weights-here-2"), &palette);
    }
}
