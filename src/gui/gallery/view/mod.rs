//! Drawing of the Gallery view: grid, large look, comparison, side panel, dialogs.

mod cell;
mod compare;
mod details;
mod dialogs;
mod grid;
mod look;
mod settings_table;
mod side;

use eframe::egui::{Context, Event, Key, Modifiers, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::gallery;
use crate::gui::gallery::command::{COMMAND_KEYS, PLAIN_KEYS};
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::state::Mode;
use crate::gui::shared::Screen;
use crate::gui::state::State;

pub(crate) use side::side_panel;

/// Part of the width by which an arrow key moves the divider.
const DIVIDER_STEP: f32 = 0.02;

/// The view, right of the side panel.
pub(crate) fn main_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    state.gallery.thumbnails.begin_frame();
    match &state.gallery.mode {
        Mode::Grid => grid::grid_panel(ui, state, commands),
        Mode::Look(view) => look::look_panel(ui, state, commands, *view),
        Mode::Compare(comparison) => compare::compare_panel(ui, state, commands, comparison),
    }
    dialogs::dialog(ui, state, commands);
}

/// True while a dialog of this view is open, which then has the keys.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.shared.screen == Screen::Gallery && state.gallery.dialog.is_some()
}

/// Turns keys of this view into commands.
pub(crate) fn keys(ctx: &Context, state: &State, commands: &mut Commands, typing: bool) {
    let view = &state.gallery;
    let mut push = |command: gallery::Command| commands.push(Command::Gallery(command));
    if typing {
        return;
    }
    if view.can_restore && ctx.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Z)) {
        push(gallery::Command::Restore);
    }
    for (modifiers, key, command) in COMMAND_KEYS {
        if ctx.input_mut(|input| input.consume_key(*modifiers, *key)) {
            push(command.clone());
        }
    }
    if ctx.input(|input| input.events.iter().any(|event| matches!(event, Event::Copy))) {
        push(gallery::Command::CopyPicture);
    }
    // Letters, digits and arrows belong to whatever has the keyboard, unless that is a cell or nothing.
    let focused = ctx.memory(eframe::egui::Memory::focused);
    let on_cell = view.current().is_some_and(|id| focused == Some(cell::id(id)));
    if focused.is_some() && !on_cell {
        return;
    }
    if view.mode != Mode::Grid && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
        push(gallery::Command::CloseLook);
    }
    if let Mode::Compare(comparison) = &view.mode {
        for (key, by) in [(Key::ArrowLeft, -DIVIDER_STEP), (Key::ArrowRight, DIVIDER_STEP)] {
            if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
                push(gallery::Command::SetDivider(comparison.divider + by));
            }
        }
        if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::X)) {
            push(gallery::Command::SwapCompared);
        }
        for (key, mode) in [Key::Num1, Key::Num2, Key::Num3, Key::Num4].into_iter().zip(CompareMode::ALL) {
            if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
                push(gallery::Command::SetCompareMode(mode));
            }
        }
        if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Z)) {
            push(gallery::Command::ToggleActualSize);
        }
        return;
    }
    let at = view.cursor;
    let layout = grid::last_layout(ctx);
    let page = (ctx.content_rect().height() / layout.side() as f32).floor().max(1.0) as isize;
    let is_grid = view.mode == Mode::Grid;
    let last = view.found.ids.len().saturating_sub(1);
    // A key without Shift matches with it too, so that comes first.
    for extends in [true, false] {
        let modifiers = if extends { Modifiers::SHIFT } else { Modifiers::NONE };
        let moves: [(Key, Box<dyn Fn(usize) -> usize>); 8] = [
            (Key::ArrowLeft, Box::new(|at| layout.step(at, -1))),
            (Key::ArrowRight, Box::new(|at| layout.step(at, 1))),
            (Key::ArrowUp, Box::new(|at| if is_grid { layout.row_step(at, -1) } else { layout.step(at, -1) })),
            (Key::ArrowDown, Box::new(|at| if is_grid { layout.row_step(at, 1) } else { layout.step(at, 1) })),
            (Key::PageUp, Box::new(|at| if is_grid { layout.row_step(at, -page) } else { layout.step(at, -1) })),
            (Key::PageDown, Box::new(|at| if is_grid { layout.row_step(at, page) } else { layout.step(at, 1) })),
            (Key::Home, Box::new(|_| 0)),
            (Key::End, Box::new(|_| last)),
        ];
        for (key, step) in moves {
            if ctx.input_mut(|input| input.consume_key(modifiers, key)) && !view.found.ids.is_empty() {
                let is_first = at.is_none() && key != Key::End;
                push(gallery::Command::MoveTo(if is_first { 0 } else { step(at.unwrap_or_default()) }, extends && is_grid));
            }
        }
    }
    for (key, command) in PLAIN_KEYS {
        if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, *key)) {
            push(command.clone());
        }
    }
    if ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter)) {
        push(gallery::Command::UseSettings);
    }
}
