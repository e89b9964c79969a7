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
use crate::gui::widgets::{self, ROW_HEIGHT, bold, command_button, command_control, icon_button, row};
use crate::gui::window_command::WindowCommand;
use atelier_core::sentences::list as list_of;
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
    row(ui, "Style", |ui| {
        let width = ui.available_width() - ROW_HEIGHT - ui.spacing().item_spacing.x;
        let words = applied.map_or("Choose…", |applied| applied.name.as_str());
        let button = Button::new(words).truncate().right_text("").min_size(vec2(width, ROW_HEIGHT));
        let hover = "Apply a style: settings saved under a name. Ctrl+Z undoes it.";
        let response = ui.add_sized(vec2(width, ROW_HEIGHT), button).on_hover_text(hover).accessible_name("Style");
        Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name("Styles").show(|ui| {
            ui.set_width(LIST_WIDTH);
            list(ui, state, commands);
        });
        icon_button(ui, state, commands, Icon::Plus, Command::Edit(Some(Box::default())));
    });
    if let Some(applied) = applied {
        ui.horizontal_top(|ui| {
            let words = match applied.changes.as_slice() {
                [] => format!("{} changes nothing here.", applied.name),
                changes => format!("{} changed: {}.", applied.name, changes.join(", ")),
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
        let words = "No style yet. Save these settings as one with +, or import A1111's styles.csv.";
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
                let hover =
                    if changes.is_empty() { "This style changes nothing.".to_owned() } else { format!("Changes: {}.", changes.join(", ")) };
                let button =
                    Button::new(style.name.as_str()).truncate().right_text("").frame_when_inactive(false).min_size(vec2(width, ROW_HEIGHT));
                let chosen = command_control(ui, state, commands, Command::Apply(style.name.clone()), |ui| {
                    ui.add_sized(vec2(width, ROW_HEIGHT), button).on_hover_text(hover).accessible_name(style.name.as_str())
                });
                if chosen.clicked() {
                    ui.close();
                }
                let name = format!("Delete the style {}", style.name);
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
    let modal = Modal::new(Id::unique("save style")).frame(frame).backdrop_color(palette.veil).show(ui.ctx(), |ui| {
        ui.set_width(DIALOG_WIDTH);
        ui.label(bold("Save these settings as a style").size(theme::TITLE).color(palette.strong));
        let edit = TextEdit::singleline(&mut edited.name).hint_text("Name").id(Id::unique("style name"));
        let name = widgets::line_edit_with_undo(ui, DIALOG_WIDTH, edit)
            .on_hover_text("The name of the style.")
            .accessible_name("Name of the style");
        if state.styles.focus_dialog {
            name.request_focus();
        }
        ui.add_space(6.0);
        for part in StylePart::ALL {
            let mut wanted = edited.parts.contains(&part);
            ui.checkbox(&mut wanted, part.label()).on_hover_text("Applying the style sets this too.");
            if wanted {
                edited.parts.insert(part);
            } else {
                edited.parts.remove(&part);
            }
        }
        if state.create.session.shown().is_some() {
            ui.checkbox(&mut edited.with_picture, "Thumbnail of the current picture").on_hover_text("Shown beside the style's name.");
        }
        let words = format!("{PLACEHOLDER} in the style's prompt is replaced by your prompt when the style is applied.");
        ui.add(Label::new(RichText::new(words).size(theme::SMALL).color(palette.weak)).wrap());
        if state.styles.get(edited.name.trim()).is_some() {
            ui.add(Label::new(RichText::new("Replaces the existing style with this name.").color(palette.warn)).wrap());
        }
        ui.add_space(8.0);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            theme::accented(ui, |ui| command_button(ui, state, commands, Command::Save));
            command_button(ui, state, commands, Command::Edit(None));
        });
    });
    if edited != *draft {
        commands.push(Command::Edit(Some(Box::new(edited))));
    }
    if modal.should_close() {
        commands.push(Command::Edit(None));
    }
}

/// Draws the question about styles of a list whose names are taken, where there is one.
pub(crate) fn import_dialog(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(import) = &state.styles.import else { return };
    let palette = theme::palette(ui);
    let closes = widgets::modal(ui, "import styles", |ui| {
        let count = import.taken().count();
        let title = if count == 1 {
            "You already have a style with this name".to_owned()
        } else {
            format!("You already have {count} styles with these names")
        };
        ui.label(bold(title).size(theme::TITLE).color(palette.strong));
        let mut names: Vec<String> = import.taken().take(MAX_NAMES).map(str::to_owned).collect();
        if count > MAX_NAMES {
            names.push(format!("{} more", count - MAX_NAMES));
        }
        ui.add(Label::new(list_of(&names) + ".").wrap());
        let words = "Replace your styles, keep both, or skip the imported ones?";
        ui.add(Label::new(RichText::new(words).color(palette.weak)).wrap());
        ui.add_space(8.0);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            theme::accented(ui, |ui| command_button(ui, state, commands, Command::AnswerImport(Some(TakenNames::KeepBoth))));
            for taken in [TakenNames::Replace, TakenNames::Skip] {
                command_button(ui, state, commands, Command::AnswerImport(Some(taken)));
            }
            command_button(ui, state, commands, Command::AnswerImport(None));
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
