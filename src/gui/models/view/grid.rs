//! Grid of cards; only visible rows are drawn.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use eframe::egui::{Align, Id, InputState, Layout, Pos2, Rect, RichText, ScrollArea, Ui, UiBuilder, pos2, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::models::view::card;
use crate::gui::models::view::controls::{EDGE, columns_id, named_button};
use crate::gui::models::{self, MachineMemory};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bold, command_button};
use atelier_core::format::file_size;
use atelier_language::tr;

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

/// Seconds within which two clicks are one double click.
const DOUBLE_CLICK_SECS: f64 = 0.5;
/// Points within which they are.
const DOUBLE_CLICK_REACH: f32 = 8.0;

/// The last two presses, the newest first: when, where, and how the cards lay then.
#[derive(Clone, Copy, Debug, Default)]
struct Presses([Option<(f64, Pos2, u64)>; 2]);

impl Presses {
    fn add(&mut self, now_secs: f64, at: Pos2, layout: u64) {
        self.0 = [Some((now_secs, at, layout)), self.0[0]];
    }

    /// True where the second click of a double click falls on what has come under the pointer after
    /// the first.
    fn is_slip(&self) -> bool {
        let [Some((now, at, layout)), Some((before, first_at, first_layout))] = self.0 else { return false };
        now - before < DOUBLE_CLICK_SECS && at.distance(first_at) < DOUBLE_CLICK_REACH && layout != first_layout
    }
}

/// A number for how the cards lie.
fn layout_of(state: &State, columns: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (columns, state.models.starter_count).hash(&mut hasher);
    for at in &state.models.shown {
        state.models.library.cards.get(*at).map(|it| &it.id).hash(&mut hasher);
    }
    hasher.finish()
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
    let is_slip = note_presses(ui, state, columns);
    let mut dropped = Commands::default();
    let commands_of_cards = if is_slip { &mut dropped } else { &mut *commands };
    let rows = rows(state, columns);
    let total: f32 = rows.iter().map(Row::height).sum();
    let scroll = ScrollArea::vertical().id_salt("models scroll").auto_shrink([false, false]).show_viewport(ui, |ui, seen| {
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
                draw(ui, state, commands_of_cards, row, pos2(origin.x + EDGE, origin.y + top), width, inner_width);
            }
            top = bottom;
        }
        on_screen
    });
    if scroll.inner != view.visible {
        commands.push(Command::Models(models::Command::SetVisible(scroll.inner.0, scroll.inner.1)));
    }
}

/// Takes note of where the cards are when the pointer is pressed; true while a click is a slip.
fn note_presses(ui: &Ui, state: &State, columns: usize) -> bool {
    let pointer = |input: &InputState| {
        let at = input.pointer.interact_pos().filter(|_| input.pointer.primary_pressed());
        (input.time, at, input.pointer.any_down() || input.pointer.any_click())
    };
    let (now, pressed_at, is_click) = ui.input(pointer);
    let id = Id::unique("presses over the models");
    let mut presses = ui.data(|data| data.get_temp::<Presses>(id)).unwrap_or_default();
    if let Some(at) = pressed_at {
        presses.add(now, at, layout_of(state, columns));
        ui.data_mut(|data| data.insert_temp(id, presses));
    }
    is_click && presses.is_slip()
}

fn summary(state: &State) -> String {
    let view = &state.models;
    if !view.is_known {
        return tr!("models-looking-for-models").into();
    }
    let shown = view.shown.len();
    let mut words = if view.shows_all() {
        let here = view.library.cards.iter().filter(|it| it.availability.is_here()).count();
        tr!("models-on-this-machine-to", here, here_2 = view.library.cards.len() - here)
    } else {
        tr!("models-of-shown", shown, cards = view.library.cards.len())
    };
    if let Some(bytes) = view.library.total_bytes.filter(|it| *it > 0) {
        words = tr!("models-on-disk-3", words, bytes = file_size(bytes));
    }
    if !view.library.complete && view.library.listed {
        words.push_str(tr!("models-looking-into-files"));
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
        let machine = match view.memory {
            Some(MachineMemory { gpu_bytes: None, .. }) => tr!("models-good-first-models-for"),
            _ => tr!("models-good-first-models-for-this-machine"),
        };
        let order = if view.library.about_secs.is_empty() { "" } else { tr!("models-the-quickest-first") };
        rows.push(Row::Heading(format!("{machine}{order}")));
        rows.extend(cards(0, view.starter_count));
        rows.push(Row::Heading(tr!("models-all-other-models").into()));
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

fn draw(ui: &mut Ui, state: &State, commands: &mut Commands, row: &Row, at: Pos2, width: f32, inner_width: f32) {
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
        let words = if view.is_known { tr!("models-no-model-matches") } else { tr!("models-looking-for-models-2") };
        ui.label(bold(words).size(theme::HEADING).color(palette.strong));
        if view.is_known {
            ui.label(RichText::new(tr!("models-use-fewer-words-or")).color(palette.weak));
            if !view.search.trim().is_empty() {
                let of = tr!("models-for", search = view.search.trim());
                named_button(ui, state, commands, models::Command::SearchHub, &of);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_click_of_a_double_click_is_dead_where_the_cards_have_moved() {
        let mut presses = Presses::default();
        assert!(!presses.is_slip());
        let at = pos2(40.0, 50.0);
        presses.add(1.0, at, 7);
        assert!(!presses.is_slip());
        presses.add(1.2, at, 7);
        assert!(!presses.is_slip(), "nothing has moved");
        presses.add(1.4, at, 8);
        assert!(presses.is_slip());
        presses.add(1.6, pos2(40.0, 90.0), 9);
        assert!(!presses.is_slip(), "that is at another place");
        presses.add(3.0, pos2(40.0, 90.0), 10);
        assert!(!presses.is_slip(), "that is another click");
    }
}
