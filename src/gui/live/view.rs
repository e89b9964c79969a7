//! The switch beside Generate, and the row under the picture: how it is with Live, what would make
//! it faster, and Accept.

use eframe::egui::{Label, Response, RichText, Role, Ui, WidgetInfo};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::{self, Icon};
use crate::gui::live::command::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bold, command_button, command_control, row_of_sides, square_button};
use atelier_core::format::duration;
use atelier_language::tr;
use atelier_studio::next_recipe::UnmetRequirement;

/// Draws the switch, as high as the button beside it, in points.
pub(crate) fn switch(ui: &mut Ui, state: &State, commands: &mut Commands, side: f32) {
    command_control(ui, state, commands, Command::Toggle, |ui| switch_icon(ui, state.live.is_on, side));
}

fn switch_icon(ui: &mut Ui, is_on: bool, side: f32) -> Response {
    let is_enabled = ui.is_enabled();
    let info = || WidgetInfo::selected(Role::Button, is_enabled, is_on, Command::Toggle.label());
    let (response, colour) = square_button(ui, side, is_on, info);
    let colour = if is_on { theme::palette(ui).accent } else { colour };
    icons::paint(ui.painter(), response.rect, Icon::Live, colour);
    response
}

/// Draws the row.
pub(crate) fn live_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let live = &state.live;
    let left = |ui: &mut Ui| {
        ui.label(bold(tr!("live-live")).color(palette.accent));
        ui.add(Label::new(RichText::new(words(state)).color(palette.weak)).truncate());
    };
    row_of_sides(ui, ROW_HEIGHT, "live", left, |ui| {
        for remedy in [Command::FewerSteps, Command::SmallerSize] {
            if live.is_slow() && remedy.enabled(live, &state.shared).is_ok() {
                command_button(ui, state, commands, remedy);
            }
        }
        command_control(ui, state, commands, Command::Accept, |ui| {
            let accept = |ui: &mut Ui| ui.button(tr!("common-accept")).accessible_name(Command::Accept.label());
            if live.has_result() { theme::accented(ui, accept) } else { accept(ui) }
        });
    });
}

/// How it is with Live, in words.
fn words(state: &State) -> String {
    let live = &state.live;
    if let Err(unmet) = live.ready(&state.shared) {
        return UnmetRequirement::sentence(unmet).to_owned();
    }
    match (&live.run, live.picture_secs) {
        (Some(run), _) if run.is_waiting(!state.shared.jobs.is_empty()) => tr!("live-waits-for-the-pictures").to_owned(),
        (Some(run), _) => run.progress.what(),
        (None, Some(secs)) => tr!("live-a-picture", secs = duration((secs * 10.0).round() as f32 / 10.0)),
        (None, None) => tr!("live-change-the-prompt-settings").to_owned(),
    }
}
