//! The files of the model: which file plays which part, and ways to add more.

use std::path::{Path, PathBuf};

use eframe::egui::{Align, ComboBox, Frame, Id, Key, Label, Layout, Margin, Popup, RichText, TextEdit, Ui, vec2};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::memory;
use crate::gui::shared::Screen;
use crate::gui::state::State;
use crate::gui::studios;
use crate::gui::theme;
use crate::gui::widgets;
use crate::gui::widgets::{bare_icon, command_button, command_control, file_name, heading, icon_button};
use crate::gui::window_command::WindowCommand;
use atelier_core::recipe::FileRole;
use atelier_language::{catalogue_text, tr};

/// Height of a line in a file's row, in points.
const LINE: f32 = 17.0;

/// Draws the files of the model.
pub(crate) fn model_section(ui: &mut Ui, state: &State, commands: &mut Commands) {
    heading(ui, tr!("create-model"), |ui| {
        let next = if state.create.typed_path.is_some() { None } else { Some(String::new()) };
        icon_button(ui, state, commands, Icon::Pencil, Command::TypePath(next));
        icon_button(ui, state, commands, Icon::Plus, Command::AddFiles);
    });
    if studios::view::chosen_model(ui, state, commands) {
        return;
    }
    if state.shared.next.uses_builtin() {
        builtin(ui, state, commands);
    } else {
        for (role, path) in state.shared.next.recipe.files.iter() {
            file_row(ui, state, commands, role, path);
        }
        if state.shared.next.recipe.files.is_empty() {
            empty(ui, state, commands);
        }
        ui.horizontal(|ui| {
            if state.shared.next.builtin.is_ok() {
                command_button(ui, state, commands, Command::UseBuiltin);
            }
            if !state.shared.next.recipe.files.is_empty() {
                browse(ui, state, commands);
            }
        });
    }
    studios::view::model_menu(ui, state, commands);
    memory::view::chosen_model(ui, state, commands);
    memory::view::recent_models(ui, state, commands);
    for path in &state.shared.unplaced {
        unplaced(ui, state, commands, path);
    }
    if let Some(typed) = &state.create.typed_path {
        typed_path(ui, commands, typed);
    }
}

/// The built-in model, as one thing with a name.
fn builtin(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Ok(builtin) = &state.shared.next.builtin else { return };
    let (palette, manifest) = (theme::palette(ui), builtin.manifest());
    let missing = builtin.files().iter().any(|(_, path)| state.shared.missing_files.contains(path));
    Frame::new()
        .fill(palette.field)
        .stroke((1.0, if missing { palette.warn } else { palette.line }))
        .corner_radius(theme::RADIUS)
        .inner_margin(Margin { left: 10, right: 10, top: 6, bottom: 8 })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.label(RichText::new(tr!("create-built-in")).size(theme::SMALL).color(palette.weak));
            ui.add(Label::new(RichText::new(&manifest.name).color(palette.text)).truncate())
                .on_hover_text(catalogue_text(&manifest.description));
            if missing {
                ui.label(RichText::new(tr!("create-its-files-no-longer")).color(palette.warn));
            }
        });
    ui.horizontal(|ui| {
        command_button(ui, state, commands, Command::UseOwnFiles);
        browse(ui, state, commands);
    });
}

/// The way to the library.
fn browse(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let go = WindowCommand::SetScreen(Screen::Models);
    command_control(ui, state, commands, go, |ui| ui.button(tr!("create-browse-models")).accessible_name(tr!("create-browse-models")));
}

fn empty(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    Frame::new().fill(palette.field).stroke((1.0, palette.line)).corner_radius(theme::RADIUS).inner_margin(Margin::same(12)).show(
        ui,
        |ui| {
            ui.set_width(ui.available_width());
            ui.label(RichText::new(tr!("create-no-model-yet-choose")).color(palette.weak));
            ui.horizontal(|ui| {
                browse(ui, state, commands);
                command_button(ui, state, commands, Command::AddFiles);
            });
            if let Err(sentence) = &state.shared.next.builtin {
                ui.label(RichText::new(sentence).size(theme::SMALL).color(palette.weak));
            }
        },
    );
}

