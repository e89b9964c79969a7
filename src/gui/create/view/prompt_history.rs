//! The list of earlier prompts, with a search.

use atelier_language::tr;
use eframe::egui::{Button, Id, Label, Popup, PopupCloseBehavior, RichText, ScrollArea, TextEdit, Ui, vec2};

use crate::gui::bidi;
use crate::gui::command::{Command as AnyCommand, Commands, keys_text};
use crate::gui::create::Command;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bare_icon, command_control};

/// Width of the list and most height, in points.
const WIDTH: f32 = 420.0;
const HEIGHT: f32 = 360.0;
/// Prompts that are shown at once.
const MAX_SHOWN: usize = 60;

/// Draws the button that opens the list.
pub(crate) fn history_button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let history = &state.create.prompts;
    if history.prompts().is_empty() {
        return;
    }
    let keys = [Command::OlderPrompt, Command::NewerPrompt].map(|command| {
        let shortcut = AnyCommand::from(command).shortcut();
        shortcut.map(|it| keys_text(ui.ctx(), it.keys)).unwrap_or_default()
    });
    let hover = tr!("create-prompts-of-earlier-pictures", keys = keys[0], keys_2 = keys[1]);
    let button = bare_icon(ui, Icon::History, tr!("create-earlier-prompts")).on_hover_text(hover);
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(tr!("create-earlier-prompts")).show(
        |ui| {
            ui.set_width(WIDTH);
            let mut search = history.search.clone();
            let edit = TextEdit::singleline(&mut search).hint_text(tr!("common-search")).id(Id::unique("search of prompts"));
            let field = widgets::line_edit_with_undo(ui, WIDTH, edit)
                .on_hover_text(tr!("create-search-by-words-of"))
                .accessible_name(tr!("create-search-prompts"));
            if ui.memory(|memory| memory.focused().is_none()) {
                field.request_focus();
            }
            if search != history.search {
                commands.push(Command::SearchPrompts(search));
            }
            ScrollArea::vertical().id_salt("earlier prompts").max_height(HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
                let mut is_empty = true;
                for prompt in history.found().take(MAX_SHOWN) {
                    is_empty = false;
                    let line = prompt.replace('\n', " ");
                    let words = bidi::line(ui, &line, theme::palette(ui).text, WIDTH - 2.0 * ui.spacing().button_padding.x);
                    let button = Button::new(words).right_text("").frame_when_inactive(false).min_size(vec2(WIDTH, ROW_HEIGHT));
                    let chosen = command_control(ui, state, commands, Command::UsePrompt(prompt.clone()), |ui| {
                        ui.add_sized(vec2(WIDTH, ROW_HEIGHT), button).on_hover_text(prompt).accessible_name(line.as_str())
                    });
                    if chosen.clicked() {
                        ui.close();
                    }
                }
                if is_empty {
                    ui.add(Label::new(RichText::new(tr!("create-no-earlier-prompt-matches")).color(theme::palette(ui).weak)).wrap());
                }
            });
        },
    );
}
