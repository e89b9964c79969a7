//! Text field with a button.

use atelier_language::tr;
use eframe::egui::{Button, Key, TextEdit, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::devices::command::Command;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::widgets;
use crate::gui::widgets::command_control;

/// Text field with a button; Enter presses the button.
pub(crate) fn input_line(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    typed: &str,
    hint: &str,
    change: fn(Option<String>) -> Command,
    take: &Command,
) {
    ui.horizontal(|ui| {
        let mut text = typed.to_owned();
        let wide = ui.available_width() - 56.0 - ui.spacing().item_spacing.x;
        let id = eframe::egui::Id::unique(("typed", hint));
        let opened = ui.ctx().read_response(id).is_none();
        let edit = TextEdit::singleline(&mut text).id(id).hint_text(hint.to_owned());
        let response = widgets::line_edit_with_undo(ui, wide, edit).on_hover_text(tr!("devices-type-it-then-press")).accessible_name(hint);
        if opened {
            response.request_focus();
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let button = command_control(ui, state, commands, take.clone(), |ui| {
            ui.add(Button::new(take.label()).min_size(vec2(56.0, widgets::ROW_HEIGHT)))
        });
        if entered {
            commands.push(take.clone());
        } else if text != typed && !button.clicked() {
            commands.push(change(Some(text)));
        }
    });
}
