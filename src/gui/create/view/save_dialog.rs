//! The dialog that saves a picture elsewhere: where the system has no file dialog the place is typed
//! here, and a JPEG has a quality.

use atelier_language::tr;
use eframe::egui::{Id, Label, RichText, TextEdit, Ui};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::create::save_dialog::{MAX_QUALITY, MIN_QUALITY, SaveDialog};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, WHOLE, bold, command_button, default_button, line_edit_with_undo, slider_row};

pub(crate) fn save_dialog(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(dialog) = state.create.save_dialog.as_deref() else { return };
    let mut edited = dialog.clone();
    let mut pressed = Commands::default();
    let closes = widgets::modal(ui, tr!("create-save-picture"), |ui| {
        let palette = theme::palette(ui);
        ui.add(Label::new(bold(tr!("create-save-a-copy-of-this-picture")).size(theme::TITLE).color(palette.strong)).wrap());
        if dialog.is_typed {
            place(ui, state, &mut edited);
        } else {
            ui.add(Label::new(RichText::new(&dialog.path).color(palette.text)).wrap());
        }
        if edited.has_quality() {
            let hover = tr!("create-quality-of-the-jpeg");
            slider_row(ui, tr!("create-quality"), &mut edited.quality, MIN_QUALITY..=MAX_QUALITY, &WHOLE, hover);
        }
        if edited.is_replacing() {
            ui.add(Label::new(RichText::new(tr!("create-there-is-a-file")).color(palette.warn)).wrap());
        }
        ui.add_space(8.0);
        widgets::last_row(ui, |ui| {
            command_button(ui, state, &mut pressed, Command::SetSaveDialog(None));
            default_button(ui, state, &mut pressed, Command::Save);
        });
    });
    if closes {
        commands.push(Command::SetSaveDialog(None));
        return;
    }
    // What was typed in the frame of a button comes first.
    if edited != *dialog {
        commands.push(Command::SetSaveDialog(Some(Box::new(edited))));
    }
    commands.append(pressed);
}

/// The field for the place, and the formats, of which the ending says the chosen one.
fn place(ui: &mut Ui, state: &State, dialog: &mut SaveDialog) {
    let mut path = dialog.path.clone();
    let wide = ui.available_width();
    let edit = TextEdit::singleline(&mut path).id(Id::unique("path to save")).hint_text(tr!("create-folder-and-name-of"));
    let field = line_edit_with_undo(ui, wide, edit)
        .on_hover_text(tr!("create-where-the-copy-goes"))
        .accessible_name(tr!("create-path-of-the-copy"));
    if state.create.focus_dialog {
        field.request_focus();
    }
    if path != dialog.path {
        *dialog = dialog.with_path(path);
    }
    ui.horizontal(|ui| {
        for (name, of_format) in dialog.in_each_format() {
            let is_chosen = of_format.ending() == dialog.ending();
            if ui.selectable_label(is_chosen, name).on_hover_text(tr!("create-save-in-this-format")).clicked() {
                *dialog = of_format;
            }
        }
    });
}
