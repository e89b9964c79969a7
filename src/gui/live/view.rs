//! The switch beside Generate, and the row under the picture: how it is with Live, what would make
//! it faster, and Accept.

use eframe::egui::{Align, Label, Layout, Response, RichText, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2};

use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::{self, Icon};
use crate::gui::live::command::Command;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bold, command_button, command_control};
use atelier_core::format::duration;
use atelier_studio::next_recipe::UnmetRequirement;

/// Draws the switch, as high as the button beside it, in points.
pub(crate) fn switch(ui: &mut Ui, state: &State, commands: &mut Commands, side: f32) {
    command_control(ui, state, commands, Command::Toggle, |ui| switch_icon(ui, state.live.is_on, side));
}

fn switch_icon(ui: &mut Ui, is_on: bool, side: f32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(side, side), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, ui.is_enabled(), is_on, Command::Toggle.label()));
    let palette = theme::palette(ui);
    let visuals = ui.style().interact(&response);
    let is_near = response.hovered() || response.has_focus();
    let fill = if is_near { palette.control_hover } else { palette.control };
    ui.painter().rect_filled(rect, visuals.corner_radius, fill);
    if is_on || response.has_focus() {
        ui.painter().rect_stroke(rect, visuals.corner_radius, Stroke::new(1.5, palette.accent), StrokeKind::Inside);
    }
    let color = if is_on {
        palette.accent
    } else if is_near {
        palette.strong
    } else {
        palette.text
    };
    icons::paint(ui.painter(), rect, Icon::Live, color);
    response
}

/// Draws the row.
pub(crate) fn live_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let live = &state.live;
    ui.allocate_ui_with_layout(vec2(ui.available_width(), ROW_HEIGHT), Layout::right_to_left(Align::Center), |ui| {
        command_control(ui, state, commands, Command::Accept, |ui| {
            let accept = |ui: &mut Ui| ui.button("Accept").accessible_name(Command::Accept.label());
            if live.has_result() { theme::accented(ui, accept) } else { accept(ui) }
        });
        for remedy in [Command::SmallerSize, Command::FewerSteps] {
            if live.is_slow() && remedy.enabled(live, &state.shared).is_ok() {
                command_button(ui, state, commands, remedy);
            }
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.label(bold("Live").color(palette.accent));
            ui.add(Label::new(RichText::new(words(state)).color(palette.weak)).truncate());
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
        (Some(run), _) if run.is_waiting(!state.shared.jobs.is_empty()) => "Waits for the pictures of the queue".to_owned(),
        (Some(run), _) => run.progress.what(),
        (None, Some(secs)) => format!("{} a picture", duration((secs * 10.0).round() as f32 / 10.0)),
        (None, None) => "Change the prompt, settings or the canvas".to_owned(),
    }
}
