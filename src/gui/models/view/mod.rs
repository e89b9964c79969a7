//! The Models view: a grid of cards, the details of one of them, what comes in, and what the library is made of.

mod add;
mod card;
mod detail;
mod dialogs;
mod downloads;
mod grid;
mod hub;
mod side;

use eframe::egui::{CentralPanel, Color32, Context, Event, Frame, Id, Key, Margin, Modifiers, Panel, RichText, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::models::Fits;
use crate::gui::models::ModelsCommand;
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::theme::Palette;

pub(crate) use side::side_panel;

/// Space round the grid, in points.
const EDGE: f32 = 14.0;
/// Width of the details, in points.
const DETAIL: f32 = 384.0;
/// Narrowest room in which details have a place beside the grid, in points.
const BOTH: f32 = 720.0;

/// Draws the view beside the panel on the left.
pub(crate) fn models_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let whole = ui.available_rect_before_wrap();
    let view = &state.models;
    if view.hub.text.is_some() {
        hub::hub_panel(ui, state, commands);
    } else if let Some(card) = view.opened() {
        if whole.width() >= BOTH {
            let frame = Frame::new().fill(palette.panel);
            Panel::right("model details").resizable(false).exact_size(DETAIL).show_separator_line(false).frame(frame).show(ui, |ui| {
                detail::detail_panel(ui, state, commands, card);
            });
            CentralPanel::no_frame().show(ui, |ui| grid::grid_panel(ui, state, commands));
        } else {
            let frame = Frame::new().fill(palette.panel).inner_margin(Margin::ZERO);
            CentralPanel::no_frame().frame(frame).show(ui, |ui| detail::detail_panel(ui, state, commands, card));
        }
    } else {
        grid::grid_panel(ui, state, commands);
    }
    dialogs::question(ui, state, commands);
    dialogs::removal(ui, state, commands);
}

/// Whether a question of this view waits for an answer, and has the keys.
pub(crate) fn is_asking(state: &State) -> bool {
    state.shared.screen == Screen::Models && (state.models.question.is_some() || state.models.removal.is_some())
}

/// The keys of this view: arrows between cards, "/" to search, Escape to close, and what is pasted.
pub(crate) fn keys(ctx: &Context, state: &State, commands: &mut Commands, typing: bool) {
    let mut push = |command| commands.push(Command::Models(command));
    let view = &state.models;
    if typing {
        return;
    }
    if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Slash)) {
        push(ModelsCommand::FocusSearch);
    }
    let pasted = ctx.input(|input| {
        input.events.iter().find_map(|event| if let Event::Paste(text) = event { Some(text.trim().to_owned()) } else { None })
    });
    if let Some(text) = pasted.filter(|it| !it.is_empty()) {
        push(ModelsCommand::AddThese(text.lines().map(Into::into).collect()));
    }
    if view.open && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
        push(ModelsCommand::Close);
    }
    // Arrows belong to whatever has the keyboard, unless that is a card or nothing.
    let focused = ctx.memory(eframe::egui::Memory::focused);
    let on_card = view.selected.as_deref().is_some_and(|id| focused == Some(card::id(id)));
    if view.hub.text.is_some() || (focused.is_some() && !on_card) {
        return;
    }
    let columns = ctx.data(|data| data.get_temp::<usize>(columns_id())).unwrap_or(1) as isize;
    for (key, by) in [(Key::ArrowLeft, -1), (Key::ArrowRight, 1), (Key::ArrowUp, -columns), (Key::ArrowDown, columns)] {
        if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
            push(ModelsCommand::Step(by));
        }
    }
}

/// Where it is kept how many cards stand beside each other.
fn columns_id() -> Id {
    Id::unique("model columns")
}

/// A button for a command, named after what it is done to: several of a kind are on the screen.
fn named_button(ui: &mut Ui, state: &State, commands: &mut Commands, command: ModelsCommand, of: &str) -> eframe::egui::Response {
    let name = name_of(&command, of);
    let button = eframe::egui::Button::new(command.label());
    crate::gui::widgets::command_control(ui, state, commands, Command::Models(command), |ui| ui.add(button).accessible_name(name))
}

/// An icon for a command, named after what it is done to.
fn named_icon(ui: &mut Ui, state: &State, commands: &mut Commands, icon: crate::gui::icons::Icon, command: ModelsCommand, of: &str) {
    let name = name_of(&command, of);
    crate::gui::widgets::command_control(ui, state, commands, Command::Models(command), |ui| crate::gui::widgets::bare_icon(ui, icon, &name));
}

fn name_of(command: &ModelsCommand, of: &str) -> String {
    format!("{} {of}", command.label().trim_end_matches('…')).trim().to_owned()
}

fn colour_of(fits: Fits, palette: &Palette) -> Color32 {
    match fits {
        Fits::Fits => palette.compute,
        Fits::Tight => palette.warn,
        Fits::TooBig => palette.error,
        Fits::Unknown => palette.weak,
    }
}

/// Small text that explains.
fn small(text: impl Into<String>, colour: Color32) -> RichText {
    RichText::new(text).size(theme::SMALL).color(colour)
}
