//! The menu of models that look at the picture, and the bar of one that is at work.

use eframe::egui::{Label, Popup, PopupCloseBehavior, Rect, RichText, Ui};

use super::bar::bar;
use crate::gui::canvas::Command;
use crate::gui::canvas::state::OpenDocument;
use crate::gui::canvas::vision_models::{cutout_model, models, needed};
use crate::gui::command::Commands;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bare_icon, bold, command_button};
use atelier_language::tr;
use atelier_library::ModelKind;

/// Width of the menu, in points.
const WIDTH: f32 = 260.0;

/// The button that opens the menu.
pub(super) fn vision_button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let hover = tr!("canvas-cut-out-the-background-of-a");
    let button = bare_icon(ui, Icon::Scissors, tr!("canvas-cut-out-and-find")).on_hover_text(hover);
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(tr!("canvas-cut-out-and-find")).show(
        |ui| {
            ui.set_width(WIDTH);
            ui.label(bold(tr!("canvas-background")));
            section(ui, state, commands, ModelKind::Cutout, Command::CutOut, |ui, commands| {
                let chosen = cutout_model(&state.canvas.vision_choice, &state.shared).map(|(_, path)| path);
                let all: Vec<_> = models(&state.shared, ModelKind::Cutout).collect();
                // One alone needs no choice.
                for (card, path) in all.iter().filter(|_| all.len() > 1) {
                    let response = ui.radio(chosen == Some(*path), card.name.as_str()).on_hover_text(tr!("canvas-cut-out-with-this"));
                    if response.clicked() {
                        commands.push(Command::ChooseCutoutModel(path.to_path_buf()));
                    }
                }
            });
            ui.separator();
            ui.label(bold(tr!("canvas-faces-and-hands")));
            section(ui, state, commands, ModelKind::Detector, Command::FindRegions, |ui, commands| {
                for (card, path) in models(&state.shared, ModelKind::Detector) {
                    let mut is_used = !state.canvas.vision_choice.unused_detectors.contains(path);
                    if ui.checkbox(&mut is_used, card.name.as_str()).on_hover_text(tr!("canvas-ask-this-detector")).changed() {
                        commands.push(Command::UseDetector(path.to_owned(), is_used));
                    }
                }
            });
        },
    );
}

/// The models of a kind and the button that uses them; without any, what to get and where.
fn section(
    ui: &mut Ui,
    state: &State,
    commands: &mut Commands,
    kind: ModelKind,
    command: Command,
    choices: impl FnOnce(&mut Ui, &mut Commands),
) {
    let is_chosen = if models(&state.shared, kind).next().is_none() {
        let words = RichText::new(needed(kind)).size(theme::SMALL).color(theme::palette(ui).weak);
        ui.add(Label::new(words).wrap());
        command_button(ui, state, commands, Command::GetModel(kind)).clicked()
    } else {
        choices(ui, commands);
        command_button(ui, state, commands, command).clicked()
    };
    if is_chosen {
        ui.close();
    }
}

/// What a model does with the document now, and the button that ends it.
pub(super) fn vision_bar(ui: &Ui, state: &State, commands: &mut Commands, document: &OpenDocument, picture: Rect, room: Rect) -> bool {
    let Some(run) = state.canvas.vision.as_ref().filter(|run| run.document == document.number) else { return false };
    bar(ui, tr!("canvas-vision-bar"), picture, room, |ui| {
        ui.label(run.words);
        command_button(ui, state, commands, Command::CancelVision);
    });
    true
}
