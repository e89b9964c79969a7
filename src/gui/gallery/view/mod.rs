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

use crate::gui::command::Commands;
use crate::gui::gallery;
use crate::gui::gallery::command::PLAIN_KEYS;
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::layout::Layout;
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

/// Turns keys of this view into commands, in the order in which they were pressed.
pub(crate) fn keys(ctx: &Context, state: &State, commands: &mut Commands, typing: bool) {
    if typing {
        return;
    }
    let view = &state.gallery;
    if ctx.input(|input| input.events.iter().any(|event| matches!(event, Event::Copy))) {
        commands.push(gallery::Command::CopyPicture);
    }
    // Letters, digits and arrows belong to whatever has the keyboard, unless that is a cell or
    // nothing.
    let focused = ctx.memory(eframe::egui::Memory::focused);
    // The cursor's cell gets it a frame after the cursor came there, so any cell counts.
    let has_keyboard = focused.is_none() || view.in_sight().any(|id| focused == Some(cell::id(id)));
    let layout = grid::last_layout(ctx);
    let page = (ctx.content_rect().height() / layout.side() as f32).floor().max(1.0) as isize;
    let mut cursor = view.cursor;
    ctx.input_mut(|input| {
        input.events.retain(|event| {
            let Event::Key { key, pressed: true, modifiers, .. } = event else { return true };
            let command = with_command_key(view, *key, *modifiers)
                .or_else(|| has_keyboard.then(|| moved(view, &layout, page, &mut cursor, *key, *modifiers)).flatten())
                .or_else(|| has_keyboard.then(|| plain(view, *key, *modifiers)).flatten());
            match command {
                Some(command) => {
                    commands.push(command);
                    false
                }
                None => true,
            }
        });
    });
}

/// Commands of keys that are pressed together with the command key.
fn with_command_key(view: &gallery::State, key: Key, modifiers: Modifiers) -> Option<gallery::Command> {
    if !modifiers.matches_exact(Modifiers::COMMAND) {
        return None;
    }
    match key {
        Key::Z if view.can_restore => Some(gallery::Command::Restore),
        Key::A => Some(gallery::Command::SelectAll),
        _ => None,
    }
}

/// Commands of the arrows and their like; `cursor` moves along, so that several of one frame add
/// up.
fn moved(
    view: &gallery::State,
    layout: &Layout,
    page: isize,
    cursor: &mut Option<usize>,
    key: Key,
    modifiers: Modifiers,
) -> Option<gallery::Command> {
    if !modifiers.matches_exact(Modifiers::NONE) && !modifiers.matches_exact(Modifiers::SHIFT) {
        return None;
    }
    if let Mode::Compare(comparison) = &view.mode {
        return match key {
            Key::ArrowLeft => Some(gallery::Command::SetDivider(comparison.divider - DIVIDER_STEP)),
            Key::ArrowRight => Some(gallery::Command::SetDivider(comparison.divider + DIVIDER_STEP)),
            _ => None,
        };
    }
    let is_grid = view.mode == Mode::Grid;
    let rows = |at: usize, rows: isize| if is_grid { layout.row_step(at, rows) } else { layout.step(at, rows.signum()) };
    let last = view.found.ids.len().checked_sub(1)?;
    let at = cursor.unwrap_or_default();
    let next = match key {
        Key::ArrowLeft => layout.step(at, -1),
        Key::ArrowRight => layout.step(at, 1),
        Key::ArrowUp => rows(at, -1),
        Key::ArrowDown => rows(at, 1),
        Key::PageUp => rows(at, -page),
        Key::PageDown => rows(at, page),
        Key::Home => 0,
        Key::End => last,
        _ => return None,
    };
    // The first arrow selects the first picture.
    let next = if cursor.is_none() && key != Key::End { 0 } else { next };
    *cursor = Some(next);
    Some(gallery::Command::MoveTo(next, modifiers.shift && is_grid))
}

/// Commands of keys that are pressed alone.
fn plain(view: &gallery::State, key: Key, modifiers: Modifiers) -> Option<gallery::Command> {
    if !modifiers.matches_exact(Modifiers::NONE) {
        return None;
    }
    if let Mode::Compare(_) = &view.mode {
        return match key {
            Key::Num1 | Key::Num2 | Key::Num3 | Key::Num4 => {
                let modes = [Key::Num1, Key::Num2, Key::Num3, Key::Num4].into_iter().zip(CompareMode::ALL);
                modes.into_iter().find(|(it, _)| *it == key).map(|(_, mode)| gallery::Command::SetCompareMode(mode))
            }
            Key::X => Some(gallery::Command::SwapCompared),
            Key::Z => Some(gallery::Command::ToggleActualSize),
            Key::Escape => Some(gallery::Command::CloseLook),
            _ => None,
        };
    }
    match key {
        Key::Escape if view.mode != Mode::Grid => Some(gallery::Command::CloseLook),
        Key::Enter => Some(gallery::Command::UseSettings),
        _ => PLAIN_KEYS.iter().find(|(it, _)| *it == key).map(|(_, command)| command.clone()),
    }
}
