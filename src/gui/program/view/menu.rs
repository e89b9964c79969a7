//! The menu at the right end of the bar: what concerns the program and not the picture.

use eframe::egui::{Align, Button, CollapsingHeader, Layout, Popup, PopupCloseBehavior, RichText, Ui, vec2};

use crate::gui::command::{Command, Commands};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{ROW_HEIGHT, bare_icon, command_control, icon_button, sides};
use crate::gui::window_command::WindowCommand;
use crate::gui::{palette, program, sharing, studios};
use atelier_language::{Language, chosen_language, tr};
use atelier_studio::updates::UpdateChoice;

/// Width of the menu, in points.
const WIDTH: f32 = 216.0;

/// The button that opens the menu.
pub(crate) fn menu_button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let button = bare_icon(ui, Icon::Menu, tr!("program-menu")).on_hover_text(tr!("program-text-size-sharing-keys"));
    // A size is often pressed several times.
    Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).accessible_name(tr!("program-menu")).show(|ui| {
        ui.set_width(WIDTH);
        size(ui, state, commands);
        languages(ui, state, commands);
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
        if entry(ui, state, commands, studios::Command::Open) {
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
        ui.checkbox(&mut wanted, tr!("program-check-for-updates-once")).on_hover_text(program::Command::SetWeeklyUpdates(true).tooltip());
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

/// The languages, each in its own words, folded under the one in use.
fn languages(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let chosen = state.shared.language.chosen;
    let heading = tr!("program-language", language = chosen_language().own_name());
    let header = CollapsingHeader::new(heading).id_salt("languages").show(ui, |ui| {
        for language in [None].into_iter().chain(Language::ALL.map(Some)) {
            let words = match language {
                None => tr!("program-as-the-system-has").to_owned(),
                Some(it) if it.is_machine_made() => tr!("program-machine-translated", language = it.own_name()),
                Some(it) => it.own_name().to_owned(),
            };
            let command = WindowCommand::SetLanguage(language);
            command_control(ui, state, commands, command, |ui| {
                ui.add(Button::selectable(language == chosen, words)).accessible_name(command.label())
            });
        }
    });
    header.header_response.on_hover_text(tr!("program-choose-the-language-of"));
}

/// Size of text and controls: smaller, the present one, larger.
fn size(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    let left = |ui: &mut Ui| {
        ui.add_space(2.0);
        ui.label(RichText::new(tr!("program-text-size")).color(palette.text));
    };
    let right = |ui: &mut Ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        icon_button(ui, state, commands, Icon::Minus, WindowCommand::Smaller);
        command_control(ui, state, commands, WindowCommand::UsualSize, |ui| {
            let percent = RichText::new(format!("{} %", state.shared.zoom.percent())).color(palette.text);
            let button = Button::new(percent).frame_when_inactive(false).min_size(vec2(52.0, ROW_HEIGHT));
            ui.add(button).accessible_name(WindowCommand::UsualSize.label())
        });
        icon_button(ui, state, commands, Icon::Plus, WindowCommand::Larger);
    };
    ui.allocate_ui_with_layout(vec2(WIDTH, ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| sides(ui, "text size", left, right));
}
