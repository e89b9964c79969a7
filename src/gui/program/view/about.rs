//! About: version, engine, licences, and where this person's files are.

use std::path::{Path, PathBuf};

use eframe::egui::{Align, Frame, Id, Label, Layout, Margin, Modal, RichText, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::icons::Icon;
use crate::gui::program::command::{Command, Place};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bold, command_button, default_button, heading, icon_button, middle_elided};
use atelier_core::format::memory_size;
use atelier_language::tr;
use atelier_studio::{logs, version};

/// Width of the dialog, in points.
const WIDTH: f32 = 460.0;
/// Width of the names before the paths, in points.
const NAME_WIDTH: f32 = 64.0;

/// Draws About, where it is open.
pub(crate) fn about(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if !state.program.is_about_open {
        return;
    }
    let palette = theme::palette(ui);
    let frame = Frame::popup(ui.style()).inner_margin(Margin::same(20)).corner_radius(12);
    let modal = Modal::new(Id::unique("about")).frame(frame).backdrop_color(palette.veil).show(ui.ctx(), |ui| {
        ui.set_width(WIDTH);
        ui.label(bold("Atelier").size(theme::HEADING).color(palette.strong));
        ui.label(RichText::new(tr!("program-version", version = version::FULL)).color(palette.text));
        ui.add(Label::new(RichText::new(engine()).color(palette.weak)).wrap());
        ui.label(RichText::new(tr!("program-free-software-under-the")).color(palette.weak));
        heading(ui, tr!("program-where-your-files-are"), |_| {});
        for (place, name, folder, file) in places(state) {
            let open = Command::OpenPlace(place, folder.clone(), file);
            place_row(ui, state, commands, name, &folder, open);
        }
        ui.add_space(10.0);
        ui.horizontal(|ui| {
            command_button(ui, state, commands, Command::ShowLicences);
            command_button(ui, state, commands, Command::CopyDetails(details(state)));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                default_button(ui, state, commands, Command::CloseAbout);
            });
        });
    });
    if modal.should_close() {
        commands.push(Command::CloseAbout);
    }
}

fn engine() -> String {
    tr!("program-engine-stable-diffusion-cpp", version = atelier_engine::version())
}

/// Each folder with its name, and the file in it that matters.
fn places(state: &State) -> Vec<(Place, &'static str, PathBuf, Option<PathBuf>)> {
    let Some(paths) = &state.program.paths else { return Vec::new() };
    let root = &state.models.library.settings.models_root;
    let models = if root.as_os_str().is_empty() { &paths.models } else { root };
    let settings = paths.settings_file.parent().unwrap_or(Path::new("")).to_owned();
    vec![
        (Place::Models, tr!("program-models"), models.clone(), None),
        (Place::Pictures, tr!("program-pictures"), state.create.pictures_folder.clone(), None),
        (Place::Settings, tr!("common-settings"), settings, Some(paths.settings_file.clone())),
        (Place::Logs, tr!("program-logs"), logs::folder(paths), None),
    ]
}

fn place_row(ui: &mut Ui, state: &State, commands: &mut Commands, name: &str, folder: &Path, open: Command) {
    let palette = theme::palette(ui);
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::right_to_left(Align::Center), |ui| {
        icon_button(ui, state, commands, Icon::Folder, open);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.allocate_ui_with_layout(vec2(NAME_WIDTH, ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
                ui.set_min_width(NAME_WIDTH);
                ui.label(RichText::new(name).color(palette.weak));
            });
            let path = folder.display().to_string();
            let shown = middle_elided(ui, &path, ui.available_width());
            ui.add(Label::new(RichText::new(shown).color(palette.text)).truncate()).on_hover_text(path);
        });
    });
}

/// Versions, system and devices as text.
fn details(state: &State) -> String {
    let mut lines = vec![tr!("program-atelier", version = version::FULL), engine(), tr!("program-system", system = version::system())];
    for device in &state.devices.board.devices {
        lines.push(format!("{}: {}, {}", device.name, device.described(), memory_size(device.memory_total_bytes)));
    }
    lines.join("\n")
}
