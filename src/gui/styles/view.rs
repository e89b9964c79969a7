//! Styles in the settings: the row that applies one, and the dialog that saves one.

use eframe::egui::{
    Align, Button, Frame, Id, Image, Label, Layout, Margin, Modal, Popup, PopupCloseBehavior, RichText, ScrollArea, TextEdit, Ui,
    load::SizedTexture, vec2,
};

use crate::gui::command::Commands;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::styles::command::Command;
use crate::gui::styles::state::{StyleDraft, changes_of};
use crate::gui::theme;
use crate::gui::widgets::{self, ROW_HEIGHT, bold, command_button, command_control, default_button, icon_button, row};
use crate::gui::window_command::WindowCommand;
use atelier_core::sentences::list as list_of;
use atelier_language::tr;
use atelier_studio::styles::{PLACEHOLDER, StylePart, TakenNames};

/// Width of the list and of the dialog, and most height of the list, in points.
const LIST_WIDTH: f32 = 300.0;
const LIST_HEIGHT: f32 = 320.0;
const DIALOG_WIDTH: f32 = 380.0;
/// Names that a question lists.
const MAX_NAMES: usize = 6;

/// Draws the row: the list of styles, the button that saves one, and what the last one changed.
pub(crate) fn style_row(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let styles = &state.styles;
    if styles.folder.is_none() {
        return;
    }
    let palette = theme::palette(ui);
    let applied = styles.applied_to(&state.shared.next.recipe);
    row(ui, tr!("styles-style"), |ui| {
        let width = ui.available_width() - ROW_HEIGHT - ui.spacing().item_spacing.x;
        let words = applied.map_or(tr!("styles-choose"), |applied| applied.name.as_str());
        let button = Button::new(words).truncate().right_text("").min_size(vec2(width, ROW_HEIGHT));
        let hover = tr!("styles-apply-a-style-settings");
        let response = ui.add_sized(vec2(width, ROW_HEIGHT), button).on_hover_text(hover).accessible_name(tr!("styles-style"));
        Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(tr!("styles-styles")).show(|ui| {
            ui.set_width(LIST_WIDTH);
            list(ui, state, commands);
        });
        icon_button(ui, state, commands, Icon::Plus, Command::Edit(Some(Box::default())));
    });
    if let Some(applied) = applied {
        ui.horizontal_top(|ui| {
            let words = match applied.changes.as_slice() {
                [] => tr!("styles-changes-nothing-here", name = applied.name),
                changes => tr!("styles-changed", name = applied.name, changes = changes.join(", ")),
            };
            let width = ui.available_width() - ROW_HEIGHT - ui.spacing().item_spacing.x;
            ui.allocate_ui_with_layout(vec2(width, 0.0), Layout::top_down(Align::Min), |ui| {
                ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.text)).wrap());
            });
            if !applied.changes.is_empty() {
                icon_button(ui, state, commands, Icon::Undo, WindowCommand::Undo);
            }
        });
    }
}

fn list(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let list = &state.styles.list;
    if list.styles.is_empty() {
        let words = tr!("styles-no-style-yet-save");
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
    }
    for problem in &list.problems {
        ui.add(Label::new(RichText::new(problem).size(theme::SMALL).color(palette.warn)).wrap());
    }
    ScrollArea::vertical().id_salt("styles").max_height(LIST_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
        for (style, picture) in &list.styles {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                if let Some(texture) = picture.as_deref().and_then(|path| state.create.thumbnail(path)) {
                    ui.add(
                        Image::from_texture(SizedTexture::from_handle(texture))
                            .fit_to_exact_size(vec2(ROW_HEIGHT, ROW_HEIGHT))
                            .alt_text(&style.name),
                    );
                }
                let width = ui.available_width() - ROW_HEIGHT - 4.0;
                let changes = changes_of(&style.settings_for(&state.shared.next.recipe), &state.shared.next.recipe);
                let hover = if changes.is_empty() {
                    tr!("styles-this-style-changes-nothing").to_owned()
                } else {
                    tr!("styles-changes", changes = changes.join(", "))
                };
                let button =
                    Button::new(style.name.as_str()).truncate().right_text("").frame_when_inactive(false).min_size(vec2(width, ROW_HEIGHT));
                let chosen = command_control(ui, state, commands, Command::Apply(style.name.clone()), |ui| {
                    ui.add_sized(vec2(width, ROW_HEIGHT), button).on_hover_text(hover).accessible_name(style.name.as_str())
                });
                if chosen.clicked() {
                    ui.close();
                }
                let name = tr!("styles-delete-the-style", name = style.name);
                command_control(ui, state, commands, Command::Delete(style.name.clone()), |ui| widgets::bare_icon(ui, Icon::Close, &name));
            });
        }
    });
    ui.separator();
    if command_button(ui, state, commands, Command::Import).clicked() {
        ui.close();
    }
}

