//! Dialogs: name of a search that is kept, settings of an export.

use eframe::egui::{Label, RichText, TextEdit, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::gallery;
use crate::gui::gallery::state::Dialog;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{WHOLE, bold, command_button, default_button, last_row, line_edit_with_undo, modal, slider_row};
use atelier_language::tr;
use atelier_studio::gallery_service::ExportFormat;

/// Quality of a JPEG at first, 1 to 100.
const USUAL_QUALITY: u8 = 90;

/// The open dialog, where there is one.
pub(super) fn dialog(ui: &Ui, state: &State, commands: &mut Commands) {
    let Some(dialog) = &state.gallery.dialog else { return };
    let is_closed = modal(ui, tr!("gallery-gallery-dialog"), |ui| match dialog {
        Dialog::SaveSearch(name) => save_search(ui, state, commands, name),
        Dialog::Export(format, strips_metadata) => export(ui, state, commands, *format, *strips_metadata),
    });
    if is_closed {
        commands.push(Command::Gallery(gallery::Command::SetDialog(None)));
    }
}

fn title(ui: &mut Ui, words: &str) {
    let palette = theme::palette(ui);
    ui.add(Label::new(bold(words).size(theme::TITLE).color(palette.strong)).wrap());
}

fn save_search(ui: &mut Ui, state: &State, commands: &mut Commands, name: &str) {
    title(ui, tr!("gallery-save-this-search-2"));
    ui.add(Label::new(RichText::new(&state.gallery.search.text).color(theme::palette(ui).weak)).wrap());
    let mut text = name.to_owned();
    let wide = ui.available_width();
    let response = line_edit_with_undo(ui, wide, TextEdit::singleline(&mut text).hint_text(tr!("gallery-its-name")))
        .accessible_name(tr!("gallery-name-of-the-search"));
    if name.is_empty() && ui.memory(|memory| memory.focused().is_none()) {
        response.request_focus();
    }
    if text != name {
        commands.push(Command::Gallery(gallery::Command::SetDialog(Some(Dialog::SaveSearch(text)))));
    }
    buttons(ui, state, commands, gallery::Command::SaveSearch);
}

fn export(ui: &mut Ui, state: &State, commands: &mut Commands, format: ExportFormat, strips_metadata: bool) {
    let palette = theme::palette(ui);
    let count = state.gallery.target_count();
    title(ui, &if count == 1 { tr!("gallery-export-this-picture").to_owned() } else { tr!("gallery-export-pictures", count) });
    let (mut format, mut strips) = (format, strips_metadata);
    let before = (format, strips);
    ui.horizontal(|ui| {
        let quality = if let ExportFormat::Jpeg { quality } = format { quality } else { USUAL_QUALITY };
        for (choice, words, hover) in [
            (ExportFormat::Png, "PNG", tr!("gallery-lossless-the-largest-files")),
            (ExportFormat::Jpeg { quality }, "JPEG", tr!("gallery-small-files-that-every")),
            (ExportFormat::WebP, "WebP", tr!("gallery-lossless-smaller-than-png")),
        ] {
            ui.selectable_value(&mut format, choice, words).on_hover_text(hover);
        }
    });
    if let ExportFormat::Jpeg { quality } = &mut format {
        slider_row(ui, tr!("gallery-quality"), quality, 1..=100, &WHOLE, tr!("gallery-quality-1-to-100"));
    }
    ui.checkbox(&mut strips, tr!("gallery-without-settings")).on_hover_text(tr!("gallery-remove-prompt-seed-model"));
    if !strips && format != ExportFormat::Png {
        let words = tr!("gallery-the-settings-are-stored");
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
    }
    if (format, strips) != before {
        commands.push(Command::Gallery(gallery::Command::SetDialog(Some(Dialog::Export(format, strips)))));
    }
    buttons(ui, state, commands, gallery::Command::ChooseExportFolder);
}

/// The row of buttons: what the dialog is for, and the way out.
fn buttons(ui: &mut Ui, state: &State, commands: &mut Commands, next: gallery::Command) {
    ui.add_space(8.0);
    last_row(ui, |ui| {
        command_button(ui, state, commands, gallery::Command::SetDialog(None));
        default_button(ui, state, commands, next);
    });
}
