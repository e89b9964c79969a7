//! The command palette.

use atelier_language::tr;
use eframe::egui::{Align, Button, Id, Key, Label, Layout, RichText, ScrollArea, TextEdit, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::palette::search::{self, Found};
use crate::gui::palette::{Command, shortcuts};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bold, line_edit_with_undo};

/// Height of the list, in points.
const LIST_HEIGHT: f32 = 320.0;
/// Width of a column of the list of keys and of the keys in it, and what the window keeps around the
/// list, in points.
const COLUMN_WIDTH: f32 = 320.0;
const KEYS_WIDTH: f32 = 124.0;
const LINE_HEIGHT: f32 = 16.0;
const SHEET_MARGIN: f32 = 150.0;

/// True while it is open.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.palette.is_open || state.palette.shows_shortcuts
}

/// Draws the list of keys, where it is open.
pub(crate) fn shortcut_sheet(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if !state.palette.shows_shortcuts {
        return;
    }
    let palette = theme::palette(ui);
    let window = ui.ctx().content_rect().size();
    let columns = ((window.x - SHEET_MARGIN) / COLUMN_WIDTH).floor().clamp(1.0, 3.0);
    let closes = widgets::wide_modal(ui, tr!("palette-keyboard-shortcuts-2"), columns * COLUMN_WIDTH, |ui| {
        ui.label(bold(tr!("palette-keyboard-shortcuts")).size(theme::TITLE).color(palette.strong));
        ui.add_space(4.0);
        ScrollArea::vertical().max_height(window.y - SHEET_MARGIN).auto_shrink([false, true]).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 3.0;
            let lines = shortcut_lines(&shortcuts::groups(ui.ctx()));
            let of_column = lines.len().div_ceil(columns as usize).max(1);
            ui.horizontal_top(|ui| {
                for column in lines.chunks(of_column) {
                    ui.vertical(|ui| {
                        ui.set_width(COLUMN_WIDTH - ui.spacing().item_spacing.x);
                        for line in column {
                            shortcut_line(ui, line);
                        }
                    });
                }
            });
        });
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let response = widgets::command_button(ui, state, commands, Command::ShowShortcuts(false));
            if ui.memory(eframe::egui::Memory::focused).is_none() {
                response.request_focus();
            }
        });
    });
    if closes {
        commands.push(Command::ShowShortcuts(false));
    }
}

/// A line of the list of keys: a heading, or keys and what they do.
enum ShortcutLine {
    Heading(&'static str),
    Keys(String, &'static str),
}

fn shortcut_lines(groups: &[shortcuts::KeyGroup]) -> Vec<ShortcutLine> {
    let of_group = |group: &shortcuts::KeyGroup| {
        let keys: Vec<_> = group.keys.iter().map(|(keys, words)| ShortcutLine::Keys(keys.clone(), words)).collect();
        [ShortcutLine::Heading(group.name)].into_iter().chain(keys)
    };
    groups.iter().flat_map(of_group).collect()
}

fn shortcut_line(ui: &mut Ui, line: &ShortcutLine) {
    let palette = theme::palette(ui);
    ui.allocate_ui_with_layout(vec2(ui.available_width(), LINE_HEIGHT), Layout::left_to_right(Align::Center), |ui| match line {
        ShortcutLine::Heading(name) => drop(ui.label(bold(*name).color(palette.strong))),
        ShortcutLine::Keys(keys, words) => {
            ui.allocate_ui_with_layout(vec2(KEYS_WIDTH, LINE_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
                ui.set_min_width(KEYS_WIDTH);
                ui.add(Label::new(RichText::new(keys).size(theme::SMALL).color(palette.strong)).truncate());
            });
            ui.add(Label::new(RichText::new(*words).size(theme::SMALL).color(palette.text)).truncate()).on_hover_text(*words);
        }
    });
}

/// Draws it, where it is open.
pub(crate) fn palette(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if !state.palette.is_open {
        return;
    }
    let found = search::found(state, &state.palette.search);
    let chosen = state.palette.chosen.min(found.len().saturating_sub(1));
    let (up, down, enter) = ui.input_mut(|input| {
        let mut key = |key| input.consume_key(eframe::egui::Modifiers::NONE, key);
        (key(Key::ArrowUp), key(Key::ArrowDown), key(Key::Enter))
    });
    if up || down {
        let step = if down { 1 } else { found.len().saturating_sub(1) };
        commands.push(Command::Choose((chosen + step) % found.len().max(1)));
    }
    let mut run = found.get(chosen).filter(|_| enter).map(|it| it.index);
    let closes = widgets::modal(ui, tr!("palette-command-palette"), |ui| {
        let mut search = state.palette.search.clone();
        let wide = ui.available_width();
        let edit = TextEdit::singleline(&mut search).id(Id::unique("command palette search")).hint_text(tr!("palette-find-a-command"));
        let response = line_edit_with_undo(ui, wide, edit);
        let response = response.on_hover_text(Command::Search(String::new()).tooltip()).accessible_name(tr!("palette-find-a-command"));
        if !response.has_focus() {
            response.request_focus();
        }
        if search != state.palette.search {
            commands.push(Command::Search(search));
        }
        ui.add_space(4.0);
        ScrollArea::vertical().id_salt("commands").max_height(LIST_HEIGHT).auto_shrink([false, false]).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            for (at, found) in found.iter().enumerate() {
                if row(ui, state, found, at == chosen, up || down) {
                    run = Some(found.index);
                }
            }
            if found.is_empty() {
                ui.label(RichText::new(tr!("palette-no-command-matches")).color(theme::palette(ui).weak));
            }
        });
    });
    if let Some(index) = run {
        commands.push(Command::Run(index));
    } else if closes {
        commands.push(Command::Close);
    }
}

/// A command with its key; true where it was clicked.
fn row(ui: &mut Ui, state: &State, found: &Found, is_chosen: bool, follows: bool) -> bool {
    let palette = theme::palette(ui);
    let Found { command, name, .. } = found;
    let enabled = command.enabled(state);
    let key = command.key_text(ui.ctx());
    let colour = if enabled.is_ok() { palette.text } else { palette.weak };
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        let button = Button::selectable(is_chosen, RichText::new(name).color(colour))
            .right_text(RichText::new(key).size(theme::SMALL).color(palette.weak))
            .truncate()
            .min_size(vec2(ui.available_width(), ROW_HEIGHT - 2.0));
        let hover = match enabled {
            Ok(()) => command.tooltip().to_owned(),
            Err(reason) => format!("{}\n{reason}", command.tooltip()),
        };
        let response = ui.add(button).on_hover_text(hover).accessible_name(name);
        if is_chosen && follows {
            response.scroll_to_me(None);
        }
        response.clicked() && enabled.is_ok()
    })
    .inner
}
