//! The steps of a finished picture: a slider below it, and what the next picture takes from them.

use atelier_language::tr;
use eframe::egui::{RichText, Slider, Ui};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, command_button, removable_chip};

/// Width of the words beside the slider, in points.
const WORDS_WIDTH: f32 = 96.0;
/// Width of the buttons behind it, in points.
const BUTTONS_WIDTH: f32 = 224.0;
/// Width of the button that shows what is made now, in points.
const FOLLOW_WIDTH: f32 = 160.0;

/// Draws the slider through the steps of the picture shown, where there are some to look at, and
/// what finishes a draft.
pub(crate) fn steps_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.horizontal_centered(|ui| {
        draft_controls(ui, state, commands);
        slider(ui, state, commands);
        if !state.shared.jobs.is_empty() {
            command_button(ui, state, commands, Command::Follow);
        }
    });
}

fn slider(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some((_, steps)) = state.create.picture_with_steps() else { return };
    let palette = theme::palette(ui);
    let before = state.create.step_in_sight().map_or(steps, |shown| shown.step);
    let (wide, gap) = (ui.available_width(), ui.spacing().item_spacing.x);
    let words = RichText::new(tr!("create-step-of-2", before, steps)).color(palette.weak);
    ui.scope(|ui| {
        ui.set_width(WORDS_WIDTH);
        ui.label(words);
    });
    let mut step = before;
    let follow_width = if state.shared.jobs.is_empty() { 0.0 } else { FOLLOW_WIDTH };
    ui.spacing_mut().slider_width = (wide - WORDS_WIDTH - BUTTONS_WIDTH - follow_width - 4.0 * gap).max(80.0);
    widgets::slider(ui, Slider::new(&mut step, 1..=steps).show_value(false).step_by(1.0))
        .on_hover_text(tr!("create-show-the-steps-of"))
        .accessible_name(tr!("create-step-of-this-picture"));
    if step != before {
        commands.push(Command::ShowStep(step));
    }
    command_button(ui, state, commands, Command::GoOnFromStep);
    command_button(ui, state, commands, Command::RerollFromStep);
}

/// Draws what a draft is, and the button that finishes it.
fn draft_controls(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(recipe) = state.create.finished_picture_shown().map(|picture| &picture.recipe) else { return };
    let Some(step) = recipe.draft_step() else { return };
    let words = tr!("create-a-draft-step-of", step, steps_in_pass = recipe.steps_in_pass(0));
    ui.label(RichText::new(words).color(theme::palette(ui).weak));
    command_button(ui, state, commands, Command::FinishDraft);
}

/// Draws what the next picture takes from an earlier one.
pub(crate) fn earlier_steps_row(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let Some(last) = state.shared.next.recipe.earlier_steps.last() else { return };
    let palette = theme::palette(ui);
    let of = last.picture.as_ref().map_or_else(|| tr!("create-an-earlier-picture").to_owned(), |name| format!("\"{name}\""));
    let words = match last.until_step {
        1 => tr!("create-starts-with-the-first", of),
        step => tr!("create-starts-with-steps-of", step, of),
    };
    ui.horizontal_wrapped(|ui| removable_chip(ui, commands, &words, palette.text, Command::ClearEarlierSteps));
}