fn file_row(ui: &mut Ui, state: &State, commands: &mut Commands, role: FileRole, path: &Path) {
    let palette = theme::palette(ui);
    let missing = state.shared.missing_files.contains(path);
    let warning = if missing { Some(tr!("create-no-longer-exists")) } else { role.without_effect().map(|_| tr!("create-without-effect")) };
    ui.push_id(role, |ui| {
        Frame::new()
            .fill(palette.field)
            .stroke((1.0, palette.line))
            .corner_radius(theme::RADIUS)
            .inner_margin(Margin { left: 10, right: 4, top: 4, bottom: 5 })
            .show(ui, |ui| {
                ui.set_width(ui.available_width());
                ui.spacing_mut().item_spacing = vec2(2.0, 0.0);
                let lines = if warning.is_some() { 3.0 } else { 2.0 };
                let left = |ui: &mut Ui| {
                    ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
                        ui.set_width(ui.available_width());
                        ui.add(Label::new(RichText::new(role.label()).size(theme::SMALL).color(palette.weak)).truncate());
                        let name = widgets::middle_elided(ui, &file_name(path), ui.available_width());
                        let name = RichText::new(name).color(if warning.is_some() { palette.warn } else { palette.text });
                        let hover = match (missing, role.without_effect()) {
                            (true, _) => tr!("create-this-file-no-longer-exists", path = path.display()),
                            (false, Some(sentence)) => format!("{}\n{sentence}", path.display()),
                            (false, None) => path.display().to_string(),
                        };
                        ui.add(Label::new(name).truncate()).on_hover_text(hover);
                        if let Some(warning) = warning {
                            ui.add(Label::new(RichText::new(warning).size(theme::SMALL).color(palette.warn)).truncate());
                        }
                    });
                };
                widgets::row_of_sides(ui, lines * LINE, "file", left, |ui| {
                    role_menu(ui, commands, role);
                    icon_button(ui, state, commands, Icon::Folder, Command::ChooseFile(role));
                    icon_button(ui, state, commands, Icon::Close, Command::ClearFile(role));
                });
            });
    });
}

fn roles_with_effect() -> impl Iterator<Item = FileRole> {
    FileRole::ALL.into_iter().filter(|role| role.without_effect().is_none())
}

fn role_menu(ui: &mut Ui, commands: &mut Commands, role: FileRole) {
    let label = tr!("create-change-the-role-of-this-file", role = role.label());
    let button = bare_icon(ui, Icon::Dots, &label).on_hover_text(tr!("create-use-this-file-for"));
    Popup::menu(&button).accessible_name(tr!("create-part-of-the-model")).show(|ui| {
        for other in roles_with_effect() {
            if ui.selectable_label(other == role, other.label()).clicked() {
                commands.push(Command::MoveFile(role, other));
                ui.close();
            }
        }
    });
}

fn unplaced(ui: &mut Ui, state: &State, commands: &mut Commands, path: &Path) {
    let palette = theme::palette(ui);
    ui.push_id(path, |ui| {
        Frame::new()
            .fill(palette.field)
            .stroke((1.0, palette.warn))
            .corner_radius(theme::RADIUS)
            .inner_margin(Margin { left: 10, right: 4, top: 6, bottom: 8 })
            .show(ui, |ui| {
                ui.set_width(ui.available_width());
                ui.add(Label::new(tr!("create-what-is", path = file_name(path))).truncate()).on_hover_text(path.display().to_string());
                ui.horizontal(|ui| {
                    let mut chosen = None;
                    let combo = ComboBox::from_id_salt("role")
                        .icon(widgets::chevron)
                        .width(ui.available_width() - widgets::ROW_HEIGHT - 14.0)
                        .selected_text(tr!("create-choose-the-role-of"))
                        .show_ui(ui, |ui| {
                            for role in roles_with_effect() {
                                ui.selectable_value(&mut chosen, Some(role), role.label());
                            }
                        });
                    combo
                        .response
                        .on_hover_text(tr!("create-the-role-of-this"))
                        .accessible_name(tr!("create-what-is", path = file_name(path)));
                    if let Some(role) = chosen {
                        commands.push(Command::PlaceFile(path.to_owned(), Some(role)));
                    }
                    icon_button(ui, state, commands, Icon::Close, Command::PlaceFile(path.to_owned(), None));
                });
            });
    });
}

fn typed_path(ui: &mut Ui, commands: &mut Commands, typed: &str) {
    ui.horizontal(|ui| {
        let mut text = typed.to_owned();
        let wide = ui.available_width() - 52.0 - ui.spacing().item_spacing.x;
        let id = Id::unique("typed path");
        let opened = ui.ctx().read_response(id).is_none();
        let edit = TextEdit::singleline(&mut text).id(id).hint_text(tr!("create-path-of-a-model"));
        let response = widgets::line_edit_with_undo(ui, wide, edit)
            .on_hover_text(tr!("create-type-or-paste-the-path-of"))
            .accessible_name(tr!("create-path-of-a-file"));
        if opened {
            response.request_focus();
        }
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let command = Command::TakePaths(vec![PathBuf::from(text.trim())]);
        let some = !text.trim().is_empty();
        let button = ui.add_enabled(some, eframe::egui::Button::new(command.label()).min_size(vec2(52.0, widgets::ROW_HEIGHT)));
        if button.on_hover_text(command.tooltip()).clicked() || (entered && some) {
            commands.push(command);
        } else if text != typed {
            commands.push(Command::TypePath(Some(text)));
        }
    });
}
