//! Drawing of the Models view: grid of cards, details of one of them, Hugging Face page, side
//! panel, dialogs.

mod add;
mod card;
mod controls;
mod detail;
mod dialogs;
mod downloads;
mod grid;
mod hub;
mod side;

use eframe::egui::{CentralPanel, Context, Event, Frame, Key, Margin, Modifiers, Panel, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::models;
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::theme;

use controls::columns_id;
pub(crate) use side::side_panel;

/// Width of the details, in points.
const DETAIL_WIDTH: f32 = 384.0;
/// Least width in which the details stand beside the grid, in points.
const MIN_WIDTH_FOR_BOTH: f32 = 720.0;

/// The view, right of the side panel.
pub(crate) fn main_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let whole = ui.available_rect_before_wrap();
    let view = &state.models;
    if view.hub.query.is_some() {
        hub::hub_panel(ui, state, commands);
    } else if let Some(card) = view.open_card() {
        if whole.width() >= MIN_WIDTH_FOR_BOTH {
            let frame = Frame::new().fill(palette.panel);
            Panel::right("model details").resizable(false).exact_size(DETAIL_WIDTH).show_separator_line(false).frame(frame).show(
                ui,
                |ui| {
                    detail::detail_panel(ui, state, commands, card);
                },
            );
            CentralPanel::no_frame().show(ui, |ui| grid::grid_panel(ui, state, commands));
        } else {
            let frame = Frame::new().fill(palette.panel).inner_margin(Margin::ZERO);
            CentralPanel::no_frame().frame(frame).show(ui, |ui| detail::detail_panel(ui, state, commands, card));
        }
    } else {
        grid::grid_panel(ui, state, commands);
    }
    dialogs::licence_prompt(ui, state, commands);
    dialogs::size_prompt(ui, state, commands);
    dialogs::removal(ui, state, commands);
    dialogs::copy(ui, state, commands);
}

/// True while a dialog of this view is open, which then has the keys.
pub(crate) fn has_dialog(state: &State) -> bool {
    let view = &state.models;
    let has_question = view.licence_prompt.is_some() || view.size_prompt.is_some() || view.removal.is_some() || view.copy_dialog.is_some();
    state.shared.screen == Screen::Models && has_question
}

/// Turns keys of this view into commands: arrows between cards, "/" to search, Escape to close the
/// details; pasted text is added.
pub(crate) fn keys(ctx: &Context, state: &State, commands: &mut Commands, typing: bool) {
    let mut push = |command| commands.push(Command::Models(command));
    let view = &state.models;
    if typing {
        return;
    }
    if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Slash)) {
        push(models::Command::FocusSearch);
    }
    let pasted = ctx.input(|input| {
        input.events.iter().find_map(|event| if let Event::Paste(text) = event { Some(text.trim().to_owned()) } else { None })
    });
    if let Some(text) = pasted.filter(|it| !it.is_empty()) {
        push(models::Command::AddPaths(text.lines().map(Into::into).collect()));
    }
    if view.is_open && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
        push(models::Command::CloseDetails);
    }
    // Arrows belong to whatever has the keyboard, unless that is a card or nothing.
    let focused = ctx.memory(eframe::egui::Memory::focused);
    let on_card = view.selected.as_deref().is_some_and(|id| focused == Some(card::id(id)));
    if view.hub.query.is_some() || (focused.is_some() && !on_card) {
        return;
    }
    let columns = ctx.data(|data| data.get_temp::<usize>(columns_id())).unwrap_or(1) as isize;
    for (key, by) in [(Key::ArrowLeft, -1), (Key::ArrowRight, 1), (Key::ArrowUp, -columns), (Key::ArrowDown, columns)] {
        if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
            push(models::Command::MoveCursor(by));
        }
    }
}