/// Draws the dialog that saves the present settings as a style, where it is open.
pub(crate) fn style_dialog(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(draft) = &state.styles.draft else { return };
    let palette = theme::palette(ui);
    let frame = Frame::popup(ui.style()).inner_margin(Margin::same(20)).corner_radius(12);
    let mut edited: StyleDraft = draft.clone();
    let mut pressed = Commands::default();
    let modal = Modal::new(Id::unique("save style")).frame(frame).backdrop_color(palette.veil).show(ui.ctx(), |ui| {
        ui.set_width(DIALOG_WIDTH);
        ui.label(bold(tr!("styles-save-these-settings-as")).size(theme::TITLE).color(palette.strong));
        let edit = TextEdit::singleline(&mut edited.name).hint_text(tr!("common-name")).id(Id::unique("style name"));
        let name = widgets::line_edit_with_undo(ui, DIALOG_WIDTH, edit)
            .on_hover_text(tr!("styles-the-name-of-the"))
            .accessible_name(tr!("styles-name-of-the-style"));
        if state.styles.focus_dialog {
            name.request_focus();
        }
        ui.add_space(6.0);
        for part in StylePart::ALL {
            let mut wanted = edited.parts.contains(&part);
            ui.checkbox(&mut wanted, part.label()).on_hover_text(tr!("styles-applying-the-style-sets"));
            if wanted {
                edited.parts.insert(part);
            } else {
                edited.parts.remove(&part);
            }
        }
        if state.create.session.shown().is_some() {
            ui.checkbox(&mut edited.with_picture, tr!("styles-thumbnail-of-the-current"))
                .on_hover_text(tr!("styles-shown-beside-the-styles"));
        }
        let words = tr!("styles-in-the-styles-prompt", placeholder = PLACEHOLDER);
        ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.weak)).wrap());
        if state.styles.get(edited.name.trim()).is_some() {
            ui.add(Label::new(RichText::new(tr!("styles-replaces-the-existing-style")).color(palette.warn)).wrap());
        }
        ui.add_space(8.0);
        widgets::last_row(ui, |ui| {
            command_button(ui, state, &mut pressed, Command::Edit(None));
            default_button(ui, state, &mut pressed, Command::Save);
        });
    });
    // What was typed in the frame of a button comes first.
    if edited != *draft {
        commands.push(Command::Edit(Some(Box::new(edited))));
    }
    commands.append(pressed);
    if modal.should_close() {
        commands.push(Command::Edit(None));
    }
}

/// Draws the question about styles of a list whose names are taken, where there is one.
pub(crate) fn import_dialog(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(import) = &state.styles.import else { return };
    let palette = theme::palette(ui);
    let closes = widgets::modal(ui, tr!("styles-import-styles"), |ui| {
        let count = import.taken().count();
        let title = if count == 1 { tr!("styles-you-already-have-a").to_owned() } else { tr!("styles-you-already-have-styles", count) };
        ui.label(bold(title).size(theme::TITLE).color(palette.strong));
        let mut names: Vec<String> = import.taken().take(MAX_NAMES).map(str::to_owned).collect();
        if count > MAX_NAMES {
            names.push(tr!("styles-more", value = count - MAX_NAMES));
        }
        ui.add(Label::new(list_of(&names) + ".").wrap());
        let words = tr!("styles-replace-your-styles-keep");
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
        ui.add_space(8.0);
        widgets::last_row(ui, |ui| {
            command_button(ui, state, commands, Command::AnswerImport(None));
            for taken in [TakenNames::Skip, TakenNames::Replace] {
                command_button(ui, state, commands, Command::AnswerImport(Some(taken)));
            }
            default_button(ui, state, commands, Command::AnswerImport(Some(TakenNames::KeepBoth)));
        });
    });
    if closes {
        commands.push(Command::AnswerImport(None));
    }
}

/// True while a dialog of the styles is open.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.styles.draft.is_some() || state.styles.import.is_some()
}
