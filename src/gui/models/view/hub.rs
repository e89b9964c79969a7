//! Hugging Face page: search results, or the model files of one repository.

use eframe::egui::{Align, Button, Frame, Label, Layout, Margin, RichText, ScrollArea, Ui, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::models;
use crate::gui::models::view::controls::EDGE;
use crate::gui::models::{HubFile, Repository};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::theme::Palette;
use crate::gui::widgets::{bold, command_button, command_control, small};
use atelier_core::format::{decimal, file_size};
use atelier_language::tr;

/// Height of a row, in points.
const ROW_HEIGHT: f32 = 44.0;

/// The page, in place of the grid.
pub(crate) fn hub_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let hub = &state.models.hub;
    let margin = Margin { left: EDGE as i8, right: EDGE as i8, top: 4, bottom: 8 };
    Frame::new().inner_margin(margin).show(ui, |ui| {
        ui.horizontal(|ui| {
            let back = if hub.repository.is_some() { models::Command::CloseRepository } else { models::Command::CloseHub };
            command_button(ui, state, commands, Command::Models(back));
            let words = match (&hub.repository, &hub.query) {
                (Some(repo), _) => repo.clone(),
                (None, Some(text)) => tr!("models-hugging-face", text),
                (None, None) => String::new(),
            };
            ui.add(Label::new(bold(words).size(theme::TITLE).color(palette.strong)).truncate());
        });
        match (&hub.repository, &hub.results, &hub.files) {
            (Some(_), _, Some(Ok(files))) => file_list(ui, state, commands, files, &palette),
            (None, Some(Ok(found)), _) => repository_list(ui, state, commands, found, &palette),
            (Some(_), _, Some(Err(sentence))) | (None, Some(Err(sentence)), _) => message(ui, sentence, &palette),
            (Some(_), _, None) | (None, None, _) => message(ui, tr!("models-asking-hugging-face"), &palette),
        }
    });
}

/// Sentence in the middle of the page.
fn message(ui: &mut Ui, words: &str, palette: &Palette) {
    ui.vertical_centered(|ui| {
        ui.add_space(ui.available_height() * 0.3);
        ui.set_max_width(420.0);
        ui.add(Label::new(RichText::new(words).color(palette.text)).wrap());
    });
}

fn repository_list(ui: &mut Ui, state: &State, commands: &mut Commands, found: &[Repository], palette: &Palette) {
    if found.is_empty() {
        return message(ui, tr!("models-no-results-use-fewer"), palette);
    }
    ScrollArea::vertical().id_salt("hub scroll").auto_shrink([false, false]).show_rows(ui, ROW_HEIGHT, found.len(), |ui, range| {
        for repo in found.get(range).unwrap_or_default() {
            let mut words = vec![
                tr!("models-downloads-4", short_count = short_count(repo.downloads)),
                tr!("models-likes", short_count = short_count(repo.likes)),
            ];
            words.extend(repo.task.clone());
            words.extend(repo.licence.clone());
            if repo.gated {
                words.push(tr!("models-needs-an-account").into());
            }
            let command = models::Command::OpenRepository(repo.id.clone());
            row(ui, state, commands, &repo.id, &words.join(" · "), command, palette);
        }
    });
}

fn file_list(ui: &mut Ui, state: &State, commands: &mut Commands, files: &[HubFile], palette: &Palette) {
    if files.is_empty() {
        return message(ui, tr!("models-no-model-files-only"), palette);
    }
    let words = tr!("models-each-file-is-downloaded");
    ui.label(small(words, palette.weak));
    ScrollArea::vertical().id_salt("hub files").auto_shrink([false, false]).show_rows(ui, ROW_HEIGHT, files.len(), |ui, range| {
        for at in range {
            let Some(file) = files.get(at) else { continue };
            row(ui, state, commands, &file.path, &file_size(file.size), models::Command::DownloadHubFile(at), palette);
        }
    });
}

fn row(ui: &mut Ui, state: &State, commands: &mut Commands, name: &str, description: &str, command: models::Command, palette: &Palette) {
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::right_to_left(Align::Center), |ui| {
        let button = Button::new(command.label());
        let label = format!("{} {name}", command.label());
        command_control(ui, state, commands, Command::Models(command), |ui| ui.add(button).accessible_name(label));
        ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.add_space(4.0);
            ui.add(Label::new(RichText::new(name).color(palette.text)).truncate()).on_hover_text(name);
            ui.add(Label::new(small(description, palette.weak)).truncate());
        });
    });
}

/// Count with a unit: `12 k`.
fn short_count(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{} k", count / 1000),
        _ => format!("{} M", decimal(count as f64 / 1e6, 1)),
    }
}
