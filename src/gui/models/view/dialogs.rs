//! Dialogs: licence prompt, confirmation of a deletion, types of a smaller copy.

use eframe::egui::{Label, RichText, ScrollArea, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::models;
use crate::gui::models::{LicensedAction, TokenState, queue};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bold, command_button, default_button, last_row, modal, small};
use atelier_core::format::file_size;
use atelier_language::{catalogue_text, tr};

/// Licence prompt, shown once before a model is downloaded or used.
pub(crate) fn licence_prompt(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(prompt) = &state.models.licence_prompt else { return };
    let palette = theme::palette(ui);
    let licence = &prompt.licence;
    let modal = modal(ui, "terms", |ui| {
        ui.add(Label::new(bold(tr!("models-has-a-licence-of", name = prompt.name)).size(theme::TITLE).color(palette.strong)).wrap());
        ui.add(Label::new(RichText::new(catalogue_text(licence.name())).color(palette.text)).wrap());
        if licence.is_non_commercial() {
            let words = tr!("models-non-commercial-this-licence");
            ui.add(Label::new(RichText::new(words).color(palette.warn)).wrap());
        }
        if licence.is_gated() {
            let words = tr!("models-downloading-requires-an-account");
            ui.add(Label::new(RichText::new(words).color(palette.text)).wrap());
            if !matches!(prompt.next, LicensedAction::Use) && state.models.library.settings.token == TokenState::None {
                let words = tr!("models-accept-the-licence-there");
                ui.add(Label::new(RichText::new(words).color(palette.warn)).wrap());
                command_button(ui, state, commands, Command::Models(models::Command::FocusToken));
            }
        }
        match licence.url() {
            Some(url) => drop(command_button(ui, state, commands, Command::Models(models::Command::OpenLicence(url.to_owned())))),
            None => drop(ui.label(small(tr!("models-the-text-of-this"), palette.weak))),
        }
        ui.add_space(8.0);
        last_row(ui, |ui| {
            command_button(ui, state, commands, Command::Models(models::Command::DeclineLicence));
            default_button(ui, state, commands, models::Command::AcceptLicence);
        });
    });
    if modal {
        commands.push(Command::Models(models::Command::DeclineLicence));
    }
}

/// Question before a large download: what it takes of the disk and of the line, and how long a
/// picture takes with what comes.
pub(crate) fn size_prompt(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(prompt) = &state.models.size_prompt else { return };
    let palette = theme::palette(ui);
    let modal = modal(ui, tr!("models-download-size"), |ui| {
        let words = tr!("models-download-for", bytes = file_size(prompt.bytes), name = prompt.name);
        ui.add(Label::new(bold(words).size(theme::TITLE).color(palette.strong)).wrap());
        ui.add(Label::new(RichText::new(queue::time_needed(prompt.bytes, &state.models.queue)).color(palette.text)).wrap());
        if let Some(free) = prompt.free_bytes {
            let fits = free > prompt.bytes;
            let left = if fits {
                tr!("models-of-disk-space-stay", bytes = file_size(free - prompt.bytes))
            } else {
                queue::no_room(prompt.bytes, free)
            };
            ui.add(Label::new(RichText::new(left).color(if fits { palette.text } else { palette.warn })).wrap());
        }
        if let Some(time) = prompt.time {
            let colour = if time.is_too_slow() { palette.warn } else { palette.text };
            ui.add(Label::new(RichText::new(time.sentence()).color(colour)).wrap());
        }
        ui.add_space(8.0);
        last_row(ui, |ui| {
            command_button(ui, state, commands, Command::Models(models::Command::CancelSize));
            default_button(ui, state, commands, models::Command::ConfirmDownload);
        });
    });
    if modal {
        commands.push(Command::Models(models::Command::CancelSize));
    }
}

/// Confirmation of a deletion, with the files that are removed and kept.
pub(crate) fn removal(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(removal) = &state.models.removal else { return };
    let palette = theme::palette(ui);
    let modal = modal(ui, "removal", |ui| {
        let words = tr!("models-move-to-the-trash", name = removal.name);
        ui.add(Label::new(bold(words).size(theme::TITLE).color(palette.strong)).wrap());
        let words = tr!("models-are-moved-you-can", bytes = file_size(removal.bytes));
        ui.add(Label::new(RichText::new(words).color(palette.text)).wrap());
        ScrollArea::vertical().max_height(180.0).show(ui, |ui| {
            for name in &removal.removed {
                ui.add(Label::new(small(name, palette.text)).wrap());
            }
            for (name, why) in &removal.kept {
                ui.add(Label::new(small(format!("{name} {why}"), palette.weak)).wrap());
            }
        });
        ui.add_space(8.0);
        last_row(ui, |ui| {
            default_button(ui, state, commands, models::Command::CancelDelete);
            command_button(ui, state, commands, Command::Models(models::Command::ConfirmDelete));
        });
    });
    if modal {
        commands.push(Command::Models(models::Command::CancelDelete));
    }
}

/// Types of a smaller copy, each with the size of the file, before anything is written.
pub(crate) fn copy(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(dialog) = &state.models.copy_dialog else { return };
    let palette = theme::palette(ui);
    let modal = modal(ui, tr!("models-smaller-copy"), |ui| {
        ui.add(Label::new(bold(tr!("models-a-smaller-copy-of", name = dialog.name)).size(theme::TITLE).color(palette.strong)).wrap());
        match &dialog.sizes {
            None => drop(ui.label(RichText::new(tr!("models-counting")).color(palette.weak))),
            Some(Err(sentence)) => drop(ui.add(Label::new(RichText::new(sentence).color(palette.error)).wrap())),
            Some(Ok(sizes)) if sizes.copies.is_empty() => {
                let words = tr!("models-its-weights-are-as");
                ui.add(Label::new(RichText::new(words).color(palette.text)).wrap());
            }
            Some(Ok(sizes)) => {
                let words = tr!("models-the-file-takes-the", original_bytes = file_size(sizes.original_bytes));
                ui.add(Label::new(RichText::new(words).color(palette.text)).wrap());
                for (weight_type, bytes) in &sizes.copies {
                    let command = models::Command::ChooseCopyType(*weight_type);
                    let line = format!("{} · {}", weight_type.label(), file_size(*bytes));
                    if ui.radio(dialog.chosen == *weight_type, line).on_hover_text(command.tooltip()).clicked() {
                        commands.push(Command::Models(command));
                    }
                }
            }
        }
        ui.add_space(8.0);
        last_row(ui, |ui| {
            command_button(ui, state, commands, Command::Models(models::Command::CancelCopy));
            default_button(ui, state, commands, models::Command::ConfirmCopy);
        });
    });
    if modal {
        commands.push(Command::Models(models::Command::CancelCopy));
    }
}
