//! Lower sections of the side panel: add a model, scanned folders, settings of the library.

use eframe::egui::{Align, Id, Key, Label, RichText, TextEdit, Ui, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::models;
use crate::gui::models::view::controls::named_icon;
use crate::gui::models::{FolderSummary, TokenState};
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{WHOLE, command_button, heading, icon_button, slider_row, small};
use atelier_core::format::file_size;
use atelier_language::tr;

/// Field for a link or a path.
pub(crate) fn add_section(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    heading(ui, tr!("common-add"), |_| {});
    let edit = (tr!("models-model-link-or-path"), tr!("models-link-or-path"), models::Command::EditAddText(String::new()));
    field(ui, state, commands, edit, &state.models.add_text, false, models::Command::EditAddText, models::Command::Add);
    let words = tr!("models-a-page-or-file");
    ui.add(Label::new(small(words, palette.weak)).wrap());
}

/// Text field with a button; Enter in the field does the same. `about`: command whose label and
/// tooltip the field has.
#[expect(clippy::too_many_arguments, reason = "a field is its words")]
fn field(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    (id, hint, about): (&str, &str, models::Command),
    text: &str,
    secret: bool,
    typed: fn(String) -> models::Command,
    enter: models::Command,
) -> eframe::egui::Response {
    ui.horizontal(|ui| {
        let mut now = text.to_owned();
        let button = (widgets::text_width(ui, enter.label(), theme::BODY) + 2.0 * ui.spacing().button_padding.x).max(60.0);
        let wide = ui.available_width() - button - ui.spacing().item_spacing.x;
        let edit = TextEdit::singleline(&mut now).id(Id::unique(id)).hint_text(hint).password(secret);
        let response = widgets::line_edit_with_undo(ui, wide, edit).on_hover_text(about.tooltip()).accessible_name(about.label());
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if now != text {
            commands.push(Command::Models(typed(now)));
        } else if entered {
            commands.push(Command::Models(enter.clone()));
        }
        let look = eframe::egui::Button::new(enter.label()).min_size(vec2(button, widgets::ROW_HEIGHT));
        let name = format!("{}: {}", about.label(), enter.label());
        widgets::command_control(ui, state, commands, Command::Models(enter), |ui| ui.add(look).accessible_name(name));
        response
    })
    .inner
}

/// Scanned folders, and what could not be read in them.
pub(crate) fn folders_section(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let library = &state.models.library;
    heading(ui, tr!("models-folders"), |ui| {
        icon_button(ui, state, commands, Icon::Plus, Command::Models(models::Command::ChooseFolder));
        icon_button(ui, state, commands, Icon::Reuse, Command::Models(models::Command::Rescan));
    });
    for folder in &library.folders {
        folder_row(ui, state, commands, folder);
    }
    if library.folders.iter().all(|it| it.is_own) {
        ui.add(Label::new(small(tr!("models-folders-of-comfyui-or"), palette.weak)).wrap());
    }
    for problem in &library.problems {
        ui.add(Label::new(small(problem, palette.warn)).wrap());
    }
}

fn folder_row(ui: &mut Ui, state: &State, commands: &mut Commands, folder: &FolderSummary) {
    let palette = theme::palette(ui);
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let path = folder.path.display().to_string();
        let name = |ui: &mut Ui| {
            let name = widgets::middle_elided(ui, &path, ui.available_width());
            ui.add(Label::new(RichText::new(name).color(palette.text)).truncate()).on_hover_text(&path);
        };
        widgets::row_of_sides(ui, 24.0, &path, name, |ui| {
            if folder.is_own {
                ui.spacing_mut().item_spacing.x = 4.0;
                if !state.models.library.settings.is_default_root {
                    named_icon(ui, state, commands, Icon::Reuse, models::Command::UseDefaultModelsRoot, "");
                }
                named_icon(ui, state, commands, Icon::Pencil, models::Command::ChooseModelsRoot, tr!("models-folder-of-downloads"));
            } else {
                named_icon(ui, state, commands, Icon::Close, models::Command::ForgetFolder(folder.path.clone()), &path);
            }
        });
        let what = if folder.is_own { tr!("models-downloads-3").to_owned() } else { tr!("models-only-read", layout = folder.layout) };
        let files = if folder.files == 1 { tr!("models-1-file").to_owned() } else { tr!("models-files-2", files = folder.files) };
        ui.label(small(format!("{what} · {files}, {}", file_size(folder.bytes)), palette.weak));
    });
}

/// Number of parallel files, and the Hugging Face token.
pub(crate) fn settings_section(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let choices = &state.models.library.settings;
    heading(ui, tr!("common-settings"), |_| {});
    let mut files = choices.parallel_files.max(1);
    slider_row(ui, tr!("models-at-once"), &mut files, 1..=8, &WHOLE, models::Command::SetParallelFiles(1).tooltip());
    if files != choices.parallel_files.max(1) {
        commands.push(Command::Models(models::Command::SetParallelFiles(files)));
    }
    ui.label(RichText::new(tr!("models-hugging-face-token")).color(palette.weak));
    match choices.token {
        TokenState::Saved => {
            ui.add(Label::new(small(tr!("models-a-token-is-saved"), palette.text)).wrap());
            command_button(ui, state, commands, Command::Models(models::Command::DeleteToken));
        }
        TokenState::External => {
            ui.add(Label::new(small(tr!("models-a-token-of-the"), palette.text)).wrap());
        }
        TokenState::None => {
            ui.add(Label::new(small(tr!("models-needed-only-for-models"), palette.weak)).wrap());
        }
    }
    let about = (tr!("models-hugging-face-token-2"), "hf_…", models::Command::EditTokenText(String::new()));
    let response =
        field(ui, state, commands, about, &state.models.token_text, true, models::Command::EditTokenText, models::Command::SaveToken);
    if state.models.focus_token {
        response.request_focus();
        response.scroll_to_me(Some(Align::Center));
    }
}
