//! The dialog about other studios.

use atelier_core::advice::Advice;
use atelier_language::tr;
use atelier_peers::{FoundStudio, KeptStudio};
use eframe::egui::{Key, Label, RichText, ScrollArea, TextEdit, Ui};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::state::State;
use crate::gui::studios::command::Command;
use crate::gui::studios::state::{Answer, StudioModels};
use crate::gui::theme;
use crate::gui::widgets::{bold, command_button, heading, line_edit_with_undo, small, wide_modal};

/// Width of the dialog and of its text field, and most height of its lists, in points.
const WIDTH: f32 = 460.0;
const FIELD_WIDTH: f32 = 300.0;
const LIST_HEIGHT: f32 = 360.0;
/// Letters of a link.
const MAX_LINK: usize = 2048;

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
        let models = state.studios.models_of(&studio.address);
        if models.is_some_and(|it| matches!(it.answer, Answer::Missing(_))) {
            command_button(ui, state, commands, Command::AskAgain(studio.address.clone()));
        }
        command_button(ui, state, commands, Command::Forget(studio.name.clone()));
    });
    match state.studios.models_of(&studio.address) {
        Some(StudioModels { names: Some(names), answer: Answer::Given }) if names.is_empty() => {
            ui.label(small(tr!("studios-it-has-no-models"), palette.weak));
        }
        Some(StudioModels { names: Some(names), answer: Answer::Given }) => {
            let names = names.join(", ");
            ui.add(Label::new(small(&names, palette.weak)).truncate()).on_hover_text(&names);
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
