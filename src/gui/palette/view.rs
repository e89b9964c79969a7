//! The command palette.

use eframe::egui::{Align, Button, Id, Key, Layout, RichText, ScrollArea, TextEdit, Ui, vec2};

use crate::gui::command::{self, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::palette::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, line_edit_with_undo};

/// Height of the list, in points.
const LIST_HEIGHT: f32 = 320.0;

/// True while it is open.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.palette.is_open
}

/// Draws it, where it is open.
pub(crate) fn palette(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if !state.palette.is_open {
        return;
    }
    let found = found(state, &state.palette.search);
    let chosen = state.palette.chosen.min(found.len().saturating_sub(1));
    let (up, down, enter) = ui.input_mut(|input| {
        let mut key = |key| input.consume_key(eframe::egui::Modifiers::NONE, key);
        (key(Key::ArrowUp), key(Key::ArrowDown), key(Key::Enter))
    });
    if up || down {
        let step = if down { 1 } else { found.len().saturating_sub(1) };
        commands.push(Command::Choose((chosen + step) % found.len().max(1)));
    }
    let mut run = found.get(chosen).filter(|_| enter).cloned();
    let closes = widgets::modal(ui, "command palette", |ui| {
        let mut search = state.palette.search.clone();
        let wide = ui.available_width();
        let edit = TextEdit::singleline(&mut search).id(Id::unique("command palette search")).hint_text("Find a command");
        let response = line_edit_with_undo(ui, wide, edit);
        let response = response.on_hover_text(Command::Search(String::new()).tooltip()).accessible_name("Find a command");
        if !response.has_focus() {
            response.request_focus();
        }
        if search != state.palette.search {
            commands.push(Command::Search(search));
        }
        ui.add_space(4.0);
        ScrollArea::vertical().id_salt("commands").max_height(LIST_HEIGHT).auto_shrink([false, false]).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            for (at, command) in found.iter().enumerate() {
                if row(ui, state, command, at == chosen, up || down) {
                    run = Some(command.clone());
                }
            }
            if found.is_empty() {
                ui.label(RichText::new("No command matches.").color(theme::palette(ui).weak));
            }
        });
    });
    if let Some(command) = run {
        commands.push(Command::Close);
        commands.push(command);
    } else if closes {
        commands.push(Command::Close);
    }
}

/// A command with its key; true where it was clicked.
fn row(ui: &mut Ui, state: &State, command: &command::Command, is_chosen: bool, follows: bool) -> bool {
    let palette = theme::palette(ui);
    let enabled = command.enabled(state);
    let key = command.key_text(ui.ctx());
    let colour = if enabled.is_ok() { palette.text } else { palette.weak };
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        let button = Button::selectable(is_chosen, RichText::new(command.label()).color(colour))
            .right_text(RichText::new(key).size(theme::SMALL).color(palette.weak))
            .truncate()
            .min_size(vec2(ui.available_width(), ROW_HEIGHT - 2.0));
        let hover = match enabled {
            Ok(()) => command.tooltip().to_owned(),
            Err(reason) => format!("{}\n{reason}", command.tooltip()),
        };
        let response = ui.add(button).on_hover_text(hover).accessible_name(command.label());
        if is_chosen && follows {
            response.scroll_to_me(None);
        }
        response.clicked() && enabled.is_ok()
    })
    .inner
}

/// The commands whose words hold every word of the search; those whose names begin so come first,
/// and those that can be done now.
fn found(state: &State, search: &str) -> Vec<command::Command> {
    let words: Vec<String> = search.split_whitespace().map(str::to_lowercase).collect();
    let rank = |command: &command::Command| {
        let label = command.label().to_lowercase();
        let begins = words.first().is_none_or(|word| label.split_whitespace().any(|part| part.starts_with(word.as_str())));
        let holds = |text: &str| words.iter().all(|word| text.contains(word.as_str()));
        let is_match = holds(&label) || holds(&format!("{label} {}", command.tooltip().to_lowercase()));
        is_match.then_some((command.enabled(state).is_err(), !begins, !holds(&label)))
    };
    let mut found: Vec<_> = command::Command::all().into_iter().filter_map(|command| Some((rank(&command)?, command))).collect();
    found.sort_by_key(|(rank, command)| (*rank, command.label()));
    found.into_iter().map(|(_, command)| command).collect()
}
