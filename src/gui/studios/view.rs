//! The dialog about other studios.

use atelier_core::advice::Advice;
use atelier_language::tr;
use atelier_peers::{FoundStudio, KeptStudio};
use atelier_studio::studio_model::StudioModel;
use eframe::egui::{Button, Frame, Key, Label, Margin, Popup, RichText, ScrollArea, TextEdit, Ui};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::studios::command::Command;
use crate::gui::studios::state::{Answer, StudioModels};
use crate::gui::theme;
use crate::gui::widgets::{bold, command_button, command_control, heading, line_edit_with_undo, small, wide_modal};

/// Width of the dialog and of its text field, and most height of its lists, in points.
const WIDTH: f32 = 460.0;
const FIELD_WIDTH: f32 = 300.0;
const LIST_HEIGHT: f32 = 360.0;
/// Width of the menu of models, in points.
const MENU_WIDTH: f32 = 260.0;
/// Letters of a link.
const MAX_LINK: usize = 2048;

/// The button that offers the models of kept studios; nothing where none is kept.
pub(crate) fn model_menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if state.studios.kept.iter().next().is_none() {
        return;
    }
    let about = Command::AskAll;
    let button = ui.button(about.label()).on_hover_text(about.tooltip()).accessible_name(about.label());
    if button.clicked() {
        commands.push(about.clone());
    }
    Popup::menu(&button).accessible_name(about.label()).show(|ui| {
        ui.set_width(MENU_WIDTH);
        ScrollArea::vertical().max_height(LIST_HEIGHT).show(ui, |ui| {
            for studio in state.studios.kept.iter() {
                ui.push_id(studio.address.to_string(), |ui| models_of(ui, state, commands, studio));
            }
        });
    });
}

/// The models of a studio, to be chosen.
fn models_of(ui: &mut Ui, state: &State, commands: &mut Commands, studio: &KeptStudio) {
    ui.add(Label::new(bold(&studio.name).color(theme::palette(ui).strong)).truncate());
    if offered_models(ui, state, commands, studio) {
        ui.close();
    }
    state_of(ui, state, studio);
}

/// A button for each model that a studio offers; true once one is chosen.
pub(crate) fn offered_models(ui: &mut Ui, state: &State, commands: &mut Commands, studio: &KeptStudio) -> bool {
    let mut is_chosen_now = false;
    for model in state.studios.offered_by(studio).into_iter().flatten() {
        let chosen = StudioModel { studio: studio.name.clone(), model: model.name.clone() };
        let is_chosen = state.shared.next.studio.as_ref() == Some(&chosen);
        let entry = Button::selectable(is_chosen, model.name.as_str()).right_text("");
        let command = Command::Choose(chosen);
        let said = tr!("studios-on", model = model.name, studio = studio.name);
        is_chosen_now |= command_control(ui, state, commands, command, |ui| ui.add(entry).accessible_name(said)).clicked();
    }
    is_chosen_now
}

/// The model of another studio that the next pictures are made with, as one thing with a name; false
/// where none is chosen.
pub(crate) fn chosen_model(ui: &mut Ui, state: &State, commands: &mut Commands) -> bool {
    let Some(chosen) = &state.shared.next.studio else { return false };
    let palette = theme::palette(ui);
    Frame::new()
        .fill(palette.field)
        .stroke((1.0, palette.accent))
        .corner_radius(theme::RADIUS)
        .inner_margin(Margin { left: 10, right: 10, top: 6, bottom: 8 })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.add(Label::new(small(&chosen.studio, palette.weak)).truncate());
            ui.add(Label::new(RichText::new(&chosen.model).color(palette.text)).truncate());
            ui.add(Label::new(small(tr!("studios-it-gets-the-settings"), palette.weak)).wrap());
            if let Some(trouble) = trouble_of_chosen(state, chosen) {
                ui.add(Label::new(small(trouble, palette.warn)).wrap());
            }
        });
    ui.horizontal_wrapped(|ui| {
        command_button(ui, state, commands, Command::UseOwn);
        if let Some(studio) = state.studios.kept.named(&chosen.studio) {
            ask_again(ui, state, commands, studio);
        }
        model_menu(ui, state, commands);
    });
    true
}

/// Why a job would not be made with this model, as far as it is known: the studio is not kept any
/// more, cannot be reached, or has no such model any more.
fn trouble_of_chosen(state: &State, chosen: &StudioModel) -> Option<String> {
    if !state.studios.is_read {
        return None;
    }
    let Some(studio) = state.studios.kept.named(&chosen.studio) else { return Some(tr!("studios-this-studio-is-not").to_owned()) };
    match &state.studios.models_of(&studio.address)?.answer {
        Answer::Missing(advice) => Some(advice.to_string()),
        Answer::Given if state.studios.offered(chosen).is_none() => {
            Some(tr!("studios-has-no-model-named", studio = studio.name, model = chosen.model))
        }
        Answer::Given | Answer::Unasked | Answer::Due | Answer::Awaited => None,
    }
}

/// True while the dialog is open, which then has the keys.
pub(crate) fn has_dialog(state: &State) -> bool {
    state.studios.is_open
}

