//! Grid of cards; only visible rows are drawn.

use eframe::egui::{Align, Layout, Rect, RichText, ScrollArea, Ui, UiBuilder, pos2, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::models;
use crate::gui::models::view::card;
use crate::gui::models::view::controls::{EDGE, columns_id, named_button};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bold, command_button};
use atelier_core::format::file_size;

/// Least width of a card, in points.
const MIN_CARD_WIDTH: f32 = 284.0;
/// Space between cards, in points.
const GAP: f32 = 10.0;
/// Height of a heading between cards, in points.
const HEADING_HEIGHT: f32 = 34.0;

/// Row of the grid: a heading, or the cards from the first index to before the second.
enum Row {
    Heading(String),
    Cards(usize, usize),
}

impl Row {
    const fn height(&self) -> f32 {
        match self {
            Self::Heading(_) => HEADING_HEIGHT,
            Self::Cards(..) => card::HEIGHT + GAP,
        }
    }
}

/// The grid, below a line with its totals.
pub(crate) fn grid_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let view = &state.models;
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        ui.add_space(EDGE);
        ui.label(RichText::new(summary(state)).color(palette.weak));
        if !view.shows_all() {
            command_button(ui, state, commands, Command::Models(models::Command::ShowAll));
        }
    });
    if view.shown.is_empty() {
        empty_grid(ui, state, commands);
        return;
    }
    let inner_width = ui.available_width() - 2.0 * EDGE;
    let columns = (((inner_width + GAP) / (MIN_CARD_WIDTH + GAP)).floor() as usize).max(1);
    let width = ((inner_width - GAP * (columns - 1) as f32) / columns as f32).floor();
    ui.data_mut(|data| data.insert_temp(columns_id(), columns));
    let rows = rows(state, columns);
    let total: f32 = rows.iter().map(Row::height).sum();
    ScrollArea::vertical().id_salt("models scroll").auto_shrink([false, false]).show_viewport(ui, |ui, seen| {
        ui.set_height(total + EDGE);
        let origin = ui.max_rect().min;
        let mut top = 0.0;
        let mut on_screen = (usize::MAX, 0);
        for row in &rows {
            let bottom = top + row.height();
            if let Row::Cards(from, to) = row
                && bottom > seen.top()
                && top < seen.bottom()
            {
                on_screen = (on_screen.0.min(*from), on_screen.1.max(*to));
            }
            let scrolls_here = view.focus_card && has_cursor(state, row);
            if scrolls_here {
                let at = Rect::from_min_max(pos2(origin.x, origin.y + top), pos2(origin.x + inner_width, origin.y + bottom));
                ui.scroll_to_rect(at, None);
            }
            if scrolls_here || (bottom > seen.top() && top < seen.bottom()) {
                draw(ui, state, commands, row, pos2(origin.x + EDGE, origin.y + top), width, inner_width);
            }
            top = bottom;
        }
        if on_screen != view.visible {
            commands.push(Command::Models(models::Command::SetVisible(on_screen.0, on_screen.1)));
        }
    });
}

fn summary(state: &State) -> String {
    let view = &state.models;
    if !view.is_known {
        return "Looking for models…".into();
    }
    let shown = view.shown.len();
    let mut words = if view.shows_all() {
        let here = view.library.cards.iter().filter(|it| it.availability.is_here()).count();
        format!("{here} on this machine, {} to download", view.library.cards.len() - here)
    } else {
        format!("{shown} of {} shown", view.library.cards.len())
    };
    if let Some(bytes) = view.library.total_bytes.filter(|it| *it > 0) {
        words = format!("{words} · {} on disk", file_size(bytes));
    }
    if !view.library.complete && view.library.listed {
        words.push_str(" · looking into files…");
    }
    words
}

fn rows(state: &State, columns: usize) -> Vec<Row> {
    let view = &state.models;
    let mut rows = Vec::new();
    let cards = |from: usize, to: usize| {
        let mut at = from;
        let mut rows = Vec::new();
        while at < to {
            rows.push(Row::Cards(at, (at + columns).min(to)));
            at += columns;
        }
        rows
    };
    if view.starter_count > 0 {
        rows.push(Row::Heading("Good first models for this machine".into()));
        rows.extend(cards(0, view.starter_count));
        rows.push(Row::Heading("All other models".into()));
    }
    rows.extend(cards(view.starter_count, view.shown.len()));
    rows
}

fn has_cursor(state: &State, row: &Row) -> bool {
    let view = &state.models;
    let Row::Cards(from, to) = row else { return false };
    let ids = (*from..*to).filter_map(|at| view.library.cards.get(*view.shown.get(at)?)).map(|it| it.id.as_str());
    view.selected.as_deref().is_some_and(|id| ids.into_iter().any(|it| it == id))
}

fn draw(ui: &mut Ui, state: &State, commands: &mut Commands, row: &Row, at: eframe::egui::Pos2, width: f32, inner_width: f32) {
    let view = &state.models;
    match row {
        Row::Heading(words) => {
            let rect = Rect::from_min_size(at, vec2(inner_width, HEADING_HEIGHT));
            ui.scope_builder(UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center)), |ui| {
                ui.label(bold(words).color(theme::palette(ui).strong));
            });
        }
        Row::Cards(from, to) => {
            for (column, place) in (*from..*to).enumerate() {
                let Some(index) = view.shown.get(place) else { continue };
                let (Some(card), status) = (view.library.cards.get(*index), view.statuses.get(*index)) else { continue };
                let min = at + vec2(column as f32 * (width + GAP), 0.0);
                card::card(
                    ui,
                    state,
                    commands,
                    card,
                    status.copied().unwrap_or_default(),
                    Rect::from_min_size(min, vec2(width, card::HEIGHT)),
                );
            }
        }
    }
}

/// Text in place of an empty grid.
fn empty_grid(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let view = &state.models;
    ui.vertical_centered(|ui| {
        ui.add_space(ui.available_height() * 0.28);
        let words = if view.is_known { "No model matches" } else { "Looking for models" };
        ui.label(bold(words).size(theme::HEADING).color(palette.strong));
        if view.is_known {
            ui.label(RichText::new("Use fewer words, or remove a filter.").color(palette.weak));
            if !view.search.trim().is_empty() {
                let of = format!("for {}", view.search.trim());
                named_button(ui, state, commands, models::Command::SearchHub, &of);
            }
        }
    });
}
