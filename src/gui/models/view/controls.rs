//! Controls and measures that the files of this view share.

use eframe::egui::{Button, Color32, Id, Response, Ui};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::models::{self, FitLevel};
use crate::gui::state::State;
use crate::gui::theme::Palette;
use crate::gui::widgets;

/// Space round the grid, in points.
pub(super) const EDGE: f32 = 14.0;

/// Id under which egui stores the number of columns.
pub(super) fn columns_id() -> Id {
    Id::unique("model columns")
}

/// Button whose accessible name ends with `of`, for commands that are on the screen several times.
pub(super) fn named_button(ui: &mut Ui, state: &State, commands: &mut Commands, command: models::Command, of: &str) -> Response {
    let name = name_of(&command, of);
    let button = Button::new(command.label());
    widgets::command_control(ui, state, commands, Command::Models(command), |ui| ui.add(button).accessible_name(name))
}

/// Icon button whose accessible name ends with `of`.
pub(super) fn named_icon(ui: &mut Ui, state: &State, commands: &mut Commands, icon: Icon, command: models::Command, of: &str) {
    let name = name_of(&command, of);
    widgets::command_control(ui, state, commands, Command::Models(command), |ui| widgets::bare_icon(ui, icon, &name));
}

fn name_of(command: &models::Command, of: &str) -> String {
    format!("{} {of}", command.label().trim_end_matches('…')).trim().to_owned()
}

/// Colour of a fit level.
pub(super) fn colour_of(fit: FitLevel, palette: &Palette) -> Color32 {
    match fit {
        FitLevel::Fits => palette.good,
        FitLevel::Tight => palette.warn,
        FitLevel::TooBig => palette.error,
        FitLevel::Unknown => palette.weak,
    }
}
