//! The menu at the right end of the bar: what concerns the program and not the picture.

use eframe::egui::{Align, Button, Layout, Popup, PopupCloseBehavior, RichText, Ui, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bare_icon, command_control, icon_button};
use crate::gui::window_command::WindowCommand;
use crate::gui::{palette, program, sharing};
use atelier_studio::updates::UpdateChoice;

/// Width of the menu, in points.
const WIDTH: f32 = 216.0;
const NAME: &str = "Menu";

/// The button that opens the menu.
pub(crate) fn menu_button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let button = bare_icon(ui, Icon::Menu, NAME).on_hover_text("Text size, sharing, keys, updates and information about Atelier.");
    // A size is often pressed several times.
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(NAME).show(|ui| {
        ui.set_width(WIDTH);
        size(ui, state, commands);
        ui.separator();
        if entry(ui, state, commands, WindowCommand::ToggleSidePanel) {
            ui.close();
        }
        if state.program.updates.feed.is_some() {
            updates(ui, state, commands);
        }
        if entry(ui, state, commands, sharing::Command::Open) {
            ui.close();
        }
        if entry(ui, state, commands, palette::Command::ShowShortcuts(true)) {
            ui.close();
        }
        if entry(ui, state, commands, program::Command::OpenAbout) {
            ui.close();
        }
    });
}

/// Looking for new versions: now, and by itself.
fn updates(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if entry(ui, state, commands, program::Command::CheckForUpdates) {
        ui.close();
    }
    let is_weekly = state.program.updates.settings.choice == UpdateChoice::Weekly;
    let mut wanted = is_weekly;
    ui.horizontal(|ui| {
        ui.add_space(2.0);
        ui.checkbox(&mut wanted, "Check for updates once a week").on_hover_text(program::Command::SetWeeklyUpdates(true).tooltip());
    });
    if wanted != is_weekly {
        commands.push(program::Command::SetWeeklyUpdates(wanted));
    }
}

/// An entry; true once it was chosen.
fn entry(ui: &mut Ui, state: &State, commands: &mut Commands, command: impl Into<Command>) -> bool {
    let command = command.into();
    let label = command.label();
    // A text at the right end keeps the label at the left.
    let button = Button::new(label).right_text("").frame_when_inactive(false).min_size(vec2(WIDTH, ROW_HEIGHT));
    command_control(ui, state, commands, command, |ui| ui.add(button).accessible_name(label)).clicked()
}

/// Size of text and controls: smaller, the present one, larger.
fn size(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    ui.allocate_ui_with_layout(vec2(WIDTH, ROW_HEIGHT), Layout::right_to_left(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        icon_button(ui, state, commands, Icon::Plus, WindowCommand::Larger);
        command_control(ui, state, commands, WindowCommand::UsualSize, |ui| {
            let percent = RichText::new(format!("{} %", state.shared.zoom.percent())).color(palette.text);
            let button = Button::new(percent).frame_when_inactive(false).min_size(vec2(52.0, ROW_HEIGHT));
            ui.add(button).accessible_name(WindowCommand::UsualSize.label())
        });
        icon_button(ui, state, commands, Icon::Minus, WindowCommand::Smaller);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add_space(2.0);
            ui.label(RichText::new("Text size").color(palette.text));
        });
    });
}