/// Draws the dialog, where it is open.
pub(crate) fn dialog(ui: &Ui, state: &State, commands: &mut Commands) {
    if state.studios.is_open && wide_modal(ui, "studios", WIDTH, |ui| contents(ui, state, commands)) {
        commands.push(Command::Close);
    }
}

fn contents(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    ui.label(bold(Command::Open.label()).size(theme::HEADING).color(palette.strong));
    text(ui, tr!("studios-other-ateliers-in-this"), palette.weak);
    ui.add_space(6.0);
    link(ui, state, commands);
    if let Some(name) = &state.studios.connecting {
        text(ui, tr!("studios-connecting-to", name), palette.weak);
    }
    if let Some(advice) = &state.studios.trouble {
        trouble(ui, advice);
    }
    ScrollArea::vertical().max_height(LIST_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
        heading(ui, tr!("studios-connected"), |_| {});
        if state.studios.kept.iter().next().is_none() {
            text(ui, tr!("studios-none-yet-connect-to"), palette.weak);
        }
        for studio in state.studios.kept.iter() {
            ui.push_id(studio.address.to_string(), |ui| kept(ui, state, commands, studio));
        }
        heading(ui, tr!("studios-in-this-network"), |_| {});
        if let Some(advice) = &state.studios.search_trouble {
            trouble(ui, advice);
        } else if state.studios.strangers().next().is_none() {
            text(ui, tr!("studios-no-other-studio-is"), palette.weak);
        }
        for studio in state.studios.strangers() {
            ui.push_id(studio.address.to_string(), |ui| stranger(ui, state, commands, studio));
        }
    });
    ui.add_space(10.0);
    command_button(ui, state, commands, Command::Close);
}

fn text(ui: &mut Ui, words: impl Into<String>, colour: eframe::egui::Color32) {
    ui.add(Label::new(RichText::new(words).color(colour)).wrap());
}

fn trouble(ui: &mut Ui, advice: &Advice) {
    text(ui, advice.to_string(), theme::palette(ui).warn);
}

/// The field for a link, an address or a token.
fn link(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.horizontal(|ui| {
        let about = Command::SetLink(String::new());
        let mut link = state.studios.link.clone();
        // The token behind "#" is a secret, and the person whose link it is sees it where it comes from.
        let edit = TextEdit::singleline(&mut link).hint_text(about.label()).char_limit(MAX_LINK);
        let field = line_edit_with_undo(ui, FIELD_WIDTH, edit).on_hover_text(about.tooltip()).accessible_name(about.label());
        let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if link != state.studios.link {
            commands.push(Command::SetLink(link));
        }
        let add = Command::ConnectLink;
        if is_entered && add.enabled(&state.studios, &state.shared).is_ok() {
            commands.push(add.clone());
        }
        command_button(ui, state, commands, add);
    });
}

/// A studio that is kept, with what is known of its models.
fn kept(ui: &mut Ui, state: &State, commands: &mut Commands, studio: &KeptStudio) {
    let palette = theme::palette(ui);
    ui.horizontal(|ui| {
        ui.add(Label::new(RichText::new(&studio.name).color(palette.text)).truncate()).on_hover_text(studio.address.to_string());
        ask_again(ui, state, commands, studio);
        command_button(ui, state, commands, Command::Forget(studio.name.clone()));
    });
    if let Some(offered) = state.studios.offered_by(studio).filter(|it| !it.is_empty()) {
        let names = offered.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        ui.add(Label::new(small(&names, palette.weak)).truncate()).on_hover_text(&names);
    }
    state_of(ui, state, studio);
}

/// The button that asks a studio again which gave no answer.
pub(crate) fn ask_again(ui: &mut Ui, state: &State, commands: &mut Commands, studio: &KeptStudio) {
    if state.studios.trouble_of(studio).is_some() {
        command_button(ui, state, commands, Command::AskAgain(studio.address.clone()));
    }
}

/// Why the models of a studio are not listed, or may be others by now.
pub(crate) fn state_of(ui: &mut Ui, state: &State, studio: &KeptStudio) {
    let palette = theme::palette(ui);
    match state.studios.models_of(&studio.address) {
        Some(StudioModels { offered: Some(offered), answer: Answer::Given }) => {
            if offered.is_empty() {
                ui.label(small(tr!("studios-it-has-no-models"), palette.weak));
            }
        }
        Some(StudioModels { answer: Answer::Missing(advice), .. }) => {
            ui.add(Label::new(small(advice.to_string(), palette.warn)).wrap());
        }
        _ => drop(ui.label(small(tr!("studios-asking-for-its-models"), palette.weak))),
    }
}

/// A studio of the network that is not kept.
fn stranger(ui: &mut Ui, state: &State, commands: &mut Commands, studio: &FoundStudio) {
    let palette = theme::palette(ui);
    ui.horizontal(|ui| {
        ui.add(Label::new(RichText::new(&studio.name).color(palette.text)).truncate());
        let access = if studio.needs_token { tr!("studios-needs-a-token") } else { tr!("studios-open-to-all") };
        ui.label(small(studio.address.to_string(), palette.weak));
        ui.label(small(access, palette.weak));
        command_button(ui, state, commands, Command::Connect(studio.address.clone()));
    });
}
