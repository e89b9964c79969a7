//! Dialogs: name of a search that is kept, settings of an export.

use atelier_media::MAX_SIDE;
use eframe::egui::{Label, RichText, TextEdit, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::gallery;
use crate::gui::gallery::state::{Dialog, ExportChoice};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{
    WHOLE, bold, command_button, default_button, last_row, line_edit_with_undo, modal, row, slider_row, whole_number,
};
use atelier_language::tr;
use atelier_studio::gallery_service::ExportFormat;

/// Quality of a JPEG at first, 1 to 100.
const USUAL_QUALITY: u8 = 90;
/// Longest side of smaller copies at first, in pixels.
const USUAL_SIDE: u32 = 2048;

/// The open dialog, where there is one.
pub(super) fn dialog(ui: &Ui, state: &State, commands: &mut Commands) {
    let Some(dialog) = &state.gallery.dialog else { return };
    let is_closed = modal(ui, tr!("gallery-gallery-dialog"), |ui| match dialog {
        Dialog::SaveSearch(name) => save_search(ui, state, commands, name),
        Dialog::Export(choice) => export(ui, state, commands, choice),
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

fn export(ui: &mut Ui, state: &State, commands: &mut Commands, choice: &ExportChoice) {
    let palette = theme::palette(ui);
    let count = state.gallery.target_count();
    title(ui, &if count == 1 { tr!("gallery-export-this-picture").to_owned() } else { tr!("gallery-export-pictures", count) });
    let ExportChoice { mut name, mut form, mut folder } = choice.clone();
    ui.horizontal(|ui| {
        let quality = if let ExportFormat::Jpeg { quality } = form.format { quality } else { USUAL_QUALITY };
        for (format, words, hover) in [
            (ExportFormat::Png, "PNG", tr!("gallery-lossless-the-largest-files")),
            (ExportFormat::Jpeg { quality }, "JPEG", tr!("gallery-small-files-that-every")),
            (ExportFormat::WebP, "WebP", tr!("gallery-lossless-smaller-than-png")),
        ] {
            ui.selectable_value(&mut form.format, format, words).on_hover_text(hover);
        }
    });
    if let ExportFormat::Jpeg { quality } = &mut form.format {
        slider_row(ui, tr!("gallery-quality"), quality, 1..=100, &WHOLE, tr!("gallery-quality-1-to-100"));
    }
    side_row(ui, &mut form.longest_side);
    row(ui, tr!("gallery-name"), |ui| {
        let width = ui.available_width();
        let edit = TextEdit::singleline(&mut name).hint_text(tr!("gallery-that-of-each-picture"));
        line_edit_with_undo(ui, width, edit)
            .on_hover_text(tr!("gallery-name-of-the-copies-several"))
            .accessible_name(tr!("gallery-name-of-the-copies"));
    });
    if let Some(folder) = &mut folder {
        row(ui, tr!("gallery-folder-label"), |ui| {
            let width = ui.available_width();
            line_edit_with_undo(ui, width, TextEdit::singleline(folder))
                .on_hover_text(tr!("gallery-write-the-copies-to"))
                .accessible_name(tr!("gallery-folder-of-the-copies"));
        });
    }
    let mut strips = !form.keeps_metadata;
    ui.checkbox(&mut strips, tr!("gallery-without-settings")).on_hover_text(tr!("gallery-remove-prompt-seed-model"));
    form.keeps_metadata = !strips;
    if form.keeps_metadata && form.format != ExportFormat::Png {
        let words = tr!("gallery-the-settings-are-stored");
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
    }
    let next = ExportChoice { name, form, folder };
    if next != *choice {
        commands.push(Command::Gallery(gallery::Command::SetDialog(Some(Dialog::Export(next)))));
    }
    let is_typed = choice.folder.is_some();
    buttons(ui, state, commands, if is_typed { gallery::Command::Export } else { gallery::Command::ChooseExportFolder });
}

/// The switch of smaller copies, and their longest side.
fn side_row(ui: &mut Ui, longest_side: &mut Option<u32>) {
    row(ui, tr!("gallery-longest-side"), |ui| {
        let hover = tr!("gallery-reduce-larger-pictures-to");
        let mut reduces = longest_side.is_some();
        let words = if reduces { "" } else { tr!("gallery-as-it-is") };
        let words = RichText::new(words).color(theme::palette(ui).weak);
        ui.checkbox(&mut reduces, words).on_hover_text(hover).accessible_name(tr!("gallery-reduce-larger-pictures"));
        *longest_side = longest_side.or(Some(USUAL_SIDE)).filter(|_| reduces);
        if let Some(side) = longest_side {
            ui.add(whole_number(side, 1..=MAX_SIDE).suffix(" px")).on_hover_text(hover).accessible_name(tr!("gallery-longest-side"));
        }
    });
}

/// The row of buttons: what the dialog is for, and the way out.
fn buttons(ui: &mut Ui, state: &State, commands: &mut Commands, next: gallery::Command) {
    ui.add_space(8.0);
    last_row(ui, |ui| {
        command_button(ui, state, commands, gallery::Command::SetDialog(None));
        default_button(ui, state, commands, next);
    });
}
